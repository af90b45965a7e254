//! Codex's `config.toml`, `[mcp_servers.NAME]`: nothing is expanded, the environment is an allow-list, and servers that are not `required`
//! are waited for one second. Rules as seen on Codex 0.171.0 (`clients.md` section 2).

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::entry::{self, Entry, Field};
use super::{Content, File, Source, codex_check, expand};
use crate::document::{Document, Fault, Member, Node, Object, Syntax, Value};
use crate::environment::Environment;
use crate::files;
use crate::naming;
use crate::server::{Disabled, Expanded, Patience, RemoteServer, Server, StdioServer, ToolFilter, Transport};
use crate::values::Client;

/// Codex's configuration.
pub(super) struct ConfigToml;

/// What a child process inherits: the usual, and the variables that name certificates. Those on Windows are from the source, not seen.
const INHERITED: &[&str] = if cfg!(windows) {
    &[
        "PATH",
        "PATHEXT",
        "COMSPEC",
        "SYSTEMROOT",
        "SYSTEMDRIVE",
        "USERNAME",
        "USERDOMAIN",
        "USERPROFILE",
        "HOMEDRIVE",
        "HOMEPATH",
        "PROGRAMFILES",
        "PROGRAMFILES(X86)",
        "PROGRAMW6432",
        "PROGRAMDATA",
        "LOCALAPPDATA",
        "APPDATA",
        "TEMP",
        "TMP",
        "POWERSHELL",
        "PWSH",
    ]
} else {
    &["HOME", "LOGNAME", "PATH", "SHELL", "USER", "__CF_USER_TEXT_ENCODING", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ"]
};

/// Variables that name certificates, which a child process inherits as well.
const CERTIFICATES: [&str; 10] = [
    "CODEX_CA_CERTIFICATE",
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO",
    "BUNDLE_SSL_CA_CERT",
    "PIP_CERT",
    "NPM_CONFIG_CAFILE",
];

/// Keys of every entry.
const KEYS: [&str; 28] = [
    "command",
    "args",
    "env",
    "env_vars",
    "cwd",
    "url",
    "bearer_token_env_var",
    "http_headers",
    "env_http_headers",
    "http_headers_helper",
    "auth",
    "oauth",
    "oauth_resource",
    "scopes",
    "startup_timeout_sec",
    "startup_timeout_ms",
    "tool_timeout_sec",
    "enabled",
    "required",
    "enabled_tools",
    "disabled_tools",
    "default_tools_approval_mode",
    "tools",
    "supports_parallel_tool_calls",
    "experimental_environment",
    "environment_id",
    "startup_readiness",
    "name",
];

/// How long a server may take to start: the handshake, and then the list, each (seen: 28.5 s pass, 33 s do not).
const STARTUP: Duration = Duration::from_secs(30);
/// How long one that is not required is waited for (`mcp_optional_startup_grace_ms`).
const GRACE: Duration = Duration::from_secs(1);

impl Source for ConfigToml {
    fn client(&self) -> Client {
        Client::Codex
    }

    fn recognises(&self, path: &Path) -> bool {
        path.file_name().is_some_and(|name| name == "config.toml")
    }

    /// The project's file, read in trusted folders only, then the person's.
    fn places(&self, environment: &Environment) -> Vec<PathBuf> {
        let project = environment.folder.join(".codex/config.toml");
        std::iter::once(project).chain(home(environment).map(|home| home.join("config.toml"))).collect()
    }

    fn syntax(&self) -> Syntax {
        Syntax::Toml
    }

    fn allows_blank(&self) -> bool {
        true
    }

    fn read(&self, root: &Node, file: &File<'_>) -> Result<Content, Fault> {
        let root = root.object("")?;
        let Some(servers) = root.get("mcp_servers") else { return Ok(Content::default()) };
        let grace = root.get("mcp_optional_startup_grace_ms");
        let is_whole = |node: &&Node| matches!(&node.value, Value::Number(number) if number.parse::<u64>().is_ok());
        if let Some(node) = grace.filter(|node| !is_whole(node)) {
            return Err(
                node.fault("mcp_optional_startup_grace_ms: expected a whole number; Codex does not start with this")
            );
        }
        let grace = entry::number(root, "mcp_optional_startup_grace_ms").ok().flatten();
        let grace = grace.and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok()).unwrap_or(GRACE);
        let members = &servers.object("mcp_servers")?.members;
        // One wrong entry fails the whole program, so that it is a fault of the file.
        let servers = members.iter().map(|member| server(member, file.environment, grace)).collect::<Result<_, _>>()?;
        Ok(Content { servers, findings: Vec::new() })
    }

    fn passes_over(&self, file: &File<'_>) -> Option<String> {
        let is_passed_over = is_of_project(file) && !claims_trust(file.environment);
        is_passed_over.then(|| "the folder is not trusted (trust_level in the person's own config.toml)".to_owned())
    }

    fn layers(&self) -> Option<usize> {
        Some(usize::MAX)
    }
}

/// Where a person's own files are.
fn home(environment: &Environment) -> Option<PathBuf> {
    let named = environment.setting("CODEX_HOME").map(PathBuf::from);
    named.or_else(|| environment.home().map(|home| home.join(".codex")))
}

/// Whether the client finds this file in the folder, rather than in the person's own.
fn is_of_project(file: &File<'_>) -> bool {
    let own = home(file.environment).map(|home| home.join("config.toml"));
    let is_own = own.is_some_and(|own| files::is_same(&own, file.path));
    file.is_found && !is_own && file.path == file.environment.folder.join(".codex/config.toml")
}

/// Whether the person's own file calls the folder trusted: a project's file is read only then.
fn claims_trust(environment: &Environment) -> bool {
    let read = || {
        let bytes = files::read(&home(environment)?.join("config.toml")).ok()?;
        let root = Document::new("config.toml", &bytes).parse(Syntax::Toml).ok()?;
        let projects = root.object("").ok()?.get("projects")?.object("").ok()?;
        let project = projects.get(&environment.folder.display().to_string())?.object("").ok()?;
        Some(project.get("trust_level")?.text()? == "trusted")
    };
    read() == Some(true)
}

fn server(member: &Member, environment: &Environment, grace: Duration) -> Result<Server, Fault> {
    let mut entry = Entry::new(member, &expand::Literal);
    let fault = |reason: String| Fault {
        location: member.location.clone(),
        message: format!("mcp_servers.{}: {reason}; Codex does not start with this", member.key),
    };
    let object = entry.object().map_err(fault)?;
    codex_check::check(object).map_err(fault)?;
    let transport = transport(&mut entry, object, environment).map_err(fault)?;
    let transport = match lost(member, object, environment) {
        Some(reason) => Err(reason),
        None => Ok(transport),
    };
    let required = entry::flag(object, "required", false).map_err(fault)?;
    let startup = startup(object).map_err(fault)?;
    let disabled = match object.member("enabled") {
        Some(Member { node: Node { value: Value::Boolean(false), location }, .. }) => {
            Some(Disabled { reason: "enabled is false".to_owned(), location: location.clone() })
        }
        _ => None,
    };
    let filter = ToolFilter {
        only: entry::names(object, "enabled_tools").map_err(fault)?.map(|names| ("enabled_tools", names)),
        without: entry::names(object, "disabled_tools").map_err(fault)?.map(|names| ("disabled_tools", names)),
    };
    let budget = if required || grace.is_zero() { startup } else { grace.min(startup) };
    let advice = if required {
        "raise startup_timeout_sec in its entry"
    } else {
        "set required = true in its entry, or mcp_optional_startup_grace_ms = 0 at the top of the file"
    };
    let patience = Some(Patience { budget, advice });
    let server = entry.finish(transport, &KEYS);
    Ok(Server { disabled, required: Some(required), patience, startup: Some(startup), filter, ..server })
}

/// What loses this one server.
fn lost(member: &Member, object: &Object, environment: &Environment) -> Option<String> {
    if !naming::is_accepted_by_codex(&member.key) {
        return Some("a server's name may have letters, digits and _ : @ / . - only".to_owned());
    }
    if object.get("environment_id").and_then(Node::text).is_some_and(|text| text != "local") {
        return Some("environment_id: it is started elsewhere".to_owned());
    }
    let variables = object.get("env_vars").and_then(Node::array).unwrap_or_default();
    let sources = variables.iter().filter_map(|node| node.object("").ok()?.get("source")?.text());
    if sources.into_iter().any(|source| source == "remote") {
        return Some("env_vars: a variable of a remote source".to_owned());
    }
    let name = object.get("bearer_token_env_var")?.text()?;
    environment
        .setting(name)
        .is_none()
        .then(|| format!("bearer_token_env_var: {name} is unset or empty, and the client then leaves the server out"))
}

fn transport(entry: &mut Entry<'_>, object: &Object, environment: &Environment) -> Result<Transport, String> {
    match (object.get("command"), object.get("url")) {
        (Some(_), Some(_)) => Err("it has both command and url".to_owned()),
        (None, None) => Err("it has neither command nor url".to_owned()),
        (Some(_), None) => stdio(entry, object, environment).map(Transport::Stdio),
        (None, Some(_)) => remote(entry, object, environment).map(Transport::Http),
    }
}

fn stdio(entry: &mut Entry<'_>, object: &Object, environment: &Environment) -> Result<StdioServer, String> {
    let command = entry.required(object, "command", Field::Command)?;
    let arguments = entry.texts(object, "args", Field::Argument)?;
    let folder = match object.get("cwd") {
        Some(node) => Some(environment.folder.join(entry.text(node, "cwd", Field::Folder)?.value.reveal())),
        None => None,
    };
    let mut variables = passed_on(entry, object, environment)?;
    variables.extend(entry.map(object, "env", Field::Environment)?);
    let withheld = environment.iter().map(|(name, _)| name).filter(|name| !is_inherited(name));
    Ok(StdioServer {
        command,
        arguments,
        environment: variables,
        withheld: withheld.collect(),
        provided: Vec::new(),
        folder,
    })
}

fn is_inherited(name: &str) -> bool {
    INHERITED.contains(&name) || CERTIFICATES.contains(&name)
}

/// `env_vars`: names, or objects with one, of variables that are passed on.
fn passed_on(
    entry: &mut Entry<'_>,
    object: &Object,
    environment: &Environment,
) -> Result<Vec<(String, Expanded)>, String> {
    let Some(node) = object.get("env_vars") else { return Ok(Vec::new()) };
    let elements = node.array().ok_or_else(|| format!("env_vars: expected an array, found {}", node.kind()))?;
    let mut variables = Vec::new();
    for (index, element) in elements.iter().enumerate() {
        let path = format!("env_vars[{index}]");
        let name = match &element.value {
            Value::Text(name) => name,
            Value::Object(map) => match map.get("name").and_then(Node::text) {
                Some(name) => name,
                None => return Err(format!("{path}: expected a name")),
            },
            _ => return Err(format!("{path}: expected a name, found {}", element.kind())),
        };
        if let Some(value) = entry.variable(name, element, &path, environment) {
            variables.push((name.to_owned(), Expanded { written: name.to_owned(), value }));
        }
    }
    Ok(variables)
}

fn remote(entry: &mut Entry<'_>, object: &Object, environment: &Environment) -> Result<RemoteServer, String> {
    if object.get("bearer_token").is_some() {
        return Err(
            "bearer_token: a literal token is not supported; name a variable with bearer_token_env_var".to_owned()
        );
    }
    let url = entry.required(object, "url", Field::Url)?;
    let mut headers = entry.map(object, "http_headers", Field::Header)?;
    // A header whose variable is not set is left out.
    if let Some(node) = object.get("env_http_headers") {
        let map = node.object("env_http_headers").map_err(|fault| fault.message)?;
        for member in &map.members {
            let path = format!("env_http_headers.{}", member.key);
            let name =
                member.node.text().ok_or_else(|| format!("{path}: expected a name, found {}", member.node.kind()))?;
            let value = entry.variable(name, &member.node, &path, environment);
            if let Some(value) = value.filter(|value| !value.reveal().is_empty()) {
                headers.push((member.key.clone(), Expanded { written: name.to_owned(), value }));
            }
        }
    }
    if let Some(node) = object.get("bearer_token_env_var") {
        let name =
            node.text().ok_or_else(|| format!("bearer_token_env_var: expected a name, found {}", node.kind()))?;
        if let Some(value) = entry.variable(name, node, "bearer_token_env_var", environment) {
            let value = crate::server::Secret::new(format!("Bearer {}", value.reveal()));
            headers.push(("Authorization".to_owned(), Expanded { written: name.to_owned(), value }));
        }
    }
    // What can be no header is left out without a word.
    headers.retain(|(name, text)| is_header(name, text.value.reveal()));
    Ok(RemoteServer { url, headers, helper: None, falls_back: false })
}

fn is_header(name: &str, value: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_token) && !value.chars().any(|c| c.is_ascii_control() && c != '\t')
}

/// `startup_timeout_sec` wins over `startup_timeout_ms`.
fn startup(object: &Object) -> Result<Duration, String> {
    let (seconds, milliseconds) =
        (entry::number(object, "startup_timeout_sec")?, entry::number(object, "startup_timeout_ms")?);
    match seconds.or(milliseconds.map(|ms| ms / 1000.0)) {
        None => Ok(STARTUP),
        Some(seconds) => {
            Duration::try_from_secs_f64(seconds).map_err(|_| format!("startup_timeout_sec: {seconds} is no time"))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{ConfigToml, Source as _};
    use crate::config::File;
    use crate::document::{Document, Syntax};
    use crate::environment::{Environment, HOME};
    use crate::server::{Server, Transport, VariableState};

    fn try_read(text: &str) -> Result<Vec<Server>, String> {
        let root = Document::new("config.toml", text.as_bytes()).parse(Syntax::Toml).expect("TOML");
        let environment = Environment::of(&[(HOME, "/h"), ("PATH", "/bin"), ("GITHUB_TOKEN", "t0ken"), ("EMPTY", "")]);
        let file = File { path: Path::new("/config.toml"), is_found: true, is_given: false, environment: &environment };
        ConfigToml
            .read(&root, &file)
            .map(|content| content.servers)
            .map_err(|fault| format!("{}: {}", fault.location, fault.message))
    }

    fn read(text: &str) -> Server {
        try_read(text).expect("servers").remove(0)
    }

    #[test]
    fn nothing_is_expanded_and_little_is_inherited() {
        let server = read(
            "[mcp_servers.s]\ncommand = \"run\"\nargs = [\"${HOME}\"]\nenv = { A = \"${B}\" }\nenv_vars = [\"GITHUB_TOKEN\", \"GONE\"]\ncwd = \"sub\"",
        );
        let Ok(Transport::Stdio(stdio)) = &server.transport else { panic!("{server:?}") };
        assert_eq!(stdio.arguments[0].value.reveal(), "${HOME}");
        let variables: Vec<(&str, &str)> =
            stdio.environment.iter().map(|(name, text)| (name.as_str(), text.value.reveal())).collect();
        assert_eq!(variables, [("GITHUB_TOKEN", "t0ken"), ("A", "${B}")]);
        assert_eq!(stdio.withheld, ["EMPTY", "GITHUB_TOKEN"]);
        assert_eq!(stdio.folder.as_deref(), Some(Path::new("/sub")));
        let states: Vec<VariableState> = server.variables.iter().map(|variable| variable.state).collect();
        assert_eq!(states, [VariableState::Set, VariableState::Unset]);
    }

    #[test]
    fn headers_come_from_variables_by_name() {
        let server = read(
            "[mcp_servers.s]\nurl = \"https://h/mcp\"\nbearer_token_env_var = \"GITHUB_TOKEN\"\nhttp_headers = { X = \"1\" }\nenv_http_headers = { Y = \"GONE\", Z = \"GITHUB_TOKEN\" }",
        );
        let Ok(Transport::Http(remote)) = &server.transport else { panic!("{server:?}") };
        let headers: Vec<(&str, &str)> =
            remote.headers.iter().map(|(name, text)| (name.as_str(), text.value.reveal())).collect();
        assert_eq!(headers, [("X", "1"), ("Z", "t0ken"), ("Authorization", "Bearer t0ken")]);
    }

    #[test]
    fn what_fails_the_whole_program_is_a_fault() {
        let cases = [
            ("command = \"a\"\nurl = \"b\"", "both"),
            ("enabled = true", "neither"),
            ("url = \"b\"\nbearer_token = \"x\"", "bearer_token_env_var"),
            ("command = \"a\"\nargs = \"b\"", "args: expected an array"),
            ("command = \"a\"\nstartup_timeout_sec = -1", "is no time"),
        ];
        for (entry, reason) in cases {
            let fault = try_read(&format!("[mcp_servers.s]\n{entry}")).expect_err(entry);
            assert!(fault.starts_with("config.toml:1:14: mcp_servers.s: ") && fault.contains(reason), "{fault}");
        }
    }

    #[test]
    fn unknown_keys_are_told_and_the_rest_is_read() {
        let server = read(
            "[mcp_servers.s]\ncommand = \"a\"\nheaders = {}\nenabled = false\nenabled_tools = [\"t\"]\ndisabled_tools = [\"u\"]",
        );
        assert_eq!(server.unknown_keys[0].0, "headers");
        assert!(server.disabled.is_some());
        assert_eq!(server.filter.keeps_out("u"), Some("disabled_tools"));
        assert_eq!(server.filter.keeps_out("x"), Some("enabled_tools"));
        assert_eq!(server.filter.keeps_out("t"), None);
    }

    #[test]
    fn what_is_not_required_is_waited_for_one_second() {
        let wait = |more: &str, top: &str| {
            let server = read(&format!("{top}\n[mcp_servers.s]\ncommand = \"a\"\n{more}"));
            (server.required, server.patience.expect("a patience").budget.as_millis())
        };
        assert_eq!(wait("", ""), (Some(false), 1_000));
        assert_eq!(wait("required = true", ""), (Some(true), 30_000));
        assert_eq!(wait("required = true\nstartup_timeout_sec = 2.5\nstartup_timeout_ms = 1", ""), (Some(true), 2_500));
        assert_eq!(wait("", "mcp_optional_startup_grace_ms = 0"), (Some(false), 30_000));
        assert_eq!(wait("", "mcp_optional_startup_grace_ms = 3000"), (Some(false), 3_000));
    }
}
