//! Configurations of other clients than Claude Code, and what belongs to one client: the whole way, from the file to the verdict.

use serde_json::{Value, json};

use crate::harness::{HttpServer, Project, Run, fake_server, scenario, snapshot, stdio};

/// A Codex configuration with one server `s` that plays a scenario.
fn codex(name: &str, more: &str) -> Project {
    let project = Project::new().locked(&["alpha", "beta", "gamma"]);
    let (command, path) = (json!(fake_server()), json!(scenario(name)));
    let entry = format!("[mcp_servers.s]\ncommand = {command}\nargs = [\"stdio\", {path}]\n{more}\n");
    project.write("config.toml", entry);
    project
}

fn check(project: &Project, file: &str) -> Run {
    project.run(&["-c", file, "-t", "60"])
}

fn codes(run: &Run) -> Vec<String> {
    let report = run.json();
    let findings = report["findings"].as_array().expect("findings");
    findings.iter().map(|finding| finding["code"].as_str().expect("a code").to_owned()).collect()
}

#[test]
fn codex_is_recognised_and_offers_its_own_names() {
    let run = codex("healthy", "").run(&["-c", "config.toml", "--format", "json"]).expect(0);
    let report = run.json();
    assert_eq!(report["client"], "codex");
    assert_eq!(report["servers"][0]["offered"][0], "mcp__s__alpha");
}

#[test]
fn codex_passes_on_only_what_it_is_told_to() {
    let run = check(&codex("credential", "").env("REPORT_API_TOKEN", "t0ken-t0ken"), "config.toml").expect(78);
    assert!(run.stdout.contains("tools-missing"), "{run}");
    let project = codex("credential", "env_vars = [\"REPORT_API_TOKEN\"]").env("REPORT_API_TOKEN", "t0ken-t0ken");
    let listed = project.run(&["tools", "-c", "config.toml", "--format", "json"]).json();
    assert_ne!(listed["servers"][0]["observed"], json!([]));
}

#[test]
fn what_codex_can_do_without_stops_nobody_unless_it_is_locked() {
    let dead = |more: &str| {
        let project = codex("healthy", &format!("[mcp_servers.dead]\ncommand = \"/nowhere/dead\"\n{more}"));
        check(&project, "config.toml")
    };
    let run = dead("").expect(0);
    assert!(run.stdout.contains("warning[probe-failed] dead"), "{run}");
    let run = dead("required = true").expect(78);
    assert!(run.stdout.contains("error[probe-failed] dead"), "{run}");
}

#[test]
fn a_locked_tool_that_codex_leaves_out_is_unusable() {
    let run = check(&codex("healthy", "disabled_tools = [\"beta\"]"), "config.toml").expect(78);
    assert!(
        run.stdout
            .contains("error[tools-unusable] s: 1 tool listed, but the client would not offer it: disabled_tools"),
        "{run}"
    );
    let run = check(&codex("healthy", "enabled = false"), "config.toml").expect(78);
    snapshot("clients-codex-disabled", &run);
}

#[test]
fn faults_have_their_place_in_toml_and_in_json_with_comments() {
    let project = Project::new();
    project.write("config.toml", "[mcp_servers.s]\ncommand = \"x\"\nargs = 3\n");
    let run = check(&project, "config.toml").expect(78);
    assert!(
        run.stderr.contains("config.toml:1:14: mcp_servers.s: args: expected an array of strings, found a number"),
        "{run}"
    );
    project.write("config.toml", "[mcp_servers.s\n");
    assert!(check(&project, "config.toml").expect(78).stderr.contains("config.toml:1:15: not valid TOML"));
    project.write(".vscode/mcp.json", "{\n  // comment\n  \"servers\": {\"s\": }\n}");
    assert!(check(&project, ".vscode/mcp.json").expect(78).stderr.contains(".vscode/mcp.json:3:"));
}

#[test]
fn vs_codes_file_is_found_and_read() {
    let project = Project::new().locked(&["alpha", "beta", "gamma"]);
    let entry = stdio("healthy").to_string();
    project.write("mcp-tools.lock.json", r#"{"s": ["alpha"]}"#);
    let text = format!(
        "{{ // servers\n \"inputs\": [{{\"id\": \"key\"}}],\n \"servers\": {{\"s\": {entry}, \"asks\": {{\"url\": \"http://h\", \"headers\": {{\"K\": \"${{input:key}}\"}}}},}},\n}}"
    );
    project.write(".vscode/mcp.json", text);
    let run = project.run(&["--client", "vscode", "-l", "mcp-tools.lock.json", "--format", "json"]).expect(78);
    assert_eq!(codes(&run), ["entry-invalid", "tools-added"]);
    assert_eq!(run.json()["servers"][0]["offered"][0], "alpha");
    assert!(run.stdout.contains("${input:key} (\\\"key\\\") needs a person"), "{run}");
    let run = Project::new().run(&["--client", "vscode"]).expect(78);
    assert!(run.stderr.contains("no .vscode/mcp.json of VS Code for this folder"), "{run}");
}

#[test]
fn one_run_is_for_one_client() {
    let project = codex("healthy", "");
    project.write(".mcp.json", r#"{"mcpServers": {}}"#);
    let run = project.run(&["-c", ".mcp.json", "-c", "config.toml"]).expect(64);
    assert!(run.stderr.contains("--client"), "{run}");
    let run = project.run(&["--client", "emacs"]).expect(64);
    assert!(run.stderr.contains("expected claude, claude-desktop, codex"), "{run}");
    let run = project.run(&["-c", "config.toml", "--needs-from-rules"]).expect(64);
    assert!(run.stderr.contains("Claude Code"), "{run}");
}

#[test]
fn a_server_that_settings_reject_is_not_started() {
    for (file, name) in [(".claude/settings.json", "s"), (".claude/settings.local.json", "s")] {
        let project = Project::of("healthy").locked(&["alpha"]);
        project.write(file, format!("{{\n  \"disabledMcpjsonServers\": [\"{name}\"]\n}}"));
        let run = project.run(&["--format", "json"]).expect(78);
        assert_eq!(codes(&run), ["server-disabled"]);
        assert_eq!(run.json()["findings"][0]["location"], json!({ "file": file, "line": 2, "column": 30 }));
        assert_eq!(run.json()["servers"][0]["observed"], json!([]));
        // A file that the agent is pointed to is asked for.
        project.write("other.json", project.read(".mcp.json"));
        project.run(&["-c", "other.json"]).expect(0);
    }
}

#[test]
fn servers_where_no_client_looks_are_pointed_out() {
    let project = Project::of("healthy").locked(&["alpha", "beta", "gamma"]);
    project.write(".claude/settings.json", r#"{"mcpServers": {"x": {"command": "y"}}}"#);
    project.write("mcp.json", r#"{"mcpServers": {}}"#);
    project.write(".claude/settings.local.json", "{ not json");
    let run = project.run(&["--format", "json"]).expect(0);
    assert_eq!(codes(&run), ["config-ignored", "config-ignored", "config-ignored"]);
}

#[test]
fn a_variable_that_the_client_keeps_back_is_kept_back_here() {
    let server = HttpServer::start("healthy");
    let header = |value: &str| json!({ "type": "http", "url": format!("http://127.0.0.1:{}/mcp", server.port), "headers": { "X-Key": value } });
    let project = Project::with(&[("s", header("v=${NPM_TOKEN:-d}"))]).locked(&["alpha", "beta", "gamma"]);
    let run = project.env("NPM_TOKEN", "npm-secret-value").run(&["--format", "json"]).expect(0);
    assert_eq!(codes(&run), ["variable-withheld"]);
    let sent: Vec<Value> = server.requests().iter().map(|request| request["headers"]["x-key"].clone()).collect();
    assert!(!sent.is_empty() && sent.iter().all(|value| value == "v="), "{sent:?}");
}

#[test]
fn a_server_gets_what_the_client_tells_its_servers() {
    let project = Project::of("client-environment").locked(&["entrypoint sdk-cli", "otel ", "token "]);
    let project = project.env("OTEL_SERVICE_NAME", "kept back").env("CLAUDE_CODE_OAUTH_TOKEN", "kept back");
    project.run(&[]).expect(0);
}

#[test]
fn the_clients_own_tokens_read_as_empty_in_entries_of_programs() {
    for name in ["CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_OAUTH_REFRESH_TOKEN", "MCP_CLIENT_SECRET", "OTEL_X"] {
        let mut entry = stdio("names-from-environment");
        entry["env"] = json!({ "PF_A": format!("${{{name}:-default}}") });
        let project = Project::with(&[("s", entry)]).locked(&["a ", "b ", "c "]);
        let run = project.env(name, "own-token").run(&["--format", "json"]).expect(0);
        assert!(codes(&run).contains(&"variable-withheld".to_owned()), "{run}");
    }
}

#[test]
fn a_list_that_comes_too_late_for_the_client_is_said() {
    let entry = json!({ "type": "local", "command": [fake_server(), "stdio", scenario("healthy")], "timeout": 0.01 });
    let project = Project::new();
    project.write("opencode.json", json!({ "mcp": { "s": entry } }).to_string());
    project.write("mcp-tools.lock.json", r#"{"s": ["alpha", "beta", "gamma"]}"#);
    let run = project.run(&["-c", "opencode.json"]).expect(0);
    assert!(run.stdout.contains("warning[slow-start] s: it took ") && run.stdout.contains("raise timeout"), "{run}");
}

/// A server that wants a credential, which only a helper makes.
fn helped(server: &HttpServer, helper: &str) -> Project {
    let url = format!("http://127.0.0.1:{}/mcp", server.port);
    let entry = json!({ "type": "http", "url": url, "headersHelper": helper, "headers": { "x-key": "static", "X-Other": "o" } });
    Project::with(&[("s", entry)]).locked(&["alpha", "beta", "gamma"])
}

/// The values of a header in every request, each once.
fn sent(server: &HttpServer, header: &str) -> Vec<String> {
    let values = server.requests().into_iter().map(|request| request["headers"][header].to_string());
    values.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
}

/// For the system's own shell.
const HELPER: &str = if cfg!(windows) {
    r#"echo {"X-Key": "made-%CLAUDE_CODE_MCP_SERVER_NAME%-%MY_API_TOKEN%"}"#
} else {
    r#"printf '{"X-Key": "made-%s-%s"}' "$CLAUDE_CODE_MCP_SERVER_NAME" "$MY_API_TOKEN""#
};

#[test]
fn a_helper_of_a_project_runs_only_where_the_folder_is_trusted() {
    let server = HttpServer::start("healthy");
    let project = helped(&server, HELPER).env("MY_API_TOKEN", "leaks");
    let run = project.run(&["--format", "json"]).expect(0);
    assert_eq!(codes(&run), ["config-ignored"]);
    assert_eq!(sent(&server, "x-key"), ["\"static\""]);
    let folder = project.folder();
    let trusted = json!({ "projects": { folder: { "hasTrustDialogAccepted": true } } });
    project.write(".claude.json", trusted.to_string());
    let server = HttpServer::start("healthy");
    let again = helped(&server, HELPER);
    project.write(".mcp.json", again.read(".mcp.json"));
    let run = project.run(&["--format", "json"]).expect(0);
    assert_eq!(codes(&run), [""; 0]);
    // What looks like a credential is kept from it, and its header replaces the static one.
    let unset = if cfg!(windows) { "%MY_API_TOKEN%" } else { "" };
    assert_eq!(sent(&server, "x-key"), [format!("\"made-s-{unset}\"")]);
    assert_eq!(sent(&server, "x-other"), ["\"o\""]);
}

#[test]
fn a_helper_of_a_file_the_agent_is_pointed_to_runs_and_is_masked() {
    let server = HttpServer::start("error-secret");
    let project = helped(&server, HELPER).env("MY_API_TOKEN", "made-by-hand");
    project.write("agent.json", project.read(".mcp.json"));
    let run = project.run(&["-c", "agent.json", "-vv"]).expect(78);
    assert_eq!(sent(&server, "x-key"), ["\"made-s-made-by-hand\""]);
    assert!(!run.stdout.contains("made-s"), "{run}");
}

#[test]
fn a_helper_that_fails_leaves_the_static_headers_and_is_named_when_that_is_not_enough() {
    for (helper, problem) in [
        ("exit 3", "exited with status 3"),
        ("echo token", "printed no JSON"),
        (if cfg!(windows) { "exit 1" } else { "sleep 60 & exit 1" }, "exited with status 1"),
    ] {
        let server = HttpServer::start("http-401");
        let project = helped(&server, helper);
        project.write("agent.json", project.read(".mcp.json"));
        let run = project.run(&["-c", "agent.json", "-t", "5"]).expect(78);
        assert!(run.stdout.contains("(auth): headersHelper: it ") && run.stdout.contains(problem), "{run}");
        assert_eq!(sent(&server, "x-key"), ["\"static\""]);
    }
}

#[test]
fn a_project_of_codex_is_read_where_it_is_trusted() {
    let project = codex("healthy", "");
    project.write(".codex/config.toml", project.read("config.toml"));
    let home = project.path("home").display().to_string();
    let project = project.env("CODEX_HOME", &home);
    let folder = project.folder();
    project.write("home/config.toml", "");
    let check = ["--client", "codex", "-l", "mcp-tools.lock.json", "--format", "json"];
    let run = project.run(&check).expect(78);
    assert_eq!(codes(&run), ["server-absent", "config-ignored"]);
    project.write("home/config.toml", format!("[projects.{}]\ntrust_level = \"trusted\"\n", json!(folder)));
    project.run(&check).expect(0);
}
