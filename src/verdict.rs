//! Findings -> verdict: what weighs how much, and which number the process ends with. Pure.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::compare::{Comparison, Status};
use crate::exit::Exit;
use crate::finding::{Code, Finding, Severity};
use crate::observed::Observation;
use crate::server::ServerName;
use crate::settings::Weights;
use crate::values::Client;

/// Everything a report can say about a run that was performed.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// What the process ends with.
    pub(crate) exit: Exit,
    /// Whose rules were used.
    pub(crate) client: Client,
    /// Whether nothing was probed.
    pub(crate) is_static: bool,
    /// The configurations, most important first.
    pub(crate) configs: Vec<String>,
    /// The lock.
    pub(crate) lock: String,
    /// The whole run.
    pub(crate) elapsed: Duration,
    /// One entry a server: first those of the configuration, then those that only the lock knows.
    pub(crate) servers: Vec<ServerVerdict>,
    /// Every finding, most important first.
    pub(crate) findings: Vec<Finding>,
    /// What became of the lock, when it was to be written.
    pub(crate) update: Option<LockUpdate>,
}

/// What a report can say about one server.
#[derive(Debug)]
pub(crate) struct ServerVerdict {
    /// Its name.
    pub(crate) name: ServerName,
    /// `stdio`, `http`, ...; `None` when the entry is invalid or missing.
    pub(crate) transport: Option<&'static str>,
    /// What the probe saw; `None` when there was none.
    pub(crate) observation: Option<Observation>,
    /// How that compares with the lock.
    pub(crate) comparison: Comparison,
}

/// What became of the lock.
#[derive(Debug, Clone)]
pub(crate) struct LockUpdate {
    /// How it ended.
    pub(crate) outcome: UpdateOutcome,
    /// The difference, as a unified diff; empty when there is none.
    pub(crate) diff: String,
    /// One line for the commit that takes the new lock in; empty when there is nothing to commit.
    pub(crate) message: String,
    /// How many servers and tools the new lock has.
    pub(crate) servers: usize,
    /// See `servers`.
    pub(crate) tools: usize,
}

/// How writing the lock ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UpdateOutcome {
    /// The new lock is on disk.
    Written,
    /// There was nothing to change; the file was not touched.
    Unchanged,
    /// There is something to change, and `--dry-run` kept it from being written.
    DryRun,
    /// A finding forbids it; the file was not touched.
    Refused,
}

impl UpdateOutcome {
    /// The word in reports.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Unchanged => "unchanged",
            Self::DryRun => "dry-run",
            Self::Refused => "refused",
        }
    }
}

/// The numbers of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Summary {
    /// Servers of the configuration and the lock.
    pub(crate) servers: usize,
    /// Servers whose every locked tool was seen.
    pub(crate) verified: usize,
    /// Servers left out on request.
    pub(crate) skipped: usize,
    /// Locked tools of the servers that were to be verified.
    pub(crate) tools_expected: usize,
    /// Locked tools that were seen and are usable.
    pub(crate) tools_verified: usize,
    /// Findings of severity error.
    pub(crate) errors: usize,
    /// Findings of severity warning.
    pub(crate) warnings: usize,
}

impl Verdict {
    /// Whether the gate is open.
    pub(crate) fn passes(&self) -> bool {
        self.exit == Exit::Ok
    }

    /// The numbers.
    pub(crate) fn summary(&self) -> Summary {
        let of = |status| self.servers.iter().filter(|server| server.comparison.status == status).count();
        let weighing = |severity| self.findings.iter().filter(|finding| finding.severity == severity).count();
        let checked = || self.servers.iter().filter(|server| server.comparison.status != Status::Skipped);
        Summary {
            servers: self.servers.len(),
            verified: of(Status::Verified),
            skipped: of(Status::Skipped),
            tools_expected: checked().map(|server| server.comparison.expected.len()).sum(),
            tools_verified: checked().map(ServerVerdict::verified_tools).sum(),
            errors: weighing(Severity::Error),
            warnings: weighing(Severity::Warning),
        }
    }
}

impl ServerVerdict {
    /// How many of its locked tools were seen and are usable.
    pub(crate) fn verified_tools(&self) -> usize {
        let Comparison { expected, observed, unusable, .. } = &self.comparison;
        let unusable: BTreeSet<&str> = unusable.iter().map(|unusable| unusable.tool.as_str()).collect();
        // `observed` is sorted.
        let is_seen = |tool: &&String| observed.binary_search(tool).is_ok() && !unusable.contains(tool.as_str());
        expected.iter().filter(is_seen).count()
    }

    /// Whether its failure may pass on a retry.
    fn is_transient(&self) -> bool {
        let failure = self.observation.as_ref().and_then(Observation::failure);
        failure.is_some_and(|failure| failure.class.is_transient())
    }
}

/// Softens what was asked to be softened, and puts the most important first.
pub(crate) fn weigh(findings: &mut Vec<Finding>, optional: &[String], weights: &Weights) {
    findings.retain_mut(|finding| {
        // A rule may have softened, or sharpened, this one finding; what was said of its code counts more.
        match weights.by_code.iter().find(|(code, _)| *code == finding.code) {
            Some((_, severity)) if finding.is_firm && *severity != Some(Severity::Error) => {}
            Some((_, None)) => return false,
            Some((_, Some(severity))) => finding.severity = *severity,
            None => {}
        }
        if weights.strict && finding.severity == Severity::Warning {
            finding.severity = Severity::Error;
        }
        true
    });
    for finding in findings.iter_mut() {
        let is_optional =
            finding.server.as_ref().is_some_and(|server| optional.iter().any(|name| name == server.as_str()));
        if is_optional && finding.severity == Severity::Error {
            finding.severity = Severity::Warning;
        }
    }
    findings.sort_by_key(|a| (a.severity, a.code));
}

/// The number the process ends with.
pub(crate) fn exit(findings: &[Finding], servers: &[ServerVerdict], tempfail: bool) -> Exit {
    let mut errors = findings.iter().filter(|finding| finding.severity == Severity::Error).peekable();
    if errors.peek().is_none() {
        return Exit::Ok;
    }
    let may_pass = |finding: &Finding| {
        let server = servers.iter().find(|server| Some(&server.name) == finding.server.as_ref());
        finding.code == Code::ProbeFailed && server.is_some_and(ServerVerdict::is_transient)
    };
    if tempfail && errors.all(may_pass) { Exit::TempFail } else { Exit::Config }
}
