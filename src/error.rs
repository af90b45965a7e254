//! "No gate was performed": what can go wrong outside the probes. A dead server is not among these.

use std::io;

use crate::exit::Exit;
use crate::server::Location;
use crate::text;

/// Why no verdict was reached.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// An option, or an environment variable in its place, has no usable value.
    #[error("{0}")]
    Usage(String),
    /// A file that was named cannot be read.
    #[error("cannot read the {what} {path}: {}", io_text(.source))]
    Unreadable {
        /// `config` or `lock`.
        what: &'static str,
        /// The file as it was named.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// No configuration was named, and none was found.
    #[error("no {wanted} of {client} for this folder ({folder})")]
    NoConfig {
        /// The file the client looks for first.
        wanted: String,
        /// The client.
        client: &'static str,
        /// Where the search began.
        folder: String,
    },
    /// A configuration that the client would not load, or that is ambiguous.
    #[error("{location}: {message}")]
    Config {
        /// Where.
        location: Location,
        /// What is wrong there.
        message: String,
    },
    /// There is no lock to compare with.
    #[error("no lock at {path}: there is nothing to compare the servers with")]
    NoLock {
        /// Where it was looked for.
        path: String,
        /// The command that makes one.
        command: String,
    },
    /// A lock of an unknown shape.
    #[error("{location}: {message}")]
    Lock {
        /// Where.
        location: Location,
        /// What is wrong there.
        message: String,
    },
    /// The lock changed between reading and writing it.
    #[error("the lock {path} was changed by somebody else while the servers were probed; nothing was written")]
    LockChanged {
        /// The lock.
        path: String,
    },
    /// The lock could not be written.
    #[error("cannot write the lock {path}: {}; the old one is untouched", io_text(.source))]
    LockUnwritable {
        /// The lock.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A report could not be written.
    #[error("cannot write the report to {path}: {}", io_text(.source))]
    ReportUnwritable {
        /// The file, or `standard output`.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A signal arrived; every child is gone.
    #[error("interrupted by {}; no verdict was reached, and nothing was written", signal_name(*.0))]
    Interrupted(u8),
    /// Something that a system is expected to have is missing.
    #[error("{0}")]
    Internal(String),
}

impl Error {
    /// The exit code that goes with it.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::Unreadable { .. }
            | Self::NoConfig { .. }
            | Self::Config { .. }
            | Self::NoLock { .. }
            | Self::Lock { .. }
            | Self::LockChanged { .. } => Exit::Config,
            Self::LockUnwritable { .. } | Self::ReportUnwritable { .. } => Exit::Io,
            Self::Interrupted(signal) => Exit::Interrupted(*signal),
            Self::Internal(_) => Exit::Software,
        }
    }

    /// What to do next.
    pub(crate) fn help(&self) -> Option<String> {
        let help = match self {
            Self::Usage(_) => "see `mcp-preflight --help`",
            Self::Unreadable { what: "config", .. } => "check the path given with --config or MCP_CONFIG",
            Self::Unreadable { .. } => "check the path given with --lock or MCP_TOOL_LOCK, and its permissions",
            Self::NoConfig { .. } => "start mcp-preflight where the agent starts, or name the file with --config PATH",
            Self::Config { .. } => "mend the file: the agent would start without these servers, and say nothing",
            Self::NoLock { command, .. } => {
                return Some(format!(
                    "make one with `{command}` while every credential is set, review it, and commit it"
                ));
            }
            Self::Lock { .. } => {
                "restore the file from version control, or delete it and make a new one with --update-lock"
            }
            Self::LockChanged { .. } => "run the command again",
            Self::LockUnwritable { .. } => "check the folder's permissions and free space",
            Self::ReportUnwritable { .. } => "check the path given with --format, its folder and free space",
            Self::Interrupted(_) => return None,
            Self::Internal(_) => "this is a bug in mcp-preflight: please report it with the command line",
        };
        Some(help.to_owned())
    }

    /// Where in a file, for the errors that have a place.
    pub(crate) fn location(&self) -> Option<&Location> {
        match self {
            Self::Config { location, .. } | Self::Lock { location, .. } => Some(location),
            _ => None,
        }
    }

    /// The whole message, harmless to show.
    pub(crate) fn text(&self) -> String {
        text::escape(&self.to_string())
    }
}

/// An IO error without the number that Rust adds; the usual ones in the same words everywhere (Windows has them in the person's language).
fn io_text(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound if cfg!(windows) => return "No such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied if cfg!(windows) => return "Permission denied".to_owned(),
        _ => {}
    }
    let text = error.to_string();
    text.split_once(" (os error").map_or(text.clone(), |(text, _)| text.to_owned())
}

/// `SIGINT`, `SIGTERM`, ... or `signal 42`.
pub(crate) fn signal_name(signal: u8) -> String {
    if cfg!(windows) && signal == 2 {
        return "Ctrl-C or Ctrl-Break".to_owned();
    }
    let names = [
        (1, "SIGHUP"),
        (2, "SIGINT"),
        (3, "SIGQUIT"),
        (4, "SIGILL"),
        (6, "SIGABRT"),
        (7, "SIGBUS"),
        (8, "SIGFPE"),
        (9, "SIGKILL"),
        (11, "SIGSEGV"),
        (13, "SIGPIPE"),
        (15, "SIGTERM"),
    ];
    names
        .iter()
        .find(|(number, _)| *number == signal)
        .map_or_else(|| format!("signal {signal}"), |(_, name)| (*name).to_owned())
}
