//! Files -> servers: discovery, reading, merging, one client a file. It starts no process and sends nothing.

mod claude;
mod claude_command;
mod claude_own;
mod claude_policy;
pub(crate) mod claude_running;
mod claude_settings;
mod codex;
mod codex_check;
mod editors;
mod entry;
mod expand;
mod machine;
mod others;
mod withheld;

use std::path::{Path, PathBuf};

use crate::document::{Document, Fault, Node, Syntax};
use crate::environment::Environment;
use crate::error::Error;
use crate::files;
use crate::finding::{Code, Finding};
use crate::server::{Location, Server, ServerName};
use crate::values::Client;

/// The servers of a run.
#[derive(Debug)]
pub(crate) struct Configuration {
    /// Whose rules were used.
    pub(crate) client: Client,
    /// The files, as they should be shown, most important first.
    pub(crate) files: Vec<String>,
    /// The folder of the most important file: the lock lies there by default.
    pub(crate) folder: PathBuf,
    /// Every server, each name once, in the order of the files.
    pub(crate) servers: Vec<Server>,
    /// What there is to say of the files themselves.
    pub(crate) findings: Vec<Finding>,
    /// Servers that the client gets from elsewhere: known by name only.
    pub(crate) elsewhere: Vec<ServerName>,
}

/// A file of a client's configuration.
struct File<'a> {
    /// Where it is.
    path: &'a Path,
    /// Whether the client finds it by itself where this run was started, rather than being pointed to it.
    is_found: bool,
    /// Whether this run was pointed to it.
    is_given: bool,
    environment: &'a Environment,
}

/// What a file holds.
#[derive(Default)]
struct Content {
    servers: Vec<Server>,
    findings: Vec<Finding>,
}

/// A client's kind of configuration.
trait Source: Sync {
    /// The client.
    fn client(&self) -> Client;

    /// Whether a file of this path is one of the client's.
    fn recognises(&self, path: &Path) -> bool;

    /// Where the client looks when it is started here, most important first. Not all of them need exist.
    fn places(&self, environment: &Environment) -> Vec<PathBuf>;

    /// How the file is written.
    fn syntax(&self) -> Syntax;

    /// Why the client does not read a file that it finds.
    fn passes_over(&self, _file: &File<'_>) -> Option<String> {
        None
    }

    /// Down to which depth the files are layers of one configuration; `None` where each stands alone, and servers are taken whole.
    fn layers(&self) -> Option<usize> {
        None
    }

    /// Whether a byte order mark keeps the client from reading the file.
    fn refuses_byte_order_mark(&self) -> bool {
        false
    }

    /// What the client does to servers it has found once all files are read.
    fn settle(&self, _configuration: &mut Configuration, _environment: &Environment) {}

    /// What the client does to servers from wherever.
    fn restrict(&self, _servers: &mut [Server], _environment: &Environment) -> Vec<Finding> {
        Vec::new()
    }

    /// Whether the client takes an empty file it has found for one without servers.
    fn allows_blank(&self) -> bool {
        false
    }

    /// The servers of a file, entry by entry.
    ///
    /// # Errors
    /// What makes the client drop the whole file.
    fn read(&self, root: &Node, file: &File<'_>) -> Result<Content, Fault>;
}

/// Every client, the most particular about file names first.
const SOURCES: [&dyn Source; 9] = [
    &claude::McpJson,
    &codex::ConfigToml,
    &editors::VsCode,
    &editors::Cursor,
    &others::Gemini,
    &others::Copilot,
    &others::OpenCode,
    &others::ClaudeDesktop,
    &others::Raw,
];

/// Reads the named files, or discovers those of `client` (Claude Code's where none is given).
///
/// Discovered files: the nearest wins by server name. Named files: the later wins, as Claude Code 2.1.332 does with
/// `--mcp-config A B` (seen on the program itself, in both orders).
///
/// # Errors
/// [`Error::NoConfig`] when there is none, [`Error::Unreadable`] for a named file that is not there, [`Error::Config`] for a file
/// that the client would drop, [`Error::Usage`] when the files are those of different clients.
pub(crate) fn load(
    named: &[PathBuf],
    client: Option<Client>,
    environment: &Environment,
) -> Result<Configuration, Error> {
    let source = source(named, client)?;
    let found = found(source, environment);
    let is_given = !named.is_empty();
    let paths: Vec<PathBuf> =
        if is_given { named.iter().rev().map(|path| environment.folder.join(path)).collect() } else { found.clone() };
    let Some(first) = paths.first() else {
        let wanted = source.places(environment);
        let wanted = wanted.first().map(|path| shown(path, &environment.folder)).unwrap_or_default();
        let folder = environment.folder.display().to_string();
        return Err(Error::NoConfig { wanted, client: source.client().name(), folder });
    };
    let file =
        |path| File { path, is_found: found.iter().any(|other| files::is_same(other, path)), is_given, environment };
    let mut configuration = Configuration::empty(source.client(), folder_of(first, environment));
    let mut layers: Option<(Node, &Path)> = None;
    for path in &paths {
        let shown = shown(path, &environment.folder);
        if let Some(reason) = source.passes_over(&file(path)).filter(|_| !is_given) {
            configuration.findings.push(passed_over(&shown, &reason));
            continue;
        }
        if configuration.files.is_empty() {
            configuration.folder = folder_of(path, environment);
        }
        configuration.files.push(shown.clone());
        let Some(root) = tree(source, path, &shown, !is_given)? else { continue };
        match (source.layers(), layers.take()) {
            (None, _) => configuration.add(source.read(&root, &file(path)).map_err(fault)?),
            (Some(_), None) => layers = Some((root, path)),
            (Some(depth), Some((above, path))) => layers = Some((above.over(root, depth), path)),
        }
    }
    if let Some((root, path)) = layers {
        configuration.add(source.read(&root, &file(path)).map_err(fault)?);
    }
    if paths.iter().any(|path| file(path).is_found) {
        source.settle(&mut configuration, environment);
    } else {
        configuration.elsewhere.extend(names_in(source, &found, environment));
    }
    // Last: a server that took the place of another one is restricted as well.
    let findings = source.restrict(&mut configuration.servers, environment);
    configuration.findings.extend(findings);
    Ok(configuration)
}

fn folder_of(path: &Path, environment: &Environment) -> PathBuf {
    path.parent().map_or_else(|| environment.folder.clone(), Path::to_path_buf)
}

impl Configuration {
    fn empty(client: Client, folder: PathBuf) -> Self {
        let (files, servers) = (Vec::new(), Vec::new());
        Self { client, files, folder, servers, findings: Vec::new(), elsewhere: Vec::new() }
    }

    /// Adds what a file holds; a name that is known stays as it is.
    fn add(&mut self, content: Content) {
        self.findings.extend(content.findings);
        for server in content.servers {
            if !self.servers.iter().any(|known| known.name == server.name) {
                self.servers.push(server);
            }
        }
    }
}

fn fault(fault: Fault) -> Error {
    Error::Config { location: fault.location, message: fault.message }
}

/// What a file holds; `None` for an empty one that the client takes for one without servers.
fn tree(source: &dyn Source, path: &Path, shown: &str, was_searched: bool) -> Result<Option<Node>, Error> {
    let document = read(path, shown)?;
    if was_searched && source.allows_blank() && document.is_blank() {
        return Ok(None);
    }
    let root = document.parse(source.syntax()).map_err(fault)?;
    if document.has_byte_order_mark() && source.refuses_byte_order_mark() {
        return Err(fault(root.fault("the file begins with a byte order mark, which the client does not read")));
    }
    Ok(Some(root))
}

fn passed_over(shown: &str, reason: &str) -> Finding {
    let location = Location { file: shown.to_owned(), line: 1, column: 1 };
    let message = format!("the client does not read this file: {reason}");
    Finding::new(Code::ConfigIgnored, message)
        .at(&location)
        .help("trust the folder where the agent runs, or move the servers")
}

/// The names of the servers in these files, faults aside: they are not those of this run.
fn names_in(source: &dyn Source, paths: &[PathBuf], environment: &Environment) -> Vec<ServerName> {
    let names = |path: &PathBuf| {
        let file = File { path, is_found: true, is_given: false, environment };
        let root = tree(source, path, "", true).ok()??;
        Some(source.read(&root, &file).ok()?.servers.into_iter().map(|server| server.name))
    };
    paths.iter().filter_map(names).flatten().collect()
}

/// The source that reads these files.
fn source(named: &[PathBuf], client: Option<Client>) -> Result<&'static dyn Source, Error> {
    let of_client = |client: Client| SOURCES.into_iter().find(|source| source.client() == client);
    if let Some(client) = client {
        return of_client(client).ok_or_else(|| Error::Usage(format!("--client {}: not known", client.as_str())));
    }
    let of_path = |path: &PathBuf| {
        let known = SOURCES.into_iter().find(|source| source.recognises(path));
        known.or_else(|| of_client(Client::Claude))
    };
    let mut sources = named.iter().filter_map(of_path);
    let first = match sources.next() {
        Some(first) => first,
        None => of_client(Client::Claude).ok_or_else(|| Error::Internal("no source".to_owned()))?,
    };
    match sources.find(|other| other.client() != first.client()) {
        None => Ok(first),
        Some(other) => Err(Error::Usage(format!(
            "the configurations are those of {} and of {}: check one client at a time, or say whose rules hold for all with --client",
            first.client().name(),
            other.client().name()
        ))),
    }
}

/// The files that the client finds by itself, most important first.
fn found(source: &dyn Source, environment: &Environment) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for path in source.places(environment).into_iter().filter(|path| path.symlink_metadata().is_ok()) {
        if !found.iter().any(|known| files::is_same(known, &path)) {
            found.push(path);
        }
    }
    found
}

fn read(path: &Path, shown: &str) -> Result<Document, Error> {
    let unreadable = |source| Error::Unreadable { what: "config", path: shown.to_owned(), source };
    files::read(path).map(|bytes| Document::new(shown, &bytes)).map_err(unreadable)
}

/// The path as a person in `folder` would write it.
pub(crate) fn shown(path: &Path, folder: &Path) -> String {
    for (up, ancestor) in folder.ancestors().enumerate().take(8) {
        // The root is no common ground worth a row of `..`.
        if ancestor.parent().is_none() && up > 0 {
            break;
        }
        if let Ok(rest) = path.strip_prefix(ancestor) {
            return format!("{}{}", "../".repeat(up), files::slashed(rest));
        }
    }
    files::slashed(path)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::shown;

    #[test]
    fn paths_are_shown_from_where_the_person_stands() {
        let folder = Path::new("/home/me/project");
        assert_eq!(shown(Path::new("/home/me/project/.mcp.json"), folder), ".mcp.json");
        assert_eq!(shown(Path::new("/home/me/.mcp.json"), folder), "../.mcp.json");
        assert_eq!(shown(Path::new("/home/me/other/.mcp.json"), folder), "../other/.mcp.json");
        assert_eq!(shown(Path::new("/etc/mcp.json"), folder), "/etc/mcp.json");
    }
}
