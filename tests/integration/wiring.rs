//! Rules that name tools, needs, static runs, and the weight of findings.

use serde_json::{Value, json};

use crate::harness::{Project, Run, snapshot};

fn project() -> Project {
    Project::of("healthy").locked(&["alpha", "beta", "gamma"])
}

fn places(run: &Run, code: &str) -> Vec<String> {
    let report = run.json();
    let findings = report["findings"].as_array().expect("findings").iter().filter(|finding| finding["code"] == code);
    let place = |finding: &Value| {
        let place = &finding["location"];
        format!("{}:{}:{}", place["file"].as_str().unwrap_or("-"), place["line"], place["column"])
    };
    findings.map(place).collect()
}

/// Every kind of text that names tools, each with one that lives and one that is dead.
fn wired() -> Project {
    let project = project();
    let settings = json!({
        "permissions": { "allow": ["mcp__s__alpha", "mcp__s__gone", "Bash(ls)"], "deny": ["mcp__*", "mcp__t__x"] },
        "hooks": { "PreToolUse": [{ "matcher": "mcp__s__.*" }, { "matcher": "mcp__s" }], "Stop": [{ "matcher": "mcp__no" }] },
    });
    project.write(".claude/settings.json", serde_json::to_string_pretty(&settings).expect("JSON"));
    project
        .write(".claude/agents/a.md", "---\nname: a\ntools: Read, mcp__s__beta, mcp__s__absent\n---\nmcp__s__text\n");
    project.write(".claude/commands/deep/c.md", "---\nallowed-tools:\n  - mcp__s__*\n  - mcp__my.s__alpha\n---\n");
    project.write(".claude/skills/k/SKILL.md", "---\nallowed-tools: mcp__s__gamma mcp__s__lost\n---\n");
    project
}

#[test]
fn names_that_nothing_offers_are_pointed_out_where_they_stand() {
    let run = wired().run(&["--allowed-tools", "Read mcp__s__alpha,mcp__s__never", "--format", "json"]).expect(0);
    let mut found = places(&run, "rule-dead");
    found.sort_unstable();
    let expected = [
        "-:null:null",
        ".claude/agents/a.md:3:28",
        ".claude/commands/deep/c.md:4:5",
        ".claude/settings.json:20:7",
        ".claude/settings.json:25:7",
        ".claude/settings.json:8:20",
        ".claude/skills/k/SKILL.md:2:30",
    ];
    assert_eq!(found, expected, "{run}");
    snapshot("wiring-rule-dead", &wired().run(&[]).expect(0));
}

#[test]
fn exact_names_are_needs_where_that_is_asked_for() {
    let run = wired().run(&["--needs-from-rules", "--format", "json"]).expect(78);
    let mut found = places(&run, "tools-missing");
    found.sort_unstable();
    // The name that is not written as the client writes it is no exact name of anything.
    let expected = [".claude/agents/a.md:3:28", ".claude/settings.json:20:7", ".claude/skills/k/SKILL.md:2:30"];
    assert_eq!(found, expected, "{run}");
}

#[test]
fn needs_take_no_lock_and_a_server_that_is_down_fails_them() {
    let allowed = ["--needs-from-rules", "--allowed-tools", "mcp__s__alpha"];
    Project::of("healthy").run(&allowed).expect(0);
    let run = Project::of("exit-at-start").run(&allowed).expect(78);
    assert!(run.stdout.contains("error[probe-failed] s"), "{run}");
    let run = Project::of("empty").run(&allowed).expect(78);
    assert!(run.stdout.contains("mcp__s__alpha is needed"), "{run}");
    Project::of("healthy").run(&["--allowed-tools", "mcp__s__alpha"]).expect(78);
}

#[test]
fn a_static_run_starts_nothing() {
    let project = Project::with(&[("s", json!({ "command": "touch", "args": ["started"] }))]).locked(&["alpha"]);
    let run = project.run(&["--static"]).expect(0);
    assert!(run.stdout.contains("without a probe") && !run.stdout.contains("verified"), "{run}");
    assert!(!project.path("started").exists());
    project.write(".claude/settings.json", r#"{"permissions": {"allow": ["mcp__s__alpha", "mcp__s__beta"]}}"#);
    let run = project.run(&["--static", "--format", "json"]).expect(0);
    assert_eq!(places(&run, "rule-dead"), [".claude/settings.json:1:45"]);
    assert_eq!((&run.json()["static"], &run.json()["servers"][0]["status"]), (&json!(true), &json!("skipped")));
    // The lock may name fewer tools than the server has: only a probe tells.
    assert!(run.stdout.contains("the lock has no such tool"), "{run}");
    project.run(&["--static", "--needs-from-rules"]).expect(0);
    assert!(!project.path("started").exists());
}

#[test]
fn a_static_run_holds_configuration_and_lock_against_each_other() {
    let project = Project::with(&[("other", json!({ "command": "x", "env": { "A": "${NOPE}" } }))]).locked(&["alpha"]);
    snapshot("wiring-static", &project.run(&["--static"]).expect(78));
    let long = "x".repeat(130);
    let run = Project::of("healthy").locked(&[&long]).run(&["--static"]).expect(78);
    assert!(run.stdout.contains("error[tools-unusable]"), "{run}");
    Project::of("healthy").run(&["--static"]).expect(78);
}

#[test]
fn findings_weigh_what_they_are_told_to() {
    let unlocked = || {
        let project = project();
        project.write("mcp-tools.lock.json", "{}");
        project
    };
    unlocked().run(&[]).expect(0);
    unlocked().run(&["--deny", "server-unlocked"]).expect(78);
    unlocked().run(&["--strict"]).expect(78);
    let run = unlocked().run(&["--strict", "--allow", "server-unlocked"]).expect(0);
    assert!(!run.stdout.contains("server-unlocked"), "{run}");
    unlocked().run(&["--strict", "--optional", "s"]).expect(0);
    let unset = Project::with(&[("s", json!({ "command": "x", "args": ["${NOPE}"] }))]).locked(&[]);
    // Credentials are kept from runs that start nothing.
    assert!(unset.run(&["--static"]).expect(0).stdout.contains("warning[variable-unset]"));
    unset.run(&["--static", "--deny", "variable-unset"]).expect(78);
    for (option, code) in [("--allow", "tools-missing"), ("--warn", "probe-failed"), ("--deny", "no-such-code")] {
        project().run(&[option, code]).expect(64);
    }
}

#[test]
fn a_command_without_a_version_is_noted() {
    let project = Project::with(&[("s", json!({ "command": "npx", "args": ["-y", "some-server"] }))]).locked(&[]);
    let run = project.run(&["--static"]).expect(0);
    assert!(run.stdout.contains("note[server-unpinned] s: npx runs whatever version of some-server"), "{run}");
}
