//! The script over HTTP/1.1: one thread a connection, which stays for further requests.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use crate::engine::{Engine, Flow};
use crate::http_answer::{Answer, SESSION};
use crate::script::Script;
use crate::websocket;

/// What all connections share.
#[derive(Clone)]
struct Server {
    engine: Engine,
    /// The ids of our own requests that the client has answered.
    answered: Arc<Mutex<Vec<Value>>>,
    /// The event stream of HTTP+SSE, once it is open.
    stream: Arc<Mutex<Option<TcpStream>>>,
    end: Sender<ExitCode>,
}

/// One request of the client.
pub(crate) struct Request {
    method: String,
    path: String,
    pub(crate) headers: BTreeMap<String, String>,
    body: Value,
}

/// Serves until stdin ends.
pub(crate) fn serve(script: Script) -> ExitCode {
    match listen(script) {
        Ok(code) => code,
        Err(_) => ExitCode::from(97),
    }
}

fn listen(script: Script) -> io::Result<ExitCode> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let mut output = io::stdout().lock();
    writeln!(output, "listening {address}")?;
    output.flush()?;
    let (end, ended) = channel();
    let server =
        Server { engine: Engine::new(script), answered: Arc::default(), stream: Arc::default(), end: end.clone() };
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let server = server.clone();
            std::thread::spawn(move || {
                // A client that goes away is no fault of this server.
                let _ = server.connection(&stream);
                let _ = stream.shutdown(std::net::Shutdown::Both);
            });
        }
    });
    std::thread::spawn(move || {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = end.send(ExitCode::SUCCESS);
    });
    Ok(ended.recv().unwrap_or(ExitCode::SUCCESS))
}

impl Server {
    fn connection(mut self, stream: &TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(crate::LONGEST))?;
        // Small writes must leave at once: a drip is one.
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream.try_clone()?);
        while let Some(request) = read(&mut reader)? {
            let Request { method, path, headers, body } = &request;
            crate::log(&json!({ "http": { "method": method, "path": path, "headers": headers, "body": body } }));
            if let Some(key) = headers.get("sec-websocket-key").filter(|_| !self.engine.has_rule("http:GET")) {
                let is_repeated = !self.engine.http().without_subprotocol;
                let protocol = headers.get("sec-websocket-protocol").filter(|_| is_repeated);
                return websocket::serve(&mut self.engine, stream.try_clone()?, key, protocol).map(drop);
            }
            let mut answer =
                Answer::new(stream.try_clone()?, headers.clone(), self.engine.http().sse, Arc::clone(&self.answered));
            match self.answer(&request, &mut answer)? {
                Flow::On => {}
                Flow::Exit(code) => return self.end.send(code).map_err(io::Error::other),
                Flow::Hang | Flow::StopReading => std::thread::sleep(crate::LONGEST),
            }
            if !answer.finish()? || headers.get("connection").is_some_and(|value| value == "close") {
                return Ok(());
            }
        }
        Ok(())
    }

    fn answer(&mut self, request: &Request, answer: &mut Answer) -> io::Result<Flow> {
        let Request { method, path, body, .. } = request;
        for event in [format!("http:{method} {path}"), format!("http:{method}")] {
            if self.engine.has_rule(&event) {
                return self.engine.event(&event, answer);
            }
        }
        if let Some(endpoint) = self.engine.http().endpoint.clone() {
            return self.old_transport(request, answer, &endpoint);
        }
        if method != "POST" {
            return answer.whole(405, &[], "").map(|()| Flow::On);
        }
        if let Some((status, reason)) = self.refusal(request) {
            return answer.whole(status, &[], reason).map(|()| Flow::On);
        }
        if body.get("method").is_none() {
            self.answered.lock().unwrap_or_else(PoisonError::into_inner).push(body["id"].clone());
        }
        if self.engine.http().session && body["method"] == "initialize" {
            answer.give_session();
        }
        self.engine.message(body, answer)
    }

    /// HTTP+SSE: GET opens the stream, and the answers to what is posted go there.
    fn old_transport(&mut self, request: &Request, answer: &mut Answer, endpoint: &str) -> io::Result<Flow> {
        let mut open = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        if request.method == "GET" {
            *open = Some(answer.open_stream(endpoint)?);
            return Ok(Flow::Hang);
        }
        let Some(stream) = open.as_ref() else { return answer.whole(400, &[], "no stream").map(|()| Flow::On) };
        let mut events = answer.toward(stream.try_clone()?);
        drop(open);
        // This connection may be busy for a while: the client must not post its next message on it.
        answer.whole(202, &[("Connection", "close")], "")?;
        if request.body.get("method").is_none() {
            self.answered.lock().unwrap_or_else(PoisonError::into_inner).push(request.body["id"].clone());
        }
        self.engine.message(&request.body, &mut events)
    }

    /// What the specification wants of a request, where the script insists on it.
    fn refusal(&self, request: &Request) -> Option<(u16, &'static str)> {
        let header = |name: &str| request.headers.get(name).map_or("", String::as_str);
        let is_opening = request.body["method"] == "initialize";
        if self.engine.http().check_headers {
            let accept = header("accept");
            if !accept.contains("application/json") || !accept.contains("text/event-stream") {
                return Some((400, "Accept lacks a type"));
            }
            if header("content-type") != "application/json" {
                return Some((400, "Content-Type is not application/json"));
            }
            if !is_opening && header("mcp-protocol-version").is_empty() {
                return Some((400, "MCP-Protocol-Version is missing"));
            }
        }
        match header("mcp-session-id") {
            _ if is_opening || !self.engine.http().session => None,
            SESSION => None,
            "" => Some((400, "no session")),
            _ => Some((404, "session not found")),
        }
    }
}

/// The next request; `None` where the client has closed the connection.
fn read(reader: &mut BufReader<TcpStream>) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
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
    Ok(Some(Request { method, path, headers, body }))
}
