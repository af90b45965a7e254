//! SARIF 2.1.0: a rule for each finding code, a result for each finding.

use std::io::{self, Write};

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::{Value, json};
use sha1::{Digest as _, Sha1};

use super::lines::{from_root, texts};
use crate::error::Error;
use crate::finding::{Code, Finding, Severity};
use crate::server::Location;
use crate::text::{escape, escape_json};
use crate::verdict::Verdict;

/// What a relative address may not hold as it is (RFC 3986).
const PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'`')
    .add(b':')
    .add(b'\\')
    .add(b'[')
    .add(b']')
    .add(b'{')
    .add(b'}')
    .add(b'|')
    .add(b'^');

/// The whole report.
pub(super) fn verdict(out: &mut dyn Write, verdict: &Verdict, root: &str) -> io::Result<()> {
    // A result without a place is not shown: the configuration is about the nearest there is.
    let fallback = verdict.configs.first().cloned().unwrap_or_else(|| verdict.lock.clone());
    let results: Vec<Value> = verdict.findings.iter().map(|finding| result(finding, &fallback, root)).collect();
    run(out, &results, &json!([{ "executionSuccessful": true, "exitCode": verdict.exit.code() }]))
}

fn run(out: &mut dyn Write, results: &[Value], invocations: &Value) -> io::Result<()> {
    let rules: Vec<Value> = Code::ALL.iter().map(|code| rule(*code)).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "mcp-preflight", "semanticVersion": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "columnKind": "unicodeCodePoints",
            "invocations": invocations,
            "results": results,
        }],
    });
    let text = serde_json::to_string_pretty(&log).map_err(io::Error::other)?;
    writeln!(out, "{}", escape_json(&text))
}

fn rule(code: Code) -> Value {
    json!({
        "id": code.as_str(),
        "shortDescription": { "text": code.meaning() },
        "defaultConfiguration": { "level": level(code.default_severity()) },
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

fn result(finding: &Finding, fallback: &str, root: &str) -> Value {
    let server = finding.server.as_ref().map_or("", |server| server.as_str());
    let lines: Vec<String> = texts(finding).iter().map(|text| escape(text)).collect();
    let about = if server.is_empty() { String::new() } else { format!("{}: ", escape(server)) };
    json!({
        "ruleId": finding.code.as_str(),
        "ruleIndex": Code::ALL.iter().position(|code| *code == finding.code),
        "level": level(finding.severity),
        "message": { "text": format!("{about}{}", lines.join("\n")) },
        "locations": [place(finding.location.as_ref(), fallback, root)],
        "partialFingerprints": { "mcpPreflight/v1": fingerprint(finding, server) },
        "properties": { "server": server, "tools": finding.tools },
    })
}

fn place(location: Option<&Location>, fallback: &str, root: &str) -> Value {
    let (file, line, column) =
        location.map_or((fallback, 1, 1), |location| (location.file.as_str(), location.line, location.column));
    json!({ "physicalLocation": {
        "artifactLocation": { "uri": utf8_percent_encode(&from_root(root, file), PATH).to_string() },
        "region": { "startLine": line, "startColumn": column },
    } })
}

/// The same for the same thing, wherever in the file it stands and however it is said: code, server, tools, and the file of a rule.
fn fingerprint(finding: &Finding, server: &str) -> String {
    let file = finding.location.as_ref().map_or("", |location| location.file.as_str());
    // A finding about neither is told from its neighbours by what it says.
    let said = if finding.server.is_none() || finding.tools.is_empty() { finding.message.as_str() } else { "" };
    let mut digest = Sha1::new();
    for part in [finding.code.as_str(), server, file, said].into_iter().chain(finding.tools.iter().map(String::as_str))
    {
        digest.update(part.as_bytes());
        digest.update([0]);
    }
    let digest = digest.finalize();
    let mut text = String::with_capacity(40);
    for byte in &digest {
        use std::fmt::Write as _;
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Why no gate was performed.
pub(super) fn error(out: &mut dyn Write, error: &Error, root: &str) -> io::Result<()> {
    let text = match error.help() {
        Some(help) => format!("{}\nhelp: {}", error.text(), escape(&help)),
        None => error.text(),
    };
    let mut notification = json!({ "level": "error", "message": { "text": text } });
    if let Some(location) = error.location() {
        notification["locations"] = json!([place(Some(location), "", root)]);
    }
    let invocation = json!([{
        "executionSuccessful": false,
        "exitCode": error.exit().code(),
        "toolExecutionNotifications": [notification],
    }]);
    run(out, &[], &invocation)
}
