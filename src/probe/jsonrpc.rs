//! JSON-RPC 2.0 messages as MCP servers really write them. No IO.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::deviation::{Carrier, Deviation};
use crate::loose_json::{as_every_reader_takes_it, mended};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A message from a server.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Incoming {
    /// An answer. An error to a request that the server could not read may have no id, or null.
    Reply { id: Value, reply: Reply },
    /// A request of the server's own.
    Request { id: Value, method: String },
    /// A notification.
    Notification,
}

/// The answer to a request.
pub(super) type Reply = Result<Value, RpcError>;

/// A JSON-RPC error object.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RpcError {
    pub(super) code: i64,
    pub(super) message: String,
    pub(super) data: Value,
}

/// What a piece of text turned out to be.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Text {
    /// One message, or a batch of 2025-03-26.
    Messages(Vec<Incoming>),
    /// Nothing but white space.
    Blank,
    /// Not JSON, or JSON that is no JSON-RPC.
    Noise,
    /// JSON nested deeper than 128 levels.
    TooDeep,
}

/// What is odd about the text of messages that could be read.
pub(super) fn deviations(text: &[u8], carrier: Carrier, is_loose: bool) -> impl Iterator<Item = Deviation> + use<> {
    let bare = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    // The whole text is gone through only where a strict reader has stopped.
    let readable = if is_loose { String::from_utf8_lossy(text) } else { Cow::Borrowed("") };
    let mended = mended(&readable);
    let found = [
        (bare.len() < text.len(), Deviation::ByteOrderMark(carrier)),
        (bare.trim_ascii_start().starts_with(b"["), Deviation::Batch(carrier)),
        (std::str::from_utf8(text).is_err(), Deviation::NotUtf8),
        (mended.has_half_character, Deviation::HalfCharacter),
        (mended.has_boundless_number, Deviation::BoundlessNumber),
    ];
    found.into_iter().filter(|(is_so, _)| *is_so).map(|(_, deviation)| deviation)
}

/// Reads a line, an event's data or a body.
pub(super) fn read(text: &[u8]) -> Text {
    read_loosely(text).0
}

/// The same, and whether a strict reader would have stopped.
pub(super) fn read_loosely(text: &[u8]) -> (Text, bool) {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text).trim_ascii();
    if text.is_empty() {
        return (Text::Blank, false);
    }
    if !matches!(text.first(), Some(b'{' | b'[')) {
        return (Text::Noise, false);
    }
    let (value, is_loose) = match serde_json::from_slice::<Value>(text) {
        Ok(value) => (value, false),
        Err(error) if error.to_string().starts_with("recursion limit exceeded") => return (Text::TooDeep, false),
        Err(_) => match serde_json::from_str::<Value>(&as_every_reader_takes_it(&String::from_utf8_lossy(text))) {
            Ok(value) => (value, true),
            Err(_) => return (Text::Noise, false),
        },
    };
    let messages: Option<Vec<Incoming>> = match value {
        Value::Object(object) => message(object).map(|message| vec![message]),
        Value::Array(items) if !items.is_empty() => items.into_iter().map(member).collect(),
        _ => None,
    };
    (messages.map_or(Text::Noise, Text::Messages), is_loose)
}

fn member(value: Value) -> Option<Incoming> {
    match value {
        Value::Object(object) => message(object),
        _ => None,
    }
}

fn message(mut object: Map<String, Value>) -> Option<Incoming> {
    if object.get("jsonrpc").is_none_or(|version| version != "2.0") {
        return None;
    }
    let id = object.remove("id");
    if let Some(Value::String(method)) = object.remove("method") {
        return Some(match id {
            Some(id) if !id.is_null() => Incoming::Request { id, method },
            _ => Incoming::Notification,
        });
    }
    let id = id.unwrap_or(Value::Null);
    if let Some(result) = object.remove("result") {
        return Some(Incoming::Reply { id, reply: Ok(result) });
    }
    object.remove("error").map(|error| Incoming::Reply { id, reply: Err(rpc_error(&error)) })
}

fn rpc_error(error: &Value) -> RpcError {
    let message = match &error["message"] {
        Value::String(message) => message.clone(),
        Value::Null if error.is_string() => error.as_str().unwrap_or_default().to_owned(),
        _ => "(no message)".to_owned(),
    };
    RpcError { code: error["code"].as_i64().unwrap_or_default(), message, data: error["data"].clone() }
}

/// Whether an id in an answer means the request `sent`: as the number, the number in a string, or an integral float, which
/// the SDK clients accept too (`protocol.md` section 4).
pub(super) fn is_id(id: &Value, sent: u64) -> bool {
    match id {
        Value::Number(number) => {
            number.as_u64() == Some(sent) || number.as_f64().is_some_and(|float| float.to_string() == sent.to_string())
        }
        Value::String(text) => text.trim() == sent.to_string(),
        _ => false,
    }
}

/// Whether this is an error that names no request: a server that could not read one answers so, and it may mean ours, or a
/// notification before it.
pub(super) fn is_unaddressed(id: &Value, reply: &Reply) -> bool {
    id.is_null() && reply.is_err()
}

/// A request.
pub(super) fn request(id: u64, method: &str, params: Option<&Value>) -> Value {
    let mut message = json!({ "jsonrpc": "2.0", "id": id, "method": method });
    if let Some(params) = params {
        message["params"] = params.clone();
    }
    message
}

/// A notification.
pub(super) fn notification(method: &str) -> Value {
    json!({ "jsonrpc": "2.0", "method": method })
}

/// The answer a client without capabilities gives: `ping` is answered, everything else does not exist (`protocol.md` 3.6).
pub(super) fn response_to(id: &Value, method: &str) -> Value {
    if method == "ping" {
        json!({ "jsonrpc": "2.0", "id": id, "result": {} })
    } else {
        json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "Method not found" } })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::{Incoming, Text, is_id, is_unaddressed, read};

    #[test]
    fn ids_are_matched_as_clients_match_them() {
        for id in [json!(3), json!("3"), json!(3.0)] {
            assert!(is_id(&id, 3), "{id}");
        }
        for id in [json!(4), json!("x"), json!(3.5), json!(null), json!(-3), json!([3])] {
            assert!(!is_id(&id, 3), "{id}");
        }
    }

    #[test]
    fn an_error_without_id_answers_but_a_result_does_not() {
        let Text::Messages(messages) = read(br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}"#)
        else {
            panic!("no message")
        };
        let Incoming::Reply { id, reply } = &messages[0] else { panic!("no reply") };
        assert!(is_unaddressed(id, reply));
        assert!(!is_unaddressed(&Value::Null, &Ok(json!({}))));
    }

    #[test]
    fn text_is_told_apart() {
        assert_eq!(read(b"  \r\n"), Text::Blank);
        assert_eq!(read(b"Server running on stdio"), Text::Noise);
        assert_eq!(read(br#"{"level":"info"}"#), Text::Noise);
        assert_eq!(read(br#"{"jsonrpc":"1.0","id":1,"result":{}}"#), Text::Noise);
        assert_eq!(read(b"[]"), Text::Noise);
        assert_eq!(read(format!("{}1{}", "[".repeat(200), "]".repeat(200)).as_bytes()), Text::TooDeep);
        assert!(matches!(read(b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\r"), Text::Messages(_)));
        assert!(matches!(read(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"\xff\"}"), Text::Messages(_)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            read(&bytes);
        }
    }
}
