//! A model endpoint on loopback: a real HTTP server that answers every chat completion, slowly if asked, and counts.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What was asked, by body.
#[derive(Default)]
pub struct Counts {
    pub connections: usize,
    pub requests: usize,
    /// Requests by body.
    asked: HashMap<String, usize>,
    /// Complete answers by request body.
    pub answered: HashMap<String, usize>,
    /// Request heads, for what must not or must be in them.
    pub heads: Vec<String>,
}

pub struct ChatServer {
    pub url: String,
    counts: Arc<Mutex<Counts>>,
}

/// Status line and body for a request: (number of earlier requests with this body, body) → answer.
pub type Script = fn(usize, &str) -> (&'static str, String);

pub fn completion(text: &str) -> String {
    serde_json::json!({
        "id": "c", "object": "chat.completion", "created": 1, "model": "fake",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
    })
    .to_string()
}

impl ChatServer {
    pub fn start(latency: Duration, script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let counts = Arc::new(Mutex::new(Counts::default()));
        let shared = Arc::clone(&counts);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || serve(&stream, &shared, latency, script));
            }
        });
        Self { url, counts }
    }

    pub fn with<T>(&self, look: impl FnOnce(&Counts) -> T) -> T {
        look(&self.counts.lock().expect("the counts"))
    }
}

fn serve(stream: &TcpStream, shared: &Mutex<Counts>, latency: Duration, script: Script) -> Option<()> {
    shared.lock().expect("the counts").connections += 1;
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let (head, body) = request(&mut reader)?;
        let before = {
            let mut counts = shared.lock().expect("the counts");
            counts.requests += 1;
            counts.heads.push(head);
            let asked = counts.asked.entry(body.clone()).or_insert(0);
            *asked += 1;
            *asked - 1
        };
        std::thread::sleep(latency);
        let (status, answer) = script(before, &body);
        let mut out = stream;
        let text = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{answer}",
            answer.len()
        );
        out.write_all(text.as_bytes()).ok()?;
        if status.starts_with("200") {
            *shared.lock().expect("the counts").answered.entry(body).or_insert(0) += 1;
        }
    }
}

fn request(reader: &mut BufReader<TcpStream>) -> Option<(String, String)> {
    let mut head = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok()?;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((head, String::from_utf8(body).ok()?))
}
