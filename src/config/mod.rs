//! Files -> servers: discovery, reading, merging. It starts no process and sends nothing.

mod claude;
mod expand;

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::error::Error;
use crate::json::Document;
use crate::server::Server;

/// A larger file is not read by the client (`clients.md` 1.2).
const LARGEST_FILE: u64 = 2_097_152;

/// The servers of a run.
#[derive(Debug)]
pub(crate) struct Configuration {
    /// Whose rules were used.
    pub(crate) client: &'static str,
    /// The files, as they should be shown, most important first.
    pub(crate) files: Vec<String>,
    /// The folder of the most important file: the lock lies there by default.
    pub(crate) folder: PathBuf,
    /// Every server, each name once, in the order of the files.
    pub(crate) servers: Vec<Server>,
}

/// A client's kind of configuration file.
trait Source {
    /// The client's name in reports.
    fn client(&self) -> &'static str;
    /// The file's name where it is discovered.
    fn file_name(&self) -> &'static str;
    /// Whether the client looks into this folder at all.
    fn looks_into(&self, folder: &Path) -> bool;
    /// The servers of a file, entry by entry.
    ///
    /// # Errors
    /// What makes the client drop the whole file.
    fn read(&self, document: &Document, environment: &Environment) -> Result<Vec<Server>, crate::json::Fault>;
}

/// The source of every configuration.
const SOURCE: &dyn Source = &claude::McpJson;

/// Reads the named files, or discovers them.
///
/// Discovered files: the nearest wins by server name. Named files: the later wins, as Claude Code 2.1.332 does with
/// `--mcp-config A B` (seen on the program itself, in both orders).
///
/// # Errors
/// [`Error::NoConfig`] when there is none, [`Error::Unreadable`] for a named file that is not there, [`Error::Config`] for a file
/// that the client would drop.
pub(crate) fn load(named: &[PathBuf], environment: &Environment) -> Result<Configuration, Error> {
    let source = SOURCE;
    let paths = if named.is_empty() {
        discover(source, &environment.folder)
    } else {
        named.iter().rev().map(|path| environment.folder.join(path)).collect()
    };
    let Some(first) = paths.first() else {
        return Err(Error::NoConfig { folder: environment.folder.display().to_string() });
    };
    let folder = first.parent().map_or_else(|| environment.folder.clone(), Path::to_path_buf);
    let mut configuration = Configuration { client: source.client(), files: Vec::new(), folder, servers: Vec::new() };
    for path in &paths {
        let shown = shown(path, &environment.folder);
        let document = read(path, &shown)?;
        configuration.files.push(shown);
        if named.is_empty() && document.is_blank() {
            continue;
        }
        let found = source
            .read(&document, environment)
            .map_err(|fault| Error::Config { location: fault.location, message: fault.message })?;
        for server in found {
            if !configuration.servers.iter().any(|known| known.name == server.name) {
                configuration.servers.push(server);
            }
        }
    }
    Ok(configuration)
}

/// The client's files in this folder and every folder above, nearest first, the root of the file system excluded.
fn discover(source: &dyn Source, folder: &Path) -> Vec<PathBuf> {
    folder
        .ancestors()
        .filter(|ancestor| ancestor.parent().is_some() && source.looks_into(ancestor))
        .map(|ancestor| ancestor.join(source.file_name()))
        .filter(|path| path.symlink_metadata().is_ok())
        .collect()
}

fn read(path: &Path, shown: &str) -> Result<Document, Error> {
    let unreadable = |source| Error::Unreadable { what: "config", path: shown.to_owned(), source };
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(unreadable(io::Error::other("it is no regular file, and the client would skip it")));
    }
    if metadata.len() > LARGEST_FILE {
        return Err(unreadable(io::Error::other("it is larger than 2 MiB, and the client would skip it")));
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(unreadable)?;
    file.take(LARGEST_FILE).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(Document::new(shown, &bytes))
}

/// The path as a person in `folder` would write it.
pub(crate) fn shown(path: &Path, folder: &Path) -> String {
    for (up, ancestor) in folder.ancestors().enumerate().take(8) {
        // The root is no common ground worth a row of `..`.
        if ancestor.parent().is_none() && up > 0 {
            break;
        }
        if let Ok(rest) = path.strip_prefix(ancestor) {
            return format!("{}{}", "../".repeat(up), rest.display());
        }
    }
    path.display().to_string()
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
