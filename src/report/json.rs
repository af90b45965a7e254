//! For programs: version 1 of the JSON report, documented in `docs/outputs.md`. Fields are only ever added.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;

use crate::error::Error;
use crate::finding::Finding;
use crate::observed::{Observation, ProbeFailure};
use crate::server::Location;
use crate::text::escape_json;
use crate::verdict::{ServerVerdict, Verdict};

/// The version of everything below.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Report<'a> {
    version: u32,
    verdict: &'static str,
    exit_code: u8,
    client: &'a str,
    #[serde(rename = "static")]
    is_static: bool,
    configs: &'a [String],
    lock: &'a str,
    elapsed_ms: f64,
    servers: Vec<Server<'a>>,
    findings: Vec<FindingRow<'a>>,
    summary: Summary,
    #[serde(skip_serializing_if = "Option::is_none")]
    lock_update: Option<LockUpdate<'a>>,
}

#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "the names are the contract's")]
struct Server<'a> {
    name: &'a str,
    transport: Option<&'static str>,
    status: &'static str,
    protocol_version: Option<&'a str>,
    era: Option<&'static str>,
    server_info: Option<ServerInfo<'a>>,
    elapsed_ms: Option<f64>,
    phases_ms: BTreeMap<&'static str, Option<f64>>,
    expected: &'a [String],
    observed: &'a [String],
    offered: &'a [String],
    missing: &'a [String],
    added: &'a [String],
    unusable: Vec<Unusable<'a>>,
    failure: Option<Failure<'a>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    transcript: &'a [String],
}

#[derive(Serialize)]
struct ServerInfo<'a> {
    name: &'a str,
    version: &'a str,
}

#[derive(Serialize)]
struct Unusable<'a> {
    tool: &'a str,
    reason: &'a str,
}

#[derive(Serialize)]
struct Failure<'a> {
    class: &'static str,
    step: &'static str,
    message: String,
    exit_status: Option<i32>,
    http_status: Option<u16>,
    stderr: &'a str,
}

#[derive(Serialize)]
struct FindingRow<'a> {
    code: &'static str,
    severity: &'static str,
    server: Option<&'a str>,
    message: &'a str,
    notes: &'a [String],
    tools: &'a [String],
    help: Option<&'a str>,
    location: Option<Place<'a>>,
}

#[derive(Serialize)]
struct Place<'a> {
    file: &'a str,
    line: usize,
    column: usize,
}

#[derive(Serialize)]
struct Summary {
    servers: usize,
    verified: usize,
    skipped: usize,
    tools_expected: usize,
    tools_verified: usize,
    errors: usize,
    warnings: usize,
}

#[derive(Serialize)]
struct LockUpdate<'a> {
    outcome: &'static str,
    diff: &'a str,
    message: &'a str,
}

#[derive(Serialize)]
struct ErrorReport<'a> {
    version: u32,
    verdict: &'static str,
    exit_code: u8,
    servers: [(); 0],
    findings: [(); 0],
    error: ErrorRow<'a>,
}

#[derive(Serialize)]
struct ErrorRow<'a> {
    message: String,
    help: Option<String>,
    location: Option<Place<'a>>,
}

/// The report of a run.
pub(super) fn verdict(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    let summary = verdict.summary();
    let report = Report {
        version: VERSION,
        verdict: if verdict.passes() { "pass" } else { "fail" },
        exit_code: verdict.exit.code(),
        client: verdict.client.as_str(),
        is_static: verdict.is_static,
        configs: &verdict.configs,
        lock: &verdict.lock,
        elapsed_ms: milliseconds(verdict.elapsed),
        servers: verdict.servers.iter().map(server).collect(),
        findings: verdict.findings.iter().map(finding).collect(),
        summary: Summary {
            servers: summary.servers,
            verified: summary.verified,
            skipped: summary.skipped,
            tools_expected: summary.tools_expected,
            tools_verified: summary.tools_verified,
            errors: summary.errors,
            warnings: summary.warnings,
        },
        lock_update: verdict.update.as_ref().map(|update| LockUpdate {
            outcome: update.outcome.as_str(),
            diff: &update.diff,
            message: &update.message,
        }),
    };
    print(out, &report)
}

/// The report of a run in which no gate was performed.
pub(super) fn error(out: &mut dyn Write, error: &Error) -> io::Result<()> {
    let error_row = ErrorRow { message: error.to_string(), help: error.help(), location: error.location().map(place) };
    let report = ErrorReport {
        version: VERSION,
        verdict: "fail",
        exit_code: error.exit().code(),
        servers: [],
        findings: [],
        error: error_row,
    };
    print(out, &report)
}

fn print(out: &mut dyn Write, report: &impl Serialize) -> io::Result<()> {
    let json = serde_json::to_string_pretty(report)?;
    writeln!(out, "{}", escape_json(&json))
}

fn server(server: &ServerVerdict) -> Server<'_> {
    let comparison = &server.comparison;
    let observation = server.observation.as_ref();
    let identity = observation.and_then(|observation| observation.identity.as_ref());
    Server {
        name: server.name.as_str(),
        transport: server.transport,
        status: comparison.status.as_str(),
        protocol_version: identity.map(|identity| identity.protocol_version.as_str()),
        era: identity.map(|identity| identity.era.as_str()),
        server_info: identity.map(|identity| ServerInfo { name: &identity.name, version: &identity.version }),
        elapsed_ms: observation.map(|observation| milliseconds(observation.elapsed)),
        phases_ms: observation.map(phases).unwrap_or_default(),
        expected: &comparison.expected,
        observed: &comparison.observed,
        offered: &comparison.offered,
        missing: &comparison.missing,
        added: &comparison.added,
        unusable: comparison
            .unusable
            .iter()
            .map(|unusable| Unusable { tool: &unusable.tool, reason: &unusable.reason })
            .collect(),
        failure: observation.and_then(|observation| Some(failure(observation, observation.failure()?))),
        transcript: observation.map(|observation| observation.transcript.as_slice()).unwrap_or_default(),
    }
}

fn phases(observation: &Observation) -> BTreeMap<&'static str, Option<f64>> {
    let phases = observation.phases;
    let named = [("connect", phases.connect), ("initialize", phases.initialize), ("tools_list", phases.tools_list)];
    named.into_iter().map(|(name, took)| (name, took.map(milliseconds))).collect()
}

fn failure<'a>(observation: &'a Observation, failure: &ProbeFailure) -> Failure<'a> {
    Failure {
        class: failure.class.as_str(),
        step: failure.step.as_str(),
        message: failure.text(),
        exit_status: failure.exit_status,
        http_status: failure.http_status,
        stderr: &observation.stderr,
    }
}

fn finding(finding: &Finding) -> FindingRow<'_> {
    FindingRow {
        code: finding.code.as_str(),
        severity: finding.severity.as_str(),
        server: finding.server.as_ref().map(crate::server::ServerName::as_str),
        message: &finding.message,
        notes: &finding.notes,
        tools: &finding.tools,
        help: finding.help.as_deref(),
        location: finding.location.as_ref().map(place),
    }
}

fn place(location: &Location) -> Place<'_> {
    Place { file: &location.file, line: location.line, column: location.column }
}

/// Milliseconds with one digit behind the point.
fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 10_000.0).round() / 10.0
}
