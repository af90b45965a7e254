//! Follows a script: events in, output through [`Output`].

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use crate::process;
use crate::script::{Action, Cursor, Page, Script};
use crate::system;

/// Where output goes.
pub(crate) trait Output {
    /// Sends one message.
    fn message(&mut self, message: &Value) -> io::Result<()>;
    /// Sends bytes as they are.
    fn raw(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Waits until the client has answered the request with this id.
    fn await_reply(&mut self, id: &Value);
    /// Does what only this transport knows.
    fn special(&mut self, action: &Action) -> io::Result<()>;
    /// The value of a header of the current request.
    fn header(&self, name: &str) -> Option<String>;
}

/// Whether to go on.
pub(crate) enum Flow {
    /// As usual.
    On,
    /// Answer nothing any more.
    Hang,
    /// Read nothing any more.
    StopReading,
    /// End.
    Exit(ExitCode),
}

/// A script being followed. A copy follows the same script and counts on: each HTTP connection has one.
#[derive(Clone)]
pub(crate) struct Engine {
    script: Arc<Script>,
    counts: Arc<Mutex<HashMap<String, usize>>>,
    reply_id: Option<Value>,
    pub(crate) ignores_eof: bool,
}

impl Engine {
    pub(crate) fn new(script: Script) -> Self {
        Self { script: Arc::new(script), counts: Arc::default(), reply_id: None, ignores_eof: false }
    }

    pub(crate) fn http(&self) -> &crate::script::Http {
        &self.script.http
    }

    /// Something happened: `start`, `eof`, `http:GET`.
    pub(crate) fn event(&mut self, name: &str, output: &mut dyn Output) -> io::Result<Flow> {
        let (count, actions) = self.rule(name);
        self.follow(&actions.unwrap_or_default(), &Value::Null, count, output)
    }

    /// Whether the script has a rule for this event.
    pub(crate) fn has_rule(&self, name: &str) -> bool {
        self.script.rules.iter().any(|rule| rule.when == name)
    }

    /// A message came in.
    pub(crate) fn message(&mut self, message: &Value, output: &mut dyn Output) -> io::Result<Flow> {
        let Some(method) = message["method"].as_str() else { return Ok(Flow::On) };
        let (count, actions) = self.rule(method);
        self.reply_id = None;
        match actions {
            Some(actions) => self.follow(&actions, &message["id"], count, output),
            None => self.usual(method, message, output).map(|()| Flow::On),
        }
    }

    fn rule(&self, name: &str) -> (usize, Option<Vec<Action>>) {
        let count = {
            let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            let count = counts.entry(name.to_owned()).or_default();
            *count += 1;
            *count
        };
        let fits = |rule: &&crate::script::Rule| rule.when == name && rule.nth.is_none_or(|nth| nth == count);
        (count, self.script.rules.iter().find(fits).map(|rule| rule.actions.clone()))
    }

    /// What a well-behaved server does.
    fn usual(&mut self, method: &str, message: &Value, output: &mut dyn Output) -> io::Result<()> {
        let id = &message["id"];
        if id.is_null() {
            return Ok(());
        }
        match method {
            "initialize" => {
                let result = json!({
                    "protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": { "tools": {} },
                    "serverInfo": { "name": "fake", "version": "1.0.0" },
                });
                output.message(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
            }
            "tools/list" => {
                let result = json!({ "tools": self.script.tools.iter().map(tool).collect::<Vec<_>>() });
                output.message(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
            }
            "ping" => output.message(&json!({ "jsonrpc": "2.0", "id": id, "result": {} })),
            _ => {
                let error = json!({ "code": -32601, "message": "Method not found" });
                output.message(&json!({ "jsonrpc": "2.0", "id": id, "error": error }))
            }
        }
    }

    fn follow(&mut self, actions: &[Action], id: &Value, count: usize, output: &mut dyn Output) -> io::Result<Flow> {
        for action in actions {
            let flow = match action {
                Action::IfEnv(choice) => {
                    let is_set = crate::environment(&choice.name).is_some();
                    self.follow(if is_set { &choice.then } else { &choice.otherwise }, id, count, output)?
                }
                Action::IfHeader(choice) => {
                    let is_equal = output.header(&choice.name).is_some_and(|value| value == choice.equals);
                    self.follow(if is_equal { &choice.then } else { &choice.otherwise }, id, count, output)?
                }
                action => self.act(action, id, count, output)?,
            };
            if !matches!(flow, Flow::On) {
                return Ok(flow);
            }
        }
        Ok(Flow::On)
    }

    fn act(&mut self, action: &Action, id: &Value, count: usize, output: &mut dyn Output) -> io::Result<Flow> {
        match action {
            Action::Result(result) => self.reply(id, "result", &filled(result, id, count), output)?,
            Action::Error(error) => self.reply(id, "error", &filled(error, id, count), output)?,
            Action::Tools(page) => self.reply(id, "result", &page_result(page, id, count), output)?,
            Action::ReplyId(other) => self.reply_id = Some(other.clone()),
            Action::Message(message) => output.message(&filled(message, id, count))?,
            Action::Raw(text) => output.raw(fill(text, id, count).as_bytes())?,
            Action::Bytes(bytes) => output.raw(bytes)?,
            Action::Repeat(repeat) => output.raw(repeat.text.repeat(repeat.times).as_bytes())?,
            Action::Stderr(text) => io::stderr().write_all(fill(text, id, count).as_bytes())?,
            Action::StderrRepeat(repeat) => io::stderr().write_all(repeat.text.repeat(repeat.times).as_bytes())?,
            Action::SleepMs(time) => std::thread::sleep(Duration::from_millis(*time).min(crate::LONGEST)),
            Action::Drip(drip) => {
                for byte in fill(&drip.text, id, count).as_bytes() {
                    output.raw(&[*byte])?;
                    std::thread::sleep(Duration::from_millis(drip.every_ms));
                }
            }
            Action::Exit(code) => return Ok(Flow::Exit(ExitCode::from(*code))),
            Action::Abort => std::process::abort(),
            Action::KillSelf(signal) => system::kill_self(*signal)?,
            Action::Hang => return Ok(Flow::Hang),
            Action::StopReading => return Ok(Flow::StopReading),
            Action::IgnoreEof => self.ignores_eof = true,
            Action::IgnoreTerm => system::ignore_term()?,
            Action::Spawn(spawn) => process::leave_behind(spawn)?,
            Action::AwaitReply(awaited) => output.await_reply(awaited),
            other => output.special(other)?,
        }
        Ok(Flow::On)
    }

    fn reply(&self, id: &Value, kind: &str, value: &Value, output: &mut dyn Output) -> io::Result<()> {
        let id = match self.reply_id.as_ref() {
            Some(Value::String(form)) if form == "$string" => json!(id.to_string()),
            Some(Value::String(form)) if form == "$float" => json!(id.as_f64()),
            Some(other) => other.clone(),
            None => id.clone(),
        };
        let mut message = json!({ "jsonrpc": "2.0", "id": id });
        message[kind] = value.clone();
        output.message(&message)
    }
}

fn page_result(page: &Page, id: &Value, count: usize) -> Value {
    let tools: Vec<Value> = page.names.iter().map(|name| tool(&filled(name, id, count))).collect();
    let mut result = json!({ "tools": tools });
    match &page.next_cursor {
        Some(Cursor::Text(text)) => result["nextCursor"] = json!(fill(text, id, count)),
        Some(Cursor::Null) => result["nextCursor"] = Value::Null,
        None => {}
    }
    result
}

/// A name becomes a tool; anything else is one already.
fn tool(item: &Value) -> Value {
    match item {
        Value::String(name) => {
            json!({ "name": name, "description": format!("The tool {name}."), "inputSchema": { "type": "object", "properties": {} } })
        }
        other => other.clone(),
    }
}

/// The JSON with its placeholders filled.
fn filled(value: &Value, id: &Value, count: usize) -> Value {
    match value {
        Value::String(text) if text == "$id" => id.clone(),
        Value::String(text) => Value::String(fill(text, id, count)),
        Value::Array(items) => items.iter().map(|item| filled(item, id, count)).collect(),
        Value::Object(map) => map.iter().map(|(key, item)| (key.clone(), filled(item, id, count))).collect(),
        other => other.clone(),
    }
}

fn fill(text: &str, id: &Value, count: usize) -> String {
    let mut text = text.replace("$id", &id.to_string()).replace("$n", &count.to_string());
    while let Some((before, rest)) = text.split_once("$env:") {
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let value = crate::environment(&rest[..end]).unwrap_or_default();
        text = format!("{before}{value}{}", &rest[end..]);
    }
    text
}
