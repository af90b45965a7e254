//! The transcripts that this tool began with: each must hold, over stdio and over HTTP.

use serde_json::json;

use crate::harness::{HttpServer, Project, Run, snapshot, stdio};

fn report() -> Project {
    let mut entry = stdio("credential");
    entry["env"] = json!({ "REPORT_API_TOKEN": "${REPORT_API_TOKEN}" });
    Project::with(&[("report", entry)])
}

fn report_http(server: &HttpServer) -> Project {
    let entry = json!({
        "type": "http",
        "url": "http://127.0.0.1:${PORT}/mcp",
        "headers": { "Authorization": "Bearer ${REPORT_API_TOKEN}" },
    });
    Project::with(&[("report", entry)]).env("PORT", &server.port.to_string())
}

const LOCK: &str = "{\n  \"report\": [\n    \"fetch_daily_report\",\n    \"list_report_dates\"\n  ]\n}\n";

/// Update, pass, fail: the same for both transports.
fn transcripts(name: &str, project: Project) {
    let project = project.env("REPORT_API_TOKEN", "test-token");
    let updated = project.run(&["--update-lock", "-t", "60"]).expect(0);
    snapshot(&format!("{name}-update"), &updated);
    assert_eq!(project.read("mcp-tools.lock.json"), LOCK);
    let passed = project.run(&["-t", "60"]).expect(0);
    assert!(passed.stdout.starts_with("MCP preflight OK in "), "{passed}");
    assert!(passed.stdout.ends_with(" (2 tools verified)\n") && passed.stdout.lines().count() == 1, "{passed}");
    assert_eq!(passed.stderr, "");
    let project = project.unset("REPORT_API_TOKEN");
    let failed = project.run(&["-t", "60"]).expect(78);
    snapshot(&format!("{name}-missing"), &failed);
    let refused = project.run(&["--update-lock", "-t", "60"]).expect(78);
    snapshot(&format!("{name}-refused"), &refused);
    assert_eq!(project.read("mcp-tools.lock.json"), LOCK, "the old lock was touched");
}

#[test]
fn stdio_update_pass_fail() {
    transcripts("origin-stdio", report());
}

#[test]
fn http_update_pass_fail() {
    let server = HttpServer::start("credential-http");
    transcripts("origin-http", report_http(&server));
}

/// The server reads the variable by itself: the configuration does not name it, so the report cannot either.
#[test]
fn a_credential_that_the_configuration_does_not_name() {
    let project = Project::with(&[("report", stdio("credential"))]).env("REPORT_API_TOKEN", "test-token");
    project.run(&["--update-lock", "-t", "60"]).expect(0);
    let failed = project.unset("REPORT_API_TOKEN").run(&["-t", "60"]).expect(78);
    snapshot("origin-unnamed-credential", &failed);
}

#[test]
fn a_command_that_does_not_exist() {
    let project = Project::with(&[("ghost", json!({ "command": "./no-such-binary" }))]);
    project.write("mcp-tools.lock.json", r#"{"ghost": ["a"]}"#);
    snapshot("origin-ghost", &project.run(&[]).expect(78));
}

#[test]
fn a_server_that_stalls_is_given_up_and_never_locked() {
    let project = Project::with(&[("good", stdio("healthy")), ("stalled", stdio("silent-after-initialize"))]);
    project.write("mcp-tools.lock.json", r#"{"good": ["alpha"], "stalled": ["x"]}"#);
    snapshot("origin-stalled", &project.run(&["-t", "2"]).expect(78));
    snapshot("origin-stalled-update", &project.run(&["--update-lock", "-t", "2"]).expect(78));
    assert_eq!(project.read("mcp-tools.lock.json"), r#"{"good": ["alpha"], "stalled": ["x"]}"#);
}

#[test]
fn more_tools_than_locked_pass_and_are_named() {
    let project = Project::of("healthy").locked(&["alpha"]);
    snapshot("origin-added", &project.run(&["-t", "60"]).expect(0));
}

#[test]
fn a_lock_of_nothing_is_refused_unless_allowed() {
    let project = Project::of("empty");
    snapshot("origin-empty-refused", &project.run(&["--update-lock", "-t", "60"]).expect(78));
    assert!(!project.path("mcp-tools.lock.json").exists());
    project.run(&["--update-lock", "--allow-empty", "s", "-t", "60"]).expect(0);
    assert_eq!(project.read("mcp-tools.lock.json"), "{\n  \"s\": []\n}\n");
    project.run(&["-t", "60"]).expect(0);
}

/// No secret of the configuration, and no inherited credential, is in any output, however the server says it.
#[test]
fn secrets_are_masked_everywhere() {
    let secret = "s3cr3t-t0ken-\"quoted\"";
    for scenario in ["stderr-secret", "stderr-secret-torn", "error-secret"] {
        let mut entry = stdio(scenario);
        entry["env"] = json!({ "REPORT_API_TOKEN": "${TOKEN_FROM_CI}" });
        let project = Project::with(&[("s", entry)]).locked(&["a"]).env("TOKEN_FROM_CI", secret);
        let inherited = Project::of(scenario).locked(&["a"]).env("REPORT_API_TOKEN", secret);
        for project in [project, inherited] {
            for arguments in [&["-t", "60", "-vv"][..], &["-t", "60", "-vv", "--format", "json"]] {
                let run = project.run(arguments).expect(78);
                for part in ["s3cr3t", "t0ken", "quoted"] {
                    assert!(!run.to_string().contains(part), "{part} of the secret was printed by {scenario}: {run}");
                }
            }
        }
    }
}

/// A long token that a server sends back is masked whole: masking comes before any cut.
#[test]
fn a_long_secret_in_a_body_is_masked_whole() {
    let token = "eyJhbGciOiJSUzI1NiJ9.".to_owned() + &"abcdefghij0123456789".repeat(60);
    for name in ["http-echo-401", "http-echo-html", "http-echo-error"] {
        let server = HttpServer::start(name);
        let project = report_http(&server).env("REPORT_API_TOKEN", &token);
        project.write("mcp-tools.lock.json", LOCK);
        for arguments in [&["-t", "60"][..], &["-t", "60", "-vv", "--format", "json"]] {
            let run = project.run(arguments).expect(78);
            assert!(!run.to_string().contains("abcdefghij"), "{run}");
            assert!(run.to_string().contains("***"), "{run}");
        }
    }
}

/// What is compared is compared before it is masked.
#[test]
fn a_value_that_equals_a_version_hides_nothing() {
    let mut entry = stdio("bad-schema");
    entry["env"] = json!({ "MCP_PROTOCOL_VERSION": "2025-11-25" });
    let project = Project::with(&[("s", entry)]).locked(&["alpha"]);
    let run = project.run(&["-t", "60"]).expect(78);
    assert!(run.stdout.contains("tools-unusable") && !run.stdout.contains("version-refused"), "{run}");
}

fn lines(run: &Run) -> Vec<&str> {
    run.stdout.lines().collect()
}

#[test]
fn quiet_says_nothing_when_all_is_well() {
    let project = Project::of("healthy").locked(&["alpha", "beta", "gamma"]);
    assert_eq!(lines(&project.run(&["-q", "-t", "60"]).expect(0)), Vec::<&str>::new());
    let failing = Project::of("empty").locked(&["alpha"]);
    assert!(failing.run(&["-q", "-t", "60"]).expect(78).stdout.contains("tools-missing"));
}
