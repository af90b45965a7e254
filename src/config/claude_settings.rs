//! What Claude Code's settings say of servers: which ones of a project are rejected (`clients.md` 1.3), and look-alikes that nobody reads.

use std::io;
use std::path::{Path, PathBuf};

use super::claude_policy::Policy;
pub(super) use super::machine::MANAGED_SERVERS;
use super::machine::MANAGED_SETTINGS;
use super::shown;
use crate::document::{Document, Member, Node, Object, Syntax, Value};
use crate::environment::Environment;
use crate::files;
use crate::finding::{Code, Finding, Severity};
use crate::naming;
use crate::server::{Disabled, Expanded, Origin, Secret, Server};

/// Files that people write servers into, and that no client reads (`clients.md` section 5, row 24).
const LOOK_ALIKES: [&str; 4] = ["mcp.json", ".mcp.jsonc", ".claude/mcp.json", ".claude/.mcp.json"];

/// Marks the servers that settings reject: `disabledMcpjsonServers` in any of them, compared after normalising, and what a person has
/// switched off for this folder (`disabledMcpServers`). Returns what there is to say of the files.
pub(super) fn reject(servers: &mut [Server], environment: &Environment) -> Vec<Finding> {
    let mut findings = Vec::new();
    for path in settings(environment) {
        // What cannot be read is said by `restrict`.
        let Some(root) = read(&path, environment, &mut Vec::new()) else { continue };
        let Ok(root) = root.object("") else { continue };
        let is_of_project = |server: &Server| server.origin == Origin::Project;
        mark(servers, root.get("disabledMcpjsonServers"), "disabledMcpjsonServers names it", is_of_project);
        if let Some(member) = root.member("mcpServers") {
            findings.push(not_read(member));
        }
    }
    if let Some(project) = of_folder(&project_root(environment), environment) {
        let is_found = |server: &Server| server.origin != Origin::Given;
        let reason = "it is switched off for this folder (disabledMcpServers)";
        mark(servers, project.get("disabledMcpServers"), reason, is_found);
    }
    findings.extend(LOOK_ALIKES.iter().filter_map(|name| look_alike(name, environment)));
    findings
}

/// Marks the servers that settings deny, wherever they come from.
/// Returns what there is to say of files that cannot be read.
pub(super) fn restrict(servers: &mut [Server], environment: &Environment) -> Vec<Finding> {
    let mut policy = Policy::default();
    let mut findings = Vec::new();
    for path in settings(environment) {
        if let Some(root) = read(&path, environment, &mut findings)
            && let Ok(root) = root.object("")
        {
            policy.add(root, path == Path::new(MANAGED_SETTINGS));
        }
    }
    for server in servers {
        if let Some(disabled) = policy.rejects(server) {
            server.disabled.get_or_insert(disabled);
        }
    }
    findings
}

/// Whether somebody has accepted the client's question of trust in exactly this folder.
pub(super) fn trusts(environment: &Environment) -> bool {
    let accepted = of_folder(&environment.folder, environment)
        .and_then(|project| project.get("hasTrustDialogAccepted").map(|node| node.value.clone()));
    accepted == Some(Value::Boolean(true))
}

/// Whether somebody has approved a project's server, by its exact name: in the person's or the machine's settings, in what the person's own
/// file keeps of this folder, and in the project's settings only where the folder is trusted (`clients.md` 1.3).
pub(super) fn approves(name: &str, environment: &Environment) -> bool {
    let is_trusted = trusts(environment);
    let approved = |root: &Object| {
        root.get("enableAllProjectMcpServers").is_some_and(|node| node.value == Value::Boolean(true))
            || root
                .get("enabledMcpjsonServers")
                .and_then(Node::array)
                .unwrap_or_default()
                .iter()
                .any(|node| node.text() == Some(name))
    };
    let in_settings = settings(environment).iter().any(|path| {
        let counts = is_trusted || is_of_person(path, environment);
        let root = if counts { read(path, environment, &mut Vec::new()) } else { None };
        root.is_some_and(|root| root.object("").is_ok_and(approved))
    });
    in_settings || of_folder(&project_root(environment), environment).is_some_and(|project| approved(&project))
}

/// Names of variables that the project's own settings give a value to, or `None` where that cannot be told: settings that are there, and
/// that the client may read where this tool cannot. Settings that say where the person's own files are could as well name themselves as
/// such: then nothing in them is the person's.
pub(super) fn set_by_project(environment: &Environment) -> Option<Vec<String>> {
    let paths = [".claude/settings.json", ".claude/settings.local.json"].map(|name| environment.folder.join(name));
    let is_own = paths.iter().all(|path| is_of_person(path, environment));
    let mut names = Vec::new();
    for path in &paths {
        let bytes = match files::read_own(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(_) => return None,
        };
        // Picked, so that whatever else stands there does not hide it. What is no JSON the client does not read, either.
        if let Some(node) = Document::pick("", &bytes, &["env"])
            && let Ok(object) = node.object("")
        {
            names.extend(object.members.iter().map(|member| member.key.clone()));
        }
    }
    let moves_home = names.iter().any(|name| matches!(name.as_str(), "HOME" | "USERPROFILE" | "CLAUDE_CONFIG_DIR"));
    Some(if is_own && !moves_home { Vec::new() } else { names })
}

/// Servers of a person's own file.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    /// Of this folder; they win over the project's.
    pub(super) local: Vec<Member>,
    /// Of every folder; the project's win over them.
    pub(super) user: Vec<Member>,
}

/// The servers of a person's own file.
pub(super) fn scopes(environment: &Environment) -> Scopes {
    Scopes { local: local_servers(environment), user: user_servers(environment) }
}

/// Those of this folder.
pub(super) fn local_servers(environment: &Environment) -> Vec<Member> {
    members(own_of_folder(&project_root(environment), Some("mcpServers"), environment))
}

/// Those of every folder.
pub(super) fn user_servers(environment: &Environment) -> Vec<Member> {
    members(own(&["mcpServers"], environment))
}

fn members(node: Option<Node>) -> Vec<Member> {
    node.and_then(|node| node.object("").ok().map(|object| object.members.clone())).unwrap_or_default()
}

/// A file of the machine's keeper takes the place of every other.
pub(super) fn managed() -> Option<Finding> {
    let path = Path::new(MANAGED_SERVERS);
    path.exists().then(|| {
        let message =
            format!("the client starts the servers of {MANAGED_SERVERS} alone, and reads no other configuration");
        let finding = Finding::new(Code::ConfigIgnored, message).severity(Severity::Error);
        finding.help(format!("check those: --config {MANAGED_SERVERS}"))
    })
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

/// What a person's own file says of a folder.
fn of_folder(folder: &Path, environment: &Environment) -> Option<Object> {
    let node = own_of_folder(folder, None, environment)?;
    node.object("").ok().cloned()
}

/// The same, or one member of it.
fn own_of_folder(folder: &Path, member: Option<&str>, environment: &Environment) -> Option<Node> {
    let folder = folder.display().to_string();
    let of = |folder: &str| {
        let keys: Vec<&str> = ["projects", folder].into_iter().chain(member).collect();
        own(&keys, environment)
    };
    // On Windows the client writes it with the other slash.
    of(&folder).or_else(|| if cfg!(windows) { of(&folder.replace('\\', "/")) } else { None })
}

/// The folder by which a person's own file knows this project: the root of the repository, that of the main one where this is a worktree of
/// it, and this folder where there is none; links resolved (seen on Claude Code 2.1.332 in nine layouts).
pub(super) fn project_root(environment: &Environment) -> PathBuf {
    let folder = files::resolved(&environment.folder);
    let root = folder.ancestors().find_map(|folder| {
        let git = folder.join(".git");
        let is_root = git.is_dir() || files::read_text(&git).is_ok_and(|text| text.starts_with("gitdir:"));
        is_root.then(|| main_repository(folder).unwrap_or_else(|| folder.to_path_buf()))
    });
    root.map_or(folder, |root| files::resolved(&root))
}

/// The folder of the main repository, where this is a worktree of it: `.git` points to `worktrees/NAME` in the main one's own `.git` folder
/// (a submodule's points elsewhere), and that points back. A checkout must not claim to be part of somebody's trusted one.
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
        && common.file_name()? == ".git"
        && points_to("commondir", common)?
        && points_to("gitdir", &git)?;
    if is_worktree { common.parent().map(Path::to_path_buf) } else { None }
}

/// The settings that count here; each wins over those before it.
fn settings(environment: &Environment) -> Vec<PathBuf> {
    let user = user_folder(environment).map(|folder| folder.join("settings.json"));
    let project = environment.folder.join(".claude");
    let mut paths: Vec<PathBuf> = user.into_iter().collect();
    paths.extend([project.join("settings.json"), project.join("settings.local.json")]);
    paths.push(PathBuf::from(MANAGED_SETTINGS));
    paths.dedup();
    paths
}

/// Where a person's own files are.
fn user_folder(environment: &Environment) -> Option<PathBuf> {
    let named = environment.setting("CLAUDE_CONFIG_DIR").map(PathBuf::from);
    named.or_else(|| environment.home().map(|home| home.join(".claude")))
}

fn read(path: &Path, environment: &Environment, findings: &mut Vec<Finding>) -> Option<Node> {
    let bytes = files::read_own(path).ok()?;
    let document = Document::new(shown(path, &environment.folder), &bytes);
    match document.parse(Syntax::LastWins) {
        Ok(root) => Some(root),
        Err(_) if document.is_blank() => None,
        Err(fault) => {
            let message = format!("the client cannot read these settings, and goes on without them: {}", fault.message);
            findings.push(
                Finding::new(Code::ConfigIgnored, message).at(&fault.location).help("mend the file, or remove it"),
            );
            None
        }
    }
}

fn mark(servers: &mut [Server], names: Option<&Node>, reason: &str, is_meant: fn(&Server) -> bool) {
    for node in names.and_then(Node::array).unwrap_or_default() {
        let Some(name) = node.text().map(naming::of_server) else { continue };
        let is_named = |server: &&mut Server| is_meant(server) && naming::of_server(server.name.as_str()) == name;
        for server in servers.iter_mut().filter(is_named) {
            server.disabled.get_or_insert(Disabled { reason: reason.to_owned(), location: node.location.clone() });
        }
    }
}

/// Whether these settings are the person's, or those of the machine: a project cannot give itself more.
fn is_of_person(path: &Path, environment: &Environment) -> bool {
    !path.starts_with(environment.folder.join(".claude"))
        || user_folder(environment).is_some_and(|folder| path.starts_with(folder))
}

/// What `env` of settings gives.
pub(super) struct Variables {
    /// The environment in which `${VAR}` is expanded: with that of the person's and the machine's settings (`clients.md` 1.4).
    pub(super) expanding: Environment,
    /// What every program gets, of all settings.
    pub(super) given: Vec<(String, Expanded)>,
}

impl Variables {
    /// Reads the settings.
    pub(super) fn read(environment: &Environment) -> Self {
        let (mut own, mut given) = (Vec::new(), Vec::new());
        for path in settings(environment) {
            let variables = variables(&path, environment);
            let value =
                |value: &String| Expanded { written: "(settings)".to_owned(), value: Secret::new(value.clone()) };
            given.extend(variables.iter().map(|(name, text)| (name.clone(), value(text))));
            if is_of_person(&path, environment) {
                own.extend(variables);
            }
        }
        Self { expanding: environment.with(own.into_iter()), given }
    }
}

fn variables(path: &Path, environment: &Environment) -> Vec<(String, String)> {
    let Some(root) = read(path, environment, &mut Vec::new()) else { return Vec::new() };
    let of_root = || root.object("").ok()?.get("env")?.object("").ok();
    let members = of_root().map(|env| env.members.as_slice()).unwrap_or_default();
    members.iter().map(|member| (member.key.clone(), as_javascript_writes(&member.node.value))).collect()
}

/// A value that is no text becomes one, as `String(value)` makes it (seen on 2.1.332 with true, 1 and a list).
fn as_javascript_writes(value: &Value) -> String {
    match value {
        Value::Text(text) | Value::Number(text) => text.clone(),
        Value::Boolean(value) => value.to_string(),
        Value::Null => "null".to_owned(),
        Value::Object(_) => "[object Object]".to_owned(),
        Value::Array(elements) => {
            let element = |element: &Node| match &element.value {
                Value::Null => String::new(),
                value => as_javascript_writes(value),
            };
            elements.iter().map(element).collect::<Vec<_>>().join(",")
        }
    }
}

fn not_read(member: &Member) -> Finding {
    Finding::new(Code::ConfigIgnored, "no client reads servers from here (mcpServers in settings)")
        .at(&member.location)
        .help("move them into .mcp.json")
}

fn look_alike(name: &str, environment: &Environment) -> Option<Finding> {
    let path = environment.folder.join(name);
    let root = read(&path, environment, &mut Vec::new())?;
    let member = root.object("").ok()?.member("mcpServers")?;
    let message = format!("no client reads servers from {name}");
    Some(
        Finding::new(Code::ConfigIgnored, message)
            .at(&member.location)
            .help("move them into .mcp.json, or remove the file"),
    )
}
