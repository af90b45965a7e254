//! Which entry Claude Code runs under a name, for a guard that may execute nothing else: the scope that the client names decides, and where it
//! names none its own precedence, trust and approvals do (`clients.md` 1.3). What they leave in doubt is not executed.

use std::path::{Path, PathBuf};

use super::claude::{self, McpJson};
use super::claude_command;
use super::claude_own;
use super::claude_settings::{self, MANAGED_SERVERS, Variables};
use super::{File, Source as _, entry};
use crate::document::{Document, Member, Syntax};
use crate::environment::Environment;
use crate::files;
use crate::naming;
use crate::server::{Origin, Server, ServerName};

/// What an event says of the server that is called.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Called<'a> {
    /// The full name of the tool.
    pub(crate) tool: &'a str,
    /// The server's configured name, where the client says it.
    pub(crate) server: Option<&'a str>,
    /// Where the client has it from, where it says so.
    pub(crate) scope: Option<&'a str>,
}

/// The server that is called.
#[derive(Debug)]
pub(crate) struct Running {
    /// Its configured name, as far as it is known.
    pub(crate) name: ServerName,
    /// What its entry stands in: a file, with the folder in it where there are several; or the scope.
    pub(crate) source: String,
    /// Its entry, or why there is none to probe.
    pub(crate) entry: Result<Server, Unprobed>,
    /// Configurations that could not be read on the way to it, in words.
    pub(crate) faults: Vec<String>,
}

/// Why a server is not probed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unprobed {
    /// In words.
    pub(crate) why: String,
    /// Whether something is wrong here, rather than nobody's fault.
    pub(crate) is_fault: bool,
}

/// Servers of one place.
struct Scope {
    /// The client's word for it.
    word: &'static str,
    source: String,
    servers: Vec<Server>,
}

/// What is configured, most important first, and what could not be read.
struct Configured<'a> {
    environment: &'a Environment,
    variables: Variables,
    /// Which names are meant; the entries of others are not looked at.
    is_meant: &'a dyn Fn(&str) -> bool,
    scopes: Vec<Scope>,
    faults: Vec<String>,
}

/// What keeps the client's other places from being known.
const NARROWED: &str = "the client was started with an option that leaves out some of its servers, and the event does not say which it runs";

/// The environment as it was when the client was started: names that its settings have given another value since have their own again. With
/// it the names of which that cannot be told.
pub(crate) fn as_launched(names: &[String], environment: &Environment) -> (Environment, Vec<String>) {
    if names.is_empty() {
        return (environment.clone(), Vec::new());
    }
    let launched = claude_command::launched_with(environment);
    let rest = environment.without(names);
    match launched {
        Some(mut launched) => (rest.with(names.iter().filter_map(|name| launched.remove_entry(name))), Vec::new()),
        None => (rest, names.to_vec()),
    }
}

/// The server of a call.
pub(crate) fn find(called: Called<'_>, given: &[PathBuf], environment: &Environment) -> Running {
    let is_meant = |name: &str| match called.server {
        Some(server) => name == server,
        None => called.tool.starts_with(&naming::full(&naming::of_server(name), "")),
    };
    let mut configured = Configured::new(environment, &is_meant);
    // A path that was mistyped is said, needed or not.
    let missing = given.iter().map(|path| environment.folder.join(path)).filter(|path| !path.exists());
    configured.faults.extend(missing.map(|path| format!("cannot read {}: it is not there", path.display())));
    let found = match (called.server, called.scope) {
        // The client says where it has the server from. Only what stands nowhere there is looked for in files that the person named.
        (Some(name), Some(scope)) => {
            configured.add_scope(scope);
            configured.take().unwrap_or_else(|| {
                configured.add_given(given);
                configured.take().unwrap_or_else(|| {
                    if matches!(scope, "local" | "user") {
                        configured.note_own_fault();
                    }
                    configured.missing(name, scope)
                })
            })
        }
        (name, _) => {
            configured.add_given(given);
            configured.add_command_line();
            let line = claude_command::read(environment);
            if !line.is_strict {
                configured.add_all();
            }
            let found = by_precedence(&mut configured, name, called.tool);
            if line.is_narrowed && found.entry.is_ok() {
                let why = NARROWED.to_owned();
                Running { entry: Err(Unprobed { why, is_fault: false }), ..found }
            } else {
                found
            }
        }
    };
    Running { faults: configured.faults, ..found }
}

/// Every server that the client would start here and that nothing leaves in doubt, for warming up; and what was left out, in words.
pub(crate) fn all(given: &[PathBuf], environment: &Environment) -> (Vec<Running>, Vec<String>) {
    let mut configured = Configured::new(environment, &|_| true);
    configured.add_given(given);
    let line = claude_command::read(environment);
    if line.is_narrowed {
        configured.faults.push(NARROWED.to_owned());
    } else if !line.is_strict {
        configured.add_all();
    }
    configured.restrict();
    let (mut running, mut left_out): (Vec<Running>, Vec<String>) = (Vec::new(), configured.faults);
    for scope in configured.scopes {
        for server in scope.servers {
            if running.iter().any(|known| known.name == server.name) {
                continue;
            }
            match doubt(scope.word, &server, environment) {
                Some(why) => left_out.push(format!("{:?} is not probed: {why}", server.name.as_str())),
                None => running.push(Running::of(server, &scope.source)),
            }
        }
    }
    (running, left_out)
}

/// Names of variables that settings of the project give a value to, for every program that the client starts; `None` where that cannot be
/// told.
pub(crate) fn set_by_project(environment: &Environment) -> Option<Vec<String>> {
    claude_settings::set_by_project(environment)
}

/// The first of the scopes that has the server; several names that may be meant, or an entry that nobody has approved, are a doubt.
fn by_precedence(configured: &mut Configured<'_>, name: Option<&str>, tool: &str) -> Running {
    let split = || tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")).map_or(tool, |(name, _)| name);
    let shown = name.map_or_else(|| split().to_owned(), str::to_owned);
    configured.restrict();
    let mut names: Vec<&ServerName> =
        configured.scopes.iter().flat_map(|scope| &scope.servers).map(|server| &server.name).collect();
    names.sort_unstable();
    names.dedup();
    if names.len() > 1 {
        let all: Vec<String> = names.iter().map(|name| format!("{:?}", name.as_str())).collect();
        return Running::unprobed(&shown, "unknown", format!("{tool} may be a tool of {}", all.join(" or ")), false);
    }
    let word = configured.scopes.iter().find(|scope| !scope.servers.is_empty()).map(|scope| scope.word);
    let (Some(found), Some(word)) = (configured.take(), word) else { return configured.missing(&shown, "any") };
    match found.entry.as_ref().ok().and_then(|server| doubt(word, server, configured.environment)) {
        Some(why) => Running { entry: Err(Unprobed { why, is_fault: false }), ..found },
        None => found,
    }
}

/// Why it is not certain that the client runs this entry: somebody else may have written it.
fn doubt(word: &str, server: &Server, environment: &Environment) -> Option<String> {
    if word != "project" || claude_settings::approves(server.name.as_str(), environment) {
        return None;
    }
    Some(
        "it is a project's, nobody has approved it here, and the event does not say that the client runs it".to_owned(),
    )
}

impl Running {
    fn of(server: Server, source: &str) -> Self {
        let name = server.name.clone();
        let entry = match &server.transport {
            Ok(_) => Ok(server),
            Err(reason) => Err(Unprobed { why: format!("its entry in {source} is invalid: {reason}"), is_fault: true }),
        };
        Self { name, source: source.to_owned(), entry, faults: Vec::new() }
    }

    fn unprobed(name: &str, source: &str, why: String, is_fault: bool) -> Self {
        let entry = Err(Unprobed { why, is_fault });
        Self { name: ServerName::new(name), source: source.to_owned(), entry, faults: Vec::new() }
    }
}

impl<'a> Configured<'a> {
    fn new(environment: &'a Environment, is_meant: &'a dyn Fn(&str) -> bool) -> Self {
        let (scopes, faults) = (Vec::new(), Vec::new());
        Self { environment, variables: Variables::read(environment), is_meant, scopes, faults }
    }

    /// Files that the person named for the guard: the later wins.
    fn add_given(&mut self, given: &[PathBuf]) {
        for path in given.iter().rev().map(|path| self.environment.folder.join(path)).filter(|path| path.exists()) {
            self.add_file("dynamic", &path);
        }
    }

    /// What the client says it has the server from.
    fn add_scope(&mut self, scope: &str) {
        match scope {
            "project" => self.add_project(),
            "local" => self.add_local(),
            "user" => self.add_user(),
            "dynamic" => self.add_command_line(),
            "enterprise" => self.add_file("enterprise", Path::new(MANAGED_SERVERS)),
            _ => {}
        }
    }

    /// Everything that stands in files, as the client would look through it.
    fn add_all(&mut self) {
        if Path::new(MANAGED_SERVERS).exists() {
            return self.add_scope("enterprise");
        }
        self.note_own_fault();
        self.add_local();
        self.add_project();
        self.add_user();
    }

    fn add_project(&mut self) {
        for path in McpJson.places(self.environment).iter().filter(|path| path.symlink_metadata().is_ok()) {
            self.add_file("project", path);
        }
    }

    /// The servers of the person's own file for this folder.
    fn add_local(&mut self) {
        let root = claude_own::project_root(self.environment);
        let source = format!("{}, for {}", self.own_path(), root.display());
        self.add("local", source, Path::new(""), &claude_own::local_servers(self.environment));
    }

    /// Those for every folder.
    fn add_user(&mut self) {
        let source = self.own_path();
        self.add("user", source, Path::new(""), &claude_own::user_servers(self.environment));
    }

    fn note_own_fault(&mut self) {
        let fault = claude_own::own_fault(self.environment);
        self.faults.extend(fault.filter(|fault| !self.faults.contains(fault)));
    }

    fn own_path(&self) -> String {
        claude_own::own_path(self.environment).map(|path| path.display().to_string()).unwrap_or_default()
    }

    /// What the client was started with (`--mcp-config`), as far as this system tells.
    fn add_command_line(&mut self) {
        for given in claude_command::read(self.environment).configurations.iter().rev() {
            let path = self.environment.folder.join(given);
            if given.trim_start().starts_with('{') {
                self.add_text("dynamic", "--mcp-config", given.as_bytes());
            } else if path.is_file() {
                self.add_file("dynamic", &path);
            }
            // Any other word is none that may be shown: it could be a prompt, or hold a secret.
        }
    }

    fn add_file(&mut self, word: &'static str, path: &Path) {
        let shown = path.display().to_string();
        match files::read(path) {
            // The client takes an empty file of a project for one without servers.
            Ok(bytes) if word == "project" && bytes.trim_ascii().is_empty() => {}
            Ok(bytes) => self.add_text(word, &shown, &bytes),
            Err(error) => self.faults.push(format!("cannot read {shown}: {error}")),
        }
    }

    fn add_text(&mut self, word: &'static str, shown: &str, bytes: &[u8]) {
        // What the client reads, two equal keys included: it takes the last.
        let root = Document::new(shown, bytes).parse(Syntax::LastWins);
        let members = root.and_then(|root| entry::servers(&root, "mcpServers", &["servers"]).map(<[Member]>::to_vec));
        match members {
            Ok(members) => self.add(word, shown.to_owned(), Path::new(shown), &members),
            Err(fault) => self.faults.push(format!("{}: {}", fault.location, fault.message)),
        }
    }

    fn add(&mut self, word: &'static str, source: String, path: &Path, members: &[Member]) {
        let is_found = matches!(word, "project" | "local");
        let file = File { path, is_found, is_given: !is_found, environment: self.environment };
        let origin = match word {
            "project" => Origin::Project,
            "local" => Origin::Local,
            _ => Origin::Given,
        };
        let meant = members.iter().filter(|member| (self.is_meant)(&member.key));
        let servers = meant.map(|member| Server { origin, ..claude::server(member, &self.variables, &file) }).collect();
        self.scopes.push(Scope { word, source, servers });
    }

    /// Leaves out what settings reject and deny, and what is switched off.
    fn restrict(&mut self) {
        for scope in &mut self.scopes {
            claude_settings::reject(&mut scope.servers, self.environment);
            claude_settings::restrict(&mut scope.servers, self.environment);
            scope.servers.retain(|server| server.disabled.is_none());
        }
    }

    fn take(&mut self) -> Option<Running> {
        let scope = self.scopes.iter_mut().find(|scope| !scope.servers.is_empty())?;
        Some(Running::of(scope.servers.remove(0), &scope.source))
    }

    /// Nothing that was read has it.
    fn missing(&self, name: &str, scope: &str) -> Running {
        let is_read_here = matches!(scope, "project" | "local" | "user" | "enterprise" | "any");
        if !self.faults.is_empty() {
            return Running::unprobed(name, scope, self.faults.join("; "), true);
        }
        let why = match scope {
            "any" => "no configuration that is read here has it (a plugin's or a connector's is not)".to_owned(),
            "dynamic" => "the client was started with its entry (--mcp-config), which cannot be seen from here: name the file with `hook --config FILE`, or in MCP_PREFLIGHT_CONFIG_PATH".to_owned(),
            "project" => format!("no .mcp.json in {} or above has it", self.environment.folder.display()),
            "local" | "user" => format!("{} has it not, in the scope {scope:?}", self.own_path()),
            _ if is_read_here => format!("no configuration of the scope {scope:?} has it"),
            _ => format!("servers of the scope {scope:?} are not probed"),
        };
        Running::unprobed(name, scope, why, is_read_here && scope != "any")
    }
}
