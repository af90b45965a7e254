//! What the configuration says of a server, already expanded. A leaf: it knows nothing of files or probes.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// The name a server has in the configuration, raw, as the lock keeps it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ServerName(String);

impl ServerName {
    /// Wraps a raw name. Any text is a name, the empty one too (the client accepts it).
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The raw name. It is text from outside: escape it before it is shown.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// A value that must not be seen: it came from a variable, an `env` entry or a header.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    /// Wraps a value.
    pub(crate) fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself, for the process or the request that needs it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

/// A place in a file, for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Location {
    /// The file as it should be shown.
    pub(crate) file: String,
    /// 1-based line.
    pub(crate) line: usize,
    /// 1-based column, in characters.
    pub(crate) column: usize,
}

impl fmt::Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// A string of the configuration: as written, and with its `${VAR}` replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Expanded {
    /// The text of the file. Messages show this one: it holds no secret that the file does not hold.
    pub(crate) written: String,
    /// What the server gets.
    pub(crate) value: Secret,
}

/// One server of the configuration.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    /// Its name.
    pub(crate) name: ServerName,
    /// Where its entry begins.
    pub(crate) location: Location,
    /// How it is reached; `Err` when the client would skip the entry, with the client's reason.
    pub(crate) transport: Result<Transport, String>,
    /// Every `${VAR}` that the entry uses.
    pub(crate) variables: Vec<VariableUse>,
    /// Keys of the entry that the client ignores, with their places.
    pub(crate) unknown_keys: Vec<(String, Location)>,
    /// Where the client has it from.
    pub(crate) origin: Origin,
    /// Why the client does not start it, where it is switched off: what says so, and where.
    pub(crate) disabled: Option<Disabled>,
    /// Whether the client itself fails without it. `None` where the client knows no such thing.
    pub(crate) required: Option<bool>,
    /// What the client would say of the entry, were it asked: notices that are no fault of the entry's shape.
    pub(crate) notices: Vec<(String, Location)>,
    /// How long the client waits for it at start, where that is known.
    pub(crate) patience: Option<Patience>,
    /// How long the client lets it start, where that is more than this tool would wait.
    pub(crate) startup: Option<Duration>,
    /// Which of its tools the configuration lets through.
    pub(crate) filter: ToolFilter,
}

/// Where a client has a server from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A file that it was pointed to.
    #[default]
    Given,
    /// A file of the project, which it found.
    Project,
    /// The person's own file, for this folder.
    Local,
}

/// A server that is switched off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Disabled {
    /// What says so, in words: `enabled is false`.
    pub(crate) reason: String,
    /// Where.
    pub(crate) location: Location,
}

/// How long a client waits for a server at start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Patience {
    /// How long.
    pub(crate) budget: Duration,
    /// What happens then, and what changes it, in words.
    pub(crate) advice: &'static str,
}

/// Which tools the configuration lets through, by raw name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ToolFilter {
    /// Only these, with the key that says so; `None`: all.
    pub(crate) only: Option<(&'static str, Vec<String>)>,
    /// Not these, with the key that says so.
    pub(crate) without: Option<(&'static str, Vec<String>)>,
}

impl ToolFilter {
    /// The key that keeps a tool out, if one does.
    pub(crate) fn keeps_out(&self, tool: &str) -> Option<&'static str> {
        let names = |names: &[String]| names.iter().any(|name| name == tool);
        match (&self.without, &self.only) {
            (Some((key, without)), _) if names(without) => Some(key),
            (_, Some((key, only))) if !names(only) => Some(key),
            _ => None,
        }
    }
}

/// How a server is reached.
#[derive(Debug, Clone)]
pub(crate) enum Transport {
    /// A child process that speaks on its standard input and output.
    Stdio(StdioServer),
    /// Streamable HTTP.
    Http(RemoteServer),
    /// HTTP+SSE of 2024-11-05.
    Sse(RemoteServer),
    /// WebSocket.
    WebSocket(RemoteServer),
}

impl Transport {
    /// The word for it in reports.
    pub(crate) fn label(&self) -> &'static str {
        match self {
            Self::Stdio(_) => "stdio",
            Self::Http(_) => "http",
            Self::Sse(_) => "sse",
            Self::WebSocket(_) => "ws",
        }
    }
}

/// A server that is started as a child process.
#[derive(Debug, Clone, Default)]
pub(crate) struct StdioServer {
    /// The program: a path, or a name looked up on the `PATH`.
    pub(crate) command: Expanded,
    /// Its arguments. No shell reads them.
    pub(crate) arguments: Vec<Expanded>,
    /// Variables added to what is inherited.
    pub(crate) environment: Vec<(String, Expanded)>,
    /// Variables of this process that are not passed on.
    pub(crate) withheld: Vec<String>,
    /// Variables that the client adds by itself, before those of the entry.
    pub(crate) provided: Vec<(String, String)>,
    /// Where it is started; `None`: where this process was.
    pub(crate) folder: Option<PathBuf>,
}

impl StdioServer {
    /// The program's name without folder and ending, and the words behind it; seen through `cmd /c`, with which configurations for Windows
    /// often begin.
    pub(crate) fn launched(&self) -> (&str, Vec<&Expanded>) {
        fn name(command: &Expanded) -> &str {
            let name = command.value.reveal().rsplit(['/', '\\']).next().unwrap_or_default();
            name.split('.').next().unwrap_or_default()
        }
        let words: Vec<&Expanded> = self.arguments.iter().collect();
        match (name(&self.command), words.as_slice()) {
            ("cmd", [switch, program, rest @ ..]) if switch.written.eq_ignore_ascii_case("/c") => {
                (name(program), rest.to_vec())
            }
            (name, _) => (name, words),
        }
    }
}

/// A server that is reached over the network.
#[derive(Debug, Clone)]
pub(crate) struct RemoteServer {
    /// The address.
    pub(crate) url: Expanded,
    /// Headers sent with every request.
    pub(crate) headers: Vec<(String, Expanded)>,
    /// A command that makes further headers.
    pub(crate) helper: Option<HeaderHelper>,
    /// Whether the client tries HTTP+SSE where the address does not speak Streamable HTTP.
    pub(crate) falls_back: bool,
}

/// A command that prints headers as a JSON object of strings. A shell reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeaderHelper {
    /// The command line, as written.
    pub(crate) command: String,
    /// Variables of this process that are not passed on.
    pub(crate) withheld: Vec<String>,
    /// Variables that the client adds.
    pub(crate) provided: Vec<(String, String)>,
}

/// One `${VAR}` in an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VariableUse {
    /// The variable.
    pub(crate) name: String,
    /// The value's place in the file.
    pub(crate) location: Location,
    /// Where in the entry: `env.TOKEN`, `args[2]`, `headers.Authorization`.
    pub(crate) path: String,
    /// What was found.
    pub(crate) state: VariableState,
    /// The value, when the variable is set: to be masked everywhere.
    pub(crate) value: Option<Secret>,
}

/// What was found where an entry uses a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VariableState {
    /// Set, and not empty.
    Set,
    /// Set, but empty; the client uses the empty value, not the default.
    Empty,
    /// Not set; the default of `${VAR:-default}` is used.
    Defaulted,
    /// Not set, and without a default.
    Unset,
    /// Set, but kept from remote servers by the client: they get the empty value.
    Withheld,
}

impl Server {
    /// Whether a command makes headers for it.
    pub(crate) fn has_helper(&self) -> bool {
        match &self.transport {
            Ok(Transport::Http(remote) | Transport::Sse(remote) | Transport::WebSocket(remote)) => {
                remote.helper.is_some()
            }
            _ => false,
        }
    }

    /// Its address, when it is remote.
    pub(crate) fn url(&self) -> Option<&Secret> {
        match &self.transport {
            Ok(Transport::Http(remote) | Transport::Sse(remote) | Transport::WebSocket(remote)) => {
                Some(&remote.url.value)
            }
            _ => None,
        }
    }

    /// Whether its entry has a credential of its own, rather than leaving that to the client's sign-in.
    pub(crate) fn has_credential(&self) -> bool {
        match &self.transport {
            Ok(Transport::Http(remote) | Transport::Sse(remote) | Transport::WebSocket(remote)) => {
                remote.helper.is_some()
                    || remote.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"))
            }
            _ => false,
        }
    }

    /// Everything that makes it this server, part by part: what it is called, how it is reached, and with which values.
    pub(crate) fn parts(&self) -> Vec<&str> {
        let mut parts = vec![self.name.as_str()];
        match &self.transport {
            Ok(transport @ Transport::Stdio(stdio)) => {
                parts.extend([transport.label(), stdio.command.value.reveal()]);
                parts.extend(stdio.arguments.iter().map(|argument| argument.value.reveal()));
                parts.push("env");
                parts.extend(stdio.environment.iter().flat_map(|(name, text)| [name.as_str(), text.value.reveal()]));
            }
            Ok(transport @ (Transport::Http(remote) | Transport::Sse(remote) | Transport::WebSocket(remote))) => {
                parts.extend([transport.label(), remote.url.value.reveal()]);
                parts.extend(remote.headers.iter().flat_map(|(name, text)| [name.as_str(), text.value.reveal()]));
                parts.extend(remote.helper.iter().map(|helper| helper.command.as_str()));
            }
            Err(reason) => parts.push(reason),
        }
        parts
    }

    /// Every value of the entry that must be masked: `env` entries, headers and the variables used.
    pub(crate) fn secrets(&self) -> Vec<&Secret> {
        let values: Vec<&Secret> = match &self.transport {
            Ok(Transport::Stdio(stdio)) => stdio.environment.iter().map(|(_, text)| &text.value).collect(),
            Ok(Transport::Http(remote) | Transport::Sse(remote) | Transport::WebSocket(remote)) => {
                remote.headers.iter().map(|(_, text)| &text.value).collect()
            }
            Err(_) => Vec::new(),
        };
        values.into_iter().chain(self.variables.iter().filter_map(|variable| variable.value.as_ref())).collect()
    }

    /// The variables that are unset (without default) or empty, each once: the likely cause when tools are missing.
    pub(crate) fn unsatisfied_variables(&self) -> Vec<&VariableUse> {
        let mut found: Vec<&VariableUse> = Vec::new();
        for variable in &self.variables {
            let absent =
                matches!(variable.state, VariableState::Unset | VariableState::Empty | VariableState::Withheld);
            if absent && !found.iter().any(|other| other.name == variable.name) {
                found.push(variable);
            }
        }
        found
    }
}
