//! A real HTTP server on loopback behind which a fake host keeps what it is told; it checks every request and fails on demand.
#![allow(dead_code, reason = "each of its users needs another part of it")]
#![allow(clippy::unwrap_used, reason = "a test server may panic; the test then fails")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Barrier, Mutex, MutexGuard};

use serde_json::Value;

/// A request as it arrived; header names are lower-case.
#[derive(Clone, Debug)]
pub struct Seen {
    pub method: String,
    pub path: String,
    pub query: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    pub fn asked(&self, name: &str) -> Option<&str> {
        self.query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
    }
}

/// An answer: status, body, further headers.
pub type Answer = (u16, Value, Vec<(&'static str, String)>);

/// What a fake host is.
pub trait Host: Send + 'static {
    /// # Errors
    /// What is wrong with the request.
    fn check(&self, seen: &Seen) -> Result<(), String>;
    fn carry_out(&mut self, seen: &Seen) -> Answer;
    /// Whom the request waits for before it is answered, so that several jobs see the same state.
    fn meeting(&mut self, _seen: &Seen) -> Option<Arc<Barrier>> {
        None
    }
}

/// What happens instead of a proper answer.
pub enum Fault<H> {
    /// These bytes, and nothing is done.
    Answer(Vec<u8>),
    /// The request is carried out, but the connection closes before the answer.
    LoseAnswer,
    /// The connection closes before anything is done.
    LoseRequest,
    /// Somebody does something just before.
    Before(fn(&mut H)),
}

struct Planned<H> {
    method: &'static str,
    path: &'static str,
    left: usize,
    fault: Fault<H>,
}

struct State<H> {
    host: H,
    seen: Vec<Seen>,
    violations: Vec<String>,
    faults: Vec<Planned<H>>,
}

/// The server; it lives as long as the test process.
pub struct FakeServer<H> {
    /// `http://127.0.0.1:PORT`
    pub url: String,
    state: Arc<Mutex<State<H>>>,
}

impl<H: Host> FakeServer<H> {
    pub fn start(host: H) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = State { host, seen: Vec::new(), violations: Vec::new(), faults: Vec::new() };
        let state = Arc::new(Mutex::new(state));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                std::thread::spawn(move || serve(stream, &state));
            }
        });
        Self { url, state }
    }

    fn lock(&self) -> MutexGuard<'_, State<H>> {
        self.state.lock().unwrap()
    }

    /// The next `times` requests of that method whose path contains `path` meet the fault.
    pub fn fail(&self, method: &'static str, path: &'static str, times: usize, fault: Fault<H>) {
        self.lock().faults.push(Planned { method, path, left: times, fault });
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.lock().seen.clone()
    }

    /// `GET /path` of every request.
    pub fn log(&self) -> Vec<String> {
        self.seen().iter().map(|seen| format!("{} {}", seen.method, seen.path)).collect()
    }

    pub fn violations(&self) -> Vec<String> {
        self.lock().violations.clone()
    }

    pub fn with<T>(&self, look: impl FnOnce(&mut H) -> T) -> T {
        look(&mut self.lock().host)
    }
}

fn serve<H: Host>(mut stream: TcpStream, state: &Mutex<State<H>>) {
    let Some(seen) = read_request(&stream) else { return };
    let meeting = {
        let mut state = state.lock().unwrap();
        state.seen.push(seen.clone());
        state.host.meeting(&seen)
    };
    if let Some(meeting) = meeting {
        meeting.wait();
    }
    let answer = state.lock().unwrap().answer(&seen);
    if let Some(bytes) = answer {
        let _ = stream.write_all(&bytes).and_then(|()| stream.flush());
    }
}

impl<H: Host> State<H> {
    fn answer(&mut self, seen: &Seen) -> Option<Vec<u8>> {
        if let Err(violation) = self.host.check(seen) {
            let violation = format!("{} {}?{}: {violation}", seen.method, seen.path, seen.query);
            self.violations.push(violation.clone());
            return Some(http(&(422, serde_json::json!({ "message": violation }), Vec::new())));
        }
        let fits = |planned: &&mut Planned<H>| {
            planned.left > 0 && planned.method == seen.method && seen.path.contains(planned.path)
        };
        let mut lose = false;
        if let Some(planned) = self.faults.iter_mut().find(fits) {
            planned.left -= 1;
            match &planned.fault {
                Fault::Answer(bytes) => return Some(bytes.clone()),
                Fault::LoseRequest => return None,
                Fault::LoseAnswer => lose = true,
                Fault::Before(act) => act(&mut self.host),
            }
        }
        let answer = self.host.carry_out(seen);
        (!lose).then(|| http(&answer))
    }
}

fn read_request(stream: &TcpStream) -> Option<Seen> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut parts = line.split_whitespace();
    let (method, target) = (parts.next()?.to_owned(), parts.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let header = |name: &str| headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let mut body = Vec::new();
    if header("transfer-encoding") == Some("chunked") {
        read_chunks(&mut reader, &mut body)?;
    } else {
        body.resize(header("content-length").map_or(Some(0), |value| value.parse().ok())?, 0);
        reader.read_exact(&mut body).ok()?;
    }
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let (path, query) = (path.to_owned(), query.to_owned());
    Some(Seen { method, path, query, headers, body: String::from_utf8(body).ok()? })
}

fn read_chunks(reader: &mut impl BufRead, body: &mut Vec<u8>) -> Option<()> {
    loop {
        let mut size = String::new();
        reader.read_line(&mut size).ok()?;
        let size = usize::from_str_radix(size.trim(), 16).ok()?;
        let mut chunk = vec![0; size + 2];
        reader.read_exact(&mut chunk).ok()?;
        if size == 0 {
            return Some(());
        }
        body.extend_from_slice(&chunk[..size]);
    }
}

fn http((status, body, headers): &Answer) -> Vec<u8> {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let kind = if body.is_empty() { "" } else { "content-type: application/json; charset=utf-8\r\n" };
    let head = format!("HTTP/1.1 {status} x\r\nconnection: close\r\n{kind}{more}");
    format!("{head}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Does a path fit a template of a contract?
pub fn matches_template(template: &str, path: &str) -> bool {
    let (template, path): (Vec<&str>, Vec<&str>) = (template.split('/').collect(), path.split('/').collect());
    let fits = |(expected, part): (&&str, &&str)| expected.starts_with('{') && !part.is_empty() || expected == part;
    template.len() == path.len() && template.iter().zip(&path).all(fits)
}
