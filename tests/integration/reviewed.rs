//! What a review with fresh eyes found: each test is for the kind of fault, not for the single case.

use serde_json::json;

use crate::harness::{HttpServer, Project, Run, fake_server, scenario, stdio};
use crate::relay::{Manner, Proxy};

fn codes(run: &Run) -> Vec<String> {
    let report = run.json();
    let findings = report["findings"].as_array().expect("findings");
    findings.iter().map(|finding| finding["code"].as_str().expect("a code").to_owned()).collect()
}

/// A table of Codex's configuration for a scenario.
fn table(name: &str, scenario_name: &str, more: &str) -> String {
    let (command, path) = (json!(fake_server()), json!(scenario(scenario_name)));
    format!("[mcp_servers.{name}]\ncommand = {command}\nargs = [\"stdio\", {path}]\n{more}\n")
}

#[test]
fn a_lock_is_never_written_from_a_failed_probe_whatever_may_be_missing() {
    let project = Project::new();
    project.write("config.toml", table("good", "healthy", "") + &table("flaky", "exit-at-start", ""));
    let lock = r#"{"flaky": ["x"], "good": ["alpha"]}"#;
    project.write("mcp-tools.lock.json", lock);
    project.run(&["-c", "config.toml", "--update-lock"]).expect(78);
    assert_eq!(project.read("mcp-tools.lock.json"), lock);
}

#[test]
fn a_locked_server_that_was_not_verified_cannot_be_allowed_away() {
    let project = Project::with(&[("s", json!({ "url": "http://127.0.0.1:9/mcp" }))]).locked(&["alpha"]);
    for option in ["--allow", "--warn"] {
        project.run(&[option, "entry-invalid"]).expect(78);
    }
    for option in ["--allow", "--warn", "--deny"] {
        project.run(&["--update-lock", option, "entry-invalid"]).expect(64);
    }
    project.run(&["--update-lock", "--strict"]).expect(64);
    project.run(&["--allow", "rule-dead", "--deny", "rule-dead"]).expect(64);
}

#[test]
fn a_list_without_the_headers_of_a_helper_is_said_and_not_locked() {
    let server = HttpServer::start("healthy");
    let url = format!("http://127.0.0.1:{}/mcp", server.port);
    let project = Project::with(&[("s", json!({ "type": "http", "url": url, "headersHelper": "exit 3" }))]);
    project.write("agent.json", project.read(".mcp.json"));
    project.write("mcp-tools.lock.json", r#"{"s": ["alpha", "delta"]}"#);
    let run = project.run(&["-c", "agent.json", "-l", "mcp-tools.lock.json"]).expect(78);
    assert!(run.stdout.contains("headersHelper: it exited with status 3: that is the likely cause"), "{run}");
    project.run(&["-c", "agent.json", "-l", "new.json", "--update-lock"]).expect(78);
    assert!(!project.path("new.json").exists());
    // Nor is one that the client does not run.
    project.run(&["-l", "new.json", "--update-lock"]).expect(78);
}

#[test]
fn switching_servers_off_makes_no_lock_of_nothing() {
    let project = Project::of("healthy");
    project.write(".claude/settings.json", r#"{"disabledMcpjsonServers": ["s"]}"#);
    project.run(&["--update-lock"]).expect(78);
    let two = Project::with(&[("s", stdio("healthy")), ("t", stdio("healthy"))]);
    two.write(".claude/settings.json", r#"{"disabledMcpjsonServers": ["s"]}"#);
    two.write("mcp-tools.lock.json", r#"{"s": ["alpha"]}"#);
    let run = two.run(&["--update-lock"]).expect(0);
    assert!(run.stdout.contains("warning[server-disabled] s"), "{run}");
}

#[test]
fn what_an_entry_leaves_out_is_neither_locked_nor_asked_for() {
    let project = Project::new();
    project.write("config.toml", table("s", "healthy", "required = true\ndisabled_tools = [\"beta\"]"));
    project.run(&["-c", "config.toml", "--update-lock"]).expect(0);
    assert!(!project.read("mcp-tools.lock.json").contains("beta"));
    let run = project.run(&["-c", "config.toml", "--strict", "--format", "json"]).expect(0);
    assert_eq!(codes(&run), [""; 0]);
}

#[test]
fn an_untrusted_file_neither_hides_nor_breaks_the_persons_own() {
    let project = Project::new().env("CODEX_HOME", "");
    let home = project.path("home").display().to_string();
    let project = project.env("CODEX_HOME", &home);
    project.write("home/config.toml", table("s", "healthy", "required = true"));
    project.write("mcp-tools.lock.json", r#"{"s": ["alpha", "beta", "gamma"]}"#);
    let check = ["--client", "codex", "-l", "mcp-tools.lock.json", "--format", "json"];
    for text in ["[mcp_servers.s]\ncommand = \"/nowhere\"\n", "[mcp_servers.s\n"] {
        project.write(".codex/config.toml", text);
        assert_eq!(codes(&project.run(&check).expect(0)), ["config-ignored"]);
    }
    // Where it is trusted, it is a layer over the other.
    let folder = project.folder();
    let trust = format!("[projects.{}]\ntrust_level = \"trusted\"\n", json!(folder));
    project.write("home/config.toml", trust + &table("s", "healthy", "required = true"));
    project.write(".codex/config.toml", "[mcp_servers.s]\ndisabled_tools = [\"beta\"]\n");
    assert_eq!(codes(&project.run(&check).expect(78)), ["tools-unusable"]);
}

#[test]
fn settings_of_gemini_are_laid_over_each_other() {
    let project = Project::new();
    project.write("home/.gemini/settings.json", json!({ "mcpServers": { "s": stdio("healthy") } }).to_string());
    project.write(".gemini/settings.json", r#"{"mcp": {"excluded": ["s"]}}"#);
    project.write("mcp-tools.lock.json", r#"{"s": ["alpha"]}"#);
    let home = project.path("home").display().to_string();
    let project = project.env(crate::harness::HOME, &home);
    let run = project.run(&["--client", "gemini", "-l", "mcp-tools.lock.json", "--format", "json"]).expect(78);
    assert_eq!(codes(&run), ["server-disabled"]);
    project.write(".gemini/settings.json", b"\xef\xbb\xbf{}");
    let run = project.run(&["--client", "gemini", "-l", "mcp-tools.lock.json"]).expect(78);
    assert!(run.stderr.contains("byte order mark"), "{run}");
}

#[test]
fn a_client_of_one_era_loses_servers_of_the_other() {
    for client in ["codex", "gemini"] {
        let project = Project::new();
        project.write("config.toml", table("s", "modern-only", "required = true"));
        project.write("settings.json", json!({ "mcpServers": { "s": stdio("modern-only") } }).to_string());
        project.write("mcp-tools.lock.json", r#"{"s": ["alpha"]}"#);
        let file = if client == "codex" { "config.toml" } else { "settings.json" };
        let run = project.run(&["--client", client, "-c", file]).expect(78);
        assert!(run.stdout.contains("-32022"), "{run}");
    }
}

#[test]
fn a_server_of_this_folder_stands_before_the_projects() {
    let project = Project::of("healthy").locked(&["alpha", "beta", "gamma"]);
    let folder = project.folder();
    let local = json!({ "projects": { folder: { "mcpServers": { "s": stdio("exit-at-start") } } }, "mcpServers": { "mine": {} } });
    project.write(".claude.json", local.to_string());
    let run = project.run(&[]).expect(78);
    assert!(run.stdout.contains("error[probe-failed] s"), "{run}");
    // A server of every folder is known by name: nothing is said of its tools.
    project.write(".claude.json", json!({ "mcpServers": { "mine": {} } }).to_string());
    let run = project.run(&["--needs-from-rules", "--allowed-tools", "mcp__mine__tool mcp__s__alpha"]).expect(0);
    assert!(!run.stdout.contains("rule-dead"), "{run}");
}

#[test]
fn a_configured_server_is_looked_at_whatever_its_name_begins_with() {
    let project = Project::with(&[("plugin_report", stdio("healthy"))]);
    project.write("mcp-tools.lock.json", "{}");
    project.run(&["--needs-from-rules", "--allowed-tools", "mcp__plugin_report__gone"]).expect(78);
    project.run(&["--needs-from-rules", "--allowed-tools", "mcp__plugin_other__tool"]).expect(0);
}

#[test]
fn credentials_in_addresses_are_masked_in_every_form() {
    // A server, or a proxy, that sends back what it got.
    let server = HttpServer::start("http-echo-authorization");
    let url = format!("http://bob:${{PW}}@127.0.0.1:{}/mcp", server.port);
    let project = Project::with(&[("s", json!({ "type": "http", "url": url }))]).locked(&["alpha"]);
    let project = project.env("PW", "hunter222x");
    for options in [&["-vv"][..], &["--format", "json"][..]] {
        let run = project.run(options).expect(78);
        // bob:hunter222x
        assert!(!run.stdout.contains("Ym9iOmh1bnRlcjIyMng") && !run.stdout.contains("hunter"), "{run}");
    }
    let proxy = Proxy::start(Manner::Echo);
    for user in ["me:passphrase-1", "me:p%40ssphrase", "ghp_tokenlikevalue"] {
        let project =
            Project::with(&[("s", json!({ "type": "http", "url": "http://server.test/mcp" }))]).locked(&["alpha"]);
        let run =
            project.env("HTTP_PROXY", &format!("http://{user}@127.0.0.1:{}", proxy.port)).run(&["-vv"]).expect(78);
        assert!(run.stdout.contains("Basic ***"), "{run}");
    }
}

#[test]
fn only_servers_that_offer_something_collide() {
    let two = |other: serde_json::Value| {
        let project = Project::with(&[("a b", stdio("healthy")), ("a_b", other)]);
        project.write("mcp-tools.lock.json", r#"{"a b": ["alpha"]}"#);
        project.run(&["--optional", "a_b"])
    };
    two(json!({ "url": "http://x" })).expect(0);
    two(stdio("no-tools-capability")).expect(0);
    two(stdio("healthy")).expect(78);
}

#[test]
fn commands_in_advice_are_those_of_this_run() {
    let project = Project::new();
    project.write("my dir/m.json", json!({ "mcpServers": { "s": stdio("healthy") } }).to_string());
    project.write("l.json", "{}");
    let run = project.run(&["--client", "claude", "-c", "my dir/m.json", "-l", "l.json"]).expect(0);
    let quoted = if cfg!(windows) { "\"my dir/m.json\"" } else { "'my dir/m.json'" };
    let command = format!("`mcp-preflight --update-lock --client claude --config {quoted} --lock l.json --server=s`");
    assert!(run.stdout.contains(&command), "{run}");
    let run = project.run(&["-c", "my dir/m.json"]).expect(78);
    assert!(run.stderr.contains(&format!("`mcp-preflight --update-lock --config {quoted}`")), "{run}");
}

#[test]
fn what_is_said_of_settings_is_said_once() {
    let project = Project::of("healthy").locked(&["alpha", "beta", "gamma"]);
    project.write("below/.mcp.json", project.read(".mcp.json"));
    project.write("below/.claude/settings.json", r#"{"mcpServers": {}}"#);
    let run = project.run_in("below", &["-l", "../mcp-tools.lock.json", "--format", "json"]).expect(0);
    assert_eq!(codes(&run), ["config-ignored"]);
}

#[test]
fn a_reason_at_the_top_of_stderr_is_not_cut_off() {
    let run = Project::of("usage-after-reason").locked(&["alpha"]).run(&["-t", "60"]).expect(78);
    assert!(
        run.stdout.contains("| Error: no access token was provided") && run.stdout.contains("|   flag 40"),
        "{run}"
    );
}

#[test]
fn vs_code_falls_back_to_the_older_transport() {
    let server = HttpServer::start("sse");
    let project = Project::new().locked(&["alpha", "beta", "gamma"]);
    let entry = json!({ "type": "http", "url": format!("http://127.0.0.1:{}/sse", server.port) });
    project.write(".vscode/mcp.json", json!({ "servers": { "s": entry } }).to_string());
    project.run(&["-c", ".vscode/mcp.json", "-l", "mcp-tools.lock.json"]).expect(0);
}

/// The person's own file about the project's folder.
fn own_file(project: &Project, of_folder: &serde_json::Value, more: &str) {
    let folder = project.folder();
    project.write(".claude.json", json!({ "history": more, "projects": { folder: of_folder } }).to_string());
}

#[test]
fn a_server_that_is_switched_off_or_denied_stays_so_from_every_scope() {
    let lock = |project: Project| project.locked(&["alpha", "beta", "gamma"]);
    // A server of this folder alone takes the place of the project's, and is switched off as that one is.
    let local = lock(Project::with(&[("s", json!({ "command": "gone" }))]));
    own_file(&local, &json!({ "mcpServers": { "s": stdio("healthy") } }), "");
    local.run(&[]).expect(0);
    own_file(&local, &json!({ "mcpServers": { "s": stdio("healthy") }, "disabledMcpServers": ["s"] }), "");
    assert!(local.run(&[]).expect(78).stdout.contains("disabledMcpServers"));
    own_file(&local, &json!({ "mcpServers": { "s": stdio("healthy") } }), "");
    local.write(".claude/settings.json", r#"{"deniedMcpServers": [{"serverName": "s"}]}"#);
    assert!(local.run(&[]).expect(78).stdout.contains("deniedMcpServers"));
    // Histories make this file large.
    let large = lock(Project::of("healthy"));
    own_file(&large, &json!({ "disabledMcpServers": ["s"] }), &"x".repeat(3_000_000));
    assert!(large.run(&[]).expect(78).stdout.contains("disabledMcpServers"));
    for (settings, word) in [
        (r#"{"deniedMcpServers": [{"serverName": "s"}]}"#, "deniedMcpServers"),
        (r#"{"allowedMcpServers": [{"serverName": "t"}]}"#, "allowedMcpServers"),
    ] {
        let denied = lock(Project::of("healthy"));
        denied.write("home/settings.json", settings);
        denied.write("agent.json", denied.read(".mcp.json"));
        let home = denied.path("home").display().to_string();
        let denied = denied.env("CLAUDE_CONFIG_DIR", &home);
        assert!(denied.run(&[]).expect(78).stdout.contains(word));
        // One that is pointed to is denied as well.
        assert!(denied.run(&["-c", "agent.json", "-l", "mcp-tools.lock.json"]).expect(78).stdout.contains(word));
        denied.write(".claude/settings.json", settings);
        assert!(denied.unset("CLAUDE_CONFIG_DIR").run(&[]).expect(78).stdout.contains(word));
    }
    // The client is pointed to one of two: only what it finds by itself can be rejected.
    let two = Project::of("healthy");
    two.write("other.json", json!({ "mcpServers": { "o": stdio("healthy") } }).to_string());
    two.write(".claude/settings.json", r#"{"disabledMcpjsonServers": ["s", "o"]}"#);
    let tools = json!(["alpha", "beta", "gamma"]);
    two.write("mcp-tools.lock.json", json!({ "s": tools, "o": tools }).to_string());
    let run = two.run(&["-c", "other.json", "-c", ".mcp.json", "--format", "json"]).expect(78);
    assert_eq!(codes(&run), ["server-disabled"]);
    assert_eq!(run.json()["findings"][0]["server"], json!("s"));
}

#[test]
fn a_filter_that_lets_nothing_through_is_no_expectation() {
    let project = Project::new();
    project.write("config.toml", table("s", "healthy", "required = true\nenabled_tools = [\"gone\"]"));
    let run = project.run(&["-c", "config.toml", "--update-lock"]).expect(78);
    assert!(run.stdout.contains("its entry lets through nothing"), "{run}");
    assert!(!project.path("mcp-tools.lock.json").exists());
}

#[test]
fn a_lock_that_was_named_has_to_be_there_and_needs_have_to_be_some() {
    let project = Project::of("healthy");
    project.run(&["--needs-from-rules", "-l", "gone.json", "--allowed-tools", "mcp__s__alpha"]).expect(78);
    project.run(&["--needs-from-rules"]).expect(78);
    project.run(&["--needs-from-rules", "--allowed-tools", "mcp__s__alpha"]).expect(0);
}

#[test]
fn annotations_name_files_from_the_root_of_the_repository() {
    let project = Project::new();
    project.write("sub/.mcp.json", json!({ "mcpServers": { "s": stdio("exit-at-start") } }).to_string());
    project.write("sub/mcp-tools.lock.json", r#"{"s": ["a"]}"#);
    let root = project.folder();
    let project = project.env("GITHUB_WORKSPACE", &root);
    let run = project.run_in("sub", &["--format", "github"]).expect(78);
    assert!(run.stdout.contains("::error file=sub/.mcp.json,line=1,"), "{run}");
    let run = project.run_in("sub", &["--format", "sarif"]).expect(78);
    let place = &run.json()["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert_eq!(place, &json!("sub/.mcp.json"));
}

#[test]
fn names_cannot_break_a_report_or_a_commit_message() {
    let name = "a\nSigned-off-by: x\u{ffff}\u{fdd0}";
    let project = Project::with(&[(name, stdio("healthy"))]);
    let run = project.run(&["--update-lock"]).expect(0);
    let message = run.stdout.lines().find(|line| line.contains("Lock MCP tools:")).unwrap_or_else(|| panic!("{run}"));
    assert!(message.contains("a\\u{a}Signed-off-by") || message.contains("a\\nSigned-off-by"), "{run}");
    project.write("mcp-tools.lock.json", json!({ name: ["gone"] }).to_string());
    let run = project.run(&["--format", "junit"]).expect(78);
    // XML 1.0, section 2.2.
    let is_character =
        |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    assert!(run.stdout.chars().all(is_character), "{run}");
}

#[test]
fn a_list_that_only_javascript_reads_is_read_and_said() {
    let of = |name| Project::of(name).locked(&["alpha", "beta", "gamma"]).run(&["--format", "json"]);
    assert_eq!(codes(&of("half-character").expect(0)), ["protocol-deviation"]);
    // It is read, and becomes what the client's schema does not allow.
    assert!(codes(&of("boundless-number").expect(78)).contains(&"tools-unusable".to_owned()));
    // With Codex it is the other way round.
    for (name, code) in [("half-character", 78), ("boundless-number", 0)] {
        let project = Project::new().locked(&["alpha"]);
        project.write("config.toml", table("s", name, "required = true"));
        let run = project.run(&["-c", "config.toml", "-l", "mcp-tools.lock.json"]).expect(code);
        assert_eq!(run.stdout.contains("tools-unusable"), code == 78, "{run}");
    }
}

#[test]
fn what_else_a_persons_file_holds_costs_nothing() {
    let project = Project::of("healthy").locked(&["alpha", "beta", "gamma"]);
    let folder = project.folder();
    let own = json!({ folder: { "disabledMcpServers": ["s"] } });
    for beside in [r#""h": "cut \ud83d""#, r#""a": 1, "a": 2"#, r#""n": 1e999"#] {
        project.write(".claude.json", format!(r#"{{"projects": {own}, {beside}}}"#));
        assert!(project.run(&[]).expect(78).stdout.contains("disabledMcpServers"), "{beside}");
        project.write(".claude.json", "{}");
        project.write(".claude/settings.json", format!(r#"{{{beside}, "deniedMcpServers": [{{"serverName": "s"}}]}}"#));
        assert!(project.run(&[]).expect(78).stdout.contains("deniedMcpServers"), "{beside}");
        project.write(".claude/settings.json", "{}");
    }
    // The last of two counts, and what cannot be read is said whatever the configuration.
    project.write(".claude/settings.json", r#"{"deniedMcpServers": [{"serverName": "s"}], "deniedMcpServers": []}"#);
    project.run(&[]).expect(0);
    project.write("agent.json", project.read(".mcp.json"));
    project.write(".claude/settings.json", r#"{"deniedMcpServers": [{"serverName": "s"}]"#);
    let run = project.run(&["-c", "agent.json", "-l", "mcp-tools.lock.json", "--format", "json"]).expect(0);
    assert_eq!(codes(&run), ["config-ignored"]);
}
