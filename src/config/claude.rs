//! Claude Code's `.mcp.json`, and the files that its `--mcp-config` takes: entry types, keys, and the reasons for which the client skips
//! an entry. Rules as seen on Claude Code 2.1.332 (`clients.md` 1.1 to 1.4, 1.9).

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::claude_own;
use super::claude_settings::{self, Variables};
use super::entry::{self, Entry, Field};
use super::expand;
use super::withheld::is_not_inherited;
use super::{Configuration, Content, File, Source};
use crate::document::{Fault, Member, Node, Object, Syntax, Value};
use crate::environment::Environment;
use crate::finding::Finding;
use crate::server::{
    Expanded, HeaderHelper, Location, Origin, Patience, RemoteServer, Server, ServerName, StdioServer, Transport,
};
use crate::values::Client;

/// Claude Code's project file.
pub(super) struct McpJson;

/// Names the client keeps for itself; an entry that has one is skipped (1.8).
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
/// Keys of a stdio entry (1.1).
const STDIO_KEYS: [&str; 8] =
    ["type", "command", "args", "env", "timeout", "alwaysLoad", "bareElicitationCapability", "role"];
/// Keys of a remote entry (1.1).
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
    fn client(&self) -> Client {
        Client::Claude
    }

    fn recognises(&self, path: &Path) -> bool {
        path.file_name().is_some_and(|name| name == ".mcp.json")
    }

    /// Here and in every folder above, nearest first, the root of the file system excluded (1.3).
    fn places(&self, environment: &Environment) -> Vec<PathBuf> {
        let is_looked_into = |folder: &&Path| {
            folder.parent().is_some() && folder.file_name().is_none_or(|name| name != "connector-downloads")
        };
        environment.folder.ancestors().filter(is_looked_into).map(|folder| folder.join(".mcp.json")).collect()
    }

    fn syntax(&self) -> Syntax {
        Syntax::Json
    }

    fn allows_blank(&self) -> bool {
        true
    }

    fn read(&self, root: &Node, file: &File<'_>) -> Result<Content, Fault> {
        let members = entry::servers(root, "mcpServers", &["servers"])?;
        let variables = Variables::read(file.environment);
        let servers = members.iter().map(|member| server(member, &variables, file)).collect();
        Ok(Content { servers, findings: Vec::new() })
    }

    fn restrict(&self, servers: &mut [Server], environment: &Environment) -> Vec<Finding> {
        let mut findings = claude_settings::restrict(servers, environment);
        let is_managed = |server: &Server| server.location.file == claude_settings::MANAGED_SERVERS;
        if servers.is_empty() || !servers.iter().all(is_managed) {
            findings.extend(claude_settings::managed());
        }
        findings
    }

    /// Only servers of a project can be rejected, or stand behind another one; those of a file given with `--mcp-config` are asked for (1.3).
    fn settle(&self, configuration: &mut Configuration, environment: &Environment) {
        let variables = Variables::read(environment);
        for member in &claude_own::local_servers(environment) {
            let file = File { path: Path::new(""), is_found: true, is_given: false, environment };
            // One of this folder wins over the project's of the same name.
            let same = |known: &&mut Server| known.name.as_str() == member.key;
            match configuration.servers.iter_mut().find(same) {
                Some(known) if known.origin == Origin::Project => {
                    *known = Server { origin: Origin::Local, ..server(member, &variables, &file) };
                }
                Some(_) => {}
                None => configuration.elsewhere.push(ServerName::new(member.key.as_str())),
            }
        }
        let findings = claude_settings::reject(&mut configuration.servers, environment);
        configuration.findings.extend(findings);
        configuration
            .elsewhere
            .extend(claude_own::user_servers(environment).iter().map(|member| ServerName::new(member.key.as_str())));
    }
}

/// The server of an entry.
pub(super) fn server(member: &Member, variables: &Variables, file: &File<'_>) -> Server {
    let dialect = expand::Claude { environment: &variables.expanding };
    let mut entry = Entry::new(member, &dialect);
    let transport = if RESERVED.contains(&member.key.as_str()) {
        Err("the client keeps this name for itself".to_owned())
    } else {
        entry.object().and_then(|object| transport(&mut entry, object, variables, file.environment))
    };
    let known: &[&str] = match &transport {
        Ok(Transport::Stdio(_)) => &STDIO_KEYS,
        _ => &REMOTE_KEYS,
    };
    let mut transport = transport;
    let mut notices = Vec::new();
    if let Ok(Transport::Http(remote) | Transport::Sse(remote) | Transport::WebSocket(remote)) = &mut transport {
        notices.extend(judge_helper(remote, member, file));
    }
    let patience = Some(patience(member, file));
    let origin = if file.is_found { Origin::Project } else { Origin::Given };
    Server { origin, notices, patience, ..entry.finish(transport, known) }
}

fn transport(
    entry: &mut Entry<'_>,
    object: &Object,
    variables: &Variables,
    environment: &Environment,
) -> Result<Transport, String> {
    let declared = match object.get("type") {
        None => None,
        Some(node) => Some(node.text().ok_or_else(|| format!("type: expected a string, found {}", node.kind()))?),
    };
    check_timeout(object)?;
    match declared {
        None if object.get("command").is_none() && object.get("url").is_some() => {
            Err("has a \"url\" but no \"type\"; add \"type\": \"http\" (or \"sse\")".to_owned())
        }
        None | Some("stdio") => stdio(entry, object, variables, environment).map(Transport::Stdio),
        Some("http" | "streamable-http") => remote(entry, object, environment).map(Transport::Http),
        Some("sse") => remote(entry, object, environment).map(Transport::Sse),
        Some("ws") => remote(entry, object, environment).map(Transport::WebSocket),
        Some(other) => Err(format!("unknown MCP server type {other:?}")),
    }
}

fn stdio(
    entry: &mut Entry<'_>,
    object: &Object,
    variables: &Variables,
    environment: &Environment,
) -> Result<StdioServer, String> {
    let command = entry.required(object, "command", Field::Command)?;
    if command.written.is_empty() {
        return Err("command: must not be empty".to_owned());
    }
    let arguments = entry.texts(object, "args", Field::Argument)?;
    // What settings give to every server, then what the entry gives to this one.
    let mut environment_of_entry = variables.given.clone();
    environment_of_entry.extend(entry.map(object, "env", Field::Environment)?);
    Ok(StdioServer {
        command,
        arguments,
        environment: environment_of_entry,
        withheld: withheld(environment),
        provided: provided(environment),
        folder: None,
    })
}

fn remote(entry: &mut Entry<'_>, object: &Object, environment: &Environment) -> Result<RemoteServer, String> {
    let url = entry.required(object, "url", Field::Url)?;
    let headers = entry.map(object, "headers", Field::Header)?;
    let helper = match object.get("headersHelper") {
        None => None,
        Some(node) => {
            Some(node.text().ok_or_else(|| format!("headersHelper: expected a string, found {}", node.kind()))?)
        }
    };
    let helper = helper.map(|command| helper_of(command, entry, &url, environment));
    Ok(RemoteServer { url, headers, helper, falls_back: false })
}

/// A `headersHelper`, with the environment it gets (1.5).
fn helper_of(command: &str, entry: &Entry<'_>, url: &Expanded, environment: &Environment) -> HeaderHelper {
    let mut provided = provided(environment);
    provided.push(("CLAUDE_CODE_MCP_SERVER_NAME".to_owned(), entry.member.key.clone()));
    provided.push(("CLAUDE_CODE_MCP_SERVER_URL".to_owned(), url.value.reveal().to_owned()));
    HeaderHelper { command: command.to_owned(), withheld: withheld(environment), provided }
}

/// A helper of a project runs only where somebody has trusted exactly this folder, and without variables that look like credentials
/// (1.5). Otherwise it is taken away, and that is said.
fn judge_helper(remote: &mut RemoteServer, member: &Member, file: &File<'_>) -> Option<(String, Location)> {
    const CREDENTIALS: [&str; 6] = ["TOKEN", "SECRET", "PASSWORD", "KEY", "AUTH", "CREDENTIAL"];
    let helper = remote.helper.as_mut().filter(|_| file.is_found)?;
    if claude_settings::trusts(file.environment) {
        let names = file.environment.iter().map(|(name, _)| name);
        let is_credential = |name: &String| CREDENTIALS.iter().any(|part| name.to_ascii_uppercase().contains(part));
        helper.withheld.extend(names.filter(is_credential));
        return None;
    }
    remote.helper = None;
    let place = match &member.node.value {
        Value::Object(object) => object.member("headersHelper").map(|member| member.location.clone()),
        _ => None,
    };
    let message =
        "the client does not run headersHelper in a folder that nobody has trusted: only the static headers are sent";
    Some((message.to_owned(), place.unwrap_or_else(|| member.location.clone())))
}

/// What is not passed on: telemetry's variables and the client's own tokens, or everything but the usual with `CLAUDE_CODE_MCP_ALLOWLIST_ENV=1` (1.5; those on
/// Windows from the source of the protocol's SDK).
fn withheld(environment: &Environment) -> Vec<String> {
    const ALLOWED: [&str; 6] = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];
    const ON_WINDOWS: [&str; 12] = [
        "APPDATA",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATH",
        "PROCESSOR_ARCHITECTURE",
        "PROGRAMFILES",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "USERNAME",
        "USERPROFILE",
    ];
    let allowed = if cfg!(windows) { &ON_WINDOWS[..] } else { &ALLOWED };
    let is_strict = environment.get("CLAUDE_CODE_MCP_ALLOWLIST_ENV").is_some_and(|value| value == "1");
    let is_withheld = |name: &String| {
        let name = name.as_str();
        is_not_inherited(name) || is_strict && !allowed.contains(&name)
    };
    environment.iter().map(|(name, _)| name).filter(is_withheld).collect()
}

/// What the client tells its servers of itself (seen in a server's environment, less what differs from run to run).
fn provided(environment: &Environment) -> Vec<(String, String)> {
    let folder = environment.folder.display().to_string();
    let variables = [
        ("AI_AGENT", "claude-code_2-1-332_harness"),
        ("CLAUDECODE", "1"),
        ("CLAUDE_CODE_ENTRYPOINT", "sdk-cli"),
        ("CLAUDE_PROJECT_DIR", folder.as_str()),
        ("COREPACK_ENABLE_AUTO_PIN", "0"),
        ("NoDefaultCurrentDirectoryInExePath", "1"),
    ];
    variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

/// A `timeout` of zero or less makes the client skip the entry.
fn check_timeout(object: &Object) -> Result<(), String> {
    match object.get("timeout").map(|node| (&node.value, node.kind())) {
        None => Ok(()),
        Some((Value::Number(number), _)) if number.parse::<u64>().is_ok_and(|value| value > 0) => Ok(()),
        Some((Value::Number(number), _)) => Err(format!("timeout: expected a whole number above 0, found {number}")),
        Some((_, kind)) => Err(format!("timeout: expected a number, found {kind}")),
    }
}

/// How long `claude -p` waits (1.9): for servers of a project 2 s, unless an entry or a variable says otherwise; for servers it is
/// pointed to (`--mcp-config`) until they are settled.
fn patience(member: &Member, file: &File<'_>) -> Patience {
    let milliseconds = |name: &str, otherwise: u64| {
        let value = file.environment.setting(name).and_then(|value| value.trim().parse().ok());
        Duration::from_millis(value.filter(|value| *value > 0).unwrap_or(otherwise))
    };
    let connect = milliseconds("MCP_TIMEOUT", 30_000);
    let is_awaited = match &member.node.value {
        Value::Object(entry) => entry::flag(entry, "alwaysLoad", false).unwrap_or(false),
        _ => false,
    };
    if !file.is_found || file.is_given || is_awaited {
        return Patience {
            budget: connect,
            advice: "raise MCP_TIMEOUT (milliseconds), or install the server in an earlier step",
        };
    }
    let blocks = file.environment.get("MCP_CONNECTION_NONBLOCKING").is_some_and(|value| value == "0");
    let budget = if blocks { milliseconds("MCP_CONNECT_TIMEOUT_MS", 5_000) } else { Duration::from_secs(2) };
    let advice = if blocks {
        "raise MCP_CONNECT_TIMEOUT_MS, or set \"alwaysLoad\": true in its entry"
    } else {
        "set \"alwaysLoad\": true in its entry, or start the agent with --mcp-config FILE, which waits"
    };
    Patience { budget: budget.min(connect), advice }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{McpJson, Source as _};
    use crate::config::File;
    use crate::document::{Document, Syntax};
    use crate::environment::{Environment, HOME};
    use crate::server::{Server, Transport};

    fn read(text: &str, is_found: bool, variables: &[(&str, &str)]) -> Vec<Server> {
        let root = Document::new(".mcp.json", text.as_bytes()).parse(Syntax::Json).expect("JSON");
        let environment = Environment::of(variables);
        let file = File { path: Path::new("/.mcp.json"), is_found, is_given: false, environment: &environment };
        McpJson.read(&root, &file).expect("servers").servers
    }

    fn wait(entry: &str, is_found: bool, variables: &[(&str, &str)]) -> u128 {
        let text = format!("{{\"mcpServers\": {{\"s\": {entry}}}}}");
        read(&text, is_found, variables)[0].patience.as_ref().expect("a patience").budget.as_millis()
    }

    /// `clients.md` 1.9, observed waits.
    #[test]
    fn the_client_waits_as_long_as_was_seen() {
        let (plain, awaited) = (r#"{"command": "x"}"#, r#"{"command": "x", "alwaysLoad": true}"#);
        assert_eq!(wait(plain, true, &[]), 2_000);
        assert_eq!(wait(plain, true, &[("MCP_CONNECT_TIMEOUT_MS", "9000")]), 2_000);
        assert_eq!(wait(plain, true, &[("MCP_CONNECTION_NONBLOCKING", "0")]), 5_000);
        let both = [("MCP_CONNECTION_NONBLOCKING", "0"), ("MCP_CONNECT_TIMEOUT_MS", "9000")];
        assert_eq!(wait(plain, true, &both), 9_000);
        assert_eq!(wait(awaited, true, &[]), 30_000);
        assert_eq!(wait(plain, false, &[]), 30_000);
        assert_eq!(wait(plain, false, &[("MCP_TIMEOUT", "7000")]), 7_000);
    }

    /// `clients.md` 1.5.
    #[test]
    fn a_server_inherits_what_the_client_passes_on() {
        let of = |variables: &[(&str, &str)]| match &read(r#"{"mcpServers": {"s": {"command": "x"}}}"#, true, variables)
            [0]
        .transport
        {
            Ok(Transport::Stdio(stdio)) => stdio.withheld.clone(),
            other => panic!("{other:?}"),
        };
        assert!(of(&[("A", "1")]).is_empty());
        assert_eq!(of(&[("A", "1"), ("OTEL_X", "1")]), ["OTEL_X"]);
        assert_eq!(
            of(&[("A", "1"), ("CLAUDE_CODE_MCP_ALLOWLIST_ENV", "1"), (HOME, "/h")]),
            ["A", "CLAUDE_CODE_MCP_ALLOWLIST_ENV"]
        );
    }
}
