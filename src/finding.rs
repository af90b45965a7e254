//! What the gate has to say: one code, one severity, one sentence. A leaf: rules make findings, renderers show them.

use std::fmt;

use crate::server::{Location, ServerName};

/// The stable name of a kind of finding, the same in text, JSON and documentation (`docs/findings.md`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Code {
    /// A locked tool is not listed.
    ToolsMissing,
    /// A server could not be verified.
    ProbeFailed,
    /// The lock names a server that the configuration lacks.
    ServerAbsent,
    /// Listed, but the client would not offer it.
    ToolsUnusable,
    /// An entry that the client would skip.
    EntryInvalid,
    /// A server lists no tool at all.
    ToolsEmpty,
    /// `${VAR}` without default, and not set.
    VariableUnset,
    /// `${VAR}` set to the empty string.
    VariableEmpty,
    /// An enabled server that the lock does not know.
    ServerUnlocked,
    /// The server answers a protocol version that the client turns down.
    VersionRefused,
    /// Something a stricter client would stumble over.
    ProtocolDeviation,
    /// Text on stdout that is no protocol message.
    StdoutNoise,
    /// Processes that outlived their server.
    LeftRunning,
    /// A file, or a part of it, that no client reads.
    ConfigIgnored,
    /// The lock names a server that is switched off.
    ServerDisabled,
    /// The command that makes headers made none.
    HelperFailed,
    /// A variable that the client keeps from remote servers.
    VariableWithheld,
    /// Verified, but slower than the client waits at start.
    SlowStart,
    /// A rule that names a tool which nothing offers.
    RuleDead,
    /// A command that runs whatever version is newest.
    ServerUnpinned,
    /// A key of the configuration that the client ignores.
    KeyUnknown,
    /// Listed, and not in the lock.
    ToolsAdded,
}

impl Code {
    /// Every code, most important first.
    pub(crate) const ALL: [Self; 22] = [
        Self::ToolsMissing,
        Self::ProbeFailed,
        Self::ServerAbsent,
        Self::ServerDisabled,
        Self::ToolsUnusable,
        Self::EntryInvalid,
        Self::VariableUnset,
        Self::ToolsEmpty,
        Self::VariableEmpty,
        Self::VariableWithheld,
        Self::HelperFailed,
        Self::ServerUnlocked,
        Self::SlowStart,
        Self::VersionRefused,
        Self::ProtocolDeviation,
        Self::StdoutNoise,
        Self::LeftRunning,
        Self::KeyUnknown,
        Self::ConfigIgnored,
        Self::RuleDead,
        Self::ToolsAdded,
        Self::ServerUnpinned,
    ];

    /// The kebab-case name.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::ToolsMissing => "tools-missing",
            Self::ProbeFailed => "probe-failed",
            Self::ServerAbsent => "server-absent",
            Self::ToolsUnusable => "tools-unusable",
            Self::EntryInvalid => "entry-invalid",
            Self::ToolsEmpty => "tools-empty",
            Self::VariableUnset => "variable-unset",
            Self::VariableEmpty => "variable-empty",
            Self::ServerUnlocked => "server-unlocked",
            Self::VersionRefused => "version-refused",
            Self::ProtocolDeviation => "protocol-deviation",
            Self::StdoutNoise => "stdout-noise",
            Self::LeftRunning => "left-running",
            Self::ConfigIgnored => "config-ignored",
            Self::ServerDisabled => "server-disabled",
            Self::HelperFailed => "helper-failed",
            Self::VariableWithheld => "variable-withheld",
            Self::SlowStart => "slow-start",
            Self::RuleDead => "rule-dead",
            Self::ServerUnpinned => "server-unpinned",
            Self::KeyUnknown => "key-unknown",
            Self::ToolsAdded => "tools-added",
        }
    }

    /// What it means, in one sentence.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::ToolsMissing => "A tool that the run counts on is not listed.",
            Self::ProbeFailed => "A server could not be verified.",
            Self::ServerAbsent => "The lock names a server that no configuration has.",
            Self::ServerDisabled => "The lock names a server that is switched off.",
            Self::ToolsUnusable => "A tool is listed, but the client would not offer it.",
            Self::EntryInvalid => "The client skips an entry of the configuration.",
            Self::VariableUnset => "A variable without a default is not set.",
            Self::ToolsEmpty => "A server lists no tool at all.",
            Self::VariableEmpty => "A variable is set, but empty.",
            Self::VariableWithheld => "The client keeps a variable from remote servers.",
            Self::HelperFailed => "The command that makes headers made none.",
            Self::ServerUnlocked => "The lock does not know a server.",
            Self::SlowStart => "A server is slower than the client waits at start.",
            Self::VersionRefused => "A server answers a protocol version that the client turns down.",
            Self::ProtocolDeviation => "A server does something that a stricter client would stumble over.",
            Self::StdoutNoise => "A server writes text to standard output that is no protocol.",
            Self::LeftRunning => "Processes outlived their server.",
            Self::KeyUnknown => "The client ignores a key of the configuration.",
            Self::ConfigIgnored => "No client reads a file, or a part of it.",
            Self::RuleDead => "A rule names a tool that nothing offers.",
            Self::ToolsAdded => "A tool is listed that is not in the lock.",
            Self::ServerUnpinned => "A command runs whatever version is newest.",
        }
    }

    /// Whether it may be lowered by its code: what the gate is for may not.
    pub(crate) fn may_be_lowered(self) -> bool {
        !matches!(self, Self::ToolsMissing | Self::ProbeFailed | Self::ServerAbsent | Self::ServerDisabled)
    }

    /// The severity it has unless a rule says otherwise.
    pub(crate) fn default_severity(self) -> Severity {
        match self {
            Self::ToolsMissing
            | Self::ProbeFailed
            | Self::ServerAbsent
            | Self::ServerDisabled
            | Self::ToolsUnusable
            | Self::EntryInvalid
            | Self::VariableUnset => Severity::Error,
            Self::ToolsEmpty
            | Self::VariableEmpty
            | Self::ServerUnlocked
            | Self::VersionRefused
            | Self::ProtocolDeviation
            | Self::StdoutNoise
            | Self::LeftRunning
            | Self::ConfigIgnored
            | Self::VariableWithheld
            | Self::HelperFailed
            | Self::SlowStart
            | Self::RuleDead
            | Self::KeyUnknown => Severity::Warning,
            Self::ToolsAdded | Self::ServerUnpinned => Severity::Note,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// How much a finding weighs. Only an error stops the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    /// The gate says no.
    Error,
    /// Somebody should look.
    Warning,
    /// Good to know.
    Note,
}

impl Severity {
    /// The word in reports.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// One thing the gate has to say.
#[derive(Debug, Clone)]
pub(crate) struct Finding {
    /// What kind.
    pub(crate) code: Code,
    /// How much it weighs, after every rule and option.
    pub(crate) severity: Severity,
    /// The server it is about, if it is about one.
    pub(crate) server: Option<ServerName>,
    /// One sentence. May hold text from outside: escape it before it is shown.
    pub(crate) message: String,
    /// Further sentences.
    pub(crate) notes: Vec<String>,
    /// The last lines the server wrote to stderr, where they may tell the reason.
    pub(crate) excerpt: Vec<String>,
    /// The tools it is about, raw names, sorted.
    pub(crate) tools: Vec<String>,
    /// What to do next.
    pub(crate) help: Option<String>,
    /// Where in a file.
    pub(crate) location: Option<Location>,
    /// Whether it cannot be lowered by its code: a locked server could not be verified, whatever the finding is called.
    pub(crate) is_firm: bool,
}

impl Finding {
    /// A finding of this code with its default severity.
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: code.default_severity(),
            server: None,
            message: message.into(),
            notes: Vec::new(),
            excerpt: Vec::new(),
            tools: Vec::new(),
            help: None,
            location: None,
            is_firm: false,
        }
    }

    /// The same, about this server.
    pub(crate) fn about(mut self, server: &ServerName) -> Self {
        self.server = Some(server.clone());
        self
    }

    /// The same, at this place.
    pub(crate) fn at(mut self, location: &Location) -> Self {
        self.location = Some(location.clone());
        self
    }

    /// The same, not to be lowered by its code.
    pub(crate) fn firm(mut self, is_firm: bool) -> Self {
        self.is_firm = is_firm;
        self
    }

    /// The same, naming these tools.
    pub(crate) fn naming(mut self, tools: Vec<String>) -> Self {
        self.tools = tools;
        self
    }

    /// The same, with advice.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same, with one more note.
    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// The same, with these last lines of stderr.
    pub(crate) fn excerpt(mut self, lines: Vec<String>) -> Self {
        self.excerpt = lines;
        self
    }

    /// The same, with this severity.
    pub(crate) fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::Code;

    #[test]
    fn every_code_is_documented_with_its_severity() {
        let documented = include_str!("../docs/findings.md");
        for code in Code::ALL {
            let row = format!("| `{}` | {}", code.as_str(), code.default_severity().as_str());
            assert!(documented.contains(&row), "docs/findings.md lacks a row that begins {row:?}");
        }
        for code in Code::ALL {
            let heading = format!("\n### `{}`\n", code.as_str());
            assert_eq!(
                documented.matches(&heading).count(),
                1,
                "docs/findings.md does not say what to do about {code}"
            );
        }
        let (findings, _) = documented.split_once("## What to do").expect("a section");
        let rows = findings.lines().filter(|line| line.starts_with("| `")).count();
        assert_eq!(rows, Code::ALL.len(), "docs/findings.md has a row for a code that does not exist");
    }
}
