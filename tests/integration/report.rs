//! Reports: the JSON contract, files, and text that means nothing to a terminal or a CI log.

use serde_json::json;

use crate::harness::{Project, snapshot, stdio};

#[test]
fn json_version_1() {
    let mut entry = stdio("credential");
    entry["env"] = json!({ "REPORT_API_TOKEN": "${REPORT_API_TOKEN}" });
    let project = Project::with(&[("report", entry), ("dead", stdio("exit-at-start")), ("new", stdio("noise"))]);
    project.write("mcp-tools.lock.json", r#"{"report": ["fetch_daily_report"], "dead": ["x"], "absent": ["y"]}"#);
    let run = project.run(&["-t", "60", "--format", "json"]).expect(78);
    // Times are left out by their keys; everything else is the contract.
    let mut report = run.json();
    report["elapsed_ms"] = json!("[time]");
    for server in report["servers"].as_array_mut().expect("servers") {
        for key in ["elapsed_ms", "phases_ms"] {
            if !server[key].is_null() {
                server[key] = json!("[time]");
            }
        }
    }
    let stdout = serde_json::to_string_pretty(&report).expect("JSON") + "\n";
    snapshot("report-json", &crate::harness::Run { stdout, ..run });
}

#[test]
fn json_says_why_no_gate_was_performed() {
    let run = Project::of("healthy").run(&["--format", "json"]).expect(78);
    assert_eq!(run.json()["verdict"], "fail");
    assert_eq!(run.json()["exit_code"], 78);
    assert!(run.json()["error"]["message"].as_str().is_some_and(|text| text.starts_with("no lock at")), "{run}");
    let project = Project::new();
    project.write(".mcp.json", "{\n,");
    let run = project.run(&["--format", "json"]).expect(78);
    assert_eq!(run.json()["error"]["location"], json!({ "file": ".mcp.json", "line": 2, "column": 1 }));
}

#[test]
fn reports_go_to_files_whatever_the_verdict() {
    let project = Project::of("empty").locked(&["alpha"]);
    let run = project.run(&["-t", "60", "--format", "json=report.json", "--format", "human=report.txt"]).expect(78);
    assert!(run.stdout.contains("tools-missing"), "people still get theirs: {run}");
    let report: serde_json::Value = serde_json::from_str(&project.read("report.json")).expect("JSON");
    assert_eq!(report["exit_code"], 78);
    assert_eq!(project.read("report.txt").lines().count(), run.stdout.lines().count());
}

#[test]
fn a_report_that_cannot_be_written_is_74_but_a_closed_gate_stays_closed() {
    let healthy = Project::of("healthy").locked(&["alpha", "beta", "gamma"]);
    let run = healthy.run(&["-t", "60", "--format", "json=no/such/folder.json"]).expect(74);
    assert!(run.stderr.contains("cannot write the report to no/such/folder.json"), "{run}");
    assert!(run.stdout.contains("MCP preflight OK"), "the other report was written: {run}");
    let failing = Project::of("empty").locked(&["alpha"]);
    let run = failing.run(&["-t", "60", "--format", "json=no/such/folder.json"]).expect(78);
    assert!(run.stderr.contains("cannot write the report"), "{run}");
}

/// No line of any output begins a workflow command, and no byte moves the cursor.
#[test]
fn hostile_text_forges_nothing() {
    for scenario in ["hostile-names", "hostile-stderr", "hostile-error"] {
        let project = Project::with(&[("::warning::x\u{1b}[1m", stdio(scenario))]);
        project.write("mcp-tools.lock.json", r#"{"::warning::x\u001b[1m": ["::error::gone\n##[error]y"]}"#);
        for arguments in [&["-t", "60", "-vv"][..], &["-t", "60", "--format", "json"], &["tools", "-t", "60"]] {
            let run = project.run(arguments);
            let text = format!("{}{}", run.stdout, run.stderr);
            for line in text.lines() {
                assert!(!line.trim_start().starts_with("::"), "{line}");
                assert!(!line.contains("##["), "{line}");
                assert!(!line.trim_start().starts_with("MCP preflight OK"), "{line}");
            }
            let raw = text.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
            assert_eq!(raw, None, "{text}");
        }
    }
}

#[test]
fn hostile_names_are_locked_as_they_are_and_shown_escaped() {
    let project = Project::with(&[("s", stdio("credential"))]);
    project.write(".mcp.json", json!({ "mcpServers": { "bidi\u{202e}": stdio("healthy") } }).to_string());
    project.run(&["--update-lock", "-t", "60"]).expect(0);
    assert!(project.read("mcp-tools.lock.json").contains("\"bidi\\u202e\""));
    project.run(&["-t", "60"]).expect(0);
}

#[test]
fn colours_are_for_terminals_or_for_who_asks() {
    let project = Project::of("healthy").locked(&["alpha", "beta", "gamma"]);
    let has_escape = |arguments: &[&str]| project.run(arguments).expect(0).stdout.contains('\u{1b}');
    assert!(!has_escape(&["-t", "60"]));
    assert!(has_escape(&["-t", "60", "--color", "always"]));
    let forced = Project::of("healthy").locked(&["alpha", "beta", "gamma"]).env("CLICOLOR_FORCE", "1");
    assert!(forced.run(&["-t", "60"]).stdout.contains('\u{1b}'));
    assert!(!forced.run(&["-t", "60", "--color", "never"]).stdout.contains('\u{1b}'));
}

#[test]
fn tools_need_no_lock() {
    let project = Project::with(&[("a", stdio("healthy")), ("b", stdio("exit-at-start"))]);
    snapshot("report-tools", &project.run(&["tools", "-t", "60"]).expect(78));
    let only = project.run(&["tools", "--server", "a", "-t", "60"]).expect(0);
    assert_eq!(only.stdout, "a (3 tools)\n  alpha\n  beta\n  gamma\nb (skipped)\n");
}

#[test]
fn verbose_shows_every_server() {
    let project = Project::of("healthy").locked(&["alpha", "beta", "gamma"]);
    let run = project.run(&["-v", "-t", "60"]).expect(0);
    assert!(run.stdout.contains("s: verified, stdio, 3 tools, "), "{run}");
    let run = project.run(&["-vv", "-t", "60"]).expect(0);
    assert!(run.stdout.contains("-> {") && run.stdout.contains("<- {"), "{run}");
}
