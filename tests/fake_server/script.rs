//! The data format of a scenario. Unknown fields are errors: a typo must not make a scenario healthy.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// One scenario.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Script {
    /// One sentence for people.
    #[serde(rename = "about")]
    _about: String,
    /// What `tools/list` answers where no rule does: names, or whole tool objects.
    #[serde(default)]
    pub(crate) tools: Vec<Value>,
    /// How answers look over HTTP.
    #[serde(default)]
    pub(crate) http: Http,
    /// The first rule that fits is followed.
    #[serde(default)]
    pub(crate) rules: Vec<Rule>,
}

/// How answers look over HTTP.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of a scenario")]
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Http {
    /// Answers are event streams instead of JSON bodies.
    pub(crate) sse: bool,
    /// `initialize` gives a session; without it later requests get 400, with another one 404.
    pub(crate) session: bool,
    /// A POST without the headers of the specification gets 400.
    pub(crate) check_headers: bool,
    /// A WebSocket is granted without the subprotocol that was asked for.
    pub(crate) without_subprotocol: bool,
    /// HTTP+SSE of 2024-11-05: GET opens the stream of all answers, which names this address to post to first.
    pub(crate) endpoint: Option<String>,
}

/// What to do when something happens.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    /// `start`, a JSON-RPC method, `eof`, or `http:GET`, `http:DELETE`, ...
    pub(crate) when: String,
    /// Only the nth time (from 1).
    pub(crate) nth: Option<usize>,
    /// The actions, in order.
    #[serde(rename = "do")]
    pub(crate) actions: Vec<Action>,
}

/// One action. Where text or JSON holds `$id`, `$n` (the count of this event) or `$env:NAME`, the value stands there.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Action {
    /// Answers the current request with this result.
    Result(Value),
    /// Answers the current request with this error object.
    Error(Value),
    /// Answers the current request with these tools.
    Tools(Page),
    /// The following answers have this id instead of the request's; `"$string"` and `"$float"` are forms of that.
    ReplyId(Value),
    /// Sends any JSON.
    Message(Value),
    /// Writes text as it is: noise, half a line, raw bytes of a stream.
    Raw(String),
    /// Writes bytes as they are.
    Bytes(Vec<u8>),
    /// Writes text many times.
    Repeat(Repeat),
    /// Writes to stderr.
    Stderr(String),
    /// Writes to stderr many times.
    StderrRepeat(Repeat),
    /// Waits.
    SleepMs(u64),
    /// Writes text byte by byte.
    Drip(Drip),
    /// Ends the process.
    Exit(u8),
    /// Ends the process with SIGABRT.
    Abort,
    /// Ends the process with the signal of this number.
    KillSelf(i32),
    /// Answers nothing from now on, but reads on.
    Hang,
    /// Reads nothing from now on.
    StopReading,
    /// Closes its standard output.
    CloseStdout,
    /// Closes its standard error.
    CloseStderr,
    /// Stays when its standard input ends.
    IgnoreEof,
    /// Stays when it gets SIGTERM.
    IgnoreTerm,
    /// Leaves a grandchild behind.
    Spawn(Spawn),
    /// Waits until the client has answered the request with this id.
    AwaitReply(Value),
    /// Depends on a variable that is set and not empty.
    IfEnv(IfEnv),
    /// Depends on a header (HTTP).
    IfHeader(IfHeader),
    /// Answers with exactly this (HTTP).
    Respond(Respond),
    /// Starts an event stream without an event (HTTP); `raw` and `message` write into it.
    Stream,
    /// Drops the connection (HTTP).
    CloseConnection,
    /// Leaves the connection open for a minute (HTTP).
    KeepOpen,
}

/// A page of a list.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Page {
    pub(crate) names: Vec<Value>,
    #[serde(default)]
    pub(crate) next_cursor: Option<Cursor>,
}

/// A cursor that may be null: serde would take a null for an absent field.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Cursor {
    Text(String),
    Null,
}

/// Text, many times.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Repeat {
    pub(crate) text: String,
    pub(crate) times: usize,
}

/// Text, slowly.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Drip {
    pub(crate) text: String,
    pub(crate) every_ms: u64,
}

/// A grandchild.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Spawn {
    #[serde(default)]
    pub(crate) new_session: bool,
    #[serde(default)]
    pub(crate) keep_stdio: bool,
}

/// Two ways.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct IfEnv {
    pub(crate) name: String,
    pub(crate) then: Vec<Action>,
    #[serde(default)]
    pub(crate) otherwise: Vec<Action>,
}

/// Two ways.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct IfHeader {
    pub(crate) name: String,
    pub(crate) equals: String,
    pub(crate) then: Vec<Action>,
    #[serde(default)]
    pub(crate) otherwise: Vec<Action>,
}

/// A whole HTTP answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Respond {
    pub(crate) status: u16,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) body: Value,
}

impl Script {
    /// Reads a scenario.
    pub(crate) fn load(file: &str) -> Result<Self, String> {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
        let script: Self = serde_json::from_str(&text).map_err(|error| format!("{file}: {error}"))?;
        match script.rules.iter().find(|rule| !rule.can_fire()) {
            Some(rule) => Err(format!("{file}: no such event: {}", rule.when)),
            None => Ok(script),
        }
    }
}

impl Rule {
    /// Whether anything has this name.
    fn can_fire(&self) -> bool {
        let is_known =
            matches!(self.when.as_str(), "start" | "eof" | "initialize" | "ping" | "server/discover" | "tools/list");
        is_known || self.when.starts_with("notifications/") || self.when.starts_with("http:")
    }
}
