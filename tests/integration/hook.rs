//! The guard: events in, answers out, and what is remembered between them.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{HttpServer, Project, Run, fake_server, scenario, stdio};

/// A real event of the client's, filled in.
pub(crate) fn event(name: &str, server: &str, source: &str, error: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/hook").join(format!("{name}.json"));
    let text = std::fs::read_to_string(path).expect("an event");
    let prefix: String = server.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
    let quoted = |text: &str| json!(text).to_string().trim_matches('"').to_owned();
    text.replace("@SERVER@", &quoted(server))
        .replace("@PREFIX@", &prefix)
        .replace("@SOURCE@", source)
        .replace("@ERROR@", &quoted(error))
        .replace("@FOLDER@", "/nowhere")
}

/// A project whose hook runs as the client runs it, with a log of every server that was started.
pub(crate) fn session(servers: &[(&str, Value)]) -> Project {
    let project = Project::with(servers);
    let folder = project.path("").display().to_string();
    let log = project.path("starts.log").display().to_string();
    let home = project.path("home").display().to_string();
    std::fs::create_dir_all(&home).expect("a folder");
    project.env("CLAUDE_PROJECT_DIR", &folder).env("FAKE_SERVER_LOG", &log).env("HOME", &home)
}

/// How often a server of the session was started.
pub(crate) fn starts(project: &Project) -> usize {
    let log = std::fs::read_to_string(project.path("starts.log")).unwrap_or_default();
    log.lines().filter(|line| line.contains("\"started\"")).count()
}

pub(crate) fn before(project: &Project, server: &str, arguments: &[&str]) -> Run {
    let arguments: Vec<&str> = std::iter::once("hook").chain(arguments.iter().copied()).collect();
    project.run_with(&arguments, event("before", server, "project", "").as_bytes())
}

fn failed(project: &Project, server: &str, error: &str) -> Run {
    project.run_with(&["hook"], event("failed", server, "project", error).as_bytes()).expect(0)
}

/// The records, by server.
pub(crate) fn records(project: &Project) -> BTreeMap<String, Value> {
    let path = project.path("home/.claude/mcp-health-cache.json");
    let text = std::fs::read_to_string(path).expect("records");
    let file: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(file["version"], 1);
    let servers = file["servers"].as_object().expect("servers");
    servers.values().map(|entry| (entry["server"].as_str().expect("a name").to_owned(), entry.clone())).collect()
}

/// Rewrites a record, as time or somebody else would.
fn change(project: &Project, server: &str, change: impl Fn(&mut Value)) {
    let name = "home/.claude/mcp-health-cache.json";
    let mut file: Value = serde_json::from_str(&project.read(name)).expect("JSON");
    for entry in file["servers"].as_object_mut().expect("servers").values_mut() {
        if entry["server"] == server {
            change(entry);
        }
    }
    project.write(name, file.to_string());
}

fn dead() -> Value {
    json!({ "command": "./no-such-program" })
}

#[test]
fn a_healthy_server_is_asked_once_in_two_minutes() {
    let project = session(&[("s", stdio("healthy"))]);
    for _ in 0..3 {
        let run = before(&project, "s", &[]).expect(0);
        assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
    }
    assert_eq!(starts(&project), 1);
    let record = &records(&project)["s"];
    let times = |name: &str| record[name].as_u64().expect("a time");
    assert_eq!(record["status"], "healthy");
    assert_eq!(times("expiresAt") - times("checkedAt"), 120_000);
    assert!(record["source"].as_str().is_some_and(|source| source.ends_with("/.mcp.json")));
    // Two minutes later.
    change(&project, "s", |record| record["expiresAt"] = record["checkedAt"].clone());
    before(&project, "s", &[]).expect(0);
    assert_eq!(starts(&project), 2);
}

#[test]
fn a_dead_server_blocks_with_one_line_and_is_left_alone() {
    let project = session(&[("s", stdio("exit-at-start"))]);
    let first = before(&project, "s", &[]).expect(2);
    let asked = starts(&project);
    let second = before(&project, "s", &[]).expect(2);
    assert_eq!(starts(&project), asked, "it was asked again before its time");
    for run in [&first, &second] {
        assert_eq!((run.stdout.as_str(), run.stderr.lines().count()), ("", 1), "{run}");
        for part in
            ["MCP server \"s\" is down since ", " UTC (", "exited", "blocked until ", "do not retry before then"]
        {
            assert!(run.stderr.contains(part), "{part:?} is missing: {run}");
        }
    }
    let record = &records(&project)["s"];
    let wait = record["nextRetryAt"].as_u64().expect("a time") - record["checkedAt"].as_u64().expect("a time");
    assert!((27_000..=30_000).contains(&wait), "{record}");
    assert_eq!((&record["status"], &record["failureCount"]), (&json!("unhealthy"), &json!(1)));
    // Its time has come, and it is still down.
    change(&project, "s", |record| record["nextRetryAt"] = json!(1));
    before(&project, "s", &[]).expect(2);
    let record = &records(&project)["s"];
    let wait = record["nextRetryAt"].as_u64().expect("a time") - record["checkedAt"].as_u64().expect("a time");
    assert!((54_000..=60_000).contains(&wait), "{record}");
    assert_eq!(record["failureCount"], 2);
}

#[test]
fn a_server_that_is_back_is_let_through_by_the_first_probe() {
    let entry = json!({ "command": "sh", "args": ["-c", format!("test -e up && exec {} stdio {}", fake_server(), scenario("healthy"))] });
    let project = session(&[("s", entry)]);
    before(&project, "s", &[]).expect(2);
    project.write("up", "");
    before(&project, "s", &[]).expect(2);
    change(&project, "s", |record| record["nextRetryAt"] = json!(1));
    before(&project, "s", &[]).expect(0);
    let record = &records(&project)["s"];
    assert_eq!((&record["status"], &record["failureCount"]), (&json!("healthy"), &json!(0)));
    assert_eq!(record["lastRestoredAt"], record["checkedAt"]);
    // What it failed with stays readable.
    assert!(record["lastError"].as_str().is_some_and(|error| error.contains("exited")), "{record}");
}

#[test]
fn a_mended_entry_is_another_server() {
    let project = session(&[("s", dead())]);
    before(&project, "s", &[]).expect(2);
    project.write(".mcp.json", json!({ "mcpServers": { "s": stdio("healthy") } }).to_string());
    before(&project, "s", &[]).expect(0);
}

/// `clients.md` section 4, (a) to (g): what went wrong with the hook that this one replaces.
#[test]
fn no_fault_of_the_former_hook_is_possible() {
    let named = HttpServer::start("credential-http");
    let web = json!({ "type": "http", "url": "http://127.0.0.1:${PORT}/mcp", "headers": { "Authorization": "Bearer ${REPORT_API_TOKEN}" } });
    let sleeping = json!({ "command": "sleep", "args": ["60"] });
    let project = session(&[("dead", dead()), ("sleeping", sleeping), ("web", web), ("my.server", dead())]);
    let project = project.env("PORT", &named.port.to_string()).env("REPORT_API_TOKEN", "t");
    // (a) The server is an object; (c) a process that only stays alive is not healthy.
    assert!(before(&project, "dead", &[]).expect(2).stderr.contains("no such file"));
    assert!(before(&project, "sleeping", &["-t", "0.3"]).expect(2).stderr.contains("timeout"));
    // (b) The event names itself.
    failed(&project, "web", "Error POSTing to endpoint: Too Many Requests");
    assert_eq!(records(&project)["web"]["lastFailureCode"], 429);
    project.run(&["hook", "--reset", "web"]).expect(0);
    // (d) The tool's input hijacks nothing.
    let bash = project.run_with(&["hook"], event("before-bash", "dead", "", "").as_bytes()).expect(0);
    assert_eq!(bash.stderr, "");
    // (e) Variables are expanded as the client expands them.
    before(&project, "web", &[]).expect(0);
    let header =
        |request: &Value| request["headers"]["authorization"] == "Bearer t" || request.to_string().contains("Bearer t");
    assert!(named.requests().iter().any(header), "{:?}", named.requests());
    // (f) A name is found however the client writes it; (g) a workspace's server is asked, not refused.
    project.write("home/.claude/settings.json", json!({ "enableAllProjectMcpServers": true }).to_string());
    let old = |server: &str| project.run_with(&["hook"], event("before-2.1.273", server, "", "").as_bytes());
    assert!(old("my.server").expect(2).stderr.contains("\"my.server\""));
    old("web").expect(0);
}

#[test]
fn the_answer_is_json_where_that_was_asked_for() {
    let project = session(&[("dead", dead()), ("s", stdio("healthy"))]);
    let run = before(&project, "dead", &["--json"]).expect(0);
    let output = &run.json()["hookSpecificOutput"];
    assert_eq!((&output["hookEventName"], &output["permissionDecision"]), (&json!("PreToolUse"), &json!("deny")));
    assert!(
        output["permissionDecisionReason"].as_str().is_some_and(|reason| reason.contains("\"dead\" is down since"))
    );
    assert_eq!(run.stderr, "");
    // `allow` would spare the call the client's own question.
    assert_eq!(before(&project, "s", &["--json"]).expect(0).stdout, "");
}

#[test]
fn nothing_is_blocked_where_only_watching_was_asked_for() {
    let by_variable = session(&[("dead", dead())]).env("ECC_MCP_HEALTH_FAIL_OPEN", "1");
    for (project, arguments) in [(session(&[("dead", dead())]), &["--fail-open"][..]), (by_variable, &[])] {
        let run = before(&project, "dead", arguments).expect(0);
        assert!(run.stderr.contains("fail open") && run.stderr.contains("is down since"), "{run}");
        assert_eq!(records(&project)["dead"]["status"], "unhealthy");
    }
}

fn records_exist(project: &Project) -> bool {
    project.path("home/.claude/mcp-health-cache.json").exists()
}

#[test]
fn what_the_guard_cannot_do_lets_the_call_through_and_is_said() {
    let project = session(&[("s", stdio("healthy"))]);
    let broken = session(&[]);
    broken.write(".mcp.json", "{\"mcpServers\": {\"s\": ");
    let call = event("before", "s", "project", "");
    for (project, arguments, input, said) in [
        (&project, &["hook"][..], "", "no event"),
        (&project, &["hook"], "nonsense", "no event"),
        (&project, &["hook"], "{\"tool_name\": \"mcp__s__t\"}", "hook_event_name"),
        (&project, &["hook", "--nonsense"], &call, "--nonsense"),
        (&project, &["-v", "hook", "--nonsense"], &call, "--nonsense"),
        (&project, &["--timeout", "2", "hook", "--nonsense"], &call, "--nonsense"),
        (&project, &["hook", "--lock", "x"], &call, "--lock"),
        (&project, &["hook", "--timeout", "soon"], &call, "soon"),
        (&project, &["hook", "--strict"], &call, "--strict"),
        (&broken, &["hook"], &call, ".mcp.json:1:"),
        (&project, &["hook"], &event("before", "gone", "project", ""), "or above has it"),
    ] {
        let run = project.run_with(arguments, input.as_bytes()).expect(0);
        assert!(run.stdout.is_empty() && run.stderr.contains(said), "{said:?} is missing: {run}");
        let closed: Vec<&str> = arguments.iter().copied().chain(["--fail-closed"]).collect();
        let run = project.run_with(&closed, input.as_bytes()).expect(2);
        assert!(run.stderr.contains("--fail-closed") && run.stderr.contains(said), "{run}");
    }
    // A configuration that is not there is said, although the server is found without it.
    let run = before(&project, "s", &["--config", "typo.json"]).expect(0);
    assert!(run.stderr.contains("typo.json"), "{run}");
}

#[test]
fn input_of_any_size_is_read() {
    let project = session(&[("dead", dead())]);
    let long = "x".repeat(5_000_000);
    let text = event("before", "dead", "project", "").replace("\"server\": \"x\"", &format!("\"text\": \"{long}\""));
    assert!(text.len() > 5_000_000);
    project.run_with(&["hook"], text.as_bytes()).expect(2);
}

#[test]
fn a_failed_call_is_recorded_by_its_kind() {
    let web = HttpServer::start("healthy");
    let url = format!("http://127.0.0.1:{}/mcp", web.port);
    let servers = [("s", stdio("healthy")), ("dead", dead()), ("web", json!({ "type": "http", "url": url }))];
    let project = session(&servers);
    // A quota is not seen by a probe: the words of the endpoint count.
    failed(&project, "web", "Error POSTing to endpoint: Too Many Requests (retry after 40 seconds)");
    let record = &records(&project)["web"];
    let wait = record["nextRetryAt"].as_u64().expect("a time") - record["checkedAt"].as_u64().expect("a time");
    assert_eq!((wait, &record["lastFailureCode"]), (40_000, &json!(429)));
    assert!(before(&project, "web", &[]).expect(2).stderr.contains("limits its rate"));
    project.run(&["hook", "--reset"]).expect(0);
    // A connection that broke may be there again: the server itself is asked.
    failed(&project, "s", "Connection closed");
    assert_eq!((&records(&project)["s"]["status"], starts(&project)), (&json!("healthy"), 1));
    assert_eq!(records(&project)["s"]["lastError"], "Connection closed");
    assert_eq!(records(&project)["s"]["lastFailureCode"], "transport");
    failed(&project, "dead", "Connection closed");
    assert_eq!(records(&project)["dead"]["lastFailureCode"], "spawn");
    // A tool's own words are none of the server's: it is asked at most.
    for (asked, error) in
        ["upstream said 403 Forbidden", "429 Too Many Requests for https://x (retry-after: 3600)", "503 tests failed"]
            .iter()
            .enumerate()
    {
        failed(&project, "s", error);
        assert_eq!((&records(&project)["s"]["status"], starts(&project)), (&json!("healthy"), asked + 2), "{error}");
    }
    let asked = starts(&project);
    failed(&project, "s", "no such file");
    assert_eq!(starts(&project), asked);
    before(&project, "s", &[]).expect(0);
}

/// Nobody can ask such a server, so that only what the client itself says counts.
#[test]
fn a_plugins_own_words_block_nothing() {
    let project = session(&[]);
    for error in [
        "connect ECONNREFUSED 127.0.0.1:5432",
        "fetch failed",
        "Unable to connect to database prod",
        "429 Too Many Requests",
        "503 Service Unavailable",
    ] {
        project.run_with(&["hook"], event("failed", "plugin:a:b", "plugin", error).as_bytes()).expect(0);
        project.run_with(&["hook"], event("before", "plugin:a:b", "plugin", "").as_bytes()).expect(0);
    }
}

#[test]
fn a_remote_tools_own_words_block_nothing() {
    let web = HttpServer::start("healthy");
    let entry = json!({ "type": "http", "url": format!("http://127.0.0.1:{}/mcp", web.port), "headers": { "Authorization": "Bearer literal-token" } });
    let project = session(&[("web", entry)]);
    for error in [
        "403 Forbidden",
        "HTTP 403 Forbidden: you may not read repo x/y",
        "Error: HTTP 503 Service Unavailable",
        "status 401: token for jira is invalid",
    ] {
        failed(&project, "web", error);
        before(&project, "web", &[]).expect(0);
    }
    let call = r#"Error POSTing to endpoint: {"error":{"code":-32602,"message":"row 401 is bad"}}"#;
    failed(&project, "web", call);
    before(&project, "web", &[]).expect(0);
}

/// What fails at once is one failure, whoever tells of it.
#[test]
fn calls_that_fail_together_do_not_make_the_wait_grow() {
    let project = session(&[("dead", dead())]);
    let failure = event("failed", "plugin:a:b", "plugin", "Connection closed");
    let start = event("session-start", "", "", "");
    project.write("home/.claude/settings.json", json!({ "enableAllProjectMcpServers": true }).to_string());
    std::thread::scope(|scope| {
        for input in std::iter::repeat_n(&failure, 6).chain(std::iter::repeat_n(&start, 6)) {
            scope.spawn(|| project.run_with(&["hook"], input.as_bytes()).expect(0));
        }
    });
    for (server, record) in records(&project) {
        assert_eq!(record["failureCount"], 1, "{server}: {record}");
    }
}

/// It fails two seconds after a call has told that it is there.
#[test]
fn a_call_that_succeeds_while_the_server_is_asked_is_the_better_witness() {
    let entry =
        json!({ "command": "sh", "args": ["-c", "touch asked; while test ! -e go; do sleep 0.05; done; exit 1"] });
    let project = session(&[("s", entry)]);
    project.write("home/.claude/mcp-health-cache.json", "");
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| before(&project, "s", &["-t", "60"]));
        crate::signals::eventually("the server is asked", || project.path("asked").exists());
        change(&project, "s", |record| {
            record["status"] = json!("unhealthy");
        });
        project.run_with(&["hook"], event("succeeded", "s", "project", "").as_bytes()).expect(0);
        assert_eq!(records(&project)["s"]["status"], "healthy");
        project.write("go", "");
        asking.join().expect("an end").expect(0);
    });
    assert_eq!(records(&project)["s"]["status"], "healthy");
}

#[test]
fn a_call_that_a_person_broke_off_says_nothing() {
    let project = session(&[("s", stdio("healthy"))]);
    let text = event("failed", "s", "project", "503 Service Unavailable")
        .replace("\"is_interrupt\": false", "\"is_interrupt\": true");
    project.run_with(&["hook"], text.as_bytes()).expect(0);
    assert!(!records_exist(&project));
}

/// Nothing can be probed of a plugin's server, but what the client says of it is worth remembering.
#[test]
fn a_server_that_cannot_be_probed_is_remembered_by_its_failures() {
    let project = session(&[]);
    let call = event("before", "plugin:a:b", "plugin", "");
    let run = project.run_with(&["hook"], call.as_bytes()).expect(0);
    assert!(run.stderr.contains("servers of the scope \"plugin\" are not probed"), "{run}");
    let failure = event("failed", "plugin:a:b", "plugin", "MCP server \"plugin:a:b\" is not connected");
    project.run_with(&["hook"], failure.as_bytes()).expect(0);
    project.run_with(&["hook"], call.as_bytes()).expect(2);
    let success = event("succeeded", "plugin:a:b", "plugin", "");
    project.run_with(&["hook"], success.as_bytes()).expect(0);
    assert_eq!(records(&project)["plugin:a:b"]["status"], "healthy");
    project.run_with(&["hook"], call.as_bytes()).expect(0);
}

#[test]
fn a_refused_credential_is_named_and_a_missing_sign_in_is_no_failure() {
    let refusing = HttpServer::start("http-401");
    let url = format!("http://127.0.0.1:{}/mcp", refusing.port);
    let own = json!({ "type": "http", "url": url, "headers": { "Authorization": "Bearer ${PF_TOKEN}" } });
    let project =
        session(&[("own", own), ("oauth", json!({ "type": "http", "url": url }))]).env("PF_TOKEN", "hunter2-hunter2");
    let run = before(&project, "own", &[]).expect(2);
    for part in
        ["refuses its credential since", "HTTP 401", "No retry can help: headers.Authorization uses ${PF_TOKEN} (set)"]
    {
        assert!(run.stderr.contains(part), "{part:?} is missing: {run}");
    }
    assert!(!run.stderr.contains("hunter2") && !project.read("home/.claude/mcp-health-cache.json").contains("hunter2"));
    // Only the client has its token: that one is wanted proves that the server is there.
    before(&project, "oauth", &[]).expect(0);
    // The client, which has one, was refused.
    failed(&project, "oauth", "MCP server \"oauth\" session expired");
    let run = before(&project, "oauth", &[]).expect(2);
    assert!(run.stderr.contains("sign in (/mcp in an interactive session)"), "{run}");
}

#[test]
fn a_credential_is_one_wherever_the_entry_has_it() {
    let server = HttpServer::start("http-401");
    let address = |user: &str, query: &str| format!("http://{user}127.0.0.1:{}/mcp{query}", server.port);
    let key = json!({ "type": "http", "url": address("", ""), "headers": { "X-API-Key": "${PF_KEY}" } });
    let user = json!({ "type": "http", "url": address("me:pass-word-1@", "") });
    let query = json!({ "type": "http", "url": address("", "?api_key=${PF_KEY}") });
    let plain = json!({ "type": "http", "url": address("", ""), "headers": { "User-Agent": "x" } });
    let project =
        session(&[("key", key), ("user", user), ("query", query), ("plain", plain)]).env("PF_KEY", "hunter2-hunter2");
    for name in ["key", "user", "query"] {
        let run = before(&project, name, &[]).expect(2);
        assert!(
            run.stderr.contains("refuses its credential")
                && !run.stderr.contains("hunter2")
                && !run.stderr.contains("pass-word-1"),
            "{run}"
        );
    }
    before(&project, "plain", &[]).expect(0);
}

#[test]
fn an_address_that_answers_otherwise_is_reachable() {
    let server = HttpServer::start("http-405");
    let project = session(&[("s", json!({ "type": "http", "url": format!("http://127.0.0.1:{}/mcp", server.port) }))]);
    before(&project, "s", &[]).expect(0);
}

#[test]
fn a_busy_server_is_left_alone_for_as_long_as_it_asks() {
    let server = HttpServer::start("http-429");
    let project = session(&[("s", json!({ "type": "http", "url": format!("http://127.0.0.1:{}/mcp", server.port) }))]);
    before(&project, "s", &[]).expect(2);
    let record = &records(&project)["s"];
    let wait = record["nextRetryAt"].as_u64().expect("a time") - record["checkedAt"].as_u64().expect("a time");
    assert_eq!((wait, &record["lastFailureCode"]), (3_600_000, &json!(429)), "{record}");
}

#[test]
fn a_command_brings_a_server_back() {
    let entry = json!({ "command": "sh", "args": ["-c", format!("test -e up && exec {} stdio {}", fake_server(), scenario("healthy"))] });
    let project = session(&[("my.server", entry)]).env("MCP_PREFLIGHT_RECONNECT_MY_SERVER", "touch up");
    before(&project, "my.server", &[]).expect(0);
    let record = &records(&project)["my.server"];
    assert_eq!((&record["status"], &record["restoredBy"]), (&json!("healthy"), &json!("reconnect")));
    // The one for all, under its former name, after a failed call.
    std::fs::remove_file(project.path("up")).expect("a file");
    let project = project
        .unset("MCP_PREFLIGHT_RECONNECT_MY_SERVER")
        .env("ECC_MCP_RECONNECT_COMMAND", "sh -c 'echo {server} > up'");
    failed(&project, "my.server", "Connection closed");
    assert_eq!(project.read("up"), "my.server\n");
    assert_eq!(records(&project)["my.server"]["restoredBy"], "reconnect");
}

/// A service manager is asked and ends; a script may start the server itself, and leave it behind, with words that nobody reads.
#[test]
fn what_a_command_has_started_stays() {
    let entry = json!({ "command": "sh", "args": ["-c", format!("test -e alive && exec {} stdio {}", fake_server(), scenario("healthy"))] });
    let project = session(&[("s", entry)]);
    project.write("start.sh", "#!/bin/sh\nnohup sh -c 'echo $$ > pid; touch alive; while test ! -e stop; do echo words; echo more >&2; sleep 0.05; done; touch stopped' &\nwhile test ! -e alive; do sleep 0.05; done\n");
    let project = project.env("MCP_PREFLIGHT_RECONNECT_S", "sh start.sh");
    before(&project, "s", &[]).expect(0);
    assert_eq!(records(&project)["s"]["restoredBy"], "reconnect");
    // It still lives, and can still speak.
    project.write("stop", "");
    crate::signals::eventually("it ends by itself", || project.path("stopped").exists());
}

#[test]
fn no_command_is_run_where_it_cannot_help() {
    let busy = HttpServer::start("http-429");
    let refusing = HttpServer::start("http-401");
    let web = |server: &HttpServer| json!({ "type": "http", "url": format!("http://127.0.0.1:{}/mcp", server.port), "headers": { "Authorization": "Bearer literal-token" } });
    let project = session(&[("busy", web(&busy)), ("refusing", web(&refusing)), ("a; touch hostile", dead())]);
    let project = project.env("MCP_PREFLIGHT_RECONNECT_COMMAND", "touch ran-{server}");
    before(&project, "busy", &[]).expect(2);
    // Restarting does not renew a credential; the server's own command may.
    before(&project, "refusing", &[]).expect(2);
    let run = before(&project, "a; touch hostile", &[]).expect(2);
    assert!(run.stderr.contains("does not go into a command"), "{run}");
    assert!(!["ran-busy", "ran-refusing", "hostile", "ran-a"].iter().any(|name| project.path(name).exists()));
    let project = project.env("MCP_PREFLIGHT_RECONNECT_REFUSING", "touch renewed");
    project.run(&["hook", "--reset"]).expect(0);
    before(&project, "refusing", &[]).expect(2);
    assert!(project.path("renewed").exists());
}

#[test]
fn a_command_that_hangs_or_fails_has_its_time_and_is_named() {
    for (command, said) in [
        ("sleep 60", "did not end in its time"),
        ("false", "exited with status 1"),
        ("no-such-program-anywhere", "cannot start"),
        ("./nope", "by its whole path"),
        ("a 'b", "a quote is not closed"),
    ] {
        let project = session(&[("s", dead())])
            .env("MCP_PREFLIGHT_RECONNECT_S", command)
            .env("MCP_PREFLIGHT_RECONNECT_TIMEOUT_MS", "200");
        let run = before(&project, "s", &[]).expect(2);
        assert!(run.stderr.contains(said) && run.stderr.contains("MCP_PREFLIGHT_RECONNECT_S"), "{run}");
    }
}

/// Twenty calls at once: one of them asks, all of them know.
#[test]
fn twenty_hooks_at_once_ask_a_server_once() {
    for (name, code, time) in [("healthy", 0, "60"), ("silent-start", 2, "2")] {
        let project = session(&[("s", stdio(name))]);
        let call = event("before", "s", "project", "");
        std::thread::scope(|scope| {
            let runs: Vec<_> =
                (0..20).map(|_| scope.spawn(|| project.run_with(&["hook", "-t", time], call.as_bytes()))).collect();
            for run in runs {
                run.join().expect("an end").expect(code);
            }
        });
        assert_eq!(starts(&project), 1, "{name}");
    }
}

#[test]
fn hooks_of_different_servers_lose_nothing_of_each_other() {
    let names: Vec<String> = (0..12).map(|number| format!("s{number}")).collect();
    let servers: Vec<(&str, Value)> = names.iter().map(|name| (name.as_str(), dead())).collect();
    let project = session(&servers);
    std::thread::scope(|scope| {
        let runs: Vec<_> = names.iter().map(|name| scope.spawn(|| before(&project, name, &[]))).collect();
        for run in runs {
            run.join().expect("an end").expect(2);
        }
    });
    assert_eq!(records(&project).len(), names.len());
}

#[test]
fn a_session_begins_with_everything_known() {
    let project = session(&[("s", stdio("healthy")), ("dead", dead())]);
    project.write("home/.claude/settings.json", json!({ "enabledMcpjsonServers": ["s", "dead"] }).to_string());
    let run = project.run_with(&["hook"], event("session-start", "", "", "").as_bytes()).expect(0);
    // What stands on standard output would become part of the session.
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
    assert_eq!(starts(&project), 1);
    before(&project, "s", &[]).expect(0);
    before(&project, "dead", &[]).expect(2);
    assert_eq!(starts(&project), 1);
}

#[test]
fn a_person_forgets_what_was_known() {
    let project = session(&[("s", dead()), ("t", dead())]);
    before(&project, "s", &[]).expect(2);
    before(&project, "t", &[]).expect(2);
    let run = project.run(&["hook", "--reset", "s"]).expect(0);
    assert!(run.stdout.starts_with("forgotten: s (") && run.stdout.lines().count() == 1, "{run}");
    assert_eq!(records(&project).keys().collect::<Vec<_>>(), ["t"]);
    assert!(project.run(&["hook", "--reset", "s"]).expect(0).stdout.contains("nothing was known"));
    project.run(&["hook", "--reset"]).expect(0);
    assert!(records(&project).is_empty());
}

#[test]
fn a_corrupt_file_is_set_aside_and_said() {
    let project = session(&[("s", stdio("healthy"))]);
    project.write("home/.claude/mcp-health-cache.json", "{\"version\": 1, \"serv");
    let run = before(&project, "s", &[]).expect(0);
    assert!(run.stderr.contains("set aside as"), "{run}");
    assert_eq!(project.read("home/.claude/mcp-health-cache.json.corrupt"), "{\"version\": 1, \"serv");
    assert_eq!(records(&project)["s"]["status"], "healthy");
    // A record of another's shape, or of another clock, is no record.
    for change_it in [
        (|record: &mut Value| *record = json!({ "server": "s", "status": 7 })) as fn(&mut Value),
        |record| record["checkedAt"] = json!(9_999_999_999_999_u64),
        |record| record["status"] = json!("strange"),
    ] {
        change(&project, "s", change_it);
        let asked = starts(&project);
        before(&project, "s", &[]).expect(0);
        assert_eq!(starts(&project), asked + 1);
    }
}

#[test]
fn without_a_place_for_records_the_server_is_asked_each_time() {
    let project = session(&[("s", stdio("healthy")), ("dead", dead())]);
    std::fs::create_dir_all(project.path("folder")).expect("a folder");
    for _ in 0..2 {
        let run = before(&project, "s", &["--health-file", "folder"]).expect(0);
        assert!(run.stderr.contains("nothing is remembered"), "{run}");
    }
    assert_eq!(starts(&project), 2);
    before(&project, "dead", &["--health-file", "folder"]).expect(2);
    let run = before(&project.unset("HOME"), "s", &[]).expect(0);
    assert!(run.stderr.contains("--health-file"), "{run}");
}

/// Somebody holds the lock, and does not let go of it.
#[test]
fn a_lock_that_is_held_costs_two_seconds_and_no_answer() {
    let project = session(&[("dead", dead())]);
    project.write("home/.claude/mcp-health-cache.json.lock", "");
    let lock = std::fs::File::open(project.path("home/.claude/mcp-health-cache.json.lock")).expect("a file");
    lock.lock().expect("the lock");
    let run = before(&project, "dead", &[]).expect(2);
    assert!(run.stderr.contains("somebody else holds the lock"), "{run}");
}

#[test]
fn records_lie_where_the_client_keeps_its_own_and_are_the_persons_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = session(&[("s", stdio("healthy"))]);
    let folder = project.path("elsewhere").display().to_string();
    let project = project.env("CLAUDE_CONFIG_DIR", &folder);
    before(&project, "s", &[]).expect(0);
    let path = project.path("elsewhere/mcp-health-cache.json");
    let mode = std::fs::metadata(&path).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let path = project.path("x/y.json").display().to_string();
    let project = project.env("ECC_MCP_HEALTH_STATE_PATH", &path);
    before(&project, "s", &[]).expect(0);
    assert!(project.path("x/y.json").exists());
}

#[test]
fn a_persons_file_that_cannot_be_read_is_said() {
    for text in ["{\"mcpServers\": {", "{\"mcpServers\": []}"] {
        let project = session(&[]);
        project.write("home/.claude.json", text);
        for input in
            [event("before", "s", "user", ""), event("before-2.1.273", "s", "", ""), event("session-start", "", "", "")]
        {
            let run = project.run_with(&["hook"], input.as_bytes()).expect(0);
            assert!(run.stderr.contains(".claude.json"), "{text}: {run}");
        }
        let closed = project.run_with(&["hook", "--fail-closed"], event("before-2.1.273", "s", "", "").as_bytes());
        closed.expect(2);
    }
}

/// The time of a probe is somebody's own; those who wait for it wait as long.
#[test]
fn a_long_time_for_a_probe_is_still_one_probe() {
    let project = session(&[("s", stdio("healthy"))]).env("MCP_PREFLIGHT_HEALTH_TIMEOUT_MS", "86400000");
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| before(&project, "s", &[]).expect(0));
        }
    });
    assert_eq!(starts(&project), 1);
    for odd in ["9223372036854775808", "0", "-1", "hunter2"] {
        let project = session(&[("s", stdio("healthy"))]).env("MCP_PREFLIGHT_HEALTH_TIMEOUT_MS", odd);
        let run = before(&project, "s", &[]).expect(0);
        assert!(
            run.stderr.contains("MCP_PREFLIGHT_HEALTH_TIMEOUT_MS: expected milliseconds")
                && !run.stderr.contains("hunter2"),
            "{run}"
        );
    }
}

#[test]
fn secrets_are_in_no_record_and_no_answer() {
    let echo = |words: &str| json!({ "command": "sh", "args": ["-c", "echo \"$*\" >&2; exit 1", "x", "-e", "API_KEY=hunter2-hunter2", words] });
    let servers = [
        ("arguments", echo("postgres://me:hunter2-hunter2@db/x")),
        ("scheme", json!({ "type": "http", "url": "htp://me:hunter2-hunter2@host/mcp" })),
        ("port", json!({ "type": "http", "url": "http://me:hunter2-hunter2@host:99999/mcp" })),
        (
            "broken",
            json!({ "command": "sh", "args": ["-c", "printf 'hunter2\nhunter2 three' >&2; exit 1"], "env": { "A": "hunter2 hunter2 three" } }),
        ),
    ];
    let project = session(&servers);
    for (name, _) in &servers {
        let run = before(&project, name, &[]).expect(2);
        assert!(!run.stderr.contains("hunter2"), "{run}");
    }
    let failure = event(
        "failed",
        "plugin:a:b",
        "plugin",
        "Connection closed: Bearer hunter2-hunter2 at https://x/y?k=hunter2-hunter2",
    );
    project.run_with(&["hook"], failure.as_bytes()).expect(0);
    let run = project.run_with(&["hook"], event("before", "plugin:a:b", "plugin", "").as_bytes()).expect(2);
    assert!(!run.stderr.contains("hunter2"), "{run}");
    assert!(!project.read("home/.claude/mcp-health-cache.json").contains("hunter2"));
}

#[test]
fn hostile_words_stay_on_one_line() {
    let project = session(&[("s", stdio("hostile-error"))]);
    let run = before(&project, "s", &[]).expect(2);
    assert_eq!(run.stderr.lines().count(), 1, "{run}");
    assert!(!run.stderr.contains('\u{1b}') && !run.stderr.contains("\n::"), "{run}");
    let run = before(&project, "s", &["--json"]).expect(0);
    assert_eq!(run.stdout.lines().count(), 1, "{run}");
    assert!(!run.stdout.contains('\u{1b}'), "{run}");
}

#[test]
fn other_events_are_none_of_its_business() {
    let project = session(&[]);
    let run = project.run_with(&["hook"], br#"{"hook_event_name": "Stop"}"#).expect(0);
    assert!(run.stderr.contains("nothing to do for the event \"Stop\""), "{run}");
}
