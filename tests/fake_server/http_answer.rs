//! One HTTP answer being written: whole, or in chunks, so that a connection dropped in the middle can be told from an end.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::engine::Output;
use crate::script::{Action, Respond};

/// The only session there is.
pub(crate) const SESSION: &str = "fake-session-1";

/// How far an answer is.
#[derive(PartialEq)]
enum Progress {
    /// Nothing is sent.
    Nothing,
    /// The head is sent, and chunks follow.
    Chunks,
    /// All is sent.
    Whole,
    /// The connection is gone.
    Dropped,
}

/// One answer being written.
pub(crate) struct Answer {
    stream: TcpStream,
    headers: BTreeMap<String, String>,
    sse: bool,
    session: bool,
    progress: Progress,
    answered: Arc<Mutex<Vec<Value>>>,
}

impl Answer {
    pub(crate) fn new(
        stream: TcpStream,
        headers: BTreeMap<String, String>,
        sse: bool,
        answered: Arc<Mutex<Vec<Value>>>,
    ) -> Self {
        Self { stream, headers, sse, session: false, progress: Progress::Nothing, answered }
    }

    /// An answer that goes into the event stream another request has opened (HTTP+SSE), and is accepted with 202 itself.
    pub(crate) fn toward(&self, stream: TcpStream) -> Self {
        let answered = Arc::clone(&self.answered);
        let headers = self.headers.clone();
        Self { stream, headers, sse: true, session: false, progress: Progress::Chunks, answered }
    }

    /// Opens the event stream of HTTP+SSE, and returns its other end for the answers to come.
    pub(crate) fn open_stream(&mut self, endpoint: &str) -> io::Result<TcpStream> {
        self.sse = true;
        self.raw(format!("event: endpoint\ndata: {endpoint}\n\n").as_bytes())?;
        self.stream.try_clone()
    }

    /// The answer names the session.
    pub(crate) fn give_session(&mut self) {
        self.session = true;
    }

    /// Sends what is left to send; an answer without anything is 202. Whether the connection can take another request.
    pub(crate) fn finish(&mut self) -> io::Result<bool> {
        match self.progress {
            Progress::Nothing => self.whole(202, &[], "")?,
            Progress::Chunks => self.stream.write_all(b"0\r\n\r\n")?,
            Progress::Whole => {}
            Progress::Dropped => return Ok(false),
        }
        Ok(true)
    }

    /// A whole answer.
    pub(crate) fn whole(&mut self, status: u16, headers: &[(&str, &str)], body: &str) -> io::Result<()> {
        self.progress = Progress::Whole;
        let mut text = format!("HTTP/1.1 {status} X\r\n").into_bytes();
        if status != 204 {
            write!(text, "Content-Length: {}\r\n", body.len())?;
        }
        for (name, value) in headers {
            write!(text, "{name}: {value}\r\n")?;
        }
        write!(text, "\r\n{body}")?;
        self.stream.write_all(&text)
    }

    /// The head of an answer that comes in chunks.
    fn begin(&mut self, media_type: &str) -> io::Result<()> {
        if self.progress != Progress::Nothing {
            return Ok(());
        }
        self.progress = Progress::Chunks;
        let session = if self.session { format!("Mcp-Session-Id: {SESSION}\r\n") } else { String::new() };
        let head =
            format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: {media_type}\r\n{session}\r\n");
        self.stream.write_all(head.as_bytes())
    }

    fn respond(&mut self, respond: &Respond) -> io::Result<()> {
        let body = match &respond.body {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let body =
            self.headers.iter().fold(body, |body, (name, value)| body.replace(&format!("$header:{name}"), value));
        let own_address = self.headers.get("host").cloned().unwrap_or_default();
        let filled: Vec<(String, String)> =
            respond.headers.iter().map(|(name, value)| (name.clone(), value.replace("$host", &own_address))).collect();
        let headers: Vec<(&str, &str)> = filled.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        self.whole(respond.status, &headers, &body)
    }
}

impl Output for Answer {
    fn message(&mut self, message: &Value) -> io::Result<()> {
        if self.sse {
            return self.raw(format!("event: message\ndata: {message}\n\n").as_bytes());
        }
        self.raw(message.to_string().as_bytes())
    }

    fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.begin(if self.sse { "text/event-stream" } else { "application/json" })?;
        // A chunk of no bytes would be the end.
        if bytes.is_empty() || self.progress != Progress::Chunks {
            return Ok(());
        }
        // At once: the answers to two requests may go into one stream.
        let chunk = [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat();
        self.stream.write_all(&chunk)
    }

    fn await_reply(&mut self, id: &Value) {
        let until = Instant::now() + crate::LONGEST;
        let is_answered = || self.answered.lock().unwrap_or_else(PoisonError::into_inner).contains(id);
        while !is_answered() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn special(&mut self, action: &Action) -> io::Result<()> {
        match action {
            Action::Respond(respond) => self.respond(respond),
            Action::Stream => self.begin("text/event-stream"),
            Action::CloseConnection => {
                self.progress = Progress::Dropped;
                self.stream.shutdown(Shutdown::Both)
            }
            // Without the last chunk the answer has no end.
            Action::KeepOpen => {
                std::thread::sleep(Duration::from_mins(1));
                Ok(())
            }
            other => Err(io::Error::other(format!("no such action over HTTP: {other:?}"))),
        }
    }

    fn header(&self, name: &str) -> Option<String> {
        self.headers.get(name).cloned()
    }
}
