//! What the gate costs, as whole processes measured side by side, in turn, so that a drifting machine disturbs both alike.
//!
//! `cargo bench` prints medians and ratios; it never fails on a figure. It needs `python3` for two of its rows.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark starts programs, prints, and has nobody to return an error to"
)]

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const BINARY: &str = env!("CARGO_BIN_EXE_mcp-preflight");
const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn main() {
    // `cargo test --benches` and the like only want to know that it builds.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let examples = examples();
    let demo = examples.join("demo-server").display().to_string();
    let fake = examples.join("fake-server").display().to_string();
    one_server("one native stdio server", &demo, &[]);
    if Command::new("python3").arg("--version").output().is_ok() {
        let script = format!("{ROOT}/benches/server.py");
        one_server("one Python stdio server", "python3", &[&script]);
        five_in_parallel(&script);
    }
    many_stdio(&demo);
    many_http(&fake);
    hooks(&demo);
}

/// The guard on a cached verdict, against the least that a hook in Node.js does; one, and twenty at once.
fn hooks(demo: &str) {
    let folder = project(&[stdio(demo, &[])]);
    let folder = folder.path().canonicalize().expect("a folder");
    let guard: Program = (BINARY, &["hook"]);
    // The first one asks the server.
    answer(&folder, &[guard]);
    let script = format!("{ROOT}/benches/hook.js");
    let has_node = Command::new("node").arg("--version").output().is_ok();
    for count in [1, 20] {
        let ours = vec![guard; count];
        if has_node {
            let arguments = [script.as_str()];
            let node: Vec<Program> = vec![("node", &arguments); count];
            let title = format!("cached verdict of the guard, {count} at once / Node.js");
            compare(&title, 40, || answer(&folder, &ours), || answer(&folder, &node));
        }
        let bare: Vec<Program> = vec![(demo, &["--version"]); count];
        let title = format!("cached verdict of the guard, {count} at once / bare process");
        compare(&title, 40, || answer(&folder, &ours), || answer(&folder, &bare));
    }
}

/// A program and its arguments.
type Program<'a> = (&'a str, &'a [&'a str]);

/// Starts hooks at once, gives each its event, and waits for all.
fn answer(folder: &Path, programs: &[Program<'_>]) -> Duration {
    const EVENT: &[u8] = br#"{"hook_event_name":"PreToolUse","tool_name":"mcp__s0__t","tool_input":{},"mcp_server":{"name":"s0","source":"project"}}"#;
    let began = Instant::now();
    let start = |(program, arguments): &Program<'_>| {
        let mut command = Command::new(program);
        command.args(*arguments).env("CLAUDE_PROJECT_DIR", folder).env("HOME", folder).current_dir(folder);
        command.env("MCP_PREFLIGHT_HEALTH_TTL_MS", "3600000");
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a hook");
        // One that reads nothing may have ended.
        let _ = child.stdin.take().expect("a pipe").write_all(EVENT);
        child
    };
    let hooks: Vec<Child> = programs.iter().map(start).collect();
    for mut hook in hooks {
        hook.wait().expect("an end");
    }
    began.elapsed()
}

/// The servers, built as the binary is.
fn examples() -> PathBuf {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "--examples", "--manifest-path"])
        .arg(format!("{ROOT}/Cargo.toml"))
        .status();
    assert!(built.is_ok_and(|status| status.success()), "the example servers do not build");
    Path::new(BINARY).with_file_name("examples")
}

/// A folder with a configuration of these servers, and its lock.
fn project(entries: &[String]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = String::from("{\"mcpServers\":{");
    for (index, entry) in entries.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let _ = write!(config, "{comma}\"s{index}\":{entry}");
    }
    std::fs::write(folder.path().join(".mcp.json"), config + "}}").expect("a file");
    gate(folder.path(), &["--update-lock"]);
    folder
}

fn stdio(program: &str, arguments: &[&str]) -> String {
    format!("{{\"command\":{program:?},\"args\":{arguments:?},\"env\":{{\"REPORT_API_TOKEN\":\"benchmark\"}}}}")
}

/// One run of the gate.
fn gate(folder: &Path, arguments: &[&str]) -> Duration {
    let began = Instant::now();
    let output = Command::new(BINARY).args(arguments).current_dir(folder).output().expect("the binary");
    let took = began.elapsed();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    took
}

/// The least that can be done: start the server, exchange the messages, close, wait.
fn bare(program: &str, arguments: &[&str]) -> Duration {
    let began = Instant::now();
    let mut child = Command::new(program)
        .args(arguments)
        .env("REPORT_API_TOKEN", "benchmark")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the server");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bare","version":"1"}}}"#;
    writeln!(stdin, "{hello}").expect("a write");
    stdout.read_line(&mut line).expect("an answer");
    let list = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n";
    stdin.write_all(list.as_bytes()).expect("a write");
    stdout.read_line(&mut line).expect("an answer");
    drop(stdin);
    child.wait().expect("an end");
    began.elapsed()
}

/// Both in turn, and what came of it.
fn compare(title: &str, runs: usize, mut a: impl FnMut() -> Duration, mut b: impl FnMut() -> Duration) {
    let (mut first, mut second, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    a();
    b();
    for _ in 0..runs {
        let (one, other) = (a(), b());
        first.push(one.as_secs_f64() * 1000.0);
        second.push(other.as_secs_f64() * 1000.0);
        ratios.push(one.as_secs_f64() / other.as_secs_f64());
    }
    let (first, second, ratio) = (median(first), median(second), median(ratios));
    println!("{title:<52} {first:>8.1} ms {second:>8.1} ms   x {ratio:.2}   {:+.1} ms", first - second);
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn one_server(what: &str, program: &str, arguments: &[&str]) {
    let folder = project(&[stdio(program, arguments)]);
    let title = format!("{what}: gate / bare exchange");
    compare(&title, 40, || gate(folder.path(), &[]), || bare(program, arguments));
}

fn five_in_parallel(script: &str) {
    let entries: Vec<String> = (0..5).map(|_| stdio("python3", &[script])).collect();
    let folder = project(&entries);
    let title = "five Python servers: together / one after another";
    compare(title, 20, || gate(folder.path(), &[]), || gate(folder.path(), &["--jobs", "1"]));
}

fn many_stdio(demo: &str) {
    let entries: Vec<String> = (0..300).map(|_| stdio(demo, &[])).collect();
    let (many, one) = (project(&entries), project(&entries[..1]));
    let title = "300 native stdio servers / one of them";
    compare(title, 5, || gate(many.path(), &[]), || gate(one.path(), &[]));
}

/// Servers that take 500 ms to list, each a process of its own; 64 of them against one.
fn many_http(fake: &str) {
    let servers: Vec<(Child, String)> = (0..64).map(|_| slow_server(fake)).collect();
    let entries: Vec<String> =
        servers.iter().map(|(_, url)| format!("{{\"type\":\"http\",\"url\":{url:?}}}")).collect();
    let (many, one) = (project(&entries), project(&entries[..1]));
    let title = "64 HTTP servers of 500 ms each / one of them";
    compare(title, 5, || gate(many.path(), &[]), || gate(one.path(), &[]));
    for (mut server, _) in servers {
        // It ends when its standard input does.
        drop(server.stdin.take());
        let _ = server.wait();
    }
}

fn slow_server(fake: &str) -> (Child, String) {
    let mut child = Command::new(fake)
        .args(["http", &format!("{ROOT}/testdata/scenario/http-slow.json")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the server");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("an address");
    let address = line.trim().trim_start_matches("listening ").to_owned();
    (child, format!("http://{address}/mcp"))
}
