//! The way to a remote server: certificates, proxies, addresses, broken connections.

use serde_json::json;

use crate::harness::{HttpServer, Project, Run, snapshot};
use crate::relay::{self, Authority, Manner, Proxy};

const TOOLS: [&str; 3] = ["alpha", "beta", "gamma"];
const SOON: i32 = 2100;

fn project(kind: &str, url: &str) -> Project {
    let entry = json!({ "type": kind, "url": url, "headers": { "X-Key": "sesame-sesame" } });
    Project::with(&[("s", entry)]).locked(&TOOLS)
}

/// The healthy server behind TLS, seen by a project that trusts `roots`, named by `variable`.
fn over_tls(names: &[&str], until: i32, variable: &str) -> Run {
    let server = HttpServer::start("healthy");
    let authority = Authority::new();
    let port = authority.tls(names, until, server.port, None);
    let project = project("http", &format!("https://localhost:{port}/mcp"));
    project.write("ca.pem", authority.pem());
    let path = project.path("ca.pem").display().to_string();
    project.env(variable, &path).run(&[])
}

#[test]
fn a_private_authority_is_trusted_where_a_variable_names_it() {
    for variable in ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"] {
        over_tls(&["localhost"], SOON, variable).expect(0);
    }
}

#[test]
fn certificates_that_are_not_trusted_are_told_apart() {
    snapshot("network-unknown-authority", &over_tls(&["localhost"], SOON, "SOMETHING_ELSE").expect(78));
    let run = over_tls(&["localhost"], 2001, "NODE_EXTRA_CA_CERTS").expect(78);
    assert!(run.stdout.contains("(tls)") && run.stdout.contains("expired"), "{run}");
    let run = over_tls(&["other.test"], SOON, "NODE_EXTRA_CA_CERTS").expect(78);
    assert!(run.stdout.contains("(tls)") && run.stdout.contains("not valid for name"), "{run}");
}

#[test]
fn an_authority_that_cannot_be_loaded_is_named() {
    let server = HttpServer::start("healthy");
    let port = Authority::new().tls(&["localhost"], SOON, server.port, None);
    for (file, cause) in [("missing.pem", "missing.pem: I/O error"), ("empty.pem", "no certificate in it")] {
        let project = project("http", &format!("https://localhost:{port}/mcp"));
        project.write("empty.pem", "");
        let run = project.env("NODE_EXTRA_CA_CERTS", file).run(&[]).expect(78);
        assert!(run.stdout.contains("not loaded: NODE_EXTRA_CA_CERTS names") && run.stdout.contains(cause), "{run}");
    }
}

#[test]
fn a_server_that_wants_a_certificate_of_this_side_gets_it() {
    let server = HttpServer::start("healthy");
    let (servers, clients) = (Authority::new(), Authority::new());
    let port = servers.tls(&["localhost"], SOON, server.port, Some(&clients));
    let url = format!("https://localhost:{port}/mcp");
    let with = |url: &str| {
        let project = project("http", url);
        project.write("ca.pem", servers.pem());
        project.env("NODE_EXTRA_CA_CERTS", "ca.pem")
    };
    let run = with(&url).run(&[]).expect(78);
    assert!(run.stdout.contains("(tls)") && run.stdout.contains("CertificateRequired"), "{run}");
    let project = with(&url);
    let own = clients.identity(&["client.test"], SOON);
    project.write("own.pem", own.certificate_pem());
    project.write("own.key", own.key_pem());
    let project = project.env("CLAUDE_CODE_CLIENT_CERT", "own.pem").env("CLAUDE_CODE_CLIENT_KEY", "own.key");
    project.run(&[]).expect(0);
    project.write("own.key", "no key");
    let run = project.run(&[]).expect(78);
    assert!(run.stdout.contains("CLAUDE_CODE_CLIENT_KEY names"), "{run}");
}

#[test]
fn https_where_http_is_spoken_and_the_other_way_round() {
    let server = HttpServer::start("healthy");
    let run = project("http", &format!("https://127.0.0.1:{}/mcp", server.port)).run(&[]).expect(78);
    assert!(run.stdout.contains("(tls)"), "{run}");
    let port = Authority::new().tls(&["localhost"], SOON, server.port, None);
    let run = project("http", &format!("http://127.0.0.1:{port}/mcp")).run(&[]).expect(78);
    assert!(run.stdout.contains("(protocol)") || run.stdout.contains("(connect)"), "{run}");
}

#[test]
fn a_server_on_ipv6_is_reached() {
    let server = HttpServer::start("healthy");
    let port = relay::plain("[::1]:0", server.port);
    for (kind, scheme) in [("http", "http"), ("ws", "ws")] {
        project(kind, &format!("{scheme}://[::1]:{port}/mcp")).run(&[]).expect(0);
    }
}

#[test]
fn a_name_without_address_is_no_missing_tool() {
    for (kind, scheme) in [("http", "http"), ("sse", "https"), ("ws", "ws")] {
        let run = project(kind, &format!("{scheme}://nothing.invalid/mcp")).run(&[]).expect(78);
        assert!(run.stdout.contains("could not be verified (dns)"), "{run}");
    }
}

/// Through a proxy, which alone knows the host.
fn proxied(kind: &str, scheme: &str, proxy: &Proxy, credential: &str, authority: &Authority) -> Run {
    let project = project(kind, &format!("{scheme}://server.test:9/mcp"));
    project.write("ca.pem", authority.pem());
    let address = format!("http://{credential}127.0.0.1:{}", proxy.port);
    let variable = if matches!(scheme, "https" | "wss") { "HTTPS_PROXY" } else { "http_proxy" };
    project.env("NODE_EXTRA_CA_CERTS", "ca.pem").env(variable, &address).run(&[])
}

#[test]
fn a_proxy_is_gone_through_and_sees_no_secret_of_a_secure_server() {
    let server = HttpServer::start("healthy");
    let authority = Authority::new();
    let secure = authority.tls(&["server.test"], SOON, server.port, None);
    for (kind, scheme, port) in
        [("http", "http", server.port), ("http", "https", secure), ("ws", "ws", server.port), ("ws", "wss", secure)]
    {
        let proxy = Proxy::start(Manner::Open(port));
        proxied(kind, scheme, &proxy, "", &authority).expect(0);
        let heads = proxy.heads();
        assert!(heads[0].contains("server.test:9"), "{heads:?}");
        let is_seen = heads.iter().any(|head| head.contains("sesame"));
        assert_eq!(is_seen, scheme == "http", "{heads:?}");
    }
}

#[test]
fn a_proxy_that_wants_a_credential_gets_it_and_nobody_else_does() {
    let server = HttpServer::start("healthy");
    let authority = Authority::new();
    let secure = authority.tls(&["server.test"], SOON, server.port, None);
    for (kind, scheme, port) in [("http", "http", server.port), ("http", "https", secure), ("ws", "wss", secure)] {
        // me:passphrase
        let proxy = Proxy::start(Manner::Closed(port, "Basic bWU6cGFzc3BocmFzZQ=="));
        proxied(kind, scheme, &proxy, "me:passphrase@", &authority).expect(0);
        for credential in ["", "me:passphrasf@"] {
            let run = proxied(kind, scheme, &proxy, credential, &authority).expect(78);
            assert!(run.stdout.contains("(auth)") && run.stdout.contains("407"), "{run}");
            assert!(run.stdout.contains("proxy") && !run.stdout.contains("passphras"), "{run}");
        }
    }
}

#[test]
fn a_proxy_that_fails_is_named_as_the_place() {
    let authority = Authority::new();
    for (kind, scheme) in [("http", "https"), ("ws", "wss")] {
        let proxy = Proxy::start(Manner::Refusing(502));
        let run = proxied(kind, scheme, &proxy, "", &authority).expect(78);
        assert!(
            run.stdout.contains("(connect)") && run.stdout.contains("through the proxy")
                || run.stdout.contains("the proxy 127.0.0.1"),
            "{run}"
        );
        assert!(run.stdout.contains("help: check HTTPS_PROXY"), "{run}");
    }
    let project = project("http", "http://server.test:9/mcp").env("HTTP_PROXY", "http://127.0.0.1:9");
    let run = project.run(&[]).expect(78);
    assert!(run.stdout.contains("refused") && run.stdout.contains("through the proxy 127.0.0.1:9"), "{run}");
}

#[test]
fn a_host_that_needs_no_proxy_is_reached_directly() {
    let server = HttpServer::start("healthy");
    for (kind, scheme) in [("http", "http"), ("sse", "http"), ("ws", "ws")] {
        let server = if kind == "sse" { HttpServer::start("sse") } else { HttpServer::start("healthy") };
        let proxy = Proxy::start(Manner::Refusing(502));
        let project = project(kind, &format!("{scheme}://127.0.0.1:{}/mcp", server.port));
        let project = project.env("ALL_PROXY", &format!("http://127.0.0.1:{}", proxy.port));
        project.run(&[]).expect(78);
        assert!(!proxy.heads().is_empty());
        let before = proxy.heads().len();
        project.env("NO_PROXY", "example.com,127.0.0.0/8").run(&[]).expect(0);
        assert_eq!(proxy.heads().len(), before);
    }
    drop(server);
}

#[test]
fn whoever_on_the_way_never_answers_is_a_timeout() {
    let proxy = Proxy::start(Manner::Silent);
    for (kind, scheme) in [("http", "https"), ("ws", "wss"), ("http", "http"), ("ws", "ws")] {
        let address = format!("http://127.0.0.1:{}", proxy.port);
        let project = project(kind, &format!("{scheme}://server.test:9/mcp")).env("ALL_PROXY", &address);
        let run = project.run(&["-t", "0.5"]).expect(78);
        assert!(run.stdout.contains("(timeout): gave up after 500 ms"), "{run}");
        // The same as a server: TLS that never begins, a WebSocket that is never granted.
        let project = self::project(kind, &format!("{scheme}://127.0.0.1:{}/mcp", proxy.port));
        let run = project.run(&["-t", "0.5"]).expect(78);
        assert!(run.stdout.contains("(timeout): gave up after 500 ms"), "{run}");
    }
}
