//! As much of HTTP/1.1 as the clients here speak.

use std::fmt::Write as _;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

pub enum Request {
    Stats,
    /// The body of a chat completion.
    Chat(Vec<u8>),
}

/// The next request; `None` once there is none, or it is not understood.
pub async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Request> {
    let head = loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    };
    let text = std::str::from_utf8(buffer.get(..head)?).ok()?;
    let stats = text.starts_with("GET /stats ");
    let length = text.lines().filter_map(|line| line.split_once(':')).find_map(|(name, value)| {
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok()).flatten()
    });
    let end = head + length.unwrap_or(0);
    while buffer.len() < end {
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
    let body = buffer.get(head..end)?.to_vec();
    buffer.drain(..end);
    Some(if stats { Request::Stats } else { Request::Chat(body) })
}

/// Names and values beside those that every answer has.
pub type Headers = Vec<(&'static str, String)>;

/// How an answer ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    Whole,
    /// Before its first byte, by a reset.
    Nothing,
    /// In the middle, by a reset.
    Reset,
    /// In the middle.
    Cut,
}

pub struct Answer {
    pub status: u16,
    content_type: &'static str,
    headers: Headers,
    body: String,
    end: End,
    /// A good answer, complete.
    pub good: bool,
}

impl Answer {
    pub fn json(status: u16, body: String) -> Self {
        let good = status == 200;
        Self { status, content_type: "application/json", headers: Vec::new(), body, end: End::Whole, good }
    }

    /// In OpenAI's form.
    pub fn error(status: u16, code: &str, message: &str) -> Self {
        let kind = if status == 400 { "invalid_request_error" } else { code };
        let error = serde_json::json!({"message": message, "type": kind, "param": null, "code": code});
        Self::json(status, serde_json::json!({ "error": error }).to_string())
    }

    pub fn page(status: u16, text: &str) -> Self {
        Self { content_type: "text/html", ..Self::json(status, text.to_owned()) }
    }

    pub fn with(self, headers: Headers) -> Self {
        Self { headers, ..self }
    }

    pub fn ending(self, end: End) -> Self {
        Self { end, good: false, ..self }
    }

    /// A body that is complete for HTTP, and half of one for JSON.
    pub fn halved(mut self) -> Self {
        self.body.truncate(self.body.len() / 2);
        Self { good: false, ..self }
    }

    /// Whether the connection is at its end with this answer.
    pub fn ends(&self) -> bool {
        self.end != End::Whole
    }

    /// Whether all of what was meant to be sent was sent.
    pub async fn send(&self, stream: &mut TcpStream) -> bool {
        let mut text = format!("HTTP/1.1 {} Status\r\ncontent-type: {}\r\n", self.status, self.content_type);
        for (name, value) in &self.headers {
            let _ = write!(text, "{name}: {value}\r\n");
        }
        let _ = write!(text, "content-length: {}\r\n\r\n{}", self.body.len(), self.body);
        match self.end {
            End::Whole => {}
            End::Nothing => text.clear(),
            End::Reset | End::Cut => text.truncate(text.len() - self.body.len() / 2),
        }
        let sent = stream.write_all(text.as_bytes()).await.is_ok();
        if self.end == End::Reset {
            // Gives the bytes before the reset the time to leave.
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        if matches!(self.end, End::Nothing | End::Reset) {
            let _ = stream.set_zero_linger();
        }
        sent
    }
}
