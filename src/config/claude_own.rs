//! A person's own file (`~/.claude.json`): servers, and what it keeps of each folder (`clients.md` 1.3). It is full of other things, and may be
//! large: only what is wanted is read.

use std::io;
use std::path::{Path, PathBuf};

use super::shown;
use crate::document::{Document, Member, Node, Syntax};
use crate::environment::Environment;
use crate::files;

/// The servers of a person's own file for this folder; they win over the project's.
pub(super) fn local_servers(environment: &Environment) -> Vec<Member> {
    members(of_folder(&project_root(environment), "mcpServers", environment))
}

/// Those for every folder; the project's win over them.
pub(super) fn user_servers(environment: &Environment) -> Vec<Member> {
    members(own(&["mcpServers"], environment))
}

fn members(node: Option<Node>) -> Vec<Member> {
    node.and_then(|node| node.object("").ok().map(|object| object.members.clone())).unwrap_or_default()
}

/// Where a person's own file is.
pub(super) fn own_path(environment: &Environment) -> Option<PathBuf> {
    let folder = user_folder(environment)?;
    Some(match environment.setting("CLAUDE_CONFIG_DIR") {
        Some(_) => folder.join(".claude.json"),
        None => folder.with_file_name(".claude.json"),
    })
}

/// What a person's own file says under these keys. It is full of other things: a fault in it is no business of a gate.
fn own(keys: &[&str], environment: &Environment) -> Option<Node> {
    let path = own_path(environment)?;
    let bytes = files::read_own(&path).ok()?;
    Document::pick(&shown(&path, &environment.folder), &bytes, keys)
}

/// What keeps the person's own file from being read, where it is there.
pub(super) fn own_fault(environment: &Environment) -> Option<String> {
    let path = own_path(environment)?;
    let bytes = match files::read_own(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => return Some(format!("cannot read {}: {error}", path.display())),
    };
    let servers = Document::pick("", &bytes, &["mcpServers"]);
    if servers.as_ref().is_some_and(|servers| servers.object("").is_ok()) {
        return None;
    }
    let document = Document::new(path.display().to_string(), &bytes);
    match document.parse(Syntax::LastWins) {
        _ if servers.is_some() => Some(format!("{}: mcpServers is no object", path.display())),
        Err(fault) if !document.is_blank() => Some(format!("{}: {}", fault.location, fault.message)),
        _ => None,
    }
}

/// What it says of a folder, under one key: whatever else stands there does not hide it.
pub(super) fn of_folder(folder: &Path, member: &str, environment: &Environment) -> Option<Node> {
    let folder = folder.display().to_string();
    let of = |folder: &str| own(&["projects", folder, member], environment);
    // On Windows the client writes it with the other slash.
    of(&folder).or_else(|| if cfg!(windows) { of(&folder.replace('\\', "/")) } else { None })
}

/// The folder by which a person's own file knows this project: the root of the repository, that of the main one where this is a worktree of
/// it, and this folder where there is none; links resolved (seen on Claude Code 2.1.332 in a dozen layouts).
pub(super) fn project_root(environment: &Environment) -> PathBuf {
    let folder = files::resolved(&environment.folder);
    let root = folder.ancestors().find_map(|folder| {
        let is_root = folder.join(".git").exists();
        is_root.then(|| main_repository(folder).unwrap_or_else(|| folder.to_path_buf()))
    });
    root.map_or(folder, |root| files::resolved(&root))
}

/// The folder of the main repository, where this is a worktree of it: `.git` points to `worktrees/NAME` in the main one's own folder
/// (a submodule's points elsewhere), and that points back. A bare repository is its own folder. A checkout must not claim to be part of
/// somebody's trusted one.
fn main_repository(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    let pointer = files::read_text(&git).ok()?;
    let target = folder.join(pointer.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
    let (worktrees, common) = (target.parent()?, target.parent()?.parent()?);
    let points_to = |name: &str, wanted: &Path| {
        let text = files::read_text(&target.join(name)).ok()?;
        Some(target.join(text.trim()).canonicalize().ok()? == *wanted)
    };
    let is_worktree = worktrees.file_name()? == "worktrees"
        && common.join("HEAD").is_file()
        && common.join("objects").is_dir()
        && points_to("commondir", common)?
        && points_to("gitdir", &git)?;
    let main = if common.file_name()? == ".git" { common.parent()? } else { common };
    is_worktree.then(|| main.to_path_buf())
}

/// Where a person's own files are.
pub(super) fn user_folder(environment: &Environment) -> Option<PathBuf> {
    let named = environment.setting("CLAUDE_CONFIG_DIR").map(PathBuf::from);
    named.or_else(|| environment.home().map(|home| home.join(".claude")))
}
