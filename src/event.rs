//! One event of a Claude Code hook, as it comes on standard input (`clients.md` 1.13). Pure, and never fooled: which server is called is
//! said by the client alone, and nothing inside the tool's own input is looked at.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::loose_json::as_every_reader_takes_it;

/// What a hook is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    /// What happens.
    pub(crate) kind: Kind,
    /// Where the session stands now. A session can walk away from the folder it was started in.
    pub(crate) folder: Option<String>,
}

/// What happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A tool of a server is about to be called.
    Before(Call),
    /// A call has failed.
    Failed {
        /// Which one.
        call: Call,
        /// What the client says of it.
        error: String,
        /// Whether a person broke it off.
        is_interrupt: bool,
    },
    /// A call has succeeded.
    Succeeded(Call),
    /// A session begins.
    SessionStart,
    /// A tool that belongs to no server.
    NotMcp,
    /// An event that a guard has no business with.
    Other(String),
}

/// A call of a server's tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    /// The full name: `mcp__server__tool`.
    pub(crate) tool: String,
    /// The server as it is configured, where the client says so (since 2.1.274).
    pub(crate) server: Option<String>,
    /// Where the client has it from: `project`, `user`, `local`, `dynamic`, `plugin` ...
    pub(crate) scope: Option<String>,
}

/// The members that count. `tool_input` and `tool_response` may be of any size and hold anything: they are passed over.
#[derive(Deserialize)]
struct Raw {
    hook_event_name: Option<Value>,
    cwd: Option<Value>,
    tool_name: Option<Value>,
    mcp_server: Option<Value>,
    error: Option<Value>,
    is_interrupt: Option<Value>,
    #[serde(rename = "tool_input")]
    _tool_input: Option<IgnoredAny>,
    #[serde(rename = "tool_response")]
    _tool_response: Option<IgnoredAny>,
}

impl Event {
    /// Reads an event.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        if bytes.trim_ascii().is_empty() {
            return Err("standard input holds no event".to_owned());
        }
        let raw = serde_json::from_slice::<Raw>(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes));
        let raw = raw.or_else(|_| {
            // The client writes what JavaScript takes for JSON.
            let text = String::from_utf8_lossy(bytes);
            serde_json::from_str(&as_every_reader_takes_it(&text))
        });
        let raw: Raw = raw.map_err(|error| format!("standard input holds no event: {error}"))?;
        let name = text(raw.hook_event_name.as_ref())
            .ok_or("the event does not say what it is: hook_event_name is missing, or no string")?;
        let folder = text(raw.cwd.as_ref());
        let kind = match name.as_str() {
            "SessionStart" => Kind::SessionStart,
            "PreToolUse" | "PostToolUse" | "PostToolUseFailure" => raw.call(&name)?,
            _ => Kind::Other(name),
        };
        Ok(Self { kind, folder })
    }
}

impl Raw {
    fn call(self, event: &str) -> Result<Kind, String> {
        let tool = text(self.tool_name.as_ref())
            .ok_or_else(|| format!("the event {event} names no tool: tool_name is missing, or no string"))?;
        let member = |name: &str| text(self.mcp_server.as_ref().and_then(|server| server.get(name)));
        let server = member("name");
        if server.is_none() && !tool.starts_with("mcp__") {
            return Ok(Kind::NotMcp);
        }
        let call = Call { tool, server, scope: member("source") };
        Ok(match event {
            "PreToolUse" => Kind::Before(call),
            "PostToolUse" => Kind::Succeeded(call),
            _ => Kind::Failed {
                call,
                error: match self.error {
                    Some(Value::String(error)) => error,
                    Some(other) => other.to_string(),
                    None => String::new(),
                },
                is_interrupt: self.is_interrupt == Some(Value::Bool(true)),
            },
        })
    }
}

fn text(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Call, Event, Kind};

    fn kind(text: &str) -> Kind {
        Event::parse(text.as_bytes()).expect("an event").kind
    }

    fn call(tool: &str, server: Option<(&str, &str)>) -> Call {
        Call {
            tool: tool.to_owned(),
            server: server.map(|(name, _)| name.to_owned()),
            scope: server.map(|(_, scope)| scope.to_owned()),
        }
    }

    #[test]
    fn both_shapes_are_known() {
        let new = r#"{"hook_event_name": "PreToolUse", "tool_name": "mcp__my_server__t", "mcp_server": {"name": "my.server", "source": "user"}}"#;
        assert_eq!(kind(new), Kind::Before(call("mcp__my_server__t", Some(("my.server", "user")))));
        let old = r#"{"hook_event_name": "PreToolUse", "tool_name": "mcp__a__t", "tool_input": {"server": "b"}}"#;
        assert_eq!(kind(old), Kind::Before(call("mcp__a__t", None)));
        // What is no object says nothing; the name of the tool does.
        let odd = r#"{"hook_event_name": "PreToolUse", "tool_name": "mcp__a__t", "mcp_server": "b"}"#;
        assert_eq!(kind(odd), Kind::Before(call("mcp__a__t", None)));
    }

    #[test]
    fn other_tools_are_none_of_a_guards_business() {
        let bash = r#"{"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"server": "a", "mcp_server": {"name": "a"}}}"#;
        assert_eq!(kind(bash), Kind::NotMcp);
        assert_eq!(kind(r#"{"hook_event_name": "Stop"}"#), Kind::Other("Stop".to_owned()));
    }

    #[test]
    fn the_event_is_named_by_itself_alone() {
        let failed = r#"{"hook_event_name": "PostToolUseFailure", "tool_name": "mcp__a__t", "error": "gone \ud800", "is_interrupt": false}"#;
        let expected =
            Kind::Failed { call: call("mcp__a__t", None), error: "gone \u{fffd}".to_owned(), is_interrupt: false };
        assert_eq!(kind(failed), expected);
        for bad in
            ["", " \n", "{}", "[]", "nonsense", r#"{"tool_name": "mcp__a__t"}"#, r#"{"hook_event_name": "PreToolUse"}"#]
        {
            assert!(Event::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_tools_input_may_be_anything_of_any_size() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let long = "x".repeat(8_000_000);
        for input in [deep.as_str(), "1e99999", r#""\ud800""#, &format!("\"{long}\"")] {
            let text =
                format!(r#"{{"tool_input": {input}, "hook_event_name": "PreToolUse", "tool_name": "mcp__a__t"}}"#);
            assert_eq!(kind(&text), Kind::Before(call("mcp__a__t", None)));
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Event::parse(&bytes);
        }
    }
}
