//! The script over HTTP/1.1: one thread a connection, one answer a connection.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use crate::engine::{Engine, Flow, Output};
use crate::script::{Action, Respond, Script};

const SESSION: &str = "fake-session-1";

struct Request {
    method: String,
    path: String,
    headers: BTreeMap<String, String>,
    body: Value,
}

/// One answer being written.
struct Answer {
    stream: TcpStream,
    headers: BTreeMap<String, String>,
    sse: bool,
    session: bool,
    is_begun: bool,
}

/// Serves until stdin ends.
pub(crate) fn serve(script: Script) -> ExitCode {
    let Ok(listener) = TcpListener::bind("127.0.0.1:0") else { return ExitCode::from(97) };
    let Ok(address) = listener.local_addr() else { return ExitCode::from(97) };
    let mut output = io::stdout().lock();
    if writeln!(output, "listening {address}").and_then(|()| output.flush()).is_err() {
        return ExitCode::from(97);
    }
    let engine = Arc::new(Mutex::new(Engine::new(script)));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let engine = Arc::clone(&engine);
            std::thread::spawn(move || {
                // A client that goes away is no fault of this server.
                let _ = connection(&engine, stream);
            });
        }
    });
    let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
    ExitCode::SUCCESS
}

fn connection(engine: &Mutex<Engine>, stream: TcpStream) -> io::Result<()> {
    let request = read(&stream)?;
    let Request { method, path, headers, body } = &request;
    crate::log(&json!({ "http": { "method": method, "path": path, "headers": headers, "body": body } }));
    let mut engine = engine.lock().unwrap_or_else(PoisonError::into_inner);
    let (sse, session) = (engine.http().sse, engine.http().session);
    let mut answer = Answer { stream, headers: headers.clone(), sse, session: false, is_begun: false };
    let event = format!("http:{method}");
    let by_path = format!("http:{method} {path}");
    if engine.has_rule(&by_path) {
        return engine.event(&by_path, &mut answer).map(drop);
    }
    if engine.has_rule(&event) {
        return engine.event(&event, &mut answer).map(drop);
    }
    if method != "POST" {
        return answer.whole(405, &[], "");
    }
    let is_opening = body["method"] == "initialize";
    if session && !is_opening {
        match headers.get("mcp-session-id").map(String::as_str) {
            Some(SESSION) => {}
            Some(_) => return answer.whole(404, &[], "session not found"),
            None => return answer.whole(400, &[], "no session"),
        }
    }
    answer.session = session && is_opening;
    let flow = engine.message(body, &mut answer)?;
    drop(engine);
    if matches!(flow, Flow::Hang) {
        std::thread::sleep(crate::LONGEST);
    }
    if answer.is_begun { Ok(()) } else { answer.whole(202, &[], "") }
}

fn read(stream: &TcpStream) -> io::Result<Request> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split(' ');
    let (method, path) = (words.next().unwrap_or_default().to_owned(), words.next().unwrap_or_default().to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.insert(name.to_ascii_lowercase(), value.trim().to_owned()),
            None => break,
        };
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Ok(Request { method, path, headers, body })
}

impl Answer {
    /// A whole answer.
    fn whole(&mut self, status: u16, headers: &[(&str, &str)], body: &str) -> io::Result<()> {
        self.is_begun = true;
        write!(self.stream, "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {}\r\n", body.len())?;
        for (name, value) in headers {
            write!(self.stream, "{name}: {value}\r\n")?;
        }
        write!(self.stream, "\r\n{body}")?;
        self.stream.flush()
    }

    /// The head of an answer whose body ends with the connection.
    fn begin(&mut self, media_type: &str) -> io::Result<()> {
        if std::mem::replace(&mut self.is_begun, true) {
            return Ok(());
        }
        let session = if self.session { format!("Mcp-Session-Id: {SESSION}\r\n") } else { String::new() };
        write!(self.stream, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: {media_type}\r\n{session}\r\n")?;
        self.stream.flush()
    }

    fn respond(&mut self, respond: &Respond) -> io::Result<()> {
        let body = match &respond.body {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
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
            self.begin("text/event-stream")?;
            write!(self.stream, "event: message\ndata: {message}\n\n")?;
        } else {
            self.begin("application/json")?;
            write!(self.stream, "{message}")?;
        }
        self.stream.flush()
    }

    fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.begin(if self.sse { "text/event-stream" } else { "application/json" })?;
        self.stream.write_all(bytes)?;
        self.stream.flush()
    }

    fn await_reply(&mut self, _: &Value) {}

    fn special(&mut self, action: &Action) -> io::Result<()> {
        match action {
            Action::Respond(respond) => self.respond(respond),
            Action::Stream => self.begin("text/event-stream"),
            Action::CloseConnection => {
                self.is_begun = true;
                self.stream.shutdown(std::net::Shutdown::Both)
            }
            Action::KeepOpen => {
                let open = self.stream.try_clone()?;
                std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_mins(1));
                    drop(open);
                });
                Ok(())
            }
            other => Err(io::Error::other(format!("no such action over HTTP: {other:?}"))),
        }
    }

    fn header(&self, name: &str) -> Option<String> {
        self.headers.get(name).cloned()
    }
}
