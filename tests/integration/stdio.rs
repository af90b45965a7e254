//! One test a scenario over pipes: what the gate says of a server that behaves, or misbehaves, in this way.

use crate::harness::{Project, Run, scenarios};

/// Locks alpha, beta and gamma.
fn play(name: &str, timeout: &str) -> Run {
    Project::of(name).locked(&["alpha", "beta", "gamma"]).run(&["--timeout", timeout])
}

scenarios! { "stdio-", play;
    healthy = "healthy" "60" -> 0;
    empty = "empty" "60" -> 78;
    silent_start = "silent-start" "0.5" -> 78;
    silent_after_initialize = "silent-after-initialize" "1" -> 78;
    stops_reading = "stops-reading" "0.5" -> 78;
    exit_at_start = "exit-at-start" "60" -> 78;
    exit_after_initialize = "exit-after-initialize" "60" -> 78;
    exit_mid_list = "exit-mid-list" "60" -> 78;
    #[cfg(unix)]
    killed_by_signal = "killed-by-signal" "60" -> 78;
    #[cfg(unix)]
    closes_stdout = "closes-stdout" "60" -> 78;
    noise = "noise" "60" -> 0;
    crlf = "crlf" "60" -> 78;
    batch = "batch" "60" -> 78;
    not_utf8 = "not-utf8" "60" -> 0;
    modern_requests = "modern-requests" "60" -> 0;
    bom = "bom" "60" -> 78;
    notifications = "notifications" "60" -> 0;
    ping_during_handshake = "ping-during-handshake" "60" -> 0;
    server_requests = "server-requests" "60" -> 0;
    pages = "pages" "60" -> 0;
    empty_cursor = "empty-cursor" "60" -> 78;
    pages_21 = "pages-21" "60" -> 78;
    pages_error_on_2 = "pages-error-on-2" "60" -> 78;
    repeated_cursor = "repeated-cursor" "60" -> 0;
    endless_cursor = "endless-cursor" "60" -> 78;
    null_cursor = "null-cursor" "60" -> 78;
    grandchild = "grandchild" "60" -> 0;
    grandchild_keeps_pipes_healthy = "grandchild-keeps-pipes-healthy" "60" -> 0;
    #[cfg(unix)]
    grandchild_keeps_pipes = "grandchild-keeps-pipes" "2" -> 78;
    grandchild_silent = "grandchild-silent" "0.5" -> 78;
    ignore_eof = "ignore-eof" "60" -> 0;
    ignore_eof_and_term = "ignore-eof-and-term" "60" -> 0;
    wrong_id = "wrong-id" "1" -> 78;
    string_id = "string-id" "60" -> 0;
    float_id = "float-id" "60" -> 0;
    out_of_order = "out-of-order" "60" -> 0;
    error_initialize = "error-initialize" "60" -> 78;
    error_list = "error-list" "60" -> 78;
    error_null_id = "error-null-id" "60" -> 78;
    error_to_notification = "error-to-notification" "60" -> 0;
    no_tools_capability = "no-tools-capability" "60" -> 78;
    duplicate_tools = "duplicate-tools" "60" -> 78;
    bad_schema = "bad-schema" "60" -> 78;
    nameless_tool = "nameless-tool" "60" -> 78;
    result_not_object = "result-not-object" "60" -> 78;
    tools_not_array = "tools-not-array" "60" -> 78;
    no_version = "no-version" "60" -> 78;
    huge_line = "huge-line" "60" -> 78;
    deep_json = "deep-json" "60" -> 78;
    stderr_flood = "stderr-flood" "60" -> 0;
    hostile_stderr = "hostile-stderr" "60" -> 78;
    hostile_error = "hostile-error" "60" -> 78;
    hostile_names = "hostile-names" "60" -> 78;
    modern_only = "modern-only" "60" -> 0;
    modern_only_exits = "modern-only-exits" "60" -> 0;
    modern_only_silent_exit = "modern-only-silent-exit" "60" -> 0;
    modern_asks_again = "modern-asks-again" "60" -> 0;
    modern_unknown_result = "modern-unknown-result" "60" -> 78;
    version_negotiated_by_error = "version-negotiated-by-error" "60" -> 78;
    version_2026 = "version-2026" "60" -> 78;
    #[cfg(unix)]
    killed_by_kill = "killed-by-kill" "60" -> 78;
    ignore_term = "ignore-term" "60" -> 0;
    #[cfg(unix)]
    closes_stderr = "closes-stderr" "60" -> 0;
    unsupported_version = "unsupported-version" "60" -> 78;
}

/// How far a drip has come when time is up depends on the machine, so no snapshot.
#[test]
fn a_drip_is_cut_off_by_the_one_deadline() {
    let run = Project::of("drip").locked(&["alpha"]).run(&["-t", "1", "--format", "json"]).expect(78);
    let failure = &run.json()["servers"][0]["failure"];
    assert_eq!(failure["class"], "timeout");
    assert_eq!(failure["step"], "tools/list");
    assert!(run.json()["findings"][0]["message"].as_str().is_some_and(|text| text.contains("gave up after 1.0 s")));
    assert_eq!(run.json()["servers"][0]["missing"], serde_json::json!([]), "a timeout is never a missing tool");
}

#[test]
fn two_mebibytes_in_one_line_are_read() {
    let run = Project::of("big-list").locked(&["last", "same"]).run(&["-t", "60"]).expect(0);
    assert!(run.stdout.contains("(2 tools verified)"), "{run}");
}

/// What the server was sent, byte for byte of its meaning: the handshake of a real client, nothing more.
#[test]
fn the_handshake_is_the_one_of_the_specification() {
    let log = tempfile::NamedTempFile::new().expect("a file");
    let project = Project::of("server-requests").locked(&["alpha", "beta", "gamma"]);
    project.env("FAKE_SERVER_LOG", &log.path().display().to_string()).run(&["-t", "60"]).expect(0);
    let text = std::fs::read_to_string(log.path()).expect("the log");
    let sent: Vec<serde_json::Value> = text
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok()?.get("stdio").cloned())
        .collect();
    let methods: Vec<String> =
        sent.iter().map(|message| message["method"].as_str().unwrap_or("(answer)").to_owned()).collect();
    assert_eq!(methods, ["initialize", "notifications/initialized", "tools/list", "(answer)", "(answer)"]);
    assert_eq!(sent[0]["params"]["protocolVersion"], "2025-11-25");
    assert_eq!(sent[0]["params"]["capabilities"], serde_json::json!({}));
    assert_eq!(sent[2].get("params"), None, "the first page is asked for without params");
    assert_eq!(sent[3]["error"]["code"], -32601);
    assert!(text.contains("\"eof\":true"), "stdin was not closed: {text}");
}

#[test]
fn an_era_can_be_forced() {
    let modern = Project::of("modern-only").locked(&["alpha", "beta", "gamma"]);
    let forced = modern.run(&["-t", "60", "--protocol", "legacy"]).expect(78);
    assert!(forced.stdout.contains("(rpc-error): the server answered initialize with error -32022"), "{forced}");
    let report = modern.run(&["-t", "60", "--protocol", "modern", "--format", "json"]).expect(0).json();
    assert_eq!(report["servers"][0]["era"], "modern");
    assert_eq!(report["servers"][0]["protocol_version"], "2026-07-28");
    assert_eq!(report["servers"][0]["offered"][0], "mcp__s__alpha");
    let legacy = Project::of("healthy").locked(&["alpha"]);
    legacy.run(&["-t", "60", "--protocol", "modern"]).expect(78);
    legacy.run(&["--protocol", "newest"]).expect(64);
}

/// The second process is only an attempt: what the first one said is the reason, and both are gone.
#[test]
fn a_server_that_ends_at_once_is_started_anew_once() {
    let log = tempfile::NamedTempFile::new().expect("a file");
    let project = Project::of("exit-at-start").locked(&["alpha"]);
    let run = project.env("FAKE_SERVER_LOG", &log.path().display().to_string()).run(&["-t", "60"]).expect(78);
    let text = std::fs::read_to_string(log.path()).expect("the log");
    assert_eq!(text.matches("\"started\"").count(), 2, "{text}");
    assert_eq!(run.stdout.matches("REPORT_API_TOKEN is required").count(), 1, "{run}");
}

#[test]
fn a_missing_program_is_named() {
    use serde_json::json;
    for (command, words) in [
        ("./no-such-binary", "no such file"),
        ("no-such-binary-anywhere", "no such file in any folder of PATH"),
        (".", if cfg!(windows) { "no such file in any folder of PATH" } else { "permission denied" }),
    ] {
        let project = Project::with(&[("ghost", json!({ "command": command }))]);
        project.write("mcp-tools.lock.json", r#"{"ghost": ["a"]}"#);
        let run = project.run(&[]).expect(78);
        assert!(run.stdout.contains("probe-failed") && run.stdout.contains(words), "{run}");
        assert_eq!(run.stderr, "");
    }
}
