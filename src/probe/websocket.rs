//! A server behind a WebSocket (a transport of Claude Code, `type: ws`): one text frame a message, both ways.

use std::time::Instant;

use reqwest::Url;
use reqwest::header::{HeaderValue, SEC_WEBSOCKET_PROTOCOL};
use serde_json::Value;
use tungstenite::client::IntoClientRequest as _;
use tungstenite::error::ProtocolError;
use tungstenite::handshake::HandshakeError;
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Error, Message, WebSocket};

use super::channel::{Call, Channel};
use super::connect::{self, Connection};
use super::deadline::Deadline;
use super::duplex::{self, Duplex};
use super::http_failure::{self, Refusal};
use super::jsonrpc::{self, Incoming, Reply, Text};
use super::lines::LONGEST_MESSAGE;
use super::remote;
use super::trace::Trace;
use crate::deviation::Carrier;
use crate::network::Network;
use crate::observed::{FailureClass, ProbeFailure, Step};
use crate::server::RemoteServer;

/// The subprotocol that clients ask for, and that a server need not repeat.
const SUBPROTOCOL: HeaderValue = HeaderValue::from_static("mcp");

/// A conversation over a WebSocket.
pub(super) struct WebSocketChannel<'a> {
    socket: WebSocket<Connection>,
    next_id: u64,
    deadline: Deadline,
    trace: &'a mut Trace,
}

impl<'a> WebSocketChannel<'a> {
    /// Connects, and asks for a WebSocket.
    ///
    /// # Errors
    /// When the address or a header cannot be used, the host cannot be reached, or the server declines.
    pub(super) fn open(
        server: &RemoteServer,
        network: &Network,
        deadline: Deadline,
        trace: &'a mut Trace,
    ) -> Result<Self, ProbeFailure> {
        let url = remote::address(server, &["ws", "wss"])?;
        let request = request(&url, server)?;
        let connection = connect::open(&url, network, deadline)?;
        let limits =
            WebSocketConfig::default().max_message_size(Some(LONGEST_MESSAGE)).max_frame_size(Some(LONGEST_MESSAGE));
        match tungstenite::client::client_with_config(request, connection, Some(limits)) {
            Ok((socket, _)) => Ok(Self { socket, next_id: 1, deadline, trace }),
            Err(HandshakeError::Failure(error)) => Err(failure(Step::Connect, &deadline, error)),
            // Only a socket that never waits is interrupted.
            Err(HandshakeError::Interrupted(_)) => {
                Err(http_failure::of_io(Step::Connect, &deadline, &std::io::ErrorKind::TimedOut.into()))
            }
        }
    }

    /// Says goodbye, without waiting for an answer.
    pub(super) fn close(mut self) {
        let _ = self.socket.close(None);
    }
}

fn request(url: &Url, server: &RemoteServer) -> Result<tungstenite::handshake::client::Request, ProbeFailure> {
    let unusable = |error: Error| {
        ProbeFailure::new(FailureClass::Unsupported, Step::Connect, "the url cannot be used for a WebSocket")
            .saying(error.to_string())
    };
    let mut request = url.as_str().into_client_request().map_err(unusable)?;
    let headers = request.headers_mut();
    headers.insert(SEC_WEBSOCKET_PROTOCOL, SUBPROTOCOL);
    for (name, value) in &server.headers {
        let (name, value) = remote::header(name, value.value.reveal())?;
        headers.insert(name, value);
    }
    Ok(request)
}

/// What a failed socket means.
fn failure(step: Step, deadline: &Deadline, error: Error) -> ProbeFailure {
    match error {
        Error::Io(error) => http_failure::of_io(step, deadline, &error),
        Error::Http(response) => {
            let header = |name: &str| response.headers().get(name)?.to_str().ok().map(str::to_owned);
            let refusal = Refusal {
                status: response.status().as_u16(),
                challenge: header("www-authenticate"),
                retry_after: header("retry-after"),
                location: header("location"),
                body: response.body().clone().unwrap_or_default(),
            };
            let message = format!("the server answered the request for a WebSocket with HTTP {}", refusal.status);
            let is_page = refusal.status < 300;
            let failure = ProbeFailure { message, ..refusal.into_failure(step, false) };
            if is_page { failure.with_help("check the url: no WebSocket is served there") } else { failure }
        }
        Error::Capacity(_) => http_failure::too_long(step),
        Error::ConnectionClosed | Error::AlreadyClosed => {
            http_failure::no_reply(step, "the server closed the WebSocket")
        }
        // The client gives up as well (tried on Claude Code 2.1.332, scenario `ws-without-subprotocol`).
        Error::Protocol(ProtocolError::SecWebSocketSubProtocolError(_)) => {
            let message = "the server does not grant the subprotocol \"mcp\", and the client then gives up";
            ProbeFailure::new(FailureClass::Protocol, step, message)
                .with_help("have the server answer with Sec-WebSocket-Protocol: mcp")
        }
        error => ProbeFailure::new(FailureClass::Protocol, step, "what listens there does not speak WebSocket")
            .saying(error.to_string()),
    }
}

impl Duplex for WebSocketChannel<'_> {
    fn send(&mut self, step: Step, message: &Value) -> Result<(), ProbeFailure> {
        self.trace.sent(message);
        self.socket.get_mut().set_end(self.deadline.end());
        self.socket.send(Message::text(message.to_string())).map_err(|error| failure(step, &self.deadline, error))
    }

    fn receive(&mut self, step: Step, until: Option<Instant>) -> Result<Option<Vec<Incoming>>, ProbeFailure> {
        let end = self.deadline.end();
        self.socket.get_mut().set_end(until.map_or(end, |until| until.min(end)));
        let message = match self.socket.read() {
            Ok(message) => message,
            Err(Error::Io(error))
                if error.kind() == std::io::ErrorKind::TimedOut && self.deadline.remaining().is_some() =>
            {
                return Ok(None);
            }
            Err(error) => return Err(failure(step, &self.deadline, error)),
        };
        let text = match message {
            Message::Text(text) => tungstenite::Bytes::from(text),
            Message::Binary(bytes) => bytes,
            Message::Close(Some(frame)) => {
                let what = format!("the server closed the WebSocket with code {}", u16::from(frame.code));
                return Err(http_failure::no_reply(step, &what).saying(frame.reason.to_string()));
            }
            Message::Close(None) => return Err(http_failure::no_reply(step, "the server closed the WebSocket")),
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => return Ok(Some(Vec::new())),
        };
        match self.trace.read(&text, Carrier::Stream) {
            Text::Messages(messages) => Ok(Some(messages)),
            Text::TooDeep => Err(super::too_deep(step)),
            Text::Blank | Text::Noise => Ok(Some(Vec::new())),
        }
    }

    fn trace(&mut self) -> &mut Trace {
        self.trace
    }
}

impl Channel for WebSocketChannel<'_> {
    fn request(&mut self, call: &Call) -> Result<Reply, ProbeFailure> {
        let id = self.next_id;
        self.next_id += 1;
        duplex::ask(self, call, id)
    }

    fn notify(&mut self, step: Step) -> Result<(), ProbeFailure> {
        self.send(step, &jsonrpc::notification(step.as_str()))
    }
}
