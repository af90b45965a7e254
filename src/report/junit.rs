//! `JUnit` XML: a test case a server, and one for what belongs to no server.

use std::io::{self, Write};

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::lines::texts;
use crate::compare::Status;
use crate::error::Error;
use crate::finding::{Finding, Severity};
use crate::server::ServerName;
use crate::text::escape;
use crate::verdict::{ServerVerdict, Verdict};

/// The name of the suite, and the class of cases that belong to no transport.
const SUITE: &str = "mcp-preflight";

/// The whole report.
pub(super) fn verdict(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    let mut suite = TestSuite::new(SUITE);
    for server in &verdict.servers {
        suite.add_test_case(case(server, &of(verdict, Some(&server.name))));
    }
    // Findings about a server that no row is about belong to the configuration, too.
    let is_loose =
        |finding: &&Finding| !verdict.servers.iter().any(|server| Some(&server.name) == finding.server.as_ref());
    let loose: Vec<&Finding> = verdict.findings.iter().filter(is_loose).collect();
    if !loose.is_empty() {
        let mut case = TestCase::new("configuration", status(&loose));
        case.set_classname(SUITE);
        told(&mut case, &loose);
        suite.add_test_case(case);
    }
    serialize(out, suite, verdict.elapsed)
}

fn of<'a>(verdict: &'a Verdict, server: Option<&ServerName>) -> Vec<&'a Finding> {
    verdict.findings.iter().filter(|finding| finding.server.as_ref() == server).collect()
}

fn case(server: &ServerVerdict, findings: &[&Finding]) -> TestCase {
    let is_skipped = server.comparison.status == Status::Skipped && findings.iter().all(|finding| !is_error(finding));
    let status = if is_skipped { TestCaseStatus::skipped() } else { status(findings) };
    let mut case = TestCase::new(escape(server.name.as_str()), status);
    case.set_classname(format!("{SUITE}.{}", server.transport.unwrap_or("none")));
    if let Some(observation) = &server.observation {
        case.set_time(observation.elapsed);
    }
    told(&mut case, findings);
    case
}

fn is_error(finding: &Finding) -> bool {
    finding.severity == Severity::Error
}

/// A failure that tells every error, where there is one.
fn status(findings: &[&Finding]) -> TestCaseStatus {
    let errors: Vec<&&Finding> = findings.iter().filter(|finding| is_error(finding)).collect();
    let Some(first) = errors.first() else { return TestCaseStatus::success() };
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_type(first.code.as_str());
    status.set_message(escape(&first.message));
    status.set_description(errors.iter().map(|finding| paragraph(finding)).collect::<Vec<_>>().join("\n\n"));
    status
}

/// Warnings and notes do not fail a case; they are its output.
fn told(case: &mut TestCase, findings: &[&Finding]) {
    let told: Vec<String> =
        findings.iter().filter(|finding| !is_error(finding)).map(|finding| paragraph(finding)).collect();
    if !told.is_empty() {
        case.set_system_out(told.join("\n\n"));
    }
}

fn paragraph(finding: &Finding) -> String {
    let lines: Vec<String> = texts(finding).iter().map(|text| escape(text)).collect();
    let place = finding.location.as_ref().map(|place| format!("\n  at {}", escape(&place.to_string())));
    let head = format!("{}[{}] {}", finding.severity.as_str(), finding.code, lines[0]);
    let rest = lines[1..].iter().map(|line| format!("  {line}"));
    let first = format!("{head}{}", place.unwrap_or_default());
    std::iter::once(first).chain(rest).collect::<Vec<_>>().join("\n")
}

/// Why no gate was performed: an error is no failure of a server.
pub(super) fn error(out: &mut dyn Write, error: &Error) -> io::Result<()> {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_message(error.text());
    status.set_description(error.help().map(|help| escape(&help)).unwrap_or_default());
    let mut case = TestCase::new("configuration", status);
    case.set_classname(SUITE);
    let mut suite = TestSuite::new(SUITE);
    suite.add_test_case(case);
    serialize(out, suite, std::time::Duration::ZERO)
}

fn serialize(out: &mut dyn Write, mut suite: TestSuite, elapsed: std::time::Duration) -> io::Result<()> {
    suite.set_time(elapsed);
    let mut report = Report::new(SUITE);
    report.set_time(elapsed);
    report.add_test_suite(suite);
    let xml = report.to_string().map_err(io::Error::other)?;
    out.write_all(xml.as_bytes())
}
