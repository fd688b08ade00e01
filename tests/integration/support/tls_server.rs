//! Servers with a transport of their own: one behind a private authority, one that closes connections at the worst moment.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Behind TLS, vouched for by an authority that nobody knows.
pub struct Private {
    pub url: String,
    /// The authority's certificate.
    pub authority: PathBuf,
}

/// Answers everything with `answer`. The authority is made up on the spot; its certificate is left in `folder`.
pub fn private(folder: &Path, answer: Vec<u8>) -> Private {
    let ca_key = rcgen::KeyPair::generate().expect("a key");
    let mut ca = rcgen::CertificateParams::new(Vec::new()).expect("an authority");
    ca.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    ca.distinguished_name.push(rcgen::DnType::CommonName, "Throw-away Test CA");
    let authority = folder.join("ca.pem");
    std::fs::write(&authority, ca.self_signed(&ca_key).expect("a certificate").pem()).expect("a file");
    let issuer = rcgen::Issuer::new(ca, ca_key);
    let key = rcgen::KeyPair::generate().expect("a key");
    let server = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    let certificate = server.signed_by(&key, &issuer).expect("a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).expect("a key"),
        )
        .expect("a configuration");
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("https://localhost:{}", listener.local_addr().expect("an address").port());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (config, answer) = (Arc::clone(&config), answer.clone());
            std::thread::spawn(move || -> Option<()> {
                let connection = rustls::ServerConnection::new(config).ok()?;
                let mut stream = BufReader::new(rustls::StreamOwned::new(connection, stream));
                loop {
                    request(&mut stream)?;
                    stream.get_mut().write_all(&answer).ok()?;
                    stream.get_mut().flush().ok()?;
                }
            });
        }
    });
    Private { url, authority }
}

/// Closes connections that it has answered on before.
pub struct Closing {
    pub url: String,
    seen: Arc<AtomicUsize>,
    closed: Arc<AtomicUsize>,
}

impl Closing {
    /// Requests that arrived; of these, requests that were read and left without an answer.
    pub fn counts(&self) -> (usize, usize) {
        (self.seen.load(Ordering::SeqCst), self.closed.load(Ordering::SeqCst))
    }
}

/// Closes one in `every` reused connections after reading the request, and those that are `idle` for so long.
pub fn closing_in_between(every: usize, idle: Duration, answer: Vec<u8>) -> Closing {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let server = Closing { url, seen: Arc::default(), closed: Arc::default() };
    let (seen, closed, reused) = (Arc::clone(&server.seen), Arc::clone(&server.closed), Arc::new(AtomicUsize::new(0)));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (seen, closed, reused, answer) =
                (Arc::clone(&seen), Arc::clone(&closed), Arc::clone(&reused), answer.clone());
            std::thread::spawn(move || -> Option<()> {
                stream.set_read_timeout(Some(idle)).ok()?;
                let mut stream = BufReader::new(stream);
                for earlier in 0.. {
                    request(&mut stream)?;
                    seen.fetch_add(1, Ordering::SeqCst);
                    if earlier > 0 && reused.fetch_add(1, Ordering::SeqCst) % every == every - 1 {
                        closed.fetch_add(1, Ordering::SeqCst);
                        let _ = TcpStream::shutdown(stream.get_ref(), std::net::Shutdown::Both);
                        return None;
                    }
                    stream.get_mut().write_all(&answer).ok()?;
                }
                None
            });
        }
    });
    server
}

/// Reads one request.
fn request(stream: &mut impl BufRead) -> Option<()> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        let line = line.to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    stream.take(length).read_to_end(&mut Vec::new()).ok()?;
    Some(())
}
