//! VS Code's `.vscode/mcp.json` and Cursor's `.cursor/mcp.json` (`clients.md` section 3, from documentation and source; not seen running
//! here): JSON with comments, variables by kind, files of variables.

use std::path::{Path, PathBuf};

use super::entry::{self, Entry, Field};
use super::{Content, File, Source, expand};
use crate::document::{Fault, Member, Node, Object, Syntax, Value};
use crate::environment::Environment;
use crate::files;
use crate::server::{Expanded, RemoteServer, Secret, Server, StdioServer, Transport};
use crate::values::Client;

/// VS Code's workspace file.
pub(super) struct VsCode;

/// Cursor's project file.
pub(super) struct Cursor;

/// Keys of VS Code's entries; its schema allows no others.
const VSCODE_KEYS: [&str; 12] =
    ["type", "command", "args", "cwd", "env", "envFile", "dev", "sandboxEnabled", "sandbox", "url", "headers", "oauth"];
/// Keys of Cursor's entries.
const CURSOR_KEYS: [&str; 8] = ["type", "command", "args", "env", "envFile", "url", "headers", "auth"];

impl Source for VsCode {
    fn client(&self) -> Client {
        Client::VsCode
    }

    fn recognises(&self, path: &Path) -> bool {
        is_in(path, ".vscode", "mcp.json")
    }

    fn places(&self, environment: &Environment) -> Vec<PathBuf> {
        vec![environment.folder.join(".vscode/mcp.json")]
    }

    fn syntax(&self) -> Syntax {
        Syntax::Loose
    }

    fn read(&self, root: &Node, file: &File<'_>) -> Result<Content, Fault> {
        let members = entry::servers(root, "servers", &["mcpServers"])?;
        Ok(content(members, file, &VSCODE_KEYS))
    }
}

impl Source for Cursor {
    fn client(&self) -> Client {
        Client::Cursor
    }

    fn recognises(&self, path: &Path) -> bool {
        is_in(path, ".cursor", "mcp.json")
    }

    /// The project's, then the person's.
    fn places(&self, environment: &Environment) -> Vec<PathBuf> {
        let home = environment.home().map(|home| home.join(".cursor/mcp.json"));
        std::iter::once(environment.folder.join(".cursor/mcp.json")).chain(home).collect()
    }

    fn syntax(&self) -> Syntax {
        Syntax::Loose
    }

    fn read(&self, root: &Node, file: &File<'_>) -> Result<Content, Fault> {
        let members = entry::servers(root, "mcpServers", &["servers"])?;
        Ok(content(members, file, &CURSOR_KEYS))
    }
}

/// Whether a path ends with this folder and name.
pub(super) fn is_in(path: &Path, folder: &str, name: &str) -> bool {
    path.file_name().is_some_and(|found| found == name)
        && path.parent().and_then(Path::file_name).is_some_and(|found| found == folder)
}

fn content(members: &[Member], file: &File<'_>, keys: &[&str]) -> Content {
    // The workspace is the folder that holds the client's own; a person's own file is for every workspace.
    let holds = |folder: &str| file.path.parent().and_then(Path::file_name).is_some_and(|name| name == folder);
    let home = file.environment.home();
    let holder = file.path.parent().and_then(Path::parent).filter(|_| holds(".vscode") || holds(".cursor"));
    let holder = holder.filter(|holder| home.as_deref() != Some(*holder) || *holder == file.environment.folder);
    let workspace = holder.unwrap_or(&file.environment.folder);
    let dialect = expand::Named { environment: file.environment, workspace };
    let read = |member: &Member| {
        let mut entry = Entry::new(member, &dialect);
        let transport = entry.object().and_then(|object| transport(&mut entry, object, workspace));
        entry.finish(transport, keys)
    };
    let servers: Vec<Server> = members.iter().map(read).collect();
    Content { servers, findings: Vec::new() }
}

fn transport(entry: &mut Entry<'_>, object: &Object, workspace: &Path) -> Result<Transport, String> {
    let kind = object.get("type").and_then(Node::text);
    match kind {
        Some("sse") => remote(entry, object).map(Transport::Sse),
        // The client tries the older transport where the newer one is not spoken.
        Some("http" | "streamable-http" | "streamableHttp") => {
            Ok(Transport::Http(RemoteServer { falls_back: true, ..remote(entry, object)? }))
        }
        None if object.get("command").is_none() && object.get("url").is_some() => {
            Ok(Transport::Http(RemoteServer { falls_back: true, ..remote(entry, object)? }))
        }
        None | Some("stdio") => stdio(entry, object, workspace).map(Transport::Stdio),
        Some(other) => Err(format!("unknown MCP server type {other:?}")),
    }
}

fn stdio(entry: &mut Entry<'_>, object: &Object, workspace: &Path) -> Result<StdioServer, String> {
    let command = entry.required(object, "command", Field::Command)?;
    let arguments = entry.texts(object, "args", Field::Argument)?;
    let folder = match object.get("cwd") {
        Some(node) => workspace.join(entry.text(node, "cwd", Field::Folder)?.value.reveal()),
        None => workspace.to_path_buf(),
    };
    let mut environment = Vec::new();
    if let Some(node) = object.get("envFile") {
        let path = entry.text(node, "envFile", Field::Folder)?;
        let file = workspace.join(path.value.reveal());
        let text = files::read_text(&file).map_err(|error| format!("envFile: {}: {error}", path.written))?;
        environment.extend(variables(&text));
    }
    environment.extend(values(entry, object)?);
    let withheld = nulls(object);
    environment.retain(|(name, _)| !withheld.contains(name));
    Ok(StdioServer { command, arguments, environment, withheld, folder: Some(folder), ..StdioServer::default() })
}

/// Variables that `env` takes away.
fn nulls(object: &Object) -> Vec<String> {
    let map = object.get("env").and_then(|node| node.object("").ok());
    let nulls = map.into_iter().flat_map(|map| &map.members).filter(|member| member.node.value == Value::Null);
    nulls.map(|member| member.key.clone()).collect()
}

/// `env`: strings and numbers; nulls are no values.
fn values(entry: &mut Entry<'_>, object: &Object) -> Result<Vec<(String, Expanded)>, String> {
    let Some(node) = object.get("env") else { return Ok(Vec::new()) };
    let map = node.object("env").map_err(|fault| fault.message)?;
    let value = |member: &Member| {
        let literal = |text: &str| Expanded { written: text.to_owned(), value: Secret::new(text) };
        let text = match &member.node.value {
            Value::Number(number) => literal(number),
            _ => entry.text(&member.node, &format!("env.{}", member.key), Field::Environment)?,
        };
        Ok((member.key.clone(), text))
    };
    map.members.iter().filter(|member| member.node.value != Value::Null).map(value).collect()
}

fn remote(entry: &mut Entry<'_>, object: &Object) -> Result<RemoteServer, String> {
    let url = entry.required(object, "url", Field::Url)?;
    Ok(RemoteServer { url, headers: entry.map(object, "headers", Field::Header)?, helper: None, falls_back: false })
}

/// The lines `NAME=value` of a file of variables; comments and quotes as dotenv has them.
fn variables(text: &str) -> Vec<(String, Expanded)> {
    let line = |line: &str| {
        let line = line.trim();
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=').filter(|_| !line.starts_with('#'))?;
        let value = value.trim();
        let quoted = |quote: char| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        let value = quoted('"').or_else(|| quoted('\'')).unwrap_or(value);
        Some((name.trim().to_owned(), Expanded { written: String::new(), value: Secret::new(value) }))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Cursor, Source, VsCode, variables};
    use crate::config::File;
    use crate::document::{Document, Syntax};
    use crate::environment::{Environment, HOME};
    use crate::server::{Server, Transport};

    fn read(source: &dyn Source, path: &str, text: &str) -> Result<Vec<Server>, String> {
        let root = Document::new("mcp.json", text.as_bytes()).parse(Syntax::Loose).expect("JSON");
        let environment = Environment::of(&[("TOKEN", "t0ken"), (HOME, "/home/me")]);
        let file = File { path: Path::new(path), is_found: true, is_given: false, environment: &environment };
        source.read(&root, &file).map(|content| content.servers).map_err(|fault| fault.message)
    }

    #[test]
    fn vs_codes_file_is_read() {
        let text = r#"{ // servers
            "inputs": [{"id": "token", "type": "promptString"}],
            "servers": {
                "a": {"command": "${workspaceFolder}/run", "args": ["${env:TOKEN}"], "env": {"N": 3, "GONE": null}, "bogus": 1},
                "b": {"url": "https://h/mcp", "headers": {"Authorization": "Bearer ${input:token}"}},
                "c": {"type": "sse", "url": "https://h/sse"},
            },
        }"#;
        let servers = read(&VsCode, "/w/p/.vscode/mcp.json", text).expect("servers");
        let Ok(Transport::Stdio(stdio)) = &servers[0].transport else { panic!("{servers:?}") };
        assert_eq!(stdio.command.value.reveal(), "/w/p/run");
        assert_eq!(stdio.arguments[0].value.reveal(), "t0ken");
        assert_eq!(stdio.folder.as_deref(), Some(Path::new("/w/p")));
        assert_eq!(stdio.environment[0].1.value.reveal(), "3");
        assert_eq!(servers[0].unknown_keys[0].0, "bogus");
        let reason = servers[1].transport.as_ref().expect_err("a reason");
        assert!(reason.starts_with("headers.Authorization: ${input:token}"), "{reason}");
        assert!(matches!(servers[2].transport, Ok(Transport::Sse(_))));
        assert!(
            read(&VsCode, "/w/p/.vscode/mcp.json", r#"{"mcpServers": {}}"#)
                .expect_err("a fault")
                .contains("\"servers\"")
        );
    }

    #[test]
    fn cursors_file_is_read() {
        let text = r#"{"mcpServers": {"a": {"command": "x", "args": ["${workspaceFolderBasename}", "${userHome}"]}, "b": {"url": "http://h/${env:TOKEN}"}}}"#;
        let servers = read(&Cursor, "/w/p/.cursor/mcp.json", text).expect("servers");
        let Ok(Transport::Stdio(stdio)) = &servers[0].transport else { panic!("{servers:?}") };
        assert_eq!(stdio.arguments[0].value.reveal(), "p");
        assert_eq!(stdio.arguments[1].value.reveal(), "/home/me");
        let Ok(Transport::Http(remote)) = &servers[1].transport else { panic!("{servers:?}") };
        assert_eq!(remote.url.value.reveal(), "http://h/t0ken");
    }

    #[test]
    fn files_of_variables_are_read_as_dotenv_reads_them() {
        let found = variables("# c\nA=1\nexport B=\"two words\"\nC='x=y'\n\nD\n E = 5 \n");
        let found: Vec<(&str, &str)> = found.iter().map(|(name, text)| (name.as_str(), text.value.reveal())).collect();
        assert_eq!(found, [("A", "1"), ("B", "two words"), ("C", "x=y"), ("E", "5")]);
    }
}
