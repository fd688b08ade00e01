//! A raw TCP server that chooses what happens to a request by its content: any bytes, pauses, stalls, resets. Built on the steps of
//! `raw_server`; every request is counted, and the script sees when it came and how many are in progress.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::raw_server::Step;

/// A request that arrived.
pub struct Asked {
    pub body: String,
    pub at: Instant,
    /// Requests in progress, this one included.
    pub in_progress: usize,
}

type Script = dyn Fn(&Asked) -> Vec<Step> + Send + Sync;
type Watch = dyn Fn(&Asked, bool) + Send + Sync;

struct Shared {
    script: Box<Script>,
    /// Told when a request is done with; true where all of the answer could be sent.
    ended: Box<Watch>,
    seen: AtomicUsize,
    in_progress: AtomicUsize,
    open: AtomicUsize,
}

/// The server; it lives as long as the test process.
pub struct ScriptedServer {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

impl ScriptedServer {
    pub fn start(script: impl Fn(&Asked) -> Vec<Step> + Send + Sync + 'static) -> Self {
        Self::watched(script, |_, _| {})
    }

    /// As [`Self::start`]; `ended` is told when the client left, or the steps were over.
    pub fn watched(
        script: impl Fn(&Asked) -> Vec<Step> + Send + Sync + 'static,
        ended: impl Fn(&Asked, bool) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let (script, ended) = (Box::new(script), Box::new(ended));
        let [seen, in_progress, open] = [0, 0, 0].map(AtomicUsize::new);
        let shared = Arc::new(Shared { script, ended, seen, in_progress, open });
        let own = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&own);
                shared.open.fetch_add(1, Ordering::SeqCst);
                std::thread::spawn(move || {
                    serve(&stream, &shared);
                    drop(stream);
                    shared.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { address, shared }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Requests that arrived.
    pub fn seen(&self) -> usize {
        self.shared.seen.load(Ordering::SeqCst)
    }

    /// Connections that are open.
    pub fn open(&self) -> usize {
        self.shared.open.load(Ordering::SeqCst)
    }
}

fn serve(stream: &TcpStream, shared: &Shared) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let asked = read(&mut reader, shared)?;
        let steps = (shared.script)(&asked);
        let goes_on = steps.into_iter().all(|step| carry_out(stream, step));
        shared.in_progress.fetch_sub(1, Ordering::SeqCst);
        (shared.ended)(&asked, goes_on);
        if !goes_on {
            return None;
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>, shared: &Shared) -> Option<Asked> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok()?;
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    shared.seen.fetch_add(1, Ordering::SeqCst);
    let in_progress = shared.in_progress.fetch_add(1, Ordering::SeqCst) + 1;
    Some(Asked { body: String::from_utf8(body).ok()?, at: Instant::now(), in_progress })
}

/// False where the connection is to be closed.
fn carry_out(mut stream: &TcpStream, step: Step) -> bool {
    match step {
        Step::Send(bytes) => stream.write_all(&bytes).and_then(|()| stream.flush()).is_ok(),
        Step::Pause(pause) => {
            std::thread::sleep(pause);
            true
        }
        Step::Stall => {
            let _until_the_client_left = stream.read_to_end(&mut Vec::new());
            false
        }
        Step::Drip(byte, pause) => {
            while stream.write_all(&[byte]).and_then(|()| stream.flush()).is_ok() {
                std::thread::sleep(pause);
            }
            false
        }
        Step::Close => false,
        Step::Reset => {
            reset(stream);
            false
        }
    }
}

/// What was sent and not received is thrown away, and the client is told so at once.
fn reset(stream: &TcpStream) {
    socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO)).expect("an option");
}
