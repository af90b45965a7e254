//! Clients whose files have much in common: Claude Desktop, Gemini CLI, Copilot CLI, opencode, and none at all (`clients.md` section 3, from
//! documentation and source; not seen running here).

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::editors::is_in;
use super::entry::{self, Dialect, Entry, Field};
use super::{Content, File, Source, expand};
use crate::document::{Fault, Member, Node, Object, Syntax, Value};
use crate::environment::Environment;
use crate::server::{Disabled, Patience, RemoteServer, Server, StdioServer, ToolFilter, Transport};
use crate::values::Client;

/// Claude Desktop: programs only, nothing expanded.
pub(super) struct ClaudeDesktop;

/// Gemini CLI's settings.
pub(super) struct Gemini;

/// Copilot's CLI.
pub(super) struct Copilot;

/// opencode.
pub(super) struct OpenCode;

/// No client: `mcpServers`, with the variables of Claude Code, and every key welcome.
pub(super) struct Raw;

impl Source for ClaudeDesktop {
    fn refuses_byte_order_mark(&self) -> bool {
        true
    }

    fn client(&self) -> Client {
        Client::ClaudeDesktop
    }

    fn recognises(&self, path: &Path) -> bool {
        path.file_name().is_some_and(|name| name == "claude_desktop_config.json")
    }

    fn places(&self, environment: &Environment) -> Vec<PathBuf> {
        let home = |below: &str| environment.home().map(|home| home.join(below));
        let paths = [
            environment
                .setting("APPDATA")
                .filter(|_| cfg!(windows))
                .map(|folder| Path::new(&folder).join("Claude/claude_desktop_config.json")),
            home("Library/Application Support/Claude/claude_desktop_config.json"),
            home(".config/Claude/claude_desktop_config.json"),
        ];
        paths.into_iter().flatten().collect()
    }

    fn syntax(&self) -> Syntax {
        Syntax::Json
    }

    fn read(&self, root: &Node, _: &File<'_>) -> Result<Content, Fault> {
        let members = entry::servers(root, "mcpServers", &["servers"])?;
        let read = |member: &Member| {
            let mut entry = Entry::new(member, &expand::Literal);
            let transport =
                entry.object().and_then(|object| match object.get("url").or_else(|| object.get("serverUrl")) {
                    Some(_) => Err("the client starts programs only, and skips entries with a url".to_owned()),
                    None => stdio(&mut entry, object, "env").map(Transport::Stdio),
                });
            entry.finish(transport, &["command", "args", "env"])
        };
        Ok(Content { servers: members.iter().map(read).collect(), findings: Vec::new() })
    }
}

impl Source for Gemini {
    /// Settings are laid over each other, servers are taken whole.
    fn layers(&self) -> Option<usize> {
        Some(2)
    }

    fn refuses_byte_order_mark(&self) -> bool {
        true
    }

    fn client(&self) -> Client {
        Client::Gemini
    }

    fn recognises(&self, path: &Path) -> bool {
        is_in(path, ".gemini", "settings.json")
    }

    /// The project's, then the person's.
    fn places(&self, environment: &Environment) -> Vec<PathBuf> {
        let home = environment.home().map(|home| home.join(".gemini/settings.json"));
        std::iter::once(environment.folder.join(".gemini/settings.json")).chain(home).collect()
    }

    fn syntax(&self) -> Syntax {
        Syntax::Commented
    }

    fn read(&self, root: &Node, file: &File<'_>) -> Result<Content, Fault> {
        let root = root.object("")?;
        let Some(servers) = root.get("mcpServers") else { return Ok(Content::default()) };
        let dialect = expand::Shell { environment: file.environment, prefix: "" };
        let withheld: Vec<String> =
            file.environment.iter().map(|(name, _)| name).filter(|name| is_credential(name)).collect();
        let allowed = root.get("mcp").and_then(|mcp| mcp.object("mcp").ok());
        let read = |member: &Member| {
            let server = gemini(member, &dialect, &withheld);
            let disabled = allowed.and_then(|mcp| rejected(mcp, member));
            Server { disabled, ..server }
        };
        let servers = servers.object("mcpServers")?.members.iter().map(read).collect();
        Ok(Content { servers, findings: Vec::new() })
    }
}

/// What Gemini CLI keeps from its servers unless their entry names it.
fn is_credential(name: &str) -> bool {
    const WORDS: [&str; 10] =
        ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "KEY", "AUTH", "CREDENTIAL", "CREDS", "PRIVATE", "CERT"];
    let name = name.to_ascii_uppercase();
    name == "DATABASE_URL" || WORDS.iter().any(|word| name.contains(word))
}

/// `mcp.excluded`, and `mcp.allowed` where it does not name a server.
fn rejected(mcp: &Object, member: &Member) -> Option<Disabled> {
    let names = |key: &str| Some((mcp.get(key)?, entry::names(mcp, key).ok().flatten()?));
    let disabled = |node: &Node, reason: &str| Disabled { reason: reason.to_owned(), location: node.location.clone() };
    if let Some((node, excluded)) = names("excluded")
        && excluded.contains(&member.key)
    {
        return Some(disabled(node, "mcp.excluded names it"));
    }
    let (node, allowed) = names("allowed")?;
    (!allowed.contains(&member.key)).then(|| disabled(node, "mcp.allowed does not name it"))
}

fn gemini(member: &Member, dialect: &dyn Dialect, withheld: &[String]) -> Server {
    const KEYS: [&str; 18] = [
        "command",
        "args",
        "env",
        "cwd",
        "url",
        "httpUrl",
        "type",
        "headers",
        "tcp",
        "timeout",
        "trust",
        "description",
        "includeTools",
        "excludeTools",
        "oauth",
        "authProviderType",
        "targetAudience",
        "targetServiceAccount",
    ];
    let mut entry = Entry::new(member, dialect);
    let transport = entry.object().and_then(|object| {
        let kind = object.get("type").and_then(Node::text);
        if object.get("httpUrl").is_some() {
            return remote(&mut entry, object, "httpUrl").map(Transport::Http);
        }
        match (object.get("url").is_some(), kind) {
            (true, Some("http")) => remote(&mut entry, object, "url").map(Transport::Http),
            (true, _) => remote(&mut entry, object, "url").map(Transport::Sse),
            (false, _) if object.get("tcp").is_some() => {
                Err("tcp: a WebSocket of the client's own is not probed".to_owned())
            }
            (false, _) => {
                let stdio = stdio(&mut entry, object, "env")?;
                Ok(Transport::Stdio(StdioServer { withheld: withheld.to_vec(), ..stdio }))
            }
        }
    });
    let filter = filter(member, "includeTools", "excludeTools");
    Server { filter, ..entry.finish(transport, &KEYS) }
}

impl Source for Copilot {
    fn client(&self) -> Client {
        Client::Copilot
    }

    fn recognises(&self, path: &Path) -> bool {
        path.file_name().is_some_and(|name| name == "mcp-config.json")
    }

    fn places(&self, environment: &Environment) -> Vec<PathBuf> {
        let home = environment.setting("COPILOT_HOME").map(PathBuf::from);
        let home = home.or_else(|| environment.home().map(|home| home.join(".copilot")));
        std::iter::once(environment.folder.join(".mcp.json"))
            .chain(home.map(|home| home.join("mcp-config.json")))
            .collect()
    }

    fn syntax(&self) -> Syntax {
        Syntax::Json
    }

    fn read(&self, root: &Node, file: &File<'_>) -> Result<Content, Fault> {
        const KEYS: [&str; 9] = ["type", "command", "args", "env", "cwd", "url", "headers", "tools", "timeout"];
        // One that is found may have no servers.
        if file.is_found && root.object("").is_ok_and(|root| root.members.is_empty()) {
            return Ok(Content::default());
        }
        let members = entry::servers(root, "mcpServers", &["servers"])?;
        let dialect = expand::Shell { environment: file.environment, prefix: "" };
        let read = |member: &Member| {
            let mut entry = Entry::new(member, &dialect);
            let transport = entry.object().and_then(|object| match object.get("type").and_then(Node::text) {
                Some("http") => remote(&mut entry, object, "url").map(Transport::Http),
                Some("sse") => remote(&mut entry, object, "url").map(Transport::Sse),
                None | Some("local" | "stdio") => stdio(&mut entry, object, "env").map(Transport::Stdio),
                Some(other) => Err(format!("unknown MCP server type {other:?}")),
            });
            // `*` lets everything through.
            let mut filter = filter(member, "tools", "");
            filter.only = filter.only.filter(|(_, names)| !names.iter().any(|name| name == "*"));
            // One handshake of 60 s, and no second try.
            let advice = "install the server in an earlier step";
            let patience = Some(Patience { budget: Duration::from_mins(1), advice });
            Server { patience, filter, ..entry.finish(transport, &KEYS) }
        };
        Ok(Content { servers: members.iter().map(read).collect(), findings: Vec::new() })
    }
}

impl Source for OpenCode {
    fn layers(&self) -> Option<usize> {
        Some(usize::MAX)
    }

    fn client(&self) -> Client {
        Client::OpenCode
    }

    fn recognises(&self, path: &Path) -> bool {
        path.file_name().is_some_and(|name| name == "opencode.json" || name == "opencode.jsonc")
    }

    fn places(&self, environment: &Environment) -> Vec<PathBuf> {
        let home = environment.home().map(|home| home.join(".config/opencode"));
        let folders = std::iter::once(environment.folder.clone()).chain(home);
        folders.flat_map(|folder| ["opencode.json", "opencode.jsonc"].map(|name| folder.join(name))).collect()
    }

    fn syntax(&self) -> Syntax {
        Syntax::Loose
    }

    /// Version 2 has the servers below `mcp.servers`, version 1 in `mcp` itself.
    fn read(&self, root: &Node, file: &File<'_>) -> Result<Content, Fault> {
        let Some(mcp) = root.object("")?.get("mcp") else { return Ok(Content::default()) };
        let mcp = mcp.object("mcp")?;
        let members = match mcp.get("servers") {
            Some(Node { value: Value::Object(servers), .. }) if servers.get("type").is_none() => &servers.members,
            _ => &mcp.members,
        };
        let read = |member: &Member| {
            // Of several layers, each finds its files from its own folder.
            let path = file.environment.folder.join(&member.location.file);
            let folder = path.parent().unwrap_or(&file.environment.folder);
            opencode(member, &expand::Curly { environment: file.environment, folder })
        };
        let servers = members.iter().map(read).collect();
        Ok(Content { servers, findings: Vec::new() })
    }
}

fn opencode(member: &Member, dialect: &dyn Dialect) -> Server {
    const KEYS: [&str; 10] =
        ["type", "command", "cwd", "environment", "enabled", "disabled", "timeout", "url", "headers", "oauth"];
    let mut entry = Entry::new(member, dialect);
    let transport = entry.object().and_then(|object| match object.get("type").and_then(Node::text) {
        Some("local") => {
            let mut words = entry.texts(object, "command", Field::Command)?.into_iter();
            let command = words.next().ok_or("command: must not be empty")?;
            let environment = entry.map(object, "environment", Field::Environment)?;
            let folder = folder(&mut entry, object)?;
            let arguments = words.collect();
            Ok(Transport::Stdio(StdioServer { command, arguments, environment, folder, ..StdioServer::default() }))
        }
        Some("remote") => remote(&mut entry, object, "url").map(Transport::Http),
        Some(other) => Err(format!("unknown MCP server type {other:?}")),
        None => Err("type: expected \"local\" or \"remote\", found nothing".to_owned()),
    });
    let object = entry.object().ok();
    let switch = |key: &str, off: bool| {
        let node = object?.get(key).filter(|node| node.value == Value::Boolean(off))?;
        Some(Disabled { reason: format!("{key} is {off}"), location: node.location.clone() })
    };
    let disabled = switch("enabled", false).or_else(|| switch("disabled", true));
    let milliseconds = object.and_then(|object| entry::number(object, "timeout").ok().flatten()).unwrap_or(5_000.0);
    let patience = Duration::try_from_secs_f64(milliseconds / 1000.0).ok();
    let patience = patience.map(|budget| Patience { budget, advice: "raise timeout (milliseconds) in its entry" });
    Server { disabled, patience, ..entry.finish(transport, &KEYS) }
}

impl Source for Raw {
    fn client(&self) -> Client {
        Client::Raw
    }

    fn recognises(&self, _: &Path) -> bool {
        false
    }

    fn places(&self, environment: &Environment) -> Vec<PathBuf> {
        vec![environment.folder.join(".mcp.json")]
    }

    fn syntax(&self) -> Syntax {
        Syntax::Loose
    }

    fn read(&self, root: &Node, file: &File<'_>) -> Result<Content, Fault> {
        let key = if root.object("")?.get("servers").is_some() { "servers" } else { "mcpServers" };
        let members = entry::servers(root, key, &[])?;
        let dialect = expand::Shell { environment: file.environment, prefix: "" };
        let read = |member: &Member| {
            let mut entry = Entry::new(member, &dialect);
            let object = entry.object();
            let transport = object.clone().and_then(|object| match object.get("type").and_then(Node::text) {
                Some("sse") => remote(&mut entry, object, "url").map(Transport::Sse),
                Some("ws") => remote(&mut entry, object, "url").map(Transport::WebSocket),
                _ if object.get("url").is_some() => remote(&mut entry, object, "url").map(Transport::Http),
                _ => stdio(&mut entry, object, "env").map(Transport::Stdio),
            });
            let keys: Vec<&str> = match object {
                Ok(object) => object.members.iter().map(|member| member.key.as_str()).collect(),
                Err(_) => Vec::new(),
            };
            entry.finish(transport, &keys)
        };
        Ok(Content { servers: members.iter().map(read).collect(), findings: Vec::new() })
    }
}

fn stdio(entry: &mut Entry<'_>, object: &Object, variables: &str) -> Result<StdioServer, String> {
    let command = entry.required(object, "command", Field::Command)?;
    let arguments = entry.texts(object, "args", Field::Argument)?;
    let environment = entry.map(object, variables, Field::Environment)?;
    let folder = folder(entry, object)?;
    Ok(StdioServer { command, arguments, environment, folder, ..StdioServer::default() })
}

fn folder(entry: &mut Entry<'_>, object: &Object) -> Result<Option<PathBuf>, String> {
    let Some(node) = object.get("cwd") else { return Ok(None) };
    Ok(Some(PathBuf::from(entry.text(node, "cwd", Field::Folder)?.value.reveal())))
}

fn remote(entry: &mut Entry<'_>, object: &Object, key: &str) -> Result<RemoteServer, String> {
    let url = entry.required(object, key, Field::Url)?;
    Ok(RemoteServer { url, headers: entry.map(object, "headers", Field::Header)?, helper: None, falls_back: false })
}

/// The names in these keys; a key that holds no names is the client's to complain about.
fn filter(member: &Member, only: &'static str, without: &'static str) -> ToolFilter {
    let Value::Object(object) = &member.node.value else { return ToolFilter::default() };
    let names = |key: &'static str| Some((key, entry::names(object, key).ok().flatten()?));
    ToolFilter { only: names(only), without: names(without) }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{ClaudeDesktop, Copilot, Gemini, OpenCode, Raw, Source};
    use crate::config::File;
    use crate::document::Document;
    use crate::environment::{Environment, HOME};
    use crate::server::{Server, Transport};

    fn read(source: &dyn Source, text: &str) -> Vec<Server> {
        let root = Document::new("f", text.as_bytes()).parse(source.syntax()).expect("a tree");
        let environment = Environment::of(&[("TOKEN", "t0ken"), (HOME, "/home/me")]);
        let file = File { path: Path::new("/w/f"), is_found: true, is_given: false, environment: &environment };
        source.read(&root, &file).expect("servers").servers
    }

    fn header(server: &Server) -> &str {
        match &server.transport {
            Ok(Transport::Http(remote) | Transport::Sse(remote)) => remote.headers[0].1.value.reveal(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn claude_desktop_starts_programs_only() {
        let servers = read(
            &ClaudeDesktop,
            r#"{"mcpServers": {"a": {"command": "x", "args": ["${TOKEN}"]}, "b": {"url": "http://h"}}}"#,
        );
        let Ok(Transport::Stdio(stdio)) = &servers[0].transport else { panic!("{servers:?}") };
        assert_eq!(stdio.arguments[0].value.reveal(), "${TOKEN}");
        assert!(servers[1].transport.as_ref().expect_err("a reason").contains("programs only"));
    }

    #[test]
    fn geminis_addresses_and_lists() {
        let text = r#"{"mcp": {"allowed": ["a", "b", "c"], "excluded": ["c"]}, "mcpServers": {
            "a": {"url": "http://h/sse", "headers": {"A": "Bearer $TOKEN"}, "excludeTools": ["x"]}, // comment
            "b": {"httpUrl": "http://h/mcp", "headers": {"A": "${NO:-d}"}},
            "c": {"command": "x"},
            "d": {"command": "x"}}}"#;
        let servers = read(&Gemini, text);
        assert!(
            matches!(servers[0].transport, Ok(Transport::Sse(_)))
                && matches!(servers[1].transport, Ok(Transport::Http(_)))
        );
        assert_eq!((header(&servers[0]), header(&servers[1])), ("Bearer t0ken", "d"));
        assert_eq!(servers[0].filter.keeps_out("x"), Some("excludeTools"));
        let disabled: Vec<Option<&str>> =
            servers.iter().map(|server| server.disabled.as_ref().map(|disabled| disabled.reason.as_str())).collect();
        assert_eq!(disabled, [None, None, Some("mcp.excluded names it"), Some("mcp.allowed does not name it")]);
    }

    #[test]
    fn copilots_tools_are_a_list_or_a_star() {
        let text = r#"{"mcpServers": {"a": {"type": "local", "command": "x", "args": [], "tools": ["*"]}, "b": {"type": "http", "url": "http://h", "headers": {"A": "$TOKEN"}, "tools": ["t"]}}}"#;
        let servers = read(&Copilot, text);
        assert_eq!(servers[0].filter.keeps_out("anything"), None);
        assert_eq!((servers[1].filter.keeps_out("t"), servers[1].filter.keeps_out("u")), (None, Some("tools")));
        assert_eq!(header(&servers[1]), "t0ken");
    }

    #[test]
    fn both_versions_of_opencode_are_read() {
        let entries = r#"{"a": {"type": "local", "command": ["x", "y"], "environment": {"K": "{env:TOKEN}"}}, "b": {"type": "remote", "url": "http://h", "headers": {"A": "{env:TOKEN}"}, "enabled": false}}"#;
        for text in [format!(r#"{{"mcp": {entries}}}"#), format!(r#"{{"mcp": {{"servers": {entries}}}}}"#)] {
            let servers = read(&OpenCode, &text);
            let Ok(Transport::Stdio(stdio)) = &servers[0].transport else { panic!("{servers:?}") };
            assert_eq!((stdio.command.value.reveal(), stdio.arguments[0].value.reveal()), ("x", "y"));
            assert_eq!(stdio.environment[0].1.value.reveal(), "t0ken");
            assert!(servers[1].disabled.is_some());
            assert_eq!(header(&servers[1]), "t0ken");
        }
    }

    #[test]
    fn without_a_client_every_shape_is_read() {
        let servers = read(
            &Raw,
            r#"{"servers": {"a": {"command": "x", "whatever": 1}, "b": {"url": "http://h"}, "c": {"type": "ws", "url": "ws://h"}}}"#,
        );
        assert!(servers.iter().all(|server| server.transport.is_ok() && server.unknown_keys.is_empty()));
    }
}
