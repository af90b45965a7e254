//! Which entry Claude Code runs under a name, for a guard that may execute nothing else: the scope that the client names decides, and where it
//! names none its own precedence, trust and approvals do (`clients.md` 1.3). What they leave in doubt is not executed.

use std::path::{Path, PathBuf};

use super::claude::{self, McpJson};
use super::claude_command;
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
#[derive(Default)]
struct Configured {
    scopes: Vec<Scope>,
    faults: Vec<String>,
}

/// The server of a call.
pub(crate) fn find(called: Called<'_>, given: &[PathBuf], environment: &Environment) -> Running {
    let variables = Variables::read(environment);
    let mut configured = Configured::default();
    configured.add_given(given, &variables, environment);
    let found = match (called.server, called.scope) {
        (Some(name), Some(scope)) => {
            // Who names a file vouches for it, whatever the client's scope.
            let is_meant = |server: &Server| server.name.as_str() == name;
            configured.take(is_meant).unwrap_or_else(|| {
                configured.add_scope(scope, &variables, environment);
                configured.take(is_meant).unwrap_or_else(|| configured.missing(name, scope))
            })
        }
        (name, _) => {
            configured.add_all(&variables, environment);
            by_precedence(&mut configured, name, called.tool, environment)
        }
    };
    Running { faults: configured.faults, ..found }
}

/// Every server that the client would start here and that nothing leaves in doubt, for warming up; and what was left out, in words.
pub(crate) fn all(given: &[PathBuf], environment: &Environment) -> (Vec<Running>, Vec<String>) {
    let variables = Variables::read(environment);
    let mut configured = Configured::default();
    configured.add_given(given, &variables, environment);
    configured.add_all(&variables, environment);
    configured.restrict(environment);
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

/// Names of variables that settings of the project give a value to, for every program that the client starts.
pub(crate) fn set_by_project(environment: &Environment) -> Vec<String> {
    claude_settings::set_by_project(environment)
}

/// The first of the scopes that has the server; several names that may be meant, or an entry that nobody has approved, are a doubt.
fn by_precedence(configured: &mut Configured, name: Option<&str>, tool: &str, environment: &Environment) -> Running {
    let is_meant = |server: &Server| match name {
        Some(name) => server.name.as_str() == name,
        None => tool.starts_with(&naming::full(&naming::of_server(server.name.as_str()), "")),
    };
    let split = || tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")).map_or(tool, |(name, _)| name);
    let shown = name.map_or_else(|| split().to_owned(), str::to_owned);
    configured.restrict(environment);
    for scope in &mut configured.scopes {
        scope.servers.retain(is_meant);
    }
    let mut names: Vec<&ServerName> =
        configured.scopes.iter().flat_map(|scope| &scope.servers).map(|server| &server.name).collect();
    names.sort_unstable();
    names.dedup();
    if names.len() > 1 {
        let all: Vec<String> = names.iter().map(|name| format!("{:?}", name.as_str())).collect();
        return Running::unprobed(&shown, "unknown", format!("{tool} may be a tool of {}", all.join(" or ")), false);
    }
    let word = configured.scopes.iter().find(|scope| !scope.servers.is_empty()).map(|scope| scope.word);
    match (configured.take(|_| true), word) {
        (Some(found), Some(word)) => {
            match found.entry.as_ref().ok().and_then(|server| doubt(word, server, environment)) {
                Some(why) => Running { entry: Err(Unprobed { why, is_fault: false }), ..found },
                None => found,
            }
        }
        _ => configured.missing(&shown, "any"),
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

impl Configured {
    /// Files that the person named for the guard, and files that the client was started with: the later wins.
    fn add_given(&mut self, given: &[PathBuf], variables: &Variables, environment: &Environment) {
        for path in given.iter().rev() {
            self.add_file("dynamic", &environment.folder.join(path), variables, environment, false);
        }
    }

    /// What the client says it has the server from.
    fn add_scope(&mut self, scope: &str, variables: &Variables, environment: &Environment) {
        match scope {
            "project" => self.add_project(variables, environment),
            "local" | "user" => {
                self.add_own(variables, environment);
                self.scopes.retain(|known| known.word == scope);
            }
            "dynamic" => self.add_command_line(variables, environment),
            "enterprise" => self.add_file("enterprise", Path::new(MANAGED_SERVERS), variables, environment, false),
            _ => {}
        }
    }

    /// Everything, as the client would look through it.
    fn add_all(&mut self, variables: &Variables, environment: &Environment) {
        if Path::new(MANAGED_SERVERS).exists() {
            return self.add_scope("enterprise", variables, environment);
        }
        self.add_command_line(variables, environment);
        if claude_command::is_strict(environment) {
            return;
        }
        let user_at = self.scopes.len() + 1;
        self.add_own(variables, environment);
        let user = self.scopes.split_off(user_at.min(self.scopes.len()));
        self.add_project(variables, environment);
        self.scopes.extend(user);
    }

    fn add_project(&mut self, variables: &Variables, environment: &Environment) {
        for path in McpJson.places(environment).iter().filter(|path| path.symlink_metadata().is_ok()) {
            self.add_file("project", path, variables, environment, true);
        }
    }

    /// The servers of the person's own file: those of this folder, then those of every folder.
    fn add_own(&mut self, variables: &Variables, environment: &Environment) {
        let scopes = claude_settings::scopes(environment);
        let path = claude_settings::own_path(environment).map(|path| path.display().to_string()).unwrap_or_default();
        let root = claude_settings::project_root(environment);
        let local = format!("{path}, for {}", root.display());
        for (word, source, members) in [("local", local, &scopes.local), ("user", path, &scopes.user)] {
            let servers = servers(members, word, Path::new(""), variables, environment);
            self.scopes.push(Scope { word, source, servers });
        }
    }

    /// What the client was started with (`--mcp-config`), as far as this system tells.
    fn add_command_line(&mut self, variables: &Variables, environment: &Environment) {
        for given in claude_command::configurations(environment).iter().rev() {
            if given.trim_start().starts_with('{') {
                self.add_text("dynamic", "--mcp-config", given.as_bytes(), variables, environment);
            } else {
                self.add_file("dynamic", &environment.folder.join(given), variables, environment, false);
            }
        }
    }

    fn add_file(
        &mut self,
        word: &'static str,
        path: &Path,
        variables: &Variables,
        environment: &Environment,
        may_be_blank: bool,
    ) {
        let shown = path.display().to_string();
        match files::read(path) {
            Ok(bytes) if may_be_blank && bytes.trim_ascii().is_empty() => {}
            Ok(bytes) => self.add_text(word, &shown, &bytes, variables, environment),
            Err(error) => self.faults.push(format!("cannot read {shown}: {error}")),
        }
    }

    fn add_text(
        &mut self,
        word: &'static str,
        shown: &str,
        bytes: &[u8],
        variables: &Variables,
        environment: &Environment,
    ) {
        // What the client reads, two equal keys included: it takes the last.
        let root = Document::new(shown, bytes).parse(Syntax::LastWins);
        let members = root.and_then(|root| entry::servers(&root, "mcpServers", &["servers"]).map(<[Member]>::to_vec));
        match members {
            Ok(members) => {
                let servers = servers(&members, word, Path::new(shown), variables, environment);
                self.scopes.push(Scope { word, source: shown.to_owned(), servers });
            }
            Err(fault) => self.faults.push(format!("{}: {}", fault.location, fault.message)),
        }
    }

    /// Leaves out what settings reject and deny, and what is switched off.
    fn restrict(&mut self, environment: &Environment) {
        for scope in &mut self.scopes {
            claude_settings::reject(&mut scope.servers, environment);
            claude_settings::restrict(&mut scope.servers, environment);
            scope.servers.retain(|server| server.disabled.is_none());
        }
    }

    fn take(&mut self, is_meant: impl Fn(&Server) -> bool) -> Option<Running> {
        self.scopes.iter_mut().find_map(|scope| {
            let at = scope.servers.iter().position(&is_meant)?;
            Some(Running::of(scope.servers.remove(at), &scope.source))
        })
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
            _ if is_read_here => format!("no configuration of the scope {scope:?} has it"),
            _ => format!("servers of the scope {scope:?} are not probed"),
        };
        Running::unprobed(name, scope, why, is_read_here && scope != "any")
    }
}

fn servers(
    members: &[Member],
    word: &str,
    path: &Path,
    variables: &Variables,
    environment: &Environment,
) -> Vec<Server> {
    let is_found = matches!(word, "project" | "local");
    let file = File { path, is_found, is_given: !is_found, environment };
    let origin = match word {
        "project" => Origin::Project,
        "local" => Origin::Local,
        _ => Origin::Given,
    };
    members.iter().map(|member| Server { origin, ..claude::server(member, variables, &file) }).collect()
}
