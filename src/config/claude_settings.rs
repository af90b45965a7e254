//! What Claude Code's settings say of servers: which ones of a project are rejected (`clients.md` 1.3), and look-alikes that nobody reads.

use std::path::{Path, PathBuf};

use super::claude_own::{of_folder, project_root, user_folder};
use super::claude_policy::Policy;
pub(super) use super::machine::MANAGED_SERVERS;
use super::machine::MANAGED_SETTINGS;
use super::shown;
use crate::document::{Document, Member, Node, Syntax, Value};
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
    for Place { path, .. } in settings(environment) {
        // What cannot be read is said by `restrict`.
        let Some(root) = read(&path, environment, &mut Vec::new()) else { continue };
        let Ok(root) = root.object("") else { continue };
        let is_of_project = |server: &Server| server.origin == Origin::Project;
        mark(servers, root.get("disabledMcpjsonServers"), "disabledMcpjsonServers names it", is_of_project);
        if let Some(member) = root.member("mcpServers") {
            findings.push(not_read(member));
        }
    }
    if let Some(names) = of_folder(&project_root(environment), "disabledMcpServers", environment) {
        let is_found = |server: &Server| server.origin != Origin::Given;
        mark(servers, Some(&names), "it is switched off for this folder (disabledMcpServers)", is_found);
    }
    findings.extend(LOOK_ALIKES.iter().filter_map(|name| look_alike(name, environment)));
    findings
}

/// Marks the servers that settings deny, wherever they come from.
/// Returns what there is to say of files that cannot be read.
pub(super) fn restrict(servers: &mut [Server], environment: &Environment) -> Vec<Finding> {
    let mut policy = Policy::default();
    let mut findings = Vec::new();
    for Place { path, .. } in settings(environment) {
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
    let accepted = of_folder(&environment.folder, "hasTrustDialogAccepted", environment);
    accepted.is_some_and(|node| node.value == Value::Boolean(true))
}

/// Whether somebody has approved a project's server, by its exact name: in the person's or the machine's settings, in what the person's own
/// file keeps of this folder, and in the project's settings only where the folder is trusted (`clients.md` 1.3).
pub(super) fn approves(name: &str, environment: &Environment) -> bool {
    let is_trusted = trusts(environment);
    let all = |node: Option<&Node>| node.is_some_and(|node| node.value == Value::Boolean(true));
    let named = |node: Option<&Node>| {
        node.and_then(Node::array).unwrap_or_default().iter().any(|node| node.text() == Some(name))
    };
    let (every, some) = ("enableAllProjectMcpServers", "enabledMcpjsonServers");
    let in_settings = settings(environment).iter().any(|place| {
        let counts = is_trusted || place.is_of_person;
        let root = if counts { read(&place.path, environment, &mut Vec::new()) } else { None };
        let root = root.as_ref().and_then(|root| root.object("").ok());
        root.is_some_and(|root| all(root.get(every)) || named(root.get(some)))
    });
    let of_root = |member: &str| of_folder(&project_root(environment), member, environment);
    in_settings || all(of_root(every).as_ref()) || named(of_root(some).as_ref())
}

/// Names of variables that the project's own settings give a value to, or `None` where that cannot be told: settings that are there, and
/// that the client may read where this tool cannot. Settings that say where the person's own files are could as well name themselves as
/// such: then nothing in them is the person's.
pub(super) fn set_by_project(environment: &Environment) -> Option<Vec<String>> {
    let places = of_project(environment);
    let is_own = places.iter().all(|place| place.is_of_person);
    let mut names = Vec::new();
    for Place { path, .. } in &places {
        let bytes = match files::read_own(path) {
            Ok(bytes) => bytes,
            // A file that is only too large for this tool may be read by the client; what is none it passes over.
            Err(_) if path.is_file() => return None,
            Err(_) => continue,
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

/// A file of settings.
struct Place {
    path: PathBuf,
    /// Whether they are the person's, or those of the machine: a project cannot give itself more.
    is_of_person: bool,
}

/// Settings of the project: those of this folder, and what the root of its repository keeps for one person alone (seen on 2.1.332: of the root's
/// two files only that one, committed or not; in a worktree the main repository's). Those in the person's own folder are the person's.
fn of_project(environment: &Environment) -> Vec<Place> {
    let here = [".claude/settings.json", ".claude/settings.local.json"].map(|name| environment.folder.join(name));
    let of_root = project_root(environment).join(".claude/settings.local.json");
    let is_elsewhere = !here.iter().any(|path| files::is_same(path, &of_root));
    let own = user_folder(environment);
    let place = |path: PathBuf| {
        let is_of_person = own.as_ref().is_some_and(|folder| path.starts_with(folder));
        Place { path, is_of_person }
    };
    here.into_iter().chain(is_elsewhere.then_some(of_root)).map(place).collect()
}

/// The settings that count here; each wins over those before it.
fn settings(environment: &Environment) -> Vec<Place> {
    let user = user_folder(environment).map(|folder| folder.join("settings.json"));
    let own = user.into_iter().map(|path| Place { path, is_of_person: true });
    let machine = Place { path: PathBuf::from(MANAGED_SETTINGS), is_of_person: true };
    let mut places: Vec<Place> = own.chain(of_project(environment)).chain(std::iter::once(machine)).collect();
    places.dedup_by(|place, before| place.path == before.path);
    places
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
        for Place { path, is_of_person } in settings(environment) {
            let variables = variables(&path, environment);
            let value =
                |value: &String| Expanded { written: "(settings)".to_owned(), value: Secret::new(value.clone()) };
            given.extend(variables.iter().map(|(name, text)| (name.clone(), value(text))));
            if is_of_person {
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
