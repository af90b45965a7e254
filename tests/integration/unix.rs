//! What needs a shell, signals or links: whole runs as on every system, on those that have these.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::{Duration, Instant};

use serde_json::json;

#[cfg(target_os = "linux")]
use crate::harness::snapshot;
use crate::harness::{HttpServer, Project, fake_server, scenario, stdio};
use crate::lock::HEALTHY;

#[test]
fn a_report_never_takes_the_place_of_what_is_read() {
    let project = Project::of("healthy").locked(&["alpha"]);
    project.write("agent.json", project.read(".mcp.json"));
    project.write("lock.json", r#"{"s": ["alpha"]}"#);
    for name in [".mcp.json", "./agent.json", "lock.json", "mcp-tools.lock.json"] {
        let before = project.read(name);
        let format = format!("json={name}");
        project.run(&["-c", "agent.json", "-l", "lock.json", "--format", &format]).expect(64);
        assert_eq!(project.read(name), before);
    }
    // Under whatever name.
    for (kept, client) in [(".mcp.json", "claude"), ("mcp-tools.lock.json", "claude"), (".vscode/mcp.json", "vscode")] {
        let project = Project::of("healthy").locked(&["alpha", "beta", "gamma"]);
        project.write(".vscode/mcp.json", json!({ "servers": { "s": stdio("healthy") } }).to_string());
        project.write(".vscode/mcp-tools.lock.json", project.read("mcp-tools.lock.json"));
        symlink(project.path(kept), project.path("soft.json")).expect("a link");
        std::fs::hard_link(project.path(kept), project.path("hard.json")).expect("a link");
        let before = project.read(kept);
        for name in [kept, "soft.json", "hard.json"] {
            let format = format!("json={name}");
            let run = project.run(&["--client", client, "--format", &format]);
            assert!([64, 74].contains(&run.code), "{run}");
            assert_eq!(project.read(kept), before, "{name}: {run}");
        }
        let project = project.env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", "soft.json");
        project.run(&["--client", client]).expect(74);
        assert_eq!(project.read(kept), before);
    }
}

#[test]
fn permissions_and_links_survive() {
    let project = Project::of("healthy");
    project.write("real/lock.json", "{}");
    std::fs::set_permissions(project.path("real/lock.json"), std::fs::Permissions::from_mode(0o640))
        .expect("permissions");
    symlink("real/lock.json", project.path("mcp-tools.lock.json")).expect("a link");
    project.run(&["--update-lock", "-t", "60"]).expect(0);
    assert!(project.path("mcp-tools.lock.json").is_symlink());
    assert_eq!(project.read("real/lock.json"), HEALTHY);
    let mode = std::fs::metadata(project.path("real/lock.json")).expect("metadata").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert_eq!(std::fs::read_dir(project.path("real")).expect("a folder").count(), 1, "something was left beside it");
}

#[test]
fn a_link_that_leads_nowhere_yet_is_followed() {
    let project = Project::of("healthy");
    project.write("real/keep", "");
    symlink("real/lock.json", project.path("mcp-tools.lock.json")).expect("a link");
    project.run(&["--update-lock", "-t", "60"]).expect(0);
    assert!(project.path("mcp-tools.lock.json").is_symlink());
    assert_eq!(project.read("real/lock.json"), HEALTHY);
}

/// Somebody else writes the lock while the servers are probed: their work is not overwritten.
#[test]
fn a_lock_that_changed_meanwhile_is_left_alone() {
    let script = format!(
        "echo '{{\"other\": [\"x\"]}}' > mcp-tools.lock.json; exec {} stdio {}",
        fake_server(),
        scenario("healthy")
    );
    let project = Project::with(&[("s", json!({ "command": "sh", "args": ["-c", script] }))]).locked(&["old"]);
    let run = project.run(&["--update-lock", "-t", "60"]).expect(78);
    assert!(run.stderr.contains("was changed by somebody else"), "{run}");
    assert_eq!(project.read("mcp-tools.lock.json"), "{\"other\": [\"x\"]}\n");
}

#[test]
fn nothing_that_comes_with_a_checkout_is_waited_for() {
    let pipe = |project: &Project, name: &str| {
        project.write(name, "");
        std::fs::remove_file(project.path(name)).expect("removed");
        symlink("/dev/zero", project.path(name)).expect("a link");
    };
    let project = Project::of("healthy").locked(&["alpha"]);
    for name in [".claude/settings.json", ".claude/agents/a.md", ".claude/commands/c.md", "mcp.json", ".claude.json"] {
        pipe(&project, name);
    }
    project.run(&["--static"]).expect(0);
    let vscode = Project::new().locked(&["alpha"]);
    pipe(&vscode, "p");
    vscode.write(".vscode/mcp.json", r#"{"servers": {"s": {"command": "x", "envFile": "p"}}}"#);
    vscode.write("opencode.json", r#"{"mcp": {"s": {"type": "local", "command": ["x", "{file:p}"]}}}"#);
    for file in [".vscode/mcp.json", "opencode.json"] {
        let run = vscode.run(&["-c", file, "-l", "mcp-tools.lock.json", "--static"]).expect(78);
        assert!(run.stdout.contains("no regular file"), "{run}");
    }
}

#[test]
fn a_signal_ends_a_run_with_a_helper_at_once() {
    let server = HttpServer::start("http-silent");
    let url = format!("http://127.0.0.1:{}/mcp", server.port);
    let project =
        Project::with(&[("s", json!({ "type": "http", "url": url, "headersHelper": "touch started; sleep 77" }))])
            .locked(&["a"]);
    project.write("agent.json", project.read(".mcp.json"));
    let mut child = project.command(&["-c", "agent.json", "-t", "60"]).spawn().expect("the binary");
    crate::signals::eventually("the helper runs", || project.path("started").exists());
    let pid = rustix::process::Pid::from_child(&child);
    let began = Instant::now();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a signal");
    assert_eq!(child.wait().expect("an end").code(), Some(143));
    // Far below the deadline, whatever the machine.
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[test]
fn variables_of_settings_reach_servers_as_the_client_passes_them() {
    let entry = json!({
        "command": fake_server(),
        "args": ["stdio", scenario("names-from-environment")],
        "env": { "PF_C": "${PF_A:-none}/${PF_B:-none}" }
    });
    let failing = json!({ "command": "sh", "args": ["-c", "echo a $PF_A b $PF_B >&2; exit 1"] });
    let project = Project::with(&[("s", entry), ("t", failing)]).locked(&["x"]);
    project.write("home/settings.json", r#"{"env": {"PF_A": "personal-a"}}"#);
    project.write(".claude/settings.json", r#"{"env": {"PF_B": "projects-b"}}"#);
    let home = project.path("home").display().to_string();
    let project = project.env("CLAUDE_CONFIG_DIR", &home);
    let run = project.run(&["--format", "json"]).expect(78);
    // What a project gives goes to its servers, and is not used where the entry names a variable.
    let offered = json!(["a personal-a", "b projects-b", "c personal-a/none"]);
    assert_eq!(run.json()["servers"][0]["added"], offered, "{run}");
    // Where they are no names they may be secrets.
    assert!(project.run(&["--server", "t"]).expect(0).stdout.contains("| a *** b ***"));
}

#[test]
fn secrets_are_masked_as_go_and_python_print_them() {
    let project = Project::with(&[(
        "s",
        json!({ "command": "sh", "args": ["-c", "printf '%s\\n' \"$AS_GO\" \"$AS_REPR\" \"$AS_BYTES\" >&2; exit 1"],
            "env": { "TOKEN": "${REPORT_API_TOKEN}" } }),
    )])
    .locked(&["alpha"])
    .env("REPORT_API_TOKEN", "ab&cd<ef'gé\\h")
    .env("AS_GO", r#"{"t":"ab\u0026cd\u003cef'gé\\h"}"#)
    .env("AS_REPR", r"'ab&cd<ef\'gé\\h'")
    .env("AS_BYTES", r"b'ab&cd<ef\'g\xc3\xa9\\h'");
    let run = project.run(&[]).expect(78);
    assert!(!run.stdout.contains("ab&cd") && !run.stdout.contains("cd\\u003c"), "{run}");
    assert_eq!(run.stdout.matches("***").count(), 3, "{run}");
}

#[test]
fn credentials_written_into_addresses_and_arguments_are_masked() {
    let server = HttpServer::start("http-echo-path");
    let url =
        format!("http://127.0.0.1:{}/s/sk-pathsecret-112233/mcp?api_key=querysecret77&page=plain-value", server.port);
    let project = Project::with(&[("s", json!({ "type": "http", "url": url }))]).locked(&["alpha"]);
    let run = project.run(&["-vv"]).expect(78);
    assert!(!run.stdout.contains("pathsecret") && !run.stdout.contains("querysecret"), "{run}");
    assert!(run.stdout.contains("/s/***/mcp?api_key=***&page=plain-value"), "{run}");
    let arguments = [
        "--api-key=sk-argsecret-99",
        "--token",
        "next-secret-1",
        "--header",
        "Authorization: Bearer hdr-secret-12",
        "--path=/some/where-else",
        "plain-word",
    ];
    let mut words = vec!["-c", "echo \"$@\" >&2; exit 1", "sh"];
    words.extend(arguments);
    let run = Project::with(&[("s", json!({ "command": "sh", "args": words }))]).locked(&["alpha"]).run(&[]).expect(78);
    let shown = "--api-key=*** --token *** --header Authorization: *** --path=/some/where-else plain-word";
    assert!(run.stdout.contains(shown), "{run}");
}

/// A process that left its group is ended and named; on other systems than Linux it cannot be seen.
#[cfg(target_os = "linux")]
#[test]
fn grandchild_new_session() {
    let run = Project::of("grandchild-new-session").locked(&["alpha", "beta", "gamma"]).run(&["-t", "60"]).expect(0);
    snapshot("stdio-grandchild-new-session", &run);
}

#[test]
fn a_script_without_its_interpreter_is_told_apart() {
    let project = Project::with(&[("s", json!({ "command": "./server.sh" }))]).locked(&["a"]);
    project.write("server.sh", "#!/no/such/interpreter\n");
    std::fs::set_permissions(project.path("server.sh"), std::fs::Permissions::from_mode(0o755)).expect("permissions");
    let run = project.run(&[]).expect(78);
    assert!(run.stdout.contains("the interpreter in its first line is missing"), "{run}");
}

#[test]
fn the_environment_and_the_folder_are_those_of_the_tool() {
    let script = r#"read -r l; echo "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"sh\",\"version\":\"1\"}}}"; read -r l; read -r l
        echo "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"tools\":[{\"name\":\"$INHERITED-$ADDED-$(basename "$PWD")-$1\",\"inputSchema\":{\"type\":\"object\"}}]}}"; read -r l"#;
    let entry = json!({ "command": "sh", "args": ["-c", script, "sh", "a b;$HOME"], "env": { "ADDED": "${INHERITED}${NOT:-x}" } });
    let project = Project::new().env("INHERITED", "in");
    let config = json!({ "mcpServers": { "s": entry } }).to_string();
    project.write(".mcp.json", config);
    project.write("below/keep", "");
    let run = project.run_in("below", &["tools", "-t", "60", "--format", "json"]).expect(0);
    assert_eq!(run.json()["servers"][0]["observed"], json!(["in-inx-below-a b;$HOME"]), "{run}");
}
