//! Which servers a configuration gives: discovery, merging, syntax, entries, variables.

use serde_json::json;

use crate::harness::{Project, Run, fake_server, scenario, snapshot, stdio};

fn with_text(text: impl AsRef<[u8]>) -> Run {
    let project = Project::new();
    project.write(".mcp.json", text);
    project.write("mcp-tools.lock.json", r#"{"s": ["alpha"]}"#);
    project.run(&["-t", "60"])
}

fn healthy_text() -> String {
    json!({ "mcpServers": { "s": stdio("healthy") } }).to_string()
}

#[test]
fn files_in_folders_above_are_found_and_the_nearest_wins() {
    let project = Project::new();
    project
        .write(".mcp.json", json!({ "mcpServers": { "near": stdio("empty"), "far": stdio("healthy") } }).to_string());
    project.write("a/b/.mcp.json", json!({ "mcpServers": { "near": stdio("healthy") } }).to_string());
    project.write("a/b/c/keep", "");
    let run = project.run_in("a/b/c", &["tools", "-t", "60", "--format", "json"]).expect(0);
    let report = run.json();
    assert_eq!(report["configs"], json!(["../.mcp.json", "../../../.mcp.json"]));
    assert_eq!(report["lock"], "../mcp-tools.lock.json");
    let names: Vec<&str> =
        report["servers"].as_array().expect("servers").iter().filter_map(|server| server["name"].as_str()).collect();
    assert_eq!(names, ["near", "far"]);
    assert_eq!(report["servers"][0]["observed"], json!(["alpha", "beta", "gamma"]));
}

#[test]
fn of_named_files_the_later_wins() {
    let project = Project::new();
    project.write("one.json", json!({ "mcpServers": { "s": stdio("empty"), "t": stdio("healthy") } }).to_string());
    project.write("two.json", healthy_text());
    let run = project.run(&["tools", "-c", "one.json", "-c", "two.json", "-t", "60", "--format", "json"]).expect(0);
    assert_eq!(run.json()["servers"][0]["observed"], json!(["alpha", "beta", "gamma"]));
    assert_eq!(run.json()["configs"], json!(["two.json", "one.json"]));
    let project = project.env("MCP_CONFIG", "one.json");
    let run = project.run(&["tools", "-t", "60", "--format", "json"]).expect(0);
    assert_eq!(run.json()["servers"][0]["observed"], json!([]));
}

#[test]
fn a_name_that_leads_nowhere_is_an_error() {
    let project = Project::new();
    project.write(".mcp.json", healthy_text());
    snapshot("config-typo", &project.run(&["--config", "mpc.json"]).expect(78));
    let project = project.env("MCP_CONFIG", "mpc.json");
    project.run(&[]).expect(78);
    snapshot("config-none", &Project::new().run(&["-c", "."]).expect(78));
}

#[test]
fn faults_of_a_file_have_their_place() {
    for (name, text) in [
        ("trailing-comma", "{\n  \"mcpServers\": {\n    \"a\": { \"command\": \"x\" },\n  }\n}\n".as_bytes()),
        ("comment", b"{\n  // no\n  \"mcpServers\": {}\n}\n"),
        ("duplicate", b"{\n  \"mcpServers\": {\n    \"a\": {},\n    \"b\": {},\n    \"a\": {}\n  }\n}\n"),
        ("servers-key", b"{\n  \"servers\": {}\n}\n"),
        ("no-key", b"{}"),
        ("array", b"[]"),
        ("servers-array", b"{\"mcpServers\": []}"),
        ("utf-16", b"\xff\xfe{\0}\0"),
        ("cut", b"{\"mcpServers\": {\"a\": {\"command\": \"x"),
    ] {
        snapshot(&format!("config-{name}"), &with_text(text).expect(78));
    }
}

#[test]
fn a_byte_order_mark_and_crlf_are_accepted() {
    let text = serde_json::to_string_pretty(&json!({ "mcpServers": { "s": stdio("healthy") } })).expect("JSON");
    with_text(format!("\u{feff}{}", text.replace('\n', "\r\n"))).expect(0);
}

#[test]
fn an_empty_file_has_no_servers_and_the_lock_knows_it() {
    for text in ["", " \n", "{\"mcpServers\": {}}"] {
        let run = with_text(text).expect(78);
        assert!(run.stdout.contains("error[server-absent] s: the lock expects 1 tool"), "{run}");
    }
}

#[test]
fn what_is_no_file_is_not_read() {
    let project = Project::new();
    project.write(".mcp.json/keep", "");
    let run = project.run(&[]).expect(78);
    assert!(run.stderr.contains("it is no regular file"), "{run}");
    let project = Project::new();
    project.write(".mcp.json", " ".repeat(2_097_153));
    let run = project.run(&[]).expect(78);
    assert!(run.stderr.contains("larger than 2 MiB"), "{run}");
}

/// Each is an entry that the client skips, with its reason and place; the others are probed.
#[test]
fn entries_the_client_skips() {
    let text = r#"{
  "mcpServers": {
    "url-only": { "url": "http://127.0.0.1:9" },
    "unknown-type": { "type": "carrier-pigeon", "command": "x" },
    "no-command": { "args": [] },
    "empty-command": { "command": "" },
    "args-text": { "command": "x", "args": "y" },
    "args-number": { "command": "x", "args": ["a", 1] },
    "env-number": { "command": "x", "env": { "A": 1 } },
    "headers-list": { "type": "http", "url": "http://127.0.0.1:9", "headers": [] },
    "timeout-zero": { "command": "x", "timeout": 0 },
    "null": null,
    "workspace": { "command": "x" }
  }
}"#;
    let project = Project::new();
    project.write(".mcp.json", text);
    project.write("mcp-tools.lock.json", "{}");
    snapshot("config-entries", &project.run(&["-t", "20"]).expect(78));
}

#[test]
fn a_command_beside_a_url_is_stdio_and_unknown_keys_are_named() {
    let mut entry = stdio("healthy");
    entry["url"] = json!("http://127.0.0.1:9");
    entry["cwd"] = json!("/");
    entry["disabled"] = json!(true);
    let run = Project::with(&[("s", entry)]).locked(&["alpha", "beta", "gamma"]).run(&["-t", "60"]).expect(0);
    snapshot("config-unknown-keys", &run);
}

#[test]
fn variables_are_expanded_everywhere_and_their_absence_is_said() {
    let project = Project::new().env("SCENARIO", "healthy").env("EMPTY", "").env("BIN", &fake_server());
    let file = scenario("healthy").replace("healthy.json", "${SCENARIO}.json");
    let text = json!({ "mcpServers": { "s": {
        "command": "${BIN}",
        "args": ["${MODE:-stdio}", file],
        "env": { "A": "${EMPTY:-unused}", "B": "${NOT_SET}", "C": "x${NOT_SET}y${NOT_SET}", "${KEY}": "v" },
    } } });
    project.write(".mcp.json", serde_json::to_string_pretty(&text).expect("JSON"));
    let project = project.locked(&["alpha", "beta", "gamma"]);
    snapshot("config-variables", &project.run(&["-t", "60"]).expect(78));
    let refused = project.run(&["--update-lock", "-t", "60"]).expect(78);
    assert!(
        refused.stdout.contains("error[variable-unset]") && refused.stdout.contains("was NOT written"),
        "{refused}"
    );
}

#[test]
fn optional_and_skipped_servers_do_not_stop_the_run() {
    let project = Project::with(&[("good", stdio("healthy")), ("bad", stdio("exit-at-start"))]);
    project.write("mcp-tools.lock.json", r#"{"good": ["alpha", "beta", "gamma"], "bad": ["x"]}"#);
    project.run(&["-t", "60"]).expect(78);
    snapshot("config-optional", &project.run(&["-t", "60", "--optional", "bad"]).expect(0));
    snapshot("config-skipped", &project.run(&["-t", "60", "--skip-server", "bad"]).expect(0));
    let only = project.run(&["-t", "60", "--server", "good", "--format", "json"]).expect(0);
    assert_eq!(only.json()["servers"][0]["status"], "skipped");
    assert_eq!(only.json()["summary"]["tools_expected"], 3, "skipped tools do not count");
    project.run(&["-t", "60", "--server", "bad"]).expect(78);
    let typo = project.run(&["--skip-server", "bda"]).expect(64);
    assert!(typo.stderr.contains("no server \"bda\""), "{typo}");
}
