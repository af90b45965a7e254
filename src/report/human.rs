//! For people: one screen, most important first, quiet when all is well.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use crate::compare::Status;
use crate::error::Error;
use crate::finding::{Finding, Severity};
use crate::text::{count, duration, escape};
use crate::verdict::{LockUpdate, ServerVerdict, Summary, UpdateOutcome, Verdict};

const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const DOUBTFUL: Style = AnsiColor::Yellow.on_default().bold();
const QUIET: Style = AnsiColor::BrightBlack.on_default();

/// The report of a check, or of writing the lock.
pub(super) fn render(out: &mut dyn Write, verdict: &Verdict, verbose: u8) -> io::Result<()> {
    headline(out, verdict)?;
    findings(out, &verdict.findings)?;
    skipped(out, verdict)?;
    if verbose > 0 {
        servers(out, verdict, verbose)?;
    }
    Ok(())
}

fn headline(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    let summary = verdict.summary();
    let took = duration(verdict.elapsed);
    if let Some(update) = &verdict.update {
        return update_headline(out, verdict, update);
    }
    if verdict.is_static {
        return static_headline(out, verdict, &took);
    }
    if verdict.passes() {
        let skipped = if summary.skipped == 0 {
            String::new()
        } else {
            format!(", {} skipped", count(summary.skipped, "server"))
        };
        let tools = count(summary.tools_verified, "tool");
        return writeln!(out, "{GOOD}MCP preflight OK{GOOD:#} in {took} ({tools} verified{skipped})");
    }
    writeln!(out, "{BAD}MCP preflight FAILED{BAD:#} in {took} ({})", what_failed(verdict, summary))
}

fn static_headline(out: &mut dyn Write, verdict: &Verdict, took: &str) -> io::Result<()> {
    let locked = count(verdict.servers.iter().map(|server| server.comparison.expected.len()).sum(), "locked tool");
    let size = format!("{}, {locked}, nothing probed", count(verdict.servers.len(), "server"));
    if verdict.passes() {
        writeln!(out, "{GOOD}MCP preflight OK{GOOD:#} without a probe in {took} ({size})")
    } else {
        let errors = count(verdict.summary().errors, "error");
        writeln!(out, "{BAD}MCP preflight FAILED{BAD:#} without a probe in {took} ({errors}; {size})")
    }
}

fn what_failed(verdict: &Verdict, summary: Summary) -> String {
    let failing: Vec<&ServerVerdict> = verdict.servers.iter().filter(|server| has_error(verdict, server)).collect();
    let Summary { tools_expected, tools_verified, .. } = summary;
    let of = count(summary.servers - summary.skipped, "server");
    if failing.is_empty() {
        return format!(
            "{}; {tools_verified} of {tools_expected} locked tools verified",
            count(summary.errors, "error")
        );
    }
    format!("{} of {of} not as expected; {tools_verified} of {tools_expected} locked tools verified", failing.len())
}

fn has_error(verdict: &Verdict, server: &ServerVerdict) -> bool {
    verdict
        .findings
        .iter()
        .any(|finding| finding.severity == Severity::Error && finding.server.as_ref() == Some(&server.name))
}

fn update_headline(out: &mut dyn Write, verdict: &Verdict, update: &LockUpdate) -> io::Result<()> {
    let lock = escape(&verdict.lock);
    let size = format!("{} of {}", count(update.tools, "tool"), count(update.servers, "server"));
    match update.outcome {
        UpdateOutcome::Written => {
            writeln!(out, "{GOOD}wrote {lock}{GOOD:#} ({size}): review the difference and commit it")?;
            writeln!(out, "  {QUIET}for the commit: {}{QUIET:#}", escape(&update.message))
        }
        UpdateOutcome::Unchanged => writeln!(out, "{GOOD}{lock} is up to date{GOOD:#} ({size})"),
        UpdateOutcome::DryRun => {
            writeln!(out, "{GOOD}{lock} would change{GOOD:#} ({size}); nothing was written (--dry-run)")
        }
        UpdateOutcome::Refused => {
            writeln!(out, "{BAD}{lock} was NOT written{BAD:#}: what follows must not become the expectation")
        }
    }
}

/// The unified diff of the lock, line by line.
pub(super) fn difference(out: &mut dyn Write, update: &LockUpdate) -> io::Result<()> {
    for line in update.diff.lines() {
        let style = match line.as_bytes().first() {
            Some(b'+') => AnsiColor::Green.on_default(),
            Some(b'-') => AnsiColor::Red.on_default(),
            Some(b'@') => AnsiColor::Cyan.on_default(),
            _ => Style::new(),
        };
        writeln!(out, "{style}{}{style:#}", escape(line))?;
    }
    Ok(())
}

/// All findings, in their order.
pub(super) fn findings(out: &mut dyn Write, findings: &[Finding]) -> io::Result<()> {
    for (index, found) in findings.iter().enumerate() {
        if index == 0 || found.severity != Severity::Note {
            writeln!(out)?;
        }
        finding(out, found)?;
    }
    Ok(())
}

fn finding(out: &mut dyn Write, finding: &Finding) -> io::Result<()> {
    let style = match finding.severity {
        Severity::Error => BAD,
        Severity::Warning => DOUBTFUL,
        Severity::Note => QUIET,
    };
    let (severity, code) = (finding.severity.as_str(), finding.code);
    let server = finding.server.as_ref().map(|name| format!("{}: ", escape(name.as_str()))).unwrap_or_default();
    writeln!(out, "{style}{severity}[{code}]{style:#} {server}{}", escape(&finding.message))?;
    if let Some(location) = &finding.location {
        writeln!(out, "  {QUIET}at {}{QUIET:#}", escape(&location.to_string()))?;
    }
    for note in &finding.notes {
        writeln!(out, "  {}", escape(note))?;
    }
    if !finding.excerpt.is_empty() {
        writeln!(out, "  from its stderr:")?;
    }
    for line in &finding.excerpt {
        writeln!(out, "  {QUIET}| {}{QUIET:#}", escape(line))?;
    }
    match &finding.help {
        Some(help) => writeln!(out, "  help: {}", escape(help)),
        None => Ok(()),
    }
}

fn skipped(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    // Without a probe every server is.
    let is_skipped = |server: &&ServerVerdict| !verdict.is_static && server.comparison.status == Status::Skipped;
    let skipped = verdict.servers.iter().filter(is_skipped);
    let names: Vec<String> = skipped.map(|server| escape(server.name.as_str())).collect();
    if names.is_empty() { Ok(()) } else { writeln!(out, "\nskipped, not verified: {}", names.join(", ")) }
}

/// One line a server, and its messages where they were kept.
pub(super) fn servers(out: &mut dyn Write, verdict: &Verdict, verbose: u8) -> io::Result<()> {
    writeln!(out)?;
    for server in &verdict.servers {
        writeln!(out, "{}", server_line(server))?;
        let transcript = server.observation.iter().flat_map(|observation| &observation.transcript);
        for line in transcript.filter(|_| verbose > 1) {
            writeln!(out, "  {QUIET}{}{QUIET:#}", escape(line))?;
        }
    }
    Ok(())
}

/// `report: verified, stdio, 2 tools, 23 ms (start 1 ms, initialize 20 ms, tools/list 2 ms), 2025-11-25, "report" 1.0.0`
fn server_line(server: &ServerVerdict) -> String {
    let mut parts = vec![server.comparison.status.as_str().to_owned()];
    parts.extend(server.transport.map(str::to_owned));
    if let Some(observation) = &server.observation {
        if observation.table().is_some() {
            parts.push(count(server.comparison.observed.len(), "tool"));
        }
        let phases = observation.phases;
        let named = [("start", phases.connect), ("initialize", phases.initialize), ("tools/list", phases.tools_list)];
        let named: Vec<String> =
            named.iter().filter_map(|(name, took)| took.map(|took| format!("{name} {}", duration(took)))).collect();
        let named = if named.is_empty() { String::new() } else { format!(" ({})", named.join(", ")) };
        parts.push(format!("{}{named}", duration(observation.elapsed)));
        if let Some(identity) = &observation.identity {
            parts.push(format!("{}, {:?} {}", identity.protocol_version, identity.name, identity.version));
        }
    }
    escape(&format!("{}: {}", server.name.as_str(), parts.join(", ")))
}

/// Why no gate was performed.
pub(super) fn error(out: &mut dyn Write, error: &Error) -> io::Result<()> {
    writeln!(out, "{BAD}error:{BAD:#} {}", error.text())?;
    match error.help() {
        Some(help) => writeln!(out, "  help: {}", escape(&help)),
        None => Ok(()),
    }
}
