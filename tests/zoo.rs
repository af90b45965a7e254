//! Real servers, written by others, brought up by `testdata/zoo/setup.sh`: the lock, a pass, a fail, and nothing left behind.
//!
//! `testdata/zoo/setup.sh DIR && ZOO=DIR cargo test --test zoo -- --ignored`

#![cfg(unix)]
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and starts programs as a user does"
)]

use std::collections::BTreeMap;
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Dummy credentials: these servers list their tools without asking anybody whether they are valid.
const CREDENTIALS: [(&str, &str); 8] = [
    ("JIRA_URL", "http://127.0.0.1:1"),
    ("JIRA_USERNAME", "nobody"),
    ("JIRA_API_TOKEN", "jira-token-of-the-zoo"),
    ("CONFLUENCE_URL", "http://127.0.0.1:1"),
    ("CONFLUENCE_USERNAME", "nobody"),
    ("CONFLUENCE_API_TOKEN", "confluence-token-of-the-zoo"),
    ("GRAFANA_URL", "http://127.0.0.1:1"),
    ("GRAFANA_SERVICE_ACCOUNT_TOKEN", "grafana-token-of-the-zoo"),
];
/// The variable by which everything that a run has started is found again.
const MARK: &str = "ZOO_RUN";

struct Zoo {
    folder: PathBuf,
    work: TempDir,
    environment: BTreeMap<String, String>,
}

struct Run {
    code: Option<i32>,
    stdout: String,
    text: String,
}

impl Zoo {
    fn open() -> Self {
        let folder = PathBuf::from(std::env::var("ZOO").expect("ZOO names the folder that setup.sh has filled"));
        let work = tempfile::tempdir().expect("a folder");
        let mut environment: BTreeMap<String, String> =
            CREDENTIALS.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        for name in ["PATH", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"] {
            environment.extend(std::env::var(name).ok().map(|value| (name.to_owned(), value)));
        }
        environment.insert("HOME".to_owned(), folder.join("home").display().to_string());
        environment.insert(MARK.to_owned(), work.path().display().to_string());
        Self { folder, work, environment }
    }

    fn without(mut self, names: &[&str]) -> Self {
        for name in names {
            self.environment.remove(*name);
        }
        self
    }

    fn lock(&self) -> PathBuf {
        self.work.path().join("lock.json")
    }

    fn read_lock(&self) -> Value {
        let text = std::fs::read_to_string(self.lock()).expect("a lock");
        serde_json::from_str(&text).expect("JSON")
    }

    fn run(&self, config: &str, arguments: &[&str]) -> Run {
        let output = Command::new(env!("CARGO_BIN_EXE_mcp-preflight"))
            .arg("--config")
            .arg(self.folder.join(config))
            .arg("--lock")
            .arg(self.lock())
            .args(["--timeout", "120"])
            .args(arguments)
            .env_clear()
            .envs(&self.environment)
            .current_dir(self.work.path())
            .stdin(Stdio::null())
            .output()
            .expect("the binary");
        self.assert_nothing_runs();
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let text = format!("{stdout}{}", String::from_utf8_lossy(&output.stderr));
        for (name, value) in CREDENTIALS.iter().filter(|(name, _)| name.ends_with("TOKEN")) {
            assert!(!text.contains(value), "the value of {name} was printed: {text}");
        }
        Run { code: output.status.code(), stdout, text }
    }

    /// Everything that a run starts inherits the mark: whoever still has it was left behind.
    fn assert_nothing_runs(&self) {
        let mark = format!("{MARK}={}", self.work.path().display());
        let mut left = Vec::new();
        for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            if environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes()) {
                let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
                left.push(String::from_utf8_lossy(&command).replace('\0', " "));
            }
        }
        assert_eq!(left, Vec::<String>::new(), "left running");
    }
}

fn expected() -> Value {
    serde_json::from_str(include_str!("../testdata/zoo/expected.json")).expect("JSON")
}

#[test]
#[ignore = "needs the zoo"]
fn every_stdio_server_is_locked_verified_and_missed() {
    let zoo = Zoo::open();
    let updated = zoo.run("mcp.json", &["--update-lock"]);
    assert_eq!(updated.code, Some(0), "{}", updated.text);
    assert_eq!(zoo.read_lock(), expected());
    let passed = zoo.run("mcp.json", &[]);
    assert_eq!(passed.code, Some(0), "{}", passed.text);
    assert!(passed.stdout.contains("(230 tools verified)"), "{}", passed.text);
    println!("{}", zoo.run("mcp.json", &["-v"]).stdout);

    // The very failure this tool is for: the handshake succeeds, the list is empty, nothing says why.
    let zoo = zoo.without(&["JIRA_API_TOKEN", "CONFLUENCE_API_TOKEN"]);
    let failed = zoo.run("mcp.json", &["--server", "atlassian", "--format", "json"]);
    assert_eq!(failed.code, Some(78), "{}", failed.text);
    let report: Value = serde_json::from_str(&failed.stdout).expect("JSON");
    let atlassian = report["servers"].as_array().into_iter().flatten().find(|server| server["name"] == "atlassian");
    let atlassian = atlassian.expect("the server");
    assert_eq!(
        (&atlassian["status"], &atlassian["observed"], &atlassian["failure"]),
        (&json!("drift"), &json!([]), &Value::Null)
    );
    assert_eq!(atlassian["missing"].as_array().map(Vec::len), Some(98));
    let said = report["findings"][0]["notes"][0].as_str().expect("a note");
    assert!(said.contains("JIRA_API_TOKEN is not set") && said.contains("the likely cause"), "{said}");
    let refused = zoo.run("mcp.json", &["--update-lock"]);
    assert_eq!(refused.code, Some(78), "{}", refused.text);
    assert_eq!(zoo.read_lock(), expected(), "the old lock was touched");
}

/// A server on the newest TypeScript SDK that hides one of its tools without its key.
#[test]
#[ignore = "needs the zoo"]
fn a_list_that_is_only_shorter_is_missed() {
    let mut zoo = Zoo::open();
    zoo.environment.insert("JS2_KEY".to_owned(), "key-of-the-zoo".to_owned());
    let updated = zoo.run("js2.json", &["--update-lock"]);
    assert_eq!(updated.code, Some(0), "{}", updated.text);
    assert_eq!(zoo.read_lock()["js2"], json!(["add", "echo", "secret"]));
    let failed = zoo.without(&["JS2_KEY"]).run("js2.json", &[]);
    assert_eq!(failed.code, Some(78), "{}", failed.text);
    assert!(failed.stdout.contains("1 of 3 locked tools is missing: secret"), "{}", failed.text);
    assert!(failed.stdout.contains("JS2_KEY is not set"), "{}", failed.text);
}

/// Servers that refuse `initialize`, on two SDKs, one of which ends at it.
#[test]
#[ignore = "needs the zoo"]
fn servers_without_a_handshake_are_listed() {
    let zoo = Zoo::open();
    let updated = zoo.run("modern.json", &["--update-lock", "--format", "json"]);
    assert_eq!(updated.code, Some(0), "{}", updated.text);
    let report: Value = serde_json::from_str(&updated.stdout).expect("JSON");
    for server in report["servers"].as_array().expect("servers") {
        assert_eq!(server["era"], "modern", "{server}");
        assert_eq!(server["observed"], json!(["add", "echo"]), "{server}");
    }
    let forced = zoo.run("modern.json", &["--protocol", "legacy"]);
    assert_eq!(forced.code, Some(78), "{}", forced.text);
    assert!(forced.stdout.contains("-32022"), "{}", forced.text);
}

#[test]
#[ignore = "needs the zoo"]
fn a_launcher_leaves_nothing_behind() {
    let zoo = Zoo::open();
    let updated = zoo.run("npx.json", &["--update-lock"]);
    assert_eq!(updated.code, Some(0), "{}", updated.text);
    assert_eq!(zoo.read_lock()["everything"], expected()["everything"]);
    let passed = zoo.run("npx.json", &[]);
    assert_eq!(passed.code, Some(0), "{}", passed.text);
}

/// A server over HTTP that ends with the test.
struct HttpServer {
    child: Child,
    port: u16,
}

impl HttpServer {
    fn start(zoo: &Zoo, program: &str, arguments: &[&str]) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(&zoo.environment).env_remove(MARK);
        command.env("PORT", free.port().to_string()).current_dir(zoo.work.path()).process_group(0);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect(program);
        let server = Self { child, port: free.port() };
        let until = Instant::now() + Duration::from_mins(1);
        while TcpStream::connect(("127.0.0.1", server.port)).is_err() {
            assert!(Instant::now() < until, "{program} never listened");
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process_group(
            rustix::process::Pid::from_child(&self.child),
            rustix::process::Signal::KILL,
        );
        let _ = self.child.wait();
    }
}

#[test]
#[ignore = "needs the zoo"]
fn http_servers_are_locked_and_verified() {
    let mut zoo = Zoo::open();
    let everything = zoo.folder.join("npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    // By itself it would listen on every interface of the machine.
    let loopback = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/zoo/loopback.mjs");
    let everything =
        HttpServer::start(&zoo, "node", &["--import", loopback, &everything.display().to_string(), "streamableHttp"]);
    let rmcp = HttpServer::start(&zoo, &zoo.folder.join("bin/zoo-rmcp-server").display().to_string(), &[]);
    for (name, server) in [("EVERYTHING_PORT", &everything), ("RMCP_PORT", &rmcp)] {
        zoo.environment.insert(name.to_owned(), server.port.to_string());
    }
    let both: Value = serde_json::from_str(&zoo.run("http.json", &["tools", "--format", "json"]).stdout).expect("JSON");
    let eras: Vec<&Value> = both["servers"].as_array().into_iter().flatten().map(|server| &server["era"]).collect();
    assert_eq!(eras, ["legacy", "modern"], "each is spoken to in the newest era it knows");
    let updated = zoo.run("http.json", &["--update-lock"]);
    assert_eq!(updated.code, Some(0), "{}", updated.text);
    assert_eq!(zoo.read_lock()["everything-http"], expected()["everything"]);
    assert_eq!(zoo.read_lock()["rmcp-http"], expected()["rmcp"]);
    // Again: the first probe has left no session behind that would disturb the second.
    let passed = zoo.run("http.json", &[]);
    assert_eq!(passed.code, Some(0), "{}", passed.text);
    // The same server over the older transport.
    let script = zoo.folder.join("npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    let older = HttpServer::start(&zoo, "node", &["--import", loopback, &script.display().to_string(), "sse"]);
    let config =
        json!({ "mcpServers": { "older": { "type": "sse", "url": format!("http://127.0.0.1:{}/sse", older.port) } } });
    let path = zoo.work.path().join("sse.json");
    std::fs::write(&path, config.to_string()).expect("a file");
    let listed = zoo.run(&path.display().to_string(), &["tools", "--format", "json"]);
    let report: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    assert_eq!(report["servers"][0]["observed"], expected()["everything"], "{}", listed.text);
    drop(rmcp);
    let failed = zoo.run("http.json", &["--tempfail"]);
    assert_eq!(failed.code, Some(75), "{}", failed.text);
    assert!(
        failed.stdout.contains("error[probe-failed] rmcp-http: could not be verified (connect)"),
        "{}",
        failed.text
    );
}
