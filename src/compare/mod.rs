//! (lock, offered) -> findings. Pure: rules print nothing, and know nothing of processes or sockets.

mod deviation;
mod entry;
mod pin;
mod rename;
mod table;

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::lens::{Offer, Unusable};
use crate::observed::Observation;
use crate::server::{Server, ServerName, VariableState};
use crate::values::Client;

/// What is known of one server, from the configuration, the lock and the probe.
#[derive(Debug)]
pub(crate) struct Subject<'a> {
    /// Its name.
    pub(crate) name: &'a ServerName,
    /// Its entry; `None` when only the lock knows it.
    pub(crate) entry: Option<&'a Server>,
    /// What the lock expects; `None` when the lock does not know it.
    pub(crate) expected: Option<&'a BTreeSet<String>>,
    /// Whether it was left out on request.
    pub(crate) is_skipped: bool,
    /// What the probe saw.
    pub(crate) observation: Option<&'a Observation>,
    /// What the client makes of it.
    pub(crate) offer: Offer,
    /// Whether the run cannot go on without it, lock or no lock.
    pub(crate) is_needed: bool,
    /// Whose rules hold.
    pub(crate) client: Client,
    /// The command that updates the lock of this run.
    pub(crate) update: &'a str,
}

/// What a comparison is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The gate: the lock decides.
    Check,
    /// Making a lock: what is observed is to become the expectation.
    Lock,
    /// Looking only.
    Look,
    /// Comparing without a probe.
    Static,
}

/// What became of one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// Every locked tool was seen.
    Verified,
    /// It was probed, and a locked tool is missing or unusable.
    Drift,
    /// It could not be verified.
    Failed,
    /// It was left out on request.
    Skipped,
    /// It was probed, but the lock does not know it.
    Unlocked,
}

impl Status {
    /// The word in reports.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Drift => "drift",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Unlocked => "unlocked",
        }
    }
}

/// The comparison of one server.
#[derive(Debug)]
pub(crate) struct Comparison {
    /// What became of it.
    pub(crate) status: Status,
    /// What the lock expects, sorted.
    pub(crate) expected: Vec<String>,
    /// What was listed, sorted.
    pub(crate) observed: Vec<String>,
    /// Locked, not listed.
    pub(crate) missing: Vec<String>,
    /// Listed, not locked. Empty where nothing is locked.
    pub(crate) added: Vec<String>,
    /// The full names the client would give its model.
    pub(crate) offered: Vec<String>,
    /// Listed, not offered.
    pub(crate) unusable: Vec<Unusable>,
    /// What there is to say.
    pub(crate) findings: Vec<Finding>,
}

/// Compares one server.
pub(crate) fn compare(subject: &Subject<'_>, purpose: Purpose) -> Comparison {
    let expected: Vec<String> = subject.expected.into_iter().flatten().cloned().collect();
    let observed =
        subject.observation.and_then(Observation::table).map(super::observed::ToolTable::names).unwrap_or_default();
    let is_listed = subject.observation.is_some_and(|observation| observation.table().is_some());
    let missing = if is_listed { without(&expected, &observed) } else { Vec::new() };
    let mut added = if is_listed && subject.expected.is_some() { without(&observed, &expected) } else { Vec::new() };
    let meant = subject.offer.unusable.iter().filter(|unusable| unusable.is_meant);
    let left_out: BTreeSet<&str> = meant.map(|unusable| unusable.tool.as_str()).collect();
    added.retain(|tool| !left_out.contains(tool.as_str()));
    let mut comparison = Comparison {
        status: Status::Skipped,
        expected,
        observed,
        missing,
        added,
        offered: subject.offer.offered.clone(),
        unusable: subject.offer.unusable.clone(),
        findings: Vec::new(),
    };
    if !subject.is_skipped {
        let mut findings = entry::findings(subject, purpose);
        findings.extend(table::findings(subject, &comparison, purpose));
        comparison.findings = findings;
        comparison.status = status(subject, &comparison, purpose);
    }
    comparison
}

fn status(subject: &Subject<'_>, comparison: &Comparison, purpose: Purpose) -> Status {
    let is_hit = comparison.unusable.iter().any(|unusable| comparison.expected.binary_search(&unusable.tool).is_ok());
    match subject.observation {
        None if subject.expected.is_none() && subject.entry.is_some_and(|entry| entry.disabled.is_some()) => {
            Status::Skipped
        }
        None if purpose == Purpose::Static && subject.entry.is_some_and(|entry| entry.transport.is_ok()) => {
            Status::Skipped
        }
        None => Status::Failed,
        Some(observation) if observation.failure().is_some() => Status::Failed,
        Some(_) if subject.expected.is_none() => Status::Unlocked,
        Some(_) if !comparison.missing.is_empty() || is_hit => Status::Drift,
        Some(_) => Status::Verified,
    }
}

fn without(names: &[String], others: &[String]) -> Vec<String> {
    // Both are sorted.
    names.iter().filter(|name| others.binary_search(name).is_err()).cloned().collect()
}

/// The variables of an entry that have no value, for sentences about their likely effect.
struct Unsatisfied {
    /// `A is not set (.mcp.json:5:9) and B is empty (.mcp.json:6:9)`.
    said: String,
    /// `A and B`.
    names: String,
}

impl Unsatisfied {
    fn of(entry: Option<&Server>) -> Option<Self> {
        let found = entry.map(Server::unsatisfied_variables).filter(|found| !found.is_empty())?;
        let names: Vec<&str> = found.iter().map(|variable| variable.name.as_str()).collect();
        let said: Vec<String> = found
            .iter()
            .map(|variable| {
                let what = match variable.state {
                    VariableState::Empty => "is empty",
                    VariableState::Withheld => "is kept from it by the client",
                    _ => "is not set",
                };
                format!("{} {what} ({})", variable.name, variable.location)
            })
            .collect();
        Some(Self { said: said.join(" and "), names: names.join(" and ") })
    }
}
