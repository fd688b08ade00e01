//! A server that answers with given bytes, byte for byte, and misbehaves on demand: it stalls, drips, closes, resets. For tests of
//! what happens below HTTP. Used by `src/net` and `src/target`, and fit for the integration tests.
#![allow(dead_code, reason = "each of its users needs another part of it")]
#![allow(clippy::unwrap_used, reason = "a test server may panic; the test then fails")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the server does after it has read a request.
#[derive(Clone, Debug)]
pub enum Step {
    /// These bytes.
    Send(Vec<u8>),
    /// Nothing for this long.
    Pause(Duration),
    /// Nothing, until the client leaves.
    Stall,
    /// This byte, again and again, until the client leaves.
    Drip(u8, Duration),
    /// Close in order. Without it, the connection waits for the next request.
    Close,
    /// As the first step: the connection is reset while the request arrives.
    Reset,
}

type Script = dyn Fn(usize) -> Vec<Step> + Send + Sync;

/// The server; it lives as long as the test process.
pub struct RawServer {
    pub address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
}

impl RawServer {
    /// `script` says what follows on the request of that number, from 0, over all connections.
    pub fn start(script: impl Fn(usize) -> Vec<Step> + Send + Sync + 'static) -> Self {
        Self::start_on("127.0.0.1:0", script)
    }

    pub fn start_on(address: &str, script: impl Fn(usize) -> Vec<Step> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let server =
            Self { address: listener.local_addr().unwrap(), requests: Arc::default(), connections: Arc::default() };
        let (requests, connections) = (Arc::clone(&server.requests), Arc::clone(&server.connections));
        let script: Arc<Script> = Arc::new(script);
        let count = Arc::new(AtomicUsize::new(0));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                connections.fetch_add(1, Ordering::SeqCst);
                let (requests, script, count) = (Arc::clone(&requests), Arc::clone(&script), Arc::clone(&count));
                std::thread::spawn(move || serve(stream, &requests, &count, script.as_ref()));
            }
        });
        server
    }

    /// The same bytes for every request, then closes.
    pub fn with_answer(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self::start(move |_| vec![Step::Send(bytes.clone()), Step::Close])
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Every request so far, as it arrived.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// An answer with a JSON body.
pub fn json(status: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}")
        .into_bytes()
}

/// The bytes of a recorded answer in `fixtures/cases`.
pub fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/fixtures/cases/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn serve(mut stream: TcpStream, requests: &Mutex<Vec<String>>, count: &AtomicUsize, script: &Script) {
    loop {
        let mut first = [0];
        if !matches!(stream.read(&mut first), Ok(1)) {
            return;
        }
        let steps = script(count.fetch_add(1, Ordering::SeqCst));
        if matches!(steps.first(), Some(Step::Reset)) {
            // Closing with unread bytes resets the connection.
            std::thread::sleep(Duration::from_millis(20));
            return;
        }
        let Some(request) = read_request(&mut stream, first[0]) else { return };
        requests.lock().unwrap().push(request);
        for step in steps {
            match step {
                Step::Send(bytes) => {
                    if stream.write_all(&bytes).and_then(|()| stream.flush()).is_err() {
                        return;
                    }
                }
                Step::Pause(pause) => std::thread::sleep(pause),
                Step::Stall => {
                    let _ = stream.read_to_end(&mut Vec::new());
                    return;
                }
                Step::Drip(byte, pause) => {
                    while stream.write_all(&[byte]).and_then(|()| stream.flush()).is_ok() {
                        std::thread::sleep(pause);
                    }
                    return;
                }
                Step::Close | Step::Reset => return,
            }
        }
    }
}

/// Head and body; `None` where the client left.
fn read_request(stream: &mut TcpStream, first: u8) -> Option<String> {
    let mut bytes = vec![first];
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        bytes.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .map_or(0, |text| text.trim().parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    bytes.extend_from_slice(&body);
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
