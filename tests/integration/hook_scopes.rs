//! Which entry the guard executes: the one the client itself runs, and none that is in doubt.

use serde_json::{Value, json};

use crate::harness::{Project, Run, stdio};
use crate::hook::{event, records, session, starts};

fn call(project: &Project, name: &str, server: &str, source: &str) -> Run {
    project.run_with(&["hook"], event(name, server, source, "").as_bytes())
}

fn own_file(project: &Project, servers: &Value, projects: &Value) {
    project.write("home/.claude.json", json!({ "mcpServers": servers, "projects": projects }).to_string());
}

fn folder(project: &Project) -> String {
    project.path("").canonicalize().expect("a folder").display().to_string()
}

#[test]
fn the_scope_that_the_client_names_decides() {
    let project = session(&[("s", json!({ "command": "./of-project" }))]);
    let local = json!({ folder(&project): { "mcpServers": { "s": { "command": "./of-local" } } } });
    own_file(&project, &json!({ "s": { "command": "./of-user" } }), &local);
    for scope in ["project", "local", "user"] {
        let run = call(&project, "before", "s", scope).expect(2);
        assert!(run.stderr.contains(&format!("./of-{scope}")), "{run}");
    }
    // One of each scope is known, and none takes another's place.
    let text = project.read("home/.claude/mcp-health-cache.json");
    assert_eq!(text.matches("\"server\": \"s\"").count(), 3, "{text}");
    let run = call(&project, "before", "t", "user").expect(0);
    assert!(run.stderr.contains(".claude.json has it not, in the scope \"user\""), "{run}");
}

/// Seen on the client: what a person's file says of a folder, it says by the root of the repository.
#[test]
fn a_folder_is_known_by_the_root_of_its_repository() {
    let project = session(&[]);
    std::fs::create_dir_all(project.path(".git")).expect("a folder");
    std::fs::create_dir_all(project.path("sub")).expect("a folder");
    let entry = |name: &str| json!({ "mcpServers": { "s": { "command": name } } });
    let root = folder(&project);
    own_file(
        &project,
        &json!({}),
        &json!({ root.clone(): entry("./of-root"), format!("{root}/sub"): entry("./of-sub") }),
    );
    let project = project.env("CLAUDE_PROJECT_DIR", &format!("{root}/sub"));
    assert!(call(&project, "before", "s", "local").expect(2).stderr.contains("./of-root"));
    // A worktree of it, too; a submodule is a repository of its own.
    project.write("tree/.git", format!("gitdir: {root}/.git/worktrees/tree\n"));
    let stranger = project.env("CLAUDE_PROJECT_DIR", &format!("{root}/tree"));
    assert!(call(&stranger, "before", "s", "local").expect(0).stderr.contains("has it not, in the scope"));
    let project = stranger;
    project.write(".git/HEAD", "ref: refs/heads/main\n");
    std::fs::create_dir_all(project.path(".git/objects")).expect("a folder");
    project.write(".git/worktrees/tree/gitdir", format!("{root}/tree/.git\n"));
    project.write(".git/worktrees/tree/commondir", "../..\n");
    project.write("sub/module/.git", "gitdir: ../../.git/modules/module\n");
    let project = project.env("CLAUDE_PROJECT_DIR", &format!("{root}/tree"));
    assert!(call(&project, "before", "s", "local").expect(2).stderr.contains("./of-root"));
    // Newer versions of git write the way relatively.
    project.write("tree/.git", "gitdir: ../.git/worktrees/tree\n");
    project.write(".git/worktrees/tree/gitdir", "../../../tree/.git\n");
    assert!(call(&project, "before", "s", "local").expect(2).stderr.contains("./of-root"));
    let project = project.env("CLAUDE_PROJECT_DIR", &format!("{root}/sub/module"));
    assert!(call(&project, "before", "s", "local").expect(0).stderr.contains("has it not, in the scope"));
}

/// In CI the client starts a project's servers in folders that nobody has trusted, and says so.
#[test]
fn without_a_scope_a_projects_server_is_executed_only_where_somebody_approved_it() {
    let project = session(&[("s", stdio("healthy"))]);
    let run = call(&project, "before-2.1.273", "s", "").expect(0);
    assert!(run.stderr.contains("nobody has approved it here"), "{run}");
    assert_eq!(starts(&project), 0);
    // What a project says of itself counts where the folder is trusted.
    project.write(".claude/settings.json", json!({ "enableAllProjectMcpServers": true }).to_string());
    call(&project, "before-2.1.273", "s", "").expect(0);
    assert_eq!(starts(&project), 0);
    let trusted =
        json!({ project.path("").display().to_string().trim_end_matches('/'): { "hasTrustDialogAccepted": true } });
    own_file(&project, &json!({}), &trusted);
    call(&project, "before-2.1.273", "s", "").expect(0);
    assert_eq!(starts(&project), 1);
    project.run(&["hook", "--reset"]).expect(0);
    // A person's own word counts everywhere, and only for the exact name.
    own_file(&project, &json!({}), &json!({}));
    for (name, started) in [("S", 1), ("s", 2)] {
        project.write("home/.claude/settings.json", json!({ "enabledMcpjsonServers": [name] }).to_string());
        call(&project, "before-2.1.273", "s", "").expect(0);
        assert_eq!(starts(&project), started);
    }
}

#[test]
fn without_a_scope_the_clients_precedence_decides() {
    let project = session(&[("s", json!({ "command": "./of-project" }))]);
    let settings = |text: Value| project.write("home/.claude/settings.json", text.to_string());
    settings(json!({ "enabledMcpjsonServers": ["s"] }));
    let user = json!({ "s": { "command": "./of-user" } });
    let local = json!({ folder(&project): { "mcpServers": { "s": { "command": "./of-local" } } } });
    let expect = |part: &str| {
        let run = call(&project, "before-2.1.273", "s", "").expect(2);
        assert!(run.stderr.contains(part), "{run}");
    };
    own_file(&project, &user, &local);
    expect("./of-local");
    own_file(&project, &user, &json!({}));
    expect("./of-project");
    // One that is rejected leaves the place to the next.
    settings(json!({ "disabledMcpjsonServers": ["s"] }));
    expect("./of-user");
}

#[test]
fn a_name_that_may_mean_two_servers_is_a_doubt() {
    let project = session(&[]);
    own_file(
        &project,
        &json!({ "a": stdio("healthy"), "a__b": stdio("healthy"), "x.y": stdio("healthy"), "x_y": stdio("healthy") }),
        &json!({}),
    );
    for server in ["a__b", "x.y"] {
        let run = call(&project, "before-2.1.273", server, "").expect(0);
        assert!(run.stderr.contains(" or ") && run.stderr.contains("may be a tool of"), "{run}");
    }
    assert_eq!(starts(&project), 0);
    call(&project, "before", "x.y", "user").expect(0);
    assert_eq!(records(&project).keys().collect::<Vec<_>>(), ["x.y"]);
}

#[test]
fn servers_of_the_command_line_are_found_where_they_were_named() {
    let project = session(&[]);
    let run = call(&project, "before", "s", "dynamic").expect(0);
    assert!(run.stderr.contains("--mcp-config") && run.stderr.contains("MCP_PREFLIGHT_CONFIG_PATH"), "{run}");
    project.write("agent.json", json!({ "mcpServers": { "s": { "command": "./of-agent" } } }).to_string());
    let named = project.run_with(&["hook", "--config", "agent.json"], event("before", "s", "dynamic", "").as_bytes());
    assert!(named.expect(2).stderr.contains("./of-agent"));
    project.run(&["hook", "--reset"]).expect(0);
    let project = project.env("ECC_MCP_CONFIG_PATH", "missing.json:agent.json");
    let run = call(&project, "before", "s", "dynamic").expect(2);
    assert!(run.stderr.contains("./of-agent") && run.stderr.contains("missing.json"), "{run}");
}

/// Seen on the client: a worktree of a bare repository is known by that.
#[test]
fn a_worktree_of_a_bare_repository_is_known_by_that() {
    let project = session(&[]);
    let root = folder(&project);
    for (name, text) in [("HEAD", "ref: refs/heads/main\n"), ("worktrees/tree/commondir", "../..\n")] {
        project.write(&format!("hub.git/{name}"), text);
    }
    std::fs::create_dir_all(project.path("hub.git/objects")).expect("a folder");
    project.write("hub.git/worktrees/tree/gitdir", format!("{root}/tree/.git\n"));
    project.write("tree/.git", format!("gitdir: {root}/hub.git/worktrees/tree\n"));
    own_file(
        &project,
        &json!({}),
        &json!({ format!("{root}/hub.git"): { "mcpServers": { "s": { "command": "./of-hub" } } } }),
    );
    let project = project.env("CLAUDE_PROJECT_DIR", &format!("{root}/tree"));
    assert!(call(&project, "before", "s", "local").expect(2).stderr.contains("./of-hub"));
}

/// Seen on the client: of the root of a repository it reads the settings that are one person's alone, wherever below it is started.
#[test]
fn settings_of_the_repositorys_root_are_the_projects_too() {
    let project = session(&[]);
    std::fs::create_dir_all(project.path(".git")).expect("a folder");
    project.write("sub/.mcp.json", json!({ "mcpServers": { "s": { "command": "./nope" } } }).to_string());
    project.write(
        ".claude/settings.local.json",
        r#"{"env": {"MCP_PREFLIGHT_RECONNECT_COMMAND": "touch ran"}, "disabledMcpjsonServers": ["s"]}"#,
    );
    let gate = project.run_in("sub", &["tools"]).expect(0);
    assert!(gate.stdout.contains("s (skipped)"), "{gate}");
    let sub = format!("{}/sub", folder(&project));
    let project = project.env("CLAUDE_PROJECT_DIR", &sub).env("MCP_PREFLIGHT_RECONNECT_COMMAND", "touch ran");
    let run = call(&project, "before", "s", "project").expect(2);
    assert!(run.stderr.contains("passed over: MCP_PREFLIGHT_RECONNECT_COMMAND"), "{run}");
    assert!(!project.path("ran").exists() && !project.path("sub/ran").exists());
}

/// The client expands with the values it was started with.
#[test]
fn an_entry_whose_variables_the_project_has_overwritten_is_a_doubt() {
    let server = crate::harness::HttpServer::start("healthy");
    let project = session(&[]);
    let url = format!("${{API_BASE:-http://127.0.0.1:9}}/mcp?{}", server.port);
    own_file(&project, &json!({ "s": { "type": "http", "url": url, "headers": { "X": "${TOKEN}" } } }), &json!({}));
    let base = format!("http://127.0.0.1:{}", server.port);
    project.write(".claude/settings.json", json!({ "env": { "API_BASE": base } }).to_string());
    let project = project.env("API_BASE", &base).env("TOKEN", "secret-of-the-person");
    let run = call(&project, "before", "s", "user").expect(0);
    assert!(run.stderr.contains("the project's settings set API_BASE"), "{run}");
    assert!(server.requests().is_empty());
}

/// A folder that somebody downloaded, below one that somebody trusts.
#[test]
fn a_checkout_cannot_claim_to_be_part_of_another() {
    let project = session(&[]);
    let root = folder(&project);
    let approved = json!({ "enableAllProjectMcpServers": true, "mcpServers": { "of-root": stdio("healthy") } });
    own_file(&project, &json!({}), &json!({ root.clone(): approved.clone(), format!("{root}/repo"): approved }));
    for (checkout, pointer) in [("proj", "worktrees/c"), ("worktrees/evil", "../../repo/../worktrees/evil")] {
        project.write(&format!("{checkout}/.git"), format!("gitdir: {pointer}\n"));
        for at in [format!("{checkout}/worktrees/c"), checkout.to_owned(), format!("{checkout}/{pointer}")] {
            project.write(&format!("{at}/gitdir"), format!("{root}/{checkout}/.git\n"));
            project.write(&format!("{at}/commondir"), "../..\n");
        }
        project.write(&format!("{checkout}/.mcp.json"), json!({ "mcpServers": { "s": stdio("healthy") } }).to_string());
        let project = session_in(&project, checkout);
        project.run_with(&event("session-start", "", "", ""));
        project.run_with(&event("before-2.1.273", "s", "", ""));
        project.run_with(&event("before", "of-root", "local", ""));
        assert_eq!(starts(project.project), 0, "{checkout} {pointer}");
    }
}

/// The same session, started in a folder below.
struct Below<'a> {
    project: &'a Project,
    folder: String,
}

fn session_in<'a>(project: &'a Project, folder: &str) -> Below<'a> {
    Below { project, folder: project.path(folder).display().to_string() }
}

impl Below<'_> {
    fn run_with(&self, input: &str) {
        let mut command = self.project.command(&["hook"]);
        command.env("CLAUDE_PROJECT_DIR", &self.folder).current_dir(&self.folder).stdin(std::process::Stdio::piped());
        let mut child = command.stderr(std::process::Stdio::null()).spawn().expect("the binary");
        std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), input.as_bytes()).expect("written");
        assert!(child.wait().expect("an end").success());
    }
}

/// The client makes texts of other values, and reads what other readers do not (seen on 2.1.332).
#[test]
fn a_projects_settings_count_in_whatever_form_the_client_reads_them() {
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let large = " ".repeat(65 * 1024 * 1024);
    for settings in [
        r#"{"env": {"MCP_PREFLIGHT_RECONNECT_COMMAND": ["touch ran"]}}"#.to_owned(),
        format!(r#"{{"x": {deep}, "env": {{"MCP_PREFLIGHT_RECONNECT_COMMAND": "touch ran"}}}}"#),
        format!(r#"{{"env": {{"MCP_PREFLIGHT_RECONNECT_COMMAND": "touch ran"}}}}{large}"#),
    ] {
        let project =
            session(&[("s", json!({ "command": "./nope" }))]).env("MCP_PREFLIGHT_RECONNECT_COMMAND", "touch ran");
        project.write(".claude/settings.json", settings);
        let run = call(&project, "before", "s", "project").expect(2);
        assert!(
            run.stderr.contains("passed over: MCP_PREFLIGHT_RECONNECT_COMMAND") && !project.path("ran").exists(),
            "{run}"
        );
    }
    let open = session(&[("s", json!({ "command": "./nope" }))]).env("MCP_PREFLIGHT_HEALTH_FAIL_OPEN", "true");
    open.write(".claude/settings.json", r#"{"env": {"MCP_PREFLIGHT_HEALTH_FAIL_OPEN": true}}"#);
    call(&open, "before", "s", "project").expect(2);
}

#[test]
fn a_projects_path_finds_no_program_for_the_person() {
    let project = session(&[("s", json!({ "command": "./nope" }))]);
    project.write("bin/restart-it", "#!/bin/sh\ntouch ran\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(project.path("bin/restart-it"), mode).expect("a mode");
    project.write(".claude/settings.json", r#"{"env": {"PATH": "bin"}}"#);
    let path = format!("{}:/usr/bin:/bin", project.path("bin").display());
    let project = project.env("PATH", &path).env("MCP_PREFLIGHT_RECONNECT_COMMAND", "restart-it {server}");
    let run = call(&project, "before", "s", "project").expect(2);
    assert!(run.stderr.contains("name this one by its whole path") && !project.path("ran").exists(), "{run}");
}

/// The scope decides, also against a file that the person named.
#[test]
fn a_named_file_stands_in_for_no_other_scope() {
    let project = session(&[("s", json!({ "command": "./of-project" }))]);
    project.write(
        "agent.json",
        json!({ "mcpServers": { "s": { "command": "./of-agent" }, "p": { "command": "./of-agent" } } }).to_string(),
    );
    for (server, scope, expected) in
        [("s", "project", "./of-project"), ("s", "dynamic", "./of-agent"), ("p", "plugin", "./of-agent")]
    {
        let input = event("before", server, scope, "");
        let run = project.run_with(&["hook", "--config", "agent.json"], input.as_bytes()).expect(2);
        assert!(run.stderr.contains(expected), "{scope}: {run}");
    }
}

/// A project's settings reach every program that the client starts.
#[test]
fn what_a_projects_settings_put_into_the_environment_is_not_the_persons_word() {
    let project = session(&[("s", json!({ "command": "./nope" }))]);
    let evil = project.path(".claude").display().to_string();
    let variables = json!({ "MCP_PREFLIGHT_RECONNECT_COMMAND": "touch ran", "CLAUDE_CONFIG_DIR": evil, "MCP_PREFLIGHT_HEALTH_FAIL_OPEN": "1" });
    project.write(".claude/settings.json", json!({ "env": variables, "enableAllProjectMcpServers": true }).to_string());
    project.write(".claude/.claude.json", json!({ "mcpServers": { "evil": stdio("healthy") } }).to_string());
    let project = project.env("MCP_PREFLIGHT_RECONNECT_COMMAND", "touch ran").env("CLAUDE_CONFIG_DIR", &evil);
    let project = project.env("MCP_PREFLIGHT_HEALTH_FAIL_OPEN", "1");
    let run = call(&project, "before", "s", "project").expect(2);
    assert!(
        run.stderr.contains("passed over: MCP_PREFLIGHT_HEALTH_FAIL_OPEN")
            || run.stderr.contains("passed over: MCP_PREFLIGHT_RECONNECT_COMMAND"),
        "{run}"
    );
    assert!(!project.path("ran").exists());
    // Nor does it say where the person's own files are.
    assert!(
        project.path("home/.claude/mcp-health-cache.json").exists()
            && !project.path(".claude/mcp-health-cache.json").exists()
    );
    for (name, server) in [("before-2.1.273", "s"), ("before-2.1.273", "evil")] {
        project.run(&["hook", "--reset"]).expect(0);
        call(&project, name, server, "").expect(0);
    }
    assert_eq!(starts(&project), 0);
}

#[test]
fn a_session_that_walked_away_is_guarded_where_it_was_started() {
    let project = session(&[("s", json!({ "command": "./server.sh" }))]);
    project.write(
        "server.sh",
        format!("#!/bin/sh\nexec {} stdio {}\n", crate::harness::fake_server(), crate::harness::scenario("healthy")),
    );
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(project.path("server.sh"), mode).expect("a mode");
    std::fs::create_dir_all(project.path("away")).expect("a folder");
    let mut command = project.command(&["hook"]);
    command.current_dir(project.path("away")).stdin(std::process::Stdio::piped());
    let mut child =
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().expect("the binary");
    let mut stdin = child.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut stdin, event("before", "s", "project", "").as_bytes()).expect("written");
    drop(stdin);
    Run::of(&child.wait_with_output().expect("an end")).expect(0);
    assert_eq!(starts(&project), 1);
}
