//! The command line and its errors.

use serde_json::json;

use crate::harness::Project;

#[test]
fn a_wrong_command_line_is_64() {
    let project = Project::of("healthy").locked(&["alpha"]);
    for arguments in [
        &["--nonsense"][..],
        &["nonsense"],
        &["--timeout", "0"],
        &["--timeout", "soon"],
        &["--jobs", "0"],
        &["--dry-run"],
        &["--allow-empty", "s"],
        &["--format", "yaml"],
        &["--format", "json="],
        &["-q", "-v"],
        &["--update-lock", "--optional", "s"],
        &["--update-lock", "tools"],
        &["--tempfail", "tools"],
        &["--update-lock", "--tempfail"],
        &["--server", "nobody"],
    ] {
        let run = project.run(arguments).expect(64);
        assert_eq!(run.stdout, "", "{run}");
        assert_ne!(run.stderr, "", "{arguments:?} was refused without a word");
    }
}

/// Nobody looks for the reason on standard error where a report was asked for.
#[test]
fn a_wrong_command_line_is_reported_where_the_report_was_wanted() {
    let project = Project::of("healthy").locked(&["alpha"]);
    let run = project.run(&["--format", "json", "--format", "human"]).expect(64);
    assert!(run.json()["error"]["message"].as_str().is_some_and(|text| text.contains("standard output")), "{run}");
    let run = project.run(&["--format", "json=r.json", "--server", "nobody"]).expect(64);
    assert_eq!(run.stdout, "", "{run}");
    let report: serde_json::Value = serde_json::from_str(&project.read("r.json")).expect("a report");
    assert_eq!((&report["exit_code"], &report["verdict"]), (&json!(64), &json!("fail")));
    for twice in [["json=r.json", "junit=r.json"], ["json=r.json", "json=./r.json"]] {
        let run = project.run(&["--format", twice[0], "--format", twice[1]]).expect(64);
        assert!(run.stderr.contains("two formats want the file"), "{run}");
    }
}

#[test]
fn variables_in_place_of_options_are_checked_too() {
    let project = Project::of("healthy").locked(&["alpha"]).env("MCP_PROBE_TIMEOUT_S", "soon");
    let run = project.run(&[]).expect(64);
    assert!(run.stderr.contains("MCP_PROBE_TIMEOUT_S=soon"), "{run}");
    let project = Project::of("silent-start").locked(&["alpha"]).env("MCP_PROBE_TIMEOUT_S", "0.5");
    assert!(project.run(&[]).expect(78).stdout.contains("gave up after 500 ms"));
    assert!(project.run(&["-t", "0.7"]).expect(78).stdout.contains("gave up after 700 ms"));
    let empty = Project::of("healthy").locked(&["alpha", "beta", "gamma"]);
    let empty = empty.env("MCP_PROBE_TIMEOUT_S", "").env("MCP_CONFIG", "").env("MCP_TOOL_LOCK", "");
    empty.run(&[]).expect(0);
    let elsewhere = Project::of("healthy").env("MCP_TOOL_LOCK", "there.json");
    elsewhere.write("there.json", r#"{"s": ["alpha"]}"#);
    elsewhere.run(&["-t", "60"]).expect(0);
}

#[test]
fn help_and_version_are_no_errors() {
    let project = Project::new();
    let help = project.run(&["--help"]).expect(0);
    for option in ["--config", "--lock", "--timeout", "MCP_PROBE_TIMEOUT_S", "--update-lock", "Exit codes"] {
        assert!(help.stdout.contains(option), "{option} is missing: {help}");
    }
    let (gate, hook) = include_str!("../../docs/cli.md").split_once("## mcp-preflight hook").expect("a heading");
    for (documented, shown) in [(gate, help), (hook, project.run(&["hook", "--help"]).expect(0))] {
        let indented = |line: &'static str| line.strip_prefix("    ").or(line.is_empty().then_some(""));
        let lines: Vec<&str> = documented.lines().filter_map(indented).collect();
        // clap leaves blanks at the end of some lines.
        let shown = shown.stdout.replace("mcp-preflight.exe", "mcp-preflight");
        let shown: Vec<&str> = shown.lines().map(str::trim_end).collect();
        let (shown, documented) = (shown.join("\n"), lines.join("\n"));
        assert_eq!(documented.trim(), shown.trim(), "docs/cli.md is not what --help says: put it there");
    }
    assert!(project.run(&["--version"]).expect(0).stdout.starts_with("mcp-preflight "));
}

#[test]
fn the_budget_of_the_run_is_a_timeout_never_a_missing_tool() {
    let project =
        Project::with(&[("a", crate::harness::stdio("silent-start")), ("b", crate::harness::stdio("silent-start"))]);
    project.write("mcp-tools.lock.json", r#"{"a": ["x"], "b": ["y"]}"#);
    let run = project.run(&["-t", "60", "--run-timeout", "0.5", "--jobs", "1", "--format", "json"]).expect(78);
    let report = run.json();
    for index in [0, 1] {
        assert_eq!(report["servers"][index]["failure"]["class"], "timeout");
        assert_eq!(report["servers"][index]["missing"], serde_json::json!([]));
    }
    assert_eq!(report["servers"][1]["failure"]["step"], "queue");
    assert!(
        report["findings"][0]["message"].as_str().is_some_and(|text| text.contains("the time of the whole run was up"))
    );
    project.run(&["-t", "60", "--run-timeout", "0.5", "--tempfail"]).expect(75);
}
