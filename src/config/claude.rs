//! Claude Code's `.mcp.json`: entry types, keys, and the reasons for which the client skips an entry. Rules as seen on Claude Code
//! 2.1.332 (`clients.md` 1.1 to 1.4).

use std::path::Path;

use jsonc_parser::ast::{Object, ObjectProp, Value};

use super::Source;
use super::expand::expand;
use crate::environment::Environment;
use crate::json::{Document, Fault, kind};
use crate::server::{Expanded, RemoteServer, Secret, Server, ServerName, StdioServer, Transport, VariableUse};

/// Claude Code's project file.
pub(super) struct McpJson;

/// Names the client keeps for itself; an entry that has one is skipped.
const RESERVED: [&str; 10] = [
    "workspace",
    "claude-in-chrome",
    "Claude in Chrome",
    "computer-use",
    "Claude Preview",
    "Claude Browser",
    "webagent",
    "claude-code-remote",
    "hearthbot",
    "__proto__",
];
/// Keys of a stdio entry.
const STDIO_KEYS: [&str; 8] =
    ["type", "command", "args", "env", "timeout", "alwaysLoad", "bareElicitationCapability", "role"];
/// Keys of a remote entry.
const REMOTE_KEYS: [&str; 14] = [
    "type",
    "url",
    "headers",
    "headersHelper",
    "oauth",
    "timeout",
    "request_timeout_ms",
    "tools",
    "alwaysLoad",
    "displayName",
    "bareElicitationCapability",
    "discoveryCache",
    "role",
    "toolPermissions",
];

impl Source for McpJson {
    fn client(&self) -> &'static str {
        "claude"
    }

    fn file_name(&self) -> &'static str {
        ".mcp.json"
    }

    fn looks_into(&self, folder: &Path) -> bool {
        folder.file_name().is_none_or(|name| name != "connector-downloads")
    }

    fn read(&self, document: &Document, environment: &Environment) -> Result<Vec<Server>, Fault> {
        let root = document.parse()?;
        let Value::Object(root) = &root else {
            return Err(document.fault(&root, format!("expected an object, found {}", kind(&root))));
        };
        let Some(servers) = root.get("mcpServers") else { return Err(missing_servers(document, root)) };
        let Value::Object(servers) = &servers.value else {
            let message = format!("mcpServers: expected an object, found {}", kind(&servers.value));
            return Err(document.fault(&servers.value, message));
        };
        Ok(servers.properties.iter().map(|property| Entry::new(document, environment, property).read()).collect())
    }
}

fn missing_servers(document: &Document, root: &Object<'_>) -> Fault {
    match root.get("servers") {
        Some(property) => document.fault(&property.name, "found the key \"servers\"; the client wants \"mcpServers\""),
        None => document.fault(root, "the key \"mcpServers\" is missing"),
    }
}

/// One entry while it is read.
struct Entry<'a> {
    document: &'a Document,
    environment: &'a Environment,
    property: &'a ObjectProp<'a>,
    variables: Vec<VariableUse>,
}

impl<'a> Entry<'a> {
    fn new(document: &'a Document, environment: &'a Environment, property: &'a ObjectProp<'a>) -> Self {
        Self { document, environment, property, variables: Vec::new() }
    }

    fn read(mut self) -> Server {
        let name = self.property.name.as_str();
        let transport = if RESERVED.contains(&name) {
            Err("the client keeps this name for itself".to_owned())
        } else {
            self.transport()
        };
        Server {
            name: ServerName::new(name),
            location: self.document.place(&self.property.name),
            unknown_keys: self.unknown_keys(transport.as_ref().ok()),
            variables: self.variables,
            transport,
        }
    }

    fn transport(&mut self) -> Result<Transport, String> {
        let property = self.property;
        let Value::Object(entry) = &property.value else {
            return Err(format!("expected an object, found {}", kind(&property.value)));
        };
        let declared = match entry.get("type").map(|property| &property.value) {
            None => None,
            Some(Value::StringLit(text)) => Some(text.value.as_ref()),
            Some(other) => return Err(format!("type: expected a string, found {}", kind(other))),
        };
        check_timeout(entry)?;
        match declared {
            None if entry.get("command").is_none() && entry.get("url").is_some() => {
                Err("has a \"url\" but no \"type\"; add \"type\": \"http\" (or \"sse\")".to_owned())
            }
            None | Some("stdio") => self.stdio(entry).map(Transport::Stdio),
            Some("http" | "streamable-http") => self.remote(entry).map(Transport::Http),
            Some("sse") => self.remote(entry).map(Transport::Sse),
            Some("ws") => self.remote(entry).map(Transport::WebSocket),
            Some(other) => Err(format!("unknown MCP server type {other:?}")),
        }
    }

    fn stdio(&mut self, entry: &'a Object<'a>) -> Result<StdioServer, String> {
        let command = self.text_of(entry, "command")?;
        if command.written.is_empty() {
            return Err("command: must not be empty".to_owned());
        }
        let mut arguments = Vec::new();
        match entry.get("args").map(|property| &property.value) {
            None => {}
            Some(Value::Array(array)) => {
                for (index, element) in array.elements.iter().enumerate() {
                    arguments.push(self.text(element, &format!("args[{index}]"), false)?);
                }
            }
            Some(other) => return Err(format!("args: expected an array of strings, found {}", kind(other))),
        }
        Ok(StdioServer { command, arguments, environment: self.map_of(entry, "env", false)? })
    }

    fn remote(&mut self, entry: &'a Object<'a>) -> Result<RemoteServer, String> {
        let url = self.text_of(entry, "url")?;
        Ok(RemoteServer { url, headers: self.map_of(entry, "headers", true)? })
    }

    fn text_of(&mut self, entry: &'a Object<'a>, key: &str) -> Result<Expanded, String> {
        match entry.get(key) {
            Some(property) => self.text(&property.value, key, false),
            None => Err(format!("{key}: expected a string, found nothing")),
        }
    }

    fn map_of(&mut self, entry: &'a Object<'a>, key: &str, twice: bool) -> Result<Vec<(String, Expanded)>, String> {
        match entry.get(key).map(|property| &property.value) {
            None => Ok(Vec::new()),
            Some(Value::Object(map)) => map
                .properties
                .iter()
                .map(|property| {
                    let name = property.name.as_str();
                    Ok((name.to_owned(), self.text(&property.value, &format!("{key}.{name}"), twice)?))
                })
                .collect(),
            Some(other) => Err(format!("{key}: expected an object of strings, found {}", kind(other))),
        }
    }

    /// A string with its variables replaced. Header values are expanded twice: the client does so, and a variable in a
    /// default, or in the value of another variable, is replaced there.
    fn text(&mut self, value: &Value<'_>, path: &str, twice: bool) -> Result<Expanded, String> {
        let Value::StringLit(literal) = value else {
            return Err(format!("{path}: expected a string, found {}", kind(value)));
        };
        let (mut expanded, mut met) = expand(&literal.value, self.environment);
        if twice {
            let (again, more) = expand(&expanded, self.environment);
            expanded = again;
            met.extend(more);
        }
        for variable in met {
            self.variables.push(VariableUse {
                name: variable.name,
                location: self.document.place(literal),
                path: path.to_owned(),
                state: variable.state,
                value: variable.value,
            });
        }
        Ok(Expanded { written: literal.value.to_string(), value: Secret::new(expanded) })
    }

    fn unknown_keys(&self, transport: Option<&Transport>) -> Vec<(String, crate::server::Location)> {
        let known: &[&str] = match transport {
            Some(Transport::Stdio(_)) => &STDIO_KEYS,
            Some(_) => &REMOTE_KEYS,
            None => return Vec::new(),
        };
        let Value::Object(entry) = &self.property.value else { return Vec::new() };
        let unknown = entry.properties.iter().filter(|property| !known.contains(&property.name.as_str()));
        unknown.map(|property| (property.name.as_str().to_owned(), self.document.place(&property.name))).collect()
    }
}

/// A `timeout` of zero or less makes the client skip the entry.
fn check_timeout(entry: &Object<'_>) -> Result<(), String> {
    match entry.get("timeout").map(|property| &property.value) {
        None => Ok(()),
        Some(Value::NumberLit(number)) if number.value.parse::<f64>().is_ok_and(|value| value > 0.0) => Ok(()),
        Some(Value::NumberLit(number)) => Err(format!("timeout: expected a number above 0, found {}", number.value)),
        Some(other) => Err(format!("timeout: expected a number, found {}", kind(other))),
    }
}
