//! What is particular to Windows: how programs are found, and that a job holds whatever was started in it.

use serde_json::json;

use crate::harness::{HOME, Project, fake_server, scenario, stdio};
use crate::hygiene::Pids;

/// A batch file beside a script without an ending, as npm installs them, that passes its arguments on.
fn with_batch_file(arguments: &[&str]) -> Project {
    let project = Project::with(&[("s", json!({ "command": "npx", "args": arguments }))]).locked(&["alpha"]);
    project.write("bin/npx", "#!/bin/sh\nexit 1\n");
    project.write("bin/npx.cmd", format!("@echo off\r\n\"{}\" %*\r\n", fake_server()));
    let path = project.path("bin").display().to_string();
    project.env("Path", &path)
}

#[test]
fn a_command_without_an_ending_is_found_as_the_client_finds_it() {
    let run = with_batch_file(&["stdio", &scenario("healthy")]).run(&["-t", "60"]).expect(0);
    assert!(run.stdout.contains("(1 tool verified)"), "{run}");
}

/// What is given to a batch file is an argument, whatever the shell would make of it.
#[test]
fn a_batch_file_gets_its_arguments_and_no_commands() {
    let project = with_batch_file(&["stdio", &scenario("healthy"), "& echo forged> forged", "%PATH%", "a b"]);
    project.run(&["-t", "60"]).expect(78);
    assert!(!project.path("forged").exists());
}

/// The client sets `NoDefaultCurrentDirectoryInExePath`: a program that comes with a checkout is not taken for one of the system.
#[test]
fn the_current_folder_is_no_part_of_the_path() {
    let project = with_batch_file(&["stdio", &scenario("healthy")]);
    project.write("npx.cmd", "@echo off\r\necho forged> forged\r\n");
    project.run(&["-t", "60"]).expect(0);
    assert!(!project.path("forged").exists());
}

#[test]
fn names_of_variables_have_no_case() {
    let mut entry = stdio("names-from-environment");
    entry["env"] = json!({ "pf_c": "${Pf_Source:-unset}" });
    let project = Project::with(&[("s", entry)]).env("PF_SOURCE", "found");
    let run = project.run(&["tools", "-t", "60", "--format", "json"]).expect(0);
    assert!(run.stdout.contains("found"), "{run}");
}

#[test]
fn the_persons_own_file_is_in_the_profile() {
    let project = Project::of("healthy").locked(&["alpha", "beta", "gamma"]);
    project.write("home/.claude/settings.json", r#"{"deniedMcpServers": [{"serverName": "s"}]}"#);
    let home = project.path("home").display().to_string();
    project.env(HOME, &home).env("HOME", "C:\\nowhere").run(&["-t", "60"]).expect(78);
}

/// The server has ended; what it left behind keeps its pipes, and is seen and ended all the same.
#[test]
fn what_keeps_the_pipes_is_ended_and_named() {
    let pids = Pids::new();
    let run = pids.project("grandchild-keeps-pipes").run(&["-t", "2"]).expect(78);
    assert!(run.stdout.contains("something it started still holds its standard output"), "{run}");
    assert!(run.stdout.contains("left a process running, now ended"), "{run}");
    pids.assert_gone(1);
}

#[test]
fn a_report_never_takes_the_place_of_what_is_read() {
    let project = Project::of("healthy").locked(&["alpha"]);
    std::fs::hard_link(project.path(".mcp.json"), project.path("hard.json")).expect("a link");
    let before = project.read(".mcp.json");
    for name in [".mcp.json", ".MCP.JSON", "hard.json", "mcp-tools.lock.json"] {
        let run = project.run(&["--format", &format!("json={name}")]);
        assert!([64, 74].contains(&run.code), "{name}: {run}");
    }
    assert_eq!(project.read(".mcp.json"), before);
}

#[test]
fn the_guard_blocks_and_remembers() {
    let project = Project::with(&[("s", stdio("healthy")), ("dead", json!({ "command": "no-such-program" }))]);
    let home = project.path("home").display().to_string();
    let project = project.env(HOME, &home);
    let call = |server: &str| {
        let event = json!({
            "hook_event_name": "PreToolUse", "tool_name": format!("mcp__{server}__t"), "cwd": project.folder(),
            "mcp_server": { "name": server, "source": "project" },
        });
        project.run_with(&["hook", "-t", "60"], event.to_string().as_bytes())
    };
    for _ in 0..2 {
        call("s").expect(0);
        assert!(call("dead").expect(2).stderr.contains("\"dead\" is down since"));
    }
    let records = project.read("home/.claude/mcp-health-cache.json");
    assert!(records.contains("\"healthy\"") && records.contains("\"unhealthy\""), "{records}");
    assert!(project.run(&["hook", "--reset"]).expect(0).stdout.contains("forgotten: dead ("));
}
