//! Markdown: the summary of a step, or a comment on a pull request. A table of servers with their times, then the findings.

use std::io::{self, Write};
use std::time::Duration;

use super::lines::texts;
use crate::compare::Status;
use crate::error::Error;
use crate::finding::{Finding, Severity};
use crate::text::{count, duration, escape_markdown};
use crate::verdict::{ServerVerdict, Verdict};

/// How long the longest bar is, in characters.
const LONGEST_BAR: u32 = 20;

/// The whole report.
pub(super) fn verdict(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    let summary = verdict.summary();
    let tools = count(summary.tools_verified, "tool");
    let of = count(summary.tools_expected, "locked tool");
    match (verdict.passes(), verdict.is_static) {
        (true, false) => {
            writeln!(out, "### ✅ MCP preflight OK: {tools} verified in {}", duration(verdict.elapsed))?;
        }
        (true, true) => writeln!(out, "### ✅ MCP preflight OK, without a probe")?,
        (false, true) => {
            writeln!(out, "### ❌ MCP preflight failed, without a probe: {}", count(summary.errors, "error"))?;
        }
        (false, false) => {
            let verified = summary.tools_verified;
            writeln!(out, "### ❌ MCP preflight failed: {verified} of {of} verified in {}", duration(verdict.elapsed))?;
        }
    }
    table(out, verdict)?;
    verdict.findings.iter().try_for_each(|finding| item(out, finding))
}

fn table(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    if verdict.servers.is_empty() {
        return Ok(());
    }
    let took = |server: &ServerVerdict| server.observation.as_ref().map(|observation| observation.elapsed);
    let longest = verdict.servers.iter().filter_map(took).max().unwrap_or_default();
    writeln!(out, "\n| server | status | tools | time | |\n|---|---|--:|--:|:--|")?;
    for server in &verdict.servers {
        let name = escape_markdown(server.name.as_str());
        let status = server.comparison.status;
        let (time, bar) = match took(server) {
            Some(took) => (duration(took), bar(took, longest)),
            None => (String::new(), String::new()),
        };
        writeln!(out, "| {name} | {} {} | {} | {time} | {bar} |", mark(status), status.as_str(), tools(server))?;
    }
    Ok(())
}

fn mark(status: Status) -> &'static str {
    match status {
        Status::Verified => "✅",
        Status::Drift | Status::Failed => "❌",
        Status::Skipped => "⏭️",
        Status::Unlocked => "⚠️",
    }
}

/// `2 of 3`, or how many were listed where nothing is locked.
fn tools(server: &ServerVerdict) -> String {
    let comparison = &server.comparison;
    match comparison.status {
        Status::Unlocked => comparison.observed.len().to_string(),
        _ => format!("{} of {}", server.verified_tools(), comparison.expected.len()),
    }
}

fn bar(took: Duration, longest: Duration) -> String {
    let share = took.as_secs_f64() / longest.as_secs_f64().max(f64::MIN_POSITIVE);
    let length = (1..=LONGEST_BAR).take_while(|length| f64::from(*length) <= share * f64::from(LONGEST_BAR)).count();
    "█".repeat(length.max(1))
}

fn item(out: &mut dyn Write, finding: &Finding) -> io::Result<()> {
    let severity = match finding.severity {
        Severity::Error => "**error**",
        Severity::Warning => "**warning**",
        Severity::Note => "note",
    };
    let server = finding.server.as_ref().map(|server| format!(" **{}**", escape_markdown(server.as_str())));
    let place = finding.location.as_ref().map(|place| format!(" ({})", escape_markdown(&place.to_string())));
    let mut lines = texts(finding).into_iter().map(|text| escape_markdown(&text));
    let first = lines.next().unwrap_or_default();
    let (server, place) = (server.unwrap_or_default(), place.unwrap_or_default());
    writeln!(out, "\n- {severity} `{}`{server}{place}: {first}", finding.code)?;
    lines.try_for_each(|line| writeln!(out, "  - {line}"))
}

/// Why no gate was performed.
pub(super) fn error(out: &mut dyn Write, error: &Error) -> io::Result<()> {
    writeln!(out, "### ❌ MCP preflight could not be performed\n\n{}", escape_markdown(&error.to_string()))?;
    match error.help() {
        Some(help) => writeln!(out, "\nhelp: {}", escape_markdown(&help)),
        None => Ok(()),
    }
}
