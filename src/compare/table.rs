//! What can be said of a server after its probe.

use std::collections::BTreeMap;

use super::rename::renames;
use super::{Comparison, Purpose, Subject, Unsatisfied};
use crate::finding::{Code, Finding, Severity};
use crate::observed::{FailureClass, Observation, ProbeFailure, ToolTable};
use crate::text;

/// How many tools are named that are no loss.
const MOST_ADDED: usize = 40;
/// How many of the last lines of stderr are shown.
const EXCERPT_LINES: usize = 8;
/// How many more may come from further up.
const TELLING_LINES: usize = 3;
/// How much of a line is shown.
const EXCERPT_WIDTH: usize = 240;

/// The findings about what a probe saw of one server.
pub(super) fn findings(subject: &Subject<'_>, comparison: &Comparison, purpose: Purpose) -> Vec<Finding> {
    let Some(observation) = subject.observation else {
        return unusable(comparison, purpose).into_iter().map(|finding| finding.about(subject.name)).collect();
    };
    let mut findings = Vec::new();
    if let Some(failure) = observation.failure() {
        findings.push(failed(subject, observation, failure, purpose));
    }
    if let Some(table) = observation.table() {
        findings.extend(missing(subject, observation, comparison));
        findings.extend(empty(subject, observation, table, purpose));
        findings.extend(unusable(comparison, purpose));
        findings.extend(added(subject, comparison, purpose));
    }
    if let Some(version) = &subject.offer.refused_version {
        let message = format!("the server answers with protocol version {version:?}, which the client turns down");
        findings.push(Finding::new(Code::VersionRefused, message).help("update the server, or the client"));
    }
    findings.extend(super::deviation::findings(subject, observation));
    findings.extend(unhelped(subject, observation, purpose));
    findings.extend(slow(subject, observation));
    findings.extend(oddities(observation));
    findings.into_iter().map(|finding| finding.about(subject.name)).collect()
}

fn failed(subject: &Subject<'_>, observation: &Observation, failure: &ProbeFailure, purpose: Purpose) -> Finding {
    // An entry that the client skips is said once, as what it is.
    let is_counted = purpose != Purpose::Check || subject.expected.is_some() || subject.is_needed;
    let severity = if is_counted { Severity::Error } else { Severity::Warning };
    let message = format!("could not be verified ({}): {}", failure.class, failure.text());
    let excerpt = excerpt(&observation.stderr);
    let help = failure.help.clone().unwrap_or_else(|| default_help(failure.class, excerpt.is_empty()).to_owned());
    let mut finding = Finding::new(Code::ProbeFailed, message)
        .severity(severity)
        .naming(subject.expected.into_iter().flatten().cloned().collect())
        .excerpt(excerpt)
        .help(help);
    if let Some(variables) = Unsatisfied::of(subject.entry) {
        finding = finding.note(format!("{}: that is the likely cause", variables.said));
    }
    if let Some(noise) = &observation.noise {
        let lines = text::count(noise.lines, "line");
        finding =
            finding.note(format!("it wrote {lines} to standard output that are no protocol, first: {}", noise.first));
    }
    if let Some(entry) = subject.entry {
        finding = finding.at(&entry.location);
    }
    finding
}

fn default_help(class: FailureClass, was_silent: bool) -> &'static str {
    match class {
        FailureClass::Exited if was_silent => {
            "it wrote nothing to stderr: run the command by hand with the same variables"
        }
        FailureClass::Spawn => "check the command",
        FailureClass::Exited => "run the command by hand with the same variables; what it said is above",
        FailureClass::Timeout => "see whether it waits for something it cannot have here, or raise --timeout",
        FailureClass::Protocol => "check that this is an MCP server of the declared transport",
        FailureClass::RpcError => "the server's own message says why; often a credential or a service it needs",
        FailureClass::HttpStatus => "check the url and what stands in front of the server",
        FailureClass::Auth => "check the entry's headers and the variables in them",
        FailureClass::RateLimited | FailureClass::Unavailable => "wait, then run again",
        FailureClass::Dns | FailureClass::Connect => "check the host and port, and this machine's network",
        FailureClass::Tls => "check the certificate",
        FailureClass::Limit => "the server sends more than any client reads: report it to its makers",
        FailureClass::Unsupported => "mend the entry, or leave the server out with --skip-server",
    }
}

/// The last lines of stderr, and before them the first ones that may tell the reason: many servers say it, and then print how to use them,
/// or a stack.
fn excerpt(stderr: &str) -> Vec<String> {
    let last = last_lines(stderr, |_| true);
    if stderr.lines().filter(|line| !line.trim().is_empty()).count() <= EXCERPT_LINES {
        return last;
    }
    let shorten = |line: &str| text::shorten(line.trim_end(), EXCERPT_WIDTH);
    let telling: Vec<String> =
        stderr.lines().filter(|line| is_telling(line)).take(TELLING_LINES).map(shorten).collect();
    let telling: Vec<String> = telling.into_iter().filter(|line| !last.contains(line)).collect();
    telling.into_iter().chain(last).collect()
}

/// Words of lines that may tell why a server that answers lists less: the rest of its stderr is banners.
const TELLING: [&str; 19] = [
    "fatal",
    "required",
    "provided",
    "warn",
    "error",
    "fail",
    "missing",
    "not set",
    "not found",
    "no such",
    "denied",
    "unauthor",
    "forbidden",
    "invalid",
    "expired",
    "credential",
    "token",
    "key",
    "disabled",
];

/// The last lines of stderr that are wanted.
fn last_lines(stderr: &str, is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let is_wanted = |line: &&str| !line.is_empty() && is_wanted(line);
    let lines: Vec<&str> = stderr.lines().map(str::trim_end).filter(is_wanted).collect();
    let from = lines.len().saturating_sub(EXCERPT_LINES);
    lines[from..].iter().map(|line| text::shorten(line, EXCERPT_WIDTH)).collect()
}

/// The lines of stderr that may tell why a server that answers lists less.
fn telling_lines(observation: &Observation) -> Vec<String> {
    last_lines(&observation.stderr, is_telling)
}

fn is_telling(line: &str) -> bool {
    let line = line.to_lowercase();
    TELLING.iter().any(|word| line.contains(word))
}

fn missing(subject: &Subject<'_>, observation: &Observation, comparison: &Comparison) -> Option<Finding> {
    let missing = &comparison.missing;
    if missing.is_empty() {
        return None;
    }
    let (n, m) = (missing.len(), comparison.expected.len());
    let (noun, verb) = (if m == 1 { "tool" } else { "tools" }, if n == 1 { "is" } else { "are" });
    let message = format!("{n} of {m} locked {noun} {verb} missing: {}", missing.join(", "));
    let mut finding = Finding::new(Code::ToolsMissing, message).naming(missing.clone());
    let listed = match comparison.observed.len() {
        0 => "the server answered and listed nothing".to_owned(),
        some => format!("the server answered and listed {}", text::count(some, "tool")),
    };
    let variables = Unsatisfied::of(subject.entry);
    finding = finding.note(match (&variables, &observation.helper_problem) {
        (Some(variables), _) => format!("{listed}, and {}: that is the likely cause", variables.said),
        (None, Some(problem)) => format!("{listed}, and {problem}: that is the likely cause"),
        (None, None) => listed,
    });
    for (old, new) in renames(missing, &comparison.added) {
        finding = finding.note(format!("{old} was probably renamed to {new}"));
    }
    let cause = match (&variables, comparison.observed.is_empty()) {
        (Some(variables), _) => format!("set {}", variables.names),
        (None, true) => "check the server's credentials: this is how many servers behave without them".to_owned(),
        (None, false) => "check the server's version, flags and credentials".to_owned(),
    };
    let update = update_command(subject);
    if let Some(entry) = subject.entry {
        finding = finding.at(&entry.location);
    }
    Some(
        finding
            .excerpt(telling_lines(observation))
            .help(format!("{cause}; if the change is meant, run {update} and commit the lock")),
    )
}

/// The command that updates one entry of the lock.
pub(super) fn update_command(subject: &Subject<'_>) -> String {
    format!("`{} --server={}`", subject.update, text::shell_quoted(subject.name.as_str()))
}

/// Nothing listed, where that is not said already.
fn empty(subject: &Subject<'_>, observation: &Observation, table: &ToolTable, purpose: Purpose) -> Option<Finding> {
    let is_said = purpose == Purpose::Check && subject.expected.is_some();
    let keeps_out = |tool: &str| subject.entry.is_some_and(|entry| entry.filter.keeps_out(tool).is_some());
    if !table.tools.iter().all(|tool| keeps_out(&tool.name)) || is_said {
        return None;
    }
    let mut message = if table.tools.is_empty() {
        "the server answered and listed nothing".to_owned()
    } else {
        "its entry lets through nothing that the server lists".to_owned()
    };
    if let Some(variables) = Unsatisfied::of(subject.entry) {
        message = format!("{message}, and {}: that is the likely cause", variables.said);
    }
    let finding = Finding::new(Code::ToolsEmpty, message).excerpt(telling_lines(observation));
    Some(if purpose == Purpose::Lock {
        finding
            .severity(Severity::Error)
            .note("a lock of no tools would be satisfied by everything")
            .help("set the server's credentials; if it really has no tools, allow that with --allow-empty NAME")
    } else {
        finding.help("check the server's credentials")
    })
}

fn unusable(comparison: &Comparison, purpose: Purpose) -> Vec<Finding> {
    let mut reasons: BTreeMap<(&str, &'static str), Vec<String>> = BTreeMap::new();
    for unusable in &comparison.unusable {
        // What the entry itself leaves out is meant, unless the lock counts on it.
        let is_locked = purpose == Purpose::Check && comparison.expected.binary_search(&unusable.tool).is_ok();
        if !unusable.is_meant || is_locked {
            reasons.entry((&unusable.reason, unusable.help)).or_default().push(unusable.tool.clone());
        }
    }
    let finding = |((reason, help), mut tools): ((&str, &'static str), Vec<String>)| {
        tools.sort_unstable();
        tools.dedup();
        let is_hit = tools.iter().any(|tool| comparison.expected.binary_search(tool).is_ok());
        let severity = if is_hit || purpose == Purpose::Lock { Severity::Error } else { Severity::Warning };
        let them = if tools.len() == 1 { "it" } else { "them" };
        let count = text::count(tools.len(), "tool");
        let message = format!("{count} listed, but the client would not offer {them}: {reason}");
        Finding::new(Code::ToolsUnusable, message)
            .severity(severity)
            .note(format!("affected: {}", tools.join(", ")))
            .naming(tools)
            .help(help)
    };
    reasons.into_iter().map(finding).collect()
}

fn added(subject: &Subject<'_>, comparison: &Comparison, purpose: Purpose) -> Option<Finding> {
    let added = &comparison.added;
    if added.is_empty() || purpose != Purpose::Check {
        return None;
    }
    let more = match added.len().saturating_sub(MOST_ADDED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named = added[..added.len().min(MOST_ADDED)].join(", ");
    let message = format!("{} not in the lock: {named}{more}", text::count(added.len(), "tool"));
    let update = update_command(subject);
    Some(Finding::new(Code::ToolsAdded, message).naming(added.clone()).help(format!("lock them with {update}")))
}

/// Headers that were not made: what was listed was listed without them.
fn unhelped(subject: &Subject<'_>, observation: &Observation, purpose: Purpose) -> Option<Finding> {
    let problem = observation.helper_problem.as_ref().filter(|_| observation.table().is_some())?;
    let entry = subject.entry?;
    let severity = if purpose == Purpose::Lock { Severity::Error } else { Severity::Warning };
    let message = format!("{problem}: the server was asked with its static headers alone");
    let help = "run the command by hand; its variables are those of this step, less what looks like a credential";
    Some(Finding::new(Code::HelperFailed, message).severity(severity).at(&entry.location).help(help))
}

/// A list that came later than the client waits at start.
fn slow(subject: &Subject<'_>, observation: &Observation) -> Option<Finding> {
    let entry = subject.entry?;
    let patience = entry.patience.as_ref().filter(|patience| observation.elapsed > patience.budget)?;
    observation.table()?;
    let (took, waits) = (text::duration(observation.elapsed), text::duration(patience.budget));
    let message = format!(
        "it took {took} to list its tools, and the client waits {waits} at start: its model may begin without them"
    );
    Some(Finding::new(Code::SlowStart, message).at(&entry.location).help(patience.advice))
}

fn oddities(observation: &Observation) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(noise) = observation.noise.as_ref().filter(|_| observation.failure().is_none()) {
        let lines = text::count(noise.lines, "line");
        let message = format!("wrote {lines} to standard output that are no protocol, first: {}", noise.first);
        findings.push(
            Finding::new(Code::StdoutNoise, message)
                .help("this client skips such lines, others give up: have the server log to stderr"),
        );
    }
    if !observation.left_running.is_empty() {
        let processes: Vec<String> =
            observation.left_running.iter().map(|left| format!("{} ({})", left.name, left.pid)).collect();
        let what = if processes.len() == 1 { "a process".to_owned() } else { format!("{} processes", processes.len()) };
        let message = format!("left {what} running, now ended: {}", processes.join(", "));
        findings.push(
            Finding::new(Code::LeftRunning, message)
                .help("the agent's client would leave such processes behind after every session"),
        );
    }
    findings
}
