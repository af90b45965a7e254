//! The script over a WebSocket: one text frame a message. Begins as a GET that [`crate::http`] has read.

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};
use tungstenite::handshake::derive_accept_key;
use tungstenite::protocol::Role;
use tungstenite::{Message, WebSocket};

use crate::engine::{Engine, Flow, Output};
use crate::script::Action;

struct Frames {
    socket: WebSocket<TcpStream>,
    early: VecDeque<Value>,
}

/// Serves one client until it goes away.
pub(crate) fn serve(
    engine: &mut Engine,
    mut stream: TcpStream,
    key: &str,
    protocol: Option<&String>,
) -> io::Result<Flow> {
    let accept = derive_accept_key(key.as_bytes());
    let protocol = protocol.map(|protocol| format!("Sec-WebSocket-Protocol: {protocol}\r\n")).unwrap_or_default();
    write!(
        stream,
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n{protocol}\r\n"
    )?;
    let mut frames = Frames { socket: WebSocket::from_raw_socket(stream, Role::Server, None), early: VecDeque::new() };
    let mut flow = engine.event("start", &mut frames)?;
    while matches!(flow, Flow::On) {
        let Some(message) = frames.early.pop_front().or_else(|| frames.next()) else { return Ok(Flow::On) };
        flow = engine.message(&message, &mut frames)?;
    }
    if matches!(flow, Flow::Hang) {
        while frames.next().is_some() {}
    }
    Ok(flow)
}

impl Frames {
    fn next(&mut self) -> Option<Value> {
        loop {
            match self.socket.read().ok()? {
                Message::Text(text) => {
                    let message = serde_json::from_str(&text).unwrap_or(Value::String(text.to_string()));
                    crate::log(&json!({ "ws": message }));
                    return Some(message);
                }
                Message::Close(_) => return None,
                _ => {}
            }
        }
    }

    fn send(&mut self, message: Message) -> io::Result<()> {
        self.socket.send(message).map_err(io::Error::other)
    }
}

impl Output for Frames {
    fn message(&mut self, message: &Value) -> io::Result<()> {
        self.send(Message::text(message.to_string()))
    }

    /// Text is a frame of its own; other bytes are a binary one.
    fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.send(Message::text(text.to_owned())),
            Err(_) => self.send(Message::binary(bytes.to_vec())),
        }
    }

    fn await_reply(&mut self, id: &Value) {
        while let Some(message) = self.next() {
            if message["id"] == *id && message.get("method").is_none() {
                return;
            }
            self.early.push_back(message);
        }
    }

    fn special(&mut self, action: &Action) -> io::Result<()> {
        match action {
            Action::CloseConnection => self.socket.close(None).map_err(io::Error::other),
            other => Err(io::Error::other(format!("no such action over a WebSocket: {other:?}"))),
        }
    }

    fn header(&self, _: &str) -> Option<String> {
        None
    }
}
