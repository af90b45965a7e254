//! One test a scenario over HTTP, and what the requests look like.

use serde_json::json;

use crate::harness::{HttpServer, Project, Run, scenarios};

fn project(server: &HttpServer, tools: &[&str]) -> Project {
    let entry = json!({ "type": "http", "url": "http://127.0.0.1:${PORT}/mcp" });
    Project::with(&[("s", entry)]).locked(tools).env("PORT", &server.port.to_string())
}

fn play(name: &str, timeout: &str) -> Run {
    let server = HttpServer::start(name);
    project(&server, &["alpha", "beta", "gamma"]).run(&["-t", timeout])
}

scenarios! { "http-", play;
    healthy = "healthy" "60" -> 0;
    empty = "empty" "60" -> 78;
    pages = "pages" "60" -> 0;
    s401 = "http-401" "60" -> 78;
    s403 = "http-403" "60" -> 78;
    s404 = "http-404" "60" -> 78;
    s405 = "http-405" "60" -> 78;
    s429 = "http-429" "60" -> 78;
    s500 = "http-500" "60" -> 78;
    s503 = "http-503" "60" -> 78;
    html = "http-html" "60" -> 78;
    not_json = "http-not-json" "60" -> 78;
    s202 = "http-202" "60" -> 78;
    s204 = "http-204" "60" -> 0;
    sse = "http-sse" "60" -> 78;
    sse_eof = "http-sse-eof" "60" -> 78;
    sse_open = "http-sse-open" "60" -> 0;
    busy = "http-busy" "60" -> 0;
    sse_polling = "http-sse-polling" "60" -> 0;
    sse_unaddressed = "http-sse-unaddressed" "60" -> 0;
    sse_requests = "http-sse-requests" "60" -> 0;
    session = "http-session" "60" -> 0;
    session_lost = "http-session-lost" "60" -> 78;
    session_renewed = "http-session-renewed" "60" -> 0;
    reset_once = "http-reset-once" "60" -> 0;
    redirect = "http-redirect" "60" -> 0;
    redirect_loop = "http-redirect-loop" "60" -> 78;
    redirect_foreign = "http-redirect-foreign" "60" -> 78;
    redirect_302 = "http-redirect-302" "60" -> 78;
    close = "http-close" "60" -> 78;
    error_body = "http-error-body" "60" -> 78;
    batch = "http-batch" "60" -> 78;
    silent = "http-silent" "1" -> 78;
    modern_headers = "http-modern-headers" "60" -> 78;
    drip = "drip" "1" -> 78;
    huge = "http-huge" "60" -> 78;
    error_list = "error-list" "60" -> 78;
    check_headers = "http-check-headers" "60" -> 0;
    ping_during_handshake = "http-ping-during-handshake" "60" -> 0;
    drop_before_head = "http-drop-before-head" "60" -> 78;
    sse_drop = "http-sse-drop" "60" -> 78;
    exit_mid_list = "http-exit-mid-list" "60" -> 78;
    gateway_401 = "gateway-401" "60" -> 0;
    gateway_404 = "gateway-404" "60" -> 0;
    gateway_500 = "gateway-500" "60" -> 0;
    gateway_html = "gateway-html" "60" -> 0;
    gateway_junk = "gateway-junk" "60" -> 0;
    gateway_202 = "gateway-202" "60" -> 0;
    gateway_silent = "gateway-silent" "3" -> 0;
    gateway_drop = "gateway-drop" "60" -> 0;
    gateway_legacy_error = "gateway-legacy-error" "60" -> 0;
    gateway_legacy_discover = "gateway-legacy-discover" "60" -> 0;
    gateway_session_error = "gateway-session-error" "60" -> 0;
    modern = "http-modern" "60" -> 0;
    modern_error = "http-modern-error" "60" -> 78;
    modern_our_fault = "http-modern-our-fault" "60" -> 78;
    auth_modern = "http-auth-modern" "60" -> 78;
    auth_error = "http-auth-error" "60" -> 78;
    no_version = "no-version" "60" -> 78;
}

/// HTTP+SSE of 2024-11-05.
mod sse_transport {
    use super::{HttpServer, Run, over};
    use crate::harness::scenarios;

    fn play(name: &str, timeout: &str) -> Run {
        over("sse", &HttpServer::start(name), timeout)
    }

    scenarios! { "sse-", play;
        healthy = "sse" "60" -> 0;
        requests = "sse-requests" "60" -> 0;
        foreign = "sse-foreign" "60" -> 78;
        silent = "sse-silent" "1" -> 78;
        dropped = "sse-drop" "60" -> 78;
        error = "sse-error" "60" -> 78;
        no_stream = "healthy" "60" -> 78;
        unaddressed = "sse-unaddressed" "60" -> 0;
    }
}

/// A WebSocket.
mod websocket {
    use super::{HttpServer, Run, over};
    use crate::harness::scenarios;

    fn play(name: &str, timeout: &str) -> Run {
        over("ws", &HttpServer::start(name), timeout)
    }

    scenarios! { "ws-", play;
        healthy = "healthy" "60" -> 0;
        empty = "empty" "60" -> 78;
        pages = "pages" "60" -> 0;
        server_requests = "server-requests" "60" -> 0;
        noise = "ws-noise" "60" -> 0;
        error_list = "error-list" "60" -> 78;
        error_without_id = "error-null-id" "60" -> 78;
        silent = "silent-start" "0.5" -> 78;
        closed = "ws-closed" "60" -> 78;
        declined = "ws-declined" "60" -> 78;
        no_websocket = "ws-no-websocket" "60" -> 78;
        without_subprotocol = "ws-without-subprotocol" "60" -> 78;
        huge = "ws-huge" "60" -> 78;
    }
}

/// A project whose one server is reached in this way.
fn over(kind: &str, server: &HttpServer, timeout: &str) -> Run {
    let scheme = if kind == "ws" { "ws" } else { "http" };
    let entry = json!({ "type": kind, "url": format!("{scheme}://127.0.0.1:${{PORT}}/{kind}") });
    let project = Project::with(&[("s", entry)]).locked(&["alpha", "beta", "gamma"]);
    project.env("PORT", &server.port.to_string()).run(&["-t", timeout])
}

#[test]
fn the_older_transport_behind_the_newer_type_is_pointed_out() {
    let server = HttpServer::start("sse");
    let project = project(&server, &["alpha"]);
    let run = project.run(&["-t", "60"]).expect(78);
    assert!(run.stdout.contains("set \"type\": \"sse\" in its entry"), "{run}");
}

#[test]
fn the_headers_are_those_of_the_specification() {
    let server = HttpServer::start("http-session");
    let entry = json!({
        "type": "streamable-http",
        "url": "http://localhost:${PORT}/mcp",
        "headers": { "Authorization": "Bearer ${TOKEN:-abc}", "X-Extra": "1" },
    });
    let project = Project::with(&[("s", entry)]).locked(&["alpha"]).env("PORT", &server.port.to_string());
    project.run(&["-t", "60"]).expect(0);
    let requests = server.requests();
    let lines: Vec<String> = requests
        .iter()
        .map(|request| format!("{} {}", request["method"].as_str().unwrap_or_default(), request["body"]["method"]))
        .collect();
    assert_eq!(
        lines,
        [
            "POST \"server/discover\"",
            "POST \"initialize\"",
            "POST \"notifications/initialized\"",
            "POST \"tools/list\"",
            "DELETE null"
        ]
    );
    assert_eq!(requests[0]["headers"]["mcp-protocol-version"], "2026-07-28");
    assert_eq!(requests[0]["headers"]["mcp-method"], "server/discover");
    assert_eq!(requests[0]["headers"]["authorization"], "Bearer abc");
    assert_eq!(requests[0]["body"]["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    for (index, request) in requests.iter().skip(1).enumerate() {
        let header = |name: &str| request["headers"][name].as_str().unwrap_or("(none)").to_owned();
        let is_later = index > 0;
        assert_eq!(header("authorization"), "Bearer abc");
        assert_eq!(header("x-extra"), "1");
        assert_eq!(header("accept"), "application/json, text/event-stream");
        assert_eq!(header("content-type"), "application/json");
        assert_eq!(header("host"), format!("localhost:{}", server.port), "the host as it was written");
        assert_eq!(header("mcp-protocol-version"), if is_later { "2025-11-25" } else { "(none)" });
        assert_eq!(header("mcp-session-id"), if is_later { "fake-session-1" } else { "(none)" });
    }
}

#[test]
fn what_a_server_asks_in_a_stream_is_answered() {
    let server = HttpServer::start("http-sse-requests");
    project(&server, &["alpha"]).run(&["-t", "60"]).expect(0);
    let bodies: Vec<serde_json::Value> = server.requests().into_iter().map(|request| request["body"].clone()).collect();
    assert!(bodies.iter().any(|body| body["id"] == "r-1" && body["error"]["code"] == -32601), "{bodies:?}");
    assert!(bodies.iter().any(|body| body["id"] == "p-1" && body["result"] == json!({})), "{bodies:?}");
}

fn remote(url: &str, arguments: &[&str]) -> Run {
    let entry = json!({ "type": "http", "url": url });
    Project::with(&[("s", entry)]).locked(&["a"]).run(arguments)
}

#[test]
fn what_never_answers_is_told_apart() {
    for (url, class) in [
        ("http://127.0.0.1:9/mcp", "connect"),
        ("http://no-such-host.invalid/mcp", "dns"),
        ("", "unsupported"),
        ("not a url", "unsupported"),
        ("ftp://127.0.0.1/mcp", "unsupported"),
        ("${UNSET}/mcp", "unsupported"),
    ] {
        let run = remote(url, &["-t", "20", "--format", "json"]).expect(78);
        let report = run.json();
        assert_eq!(report["servers"][0]["failure"]["class"], class, "{url}: {run}");
    }
}

#[test]
fn tls_to_a_server_that_speaks_none_is_tls() {
    let server = HttpServer::start("healthy");
    let run = remote(&format!("https://127.0.0.1:{}/mcp", server.port), &["-t", "20", "--format", "json"]).expect(78);
    assert_eq!(run.json()["servers"][0]["failure"]["class"], "tls", "{run}");
}

#[test]
fn a_header_that_no_request_can_have_is_named() {
    for (name, value) in [("Bad Header", "x"), ("X-Good", "two\nlines")] {
        let entry = json!({ "type": "http", "url": "http://127.0.0.1:9/", "headers": { name: value } });
        let run = Project::with(&[("s", entry)]).locked(&["a"]).run(&[]).expect(78);
        assert!(run.stdout.contains(&format!("the header \"{name}\" has")), "{run}");
        assert!(!run.stdout.contains("two"), "{run}");
    }
}

#[test]
fn only_transient_failures_are_tempfail() {
    let codes = [("http-503", 75), ("http-429", 75), ("http-401", 78), ("http-500", 78), ("empty", 78)];
    for (name, code) in codes {
        let server = HttpServer::start(name);
        project(&server, &["alpha"]).run(&["-t", "60", "--tempfail"]).expect(code);
    }
    remote("http://127.0.0.1:9/mcp", &["--tempfail"]).expect(75);
}

#[test]
fn an_unsupported_transport_is_an_honest_failure() {
    let entry = json!({ "type": "ws", "url": "http://127.0.0.1:9/" });
    let run = Project::with(&[("s", entry)]).locked(&["a"]).run(&["--format", "json"]).expect(78);
    assert_eq!(run.json()["servers"][0]["failure"]["class"], "unsupported");
    assert_eq!(run.json()["servers"][0]["transport"], "ws");
}
