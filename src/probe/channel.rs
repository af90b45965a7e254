//! What a conversation needs of a transport, and the messages that all of them have in common. No IO.

use serde_json::{Value, json};

use super::jsonrpc::{Reply, RpcError};
use crate::observed::{Era, FailureClass, ProbeFailure, Step};

/// The version of the modern era.
pub(super) const MODERN: &str = "2026-07-28";

/// A request: its step is its method.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) step: Step,
    pub(super) era: Era,
    pub(super) params: Option<Value>,
}

/// A way to a server.
pub(super) trait Channel {
    /// Sends a request and waits for its answer, answering what the server asks meanwhile.
    ///
    /// # Errors
    /// Whatever keeps the answer from coming.
    fn request(&mut self, call: &Call) -> Result<Reply, ProbeFailure>;

    /// Sends a notification.
    ///
    /// # Errors
    /// When it cannot be delivered.
    fn notify(&mut self, step: Step) -> Result<(), ProbeFailure>;

    /// Tells the transport which version was agreed on in a handshake (HTTP repeats it in a header).
    fn agreed(&mut self, _version: &str) {}

    /// Whether the modern era is tried first: over HTTP a wrong guess costs a request, over pipes it can cost the process.
    fn discovers_first(&self) -> bool {
        false
    }

    /// Whether the server has forgotten the session it gave, and a new one may be asked for: true once.
    fn forgets(&mut self) -> bool {
        false
    }

    /// Starts the server anew, where that is possible.
    ///
    /// # Errors
    /// When it is not.
    fn restart(&mut self) -> Result<(), ProbeFailure> {
        Err(ProbeFailure::new(FailureClass::Unsupported, Step::Start, "a remote server cannot be started anew"))
    }
}

/// The params of a request: in the modern era each carries what a handshake would have said (`protocol.md` 2.1).
pub(super) fn params(era: Era, cursor: Option<&str>) -> Option<Value> {
    let mut params = match era {
        Era::Legacy => json!({}),
        Era::Modern => json!({ "_meta": {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": client_info(),
            "io.modelcontextprotocol/clientCapabilities": {},
        } }),
    };
    if let Some(cursor) = cursor {
        params["cursor"] = json!(cursor);
    }
    Some(params).filter(|params| params.as_object().is_some_and(|params| !params.is_empty()))
}

/// Who is asking.
pub(super) fn client_info() -> Value {
    json!({ "name": "mcp-preflight", "version": env!("CARGO_PKG_VERSION") })
}

/// The server answered with an error.
pub(super) fn rejected(step: Step, error: &RpcError) -> ProbeFailure {
    let said = match &error.data {
        Value::Null => error.message.clone(),
        data => format!("{} (data: {data})", error.message),
    };
    let message = format!("the server answered {step} with error {}", error.code);
    ProbeFailure::new(FailureClass::RpcError, step, message).saying(said)
}

/// The server answered with something that is no valid result.
pub(super) fn malformed(step: Step, what: &str, found: &Value) -> ProbeFailure {
    let message = format!("the answer to {step} is malformed: {what}");
    ProbeFailure::new(FailureClass::Protocol, step, message).saying(found.to_string())
}
