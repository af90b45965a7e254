//! What a probe saw. A dead server is a value here, not an error.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use serde_json::Value;

use crate::deviation::Deviation;
use crate::server::Secret;

/// Everything one probe saw of one server.
#[derive(Debug, Clone)]
pub(crate) struct Observation {
    /// The tools, or why there are none to compare.
    pub(crate) outcome: Outcome,
    /// From the start of this server's probe to the end of its listing (its closing is not counted).
    pub(crate) elapsed: Duration,
    /// Where that time went.
    pub(crate) phases: Phases,
    /// What the server said of itself, when it got that far.
    pub(crate) identity: Option<Identity>,
    /// What a stricter client would stumble over in its messages.
    pub(crate) deviations: BTreeSet<Deviation>,
    /// Text on stdout that is no protocol message.
    pub(crate) noise: Option<Noise>,
    /// Processes that were still alive after their server had ended; they were ended too.
    pub(crate) left_running: Vec<LeftRunning>,
    /// The end of what the process wrote to stderr.
    pub(crate) stderr: String,
    /// Whether the beginning of stderr was dropped.
    pub(crate) stderr_cut: bool,
    /// Why the command that makes headers made none.
    pub(crate) helper_problem: Option<String>,
    /// What was made while probing and must not be seen: to be masked in all of this.
    pub(crate) secrets: Vec<Secret>,
    /// The messages sent and received, each one line, when a transcript was asked for.
    pub(crate) transcript: Vec<String>,
}

impl Observation {
    /// An empty list, and nothing else.
    pub(crate) fn empty() -> Self {
        Self {
            outcome: Outcome::Tools(ToolTable::default()),
            elapsed: Duration::ZERO,
            phases: Phases::default(),
            identity: None,
            deviations: BTreeSet::new(),
            noise: None,
            left_running: Vec::new(),
            stderr: String::new(),
            stderr_cut: false,
            helper_problem: None,
            secrets: Vec::new(),
            transcript: Vec::new(),
        }
    }

    /// A failure, and nothing else.
    pub(crate) fn failed(failure: ProbeFailure, elapsed: Duration) -> Self {
        Self { outcome: Outcome::Failed(failure), elapsed, ..Self::empty() }
    }

    /// The table, when there is one.
    pub(crate) fn table(&self) -> Option<&ToolTable> {
        match &self.outcome {
            Outcome::Tools(table) => Some(table),
            Outcome::Failed(_) => None,
        }
    }

    /// The failure, when there is one.
    pub(crate) fn failure(&self) -> Option<&ProbeFailure> {
        match &self.outcome {
            Outcome::Tools(_) => None,
            Outcome::Failed(failure) => Some(failure),
        }
    }
}

/// The result of a probe.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    /// The whole list, all pages.
    Tools(ToolTable),
    /// The list could not be read; nothing is known of the tools.
    Failed(ProbeFailure),
}

/// The tool list as the server gave it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ToolTable {
    /// Every tool, in the server's order, repeated names included.
    pub(crate) tools: Vec<Tool>,
    /// How many pages the list had.
    pub(crate) pages: usize,
    /// Whether the server declared `capabilities.tools`; some clients do not ask without it.
    pub(crate) declares_tools: bool,
    /// What is wrong with the answer to `initialize`, where some clients would refuse it.
    pub(crate) handshake_faults: Vec<HandshakeFault>,
    /// Whether the last page said `"nextCursor": null`, which some clients refuse.
    pub(crate) null_cursor: bool,
    /// Whether the list was ended because a cursor came a second time.
    pub(crate) repeated_cursor: bool,
    /// After how many pages the cursor was the empty string, at which some clients stop.
    pub(crate) empty_cursor_after: Option<usize>,
}

impl ToolTable {
    /// The raw names, sorted, each once.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.tools.iter().map(|tool| tool.name.clone()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// Something in the answer to `initialize` that some clients refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HandshakeFault {
    /// What, in words.
    pub(crate) what: &'static str,
    /// Whether it is no more than a null where something may be absent.
    pub(crate) is_null: bool,
}

/// One tool of a list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tool {
    /// Its raw name. Text from outside: escape it before it is shown.
    pub(crate) name: String,
    /// 0-based page it stood on.
    pub(crate) page: usize,
    /// The whole object, as the server sent it.
    pub(crate) definition: Value,
}

/// Where the time of a probe went. `None` where that step was not reached, or cannot be told apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Phases {
    /// Starting the process.
    pub(crate) connect: Option<Duration>,
    /// `initialize` until its answer.
    pub(crate) initialize: Option<Duration>,
    /// All pages of `tools/list`.
    pub(crate) tools_list: Option<Duration>,
}

/// The two eras of the protocol (`protocol.md` section 1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Era {
    /// 2024-10-07 to 2025-11-25: `initialize` first.
    #[default]
    Legacy,
    /// 2026-07-28 and later: no handshake, every request carries its version.
    Modern,
}

impl Era {
    /// The word in reports.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }
}

/// What a server said of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The era it was spoken to in.
    pub(crate) era: Era,
    /// The protocol version it answered with.
    pub(crate) protocol_version: String,
    /// `serverInfo.name`. Often an SDK's default.
    pub(crate) name: String,
    /// `serverInfo.version`. Often the SDK's, not the server's.
    pub(crate) version: String,
}

/// Lines on stdout that are not JSON-RPC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Noise {
    /// How many.
    pub(crate) lines: usize,
    /// The beginning of the first one.
    pub(crate) first: String,
}

/// A process that outlived its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeftRunning {
    /// Its process id, while it lived.
    pub(crate) pid: u32,
    /// Its short name, where the system tells it.
    pub(crate) name: String,
}

/// Why a server could not be verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProbeFailure {
    /// The kind of failure.
    pub(crate) class: FailureClass,
    /// What was being done.
    pub(crate) step: Step,
    /// What happened, in this tool's own words.
    pub(crate) message: String,
    /// What somebody else said of it: text from outside, whole, to be masked before it is cut.
    pub(crate) said: String,
    /// What to do next, where this failure has an answer of its own.
    pub(crate) help: Option<String>,
    /// The exit code of a process that ended by itself; 128 + n when signal n ended it.
    pub(crate) exit_status: Option<i32>,
    /// The HTTP status of the answer that ended the probe.
    pub(crate) http_status: Option<u16>,
    /// How long the server wants to be left alone (`Retry-After`).
    pub(crate) retry_after: Option<Duration>,
}

impl ProbeFailure {
    /// A failure of this class in this step.
    pub(crate) fn new(class: FailureClass, step: Step, message: impl Into<String>) -> Self {
        Self {
            class,
            step,
            message: message.into(),
            said: String::new(),
            help: None,
            exit_status: None,
            http_status: None,
            retry_after: None,
        }
    }

    /// The same failure with text from outside.
    pub(crate) fn saying(mut self, said: impl Into<String>) -> Self {
        self.said = said.into();
        self
    }

    /// The whole message.
    pub(crate) fn text(&self) -> String {
        if self.said.is_empty() { self.message.clone() } else { format!("{}: {}", self.message, self.said) }
    }

    /// The same failure with advice.
    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same failure with the HTTP status that caused it.
    pub(crate) fn with_http_status(mut self, status: u16) -> Self {
        self.http_status = Some(status);
        self
    }
}

/// The kind of a failure, the same word in every report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureClass {
    /// The process could not be started.
    Spawn,
    /// The process ended before the list was complete.
    Exited,
    /// The server's time was up.
    Timeout,
    /// An answer that is no valid MCP.
    Protocol,
    /// A JSON-RPC error.
    RpcError,
    /// Any other HTTP status.
    HttpStatus,
    /// 401 or 403.
    Auth,
    /// 429.
    RateLimited,
    /// 503.
    Unavailable,
    /// The host name could not be resolved.
    Dns,
    /// No connection, or one that broke.
    Connect,
    /// TLS refused.
    Tls,
    /// More than this tool is willing to read.
    Limit,
    /// A transport or address that this tool cannot probe.
    Unsupported,
}

impl FailureClass {
    /// Whether a later try may pass without anybody changing anything.
    pub(crate) fn is_transient(self) -> bool {
        matches!(self, Self::Timeout | Self::RateLimited | Self::Unavailable | Self::Connect | Self::Dns)
    }

    /// The word in reports.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Spawn => "spawn",
            Self::Exited => "exited",
            Self::Timeout => "timeout",
            Self::Protocol => "protocol",
            Self::RpcError => "rpc-error",
            Self::HttpStatus => "http-status",
            Self::Auth => "auth",
            Self::RateLimited => "rate-limited",
            Self::Unavailable => "unavailable",
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Limit => "limit",
            Self::Unsupported => "unsupported",
        }
    }
}

impl FailureClass {
    /// Every class.
    #[cfg(test)]
    const ALL: [Self; 14] = [
        Self::Spawn,
        Self::Exited,
        Self::Timeout,
        Self::Protocol,
        Self::RpcError,
        Self::HttpStatus,
        Self::Auth,
        Self::RateLimited,
        Self::Unavailable,
        Self::Dns,
        Self::Connect,
        Self::Tls,
        Self::Limit,
        Self::Unsupported,
    ];
}

impl fmt::Display for FailureClass {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// What a probe was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Waiting for its turn.
    Queue,
    /// Starting the process.
    Start,
    /// Reaching the host.
    Connect,
    /// The request `server/discover`.
    Discover,
    /// The request `initialize`.
    Initialize,
    /// The notification `notifications/initialized`.
    Initialized,
    /// The request `tools/list`.
    ToolsList,
}

impl Step {
    /// The word in reports: the protocol's own method name where there is one.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Start => "start",
            Self::Connect => "connect",
            Self::Discover => "server/discover",
            Self::Initialize => "initialize",
            Self::Initialized => "notifications/initialized",
            Self::ToolsList => "tools/list",
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::FailureClass;

    #[test]
    fn every_class_is_documented_with_its_transience() {
        let documented = include_str!("../docs/findings.md");
        let (_, classes) = documented.split_once("## Failure classes").expect("a section");
        let rows: Vec<(&str, bool)> = classes
            .lines()
            .filter_map(|line| Some((line.strip_prefix("| `")?.split('`').next()?, line.ends_with("| yes |"))))
            .collect();
        let expected: Vec<(&str, bool)> =
            FailureClass::ALL.iter().map(|class| (class.as_str(), class.is_transient())).collect();
        assert_eq!(rows, expected);
    }
}
