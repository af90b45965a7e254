//! A folder with a configuration and a lock, a scrubbed environment, and what a run printed.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// The variable that names the person's own folder.
pub(crate) const HOME: &str = if cfg!(windows) { "USERPROFILE" } else { "HOME" };

/// A project's folder.
pub(crate) struct Project {
    folder: TempDir,
    environment: BTreeMap<String, String>,
}

/// What a run of the binary did.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl fmt::Display for Run {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "exit {}\n--- stdout\n{}--- stderr\n{}", self.code, self.stdout, self.stderr)
    }
}

impl Run {
    /// The JSON report on standard output.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("no JSON ({error}): {self}"))
    }

    /// Fails unless this is the exit code.
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self}");
        self
    }
}

/// The binary under test.
pub(crate) fn binary() -> &'static str {
    env!("CARGO_BIN_EXE_mcp-preflight")
}

/// The scripted server. Cargo builds examples for `cargo test`, beside the binary.
pub(crate) fn fake_server() -> String {
    let name = format!("fake-server{}", std::env::consts::EXE_SUFFIX);
    let path = Path::new(binary()).with_file_name("examples").join(name);
    assert!(path.exists(), "{} is missing: run `cargo test`, or first `cargo build --examples`", path.display());
    path.display().to_string()
}

/// A scenario's file.
pub(crate) fn scenario(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/scenario").join(format!("{name}.json"));
    assert!(path.exists(), "no scenario {name}");
    path.display().to_string()
}

/// An entry of a configuration for a stdio scenario.
pub(crate) fn stdio(name: &str) -> Value {
    json!({ "command": fake_server(), "args": ["stdio", scenario(name)] })
}

impl Project {
    /// An empty folder, and an environment of nothing but a path and a home.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().display().to_string();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut environment = BTreeMap::from([("PATH".to_owned(), path), (HOME.to_owned(), home)]);
        // Without it nothing starts on Windows.
        environment.extend(std::env::var("SystemRoot").ok().map(|root| ("SystemRoot".to_owned(), root)));
        Self { folder, environment }
    }

    /// A project whose configuration has these servers.
    pub(crate) fn with(servers: &[(&str, Value)]) -> Self {
        let project = Self::new();
        let servers: serde_json::Map<String, Value> =
            servers.iter().map(|(name, entry)| ((*name).to_owned(), entry.clone())).collect();
        let config = serde_json::to_string_pretty(&json!({ "mcpServers": servers })).expect("JSON");
        project.write(".mcp.json", &config);
        project
    }

    /// A project with one stdio scenario named `s`.
    pub(crate) fn of(scenario: &str) -> Self {
        Self::with(&[("s", stdio(scenario))])
    }

    /// The same with a lock of these tools for `s`.
    pub(crate) fn locked(self, tools: &[&str]) -> Self {
        self.write("mcp-tools.lock.json", json!({ "s": tools }).to_string());
        self
    }

    /// The same with a variable.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The same without a variable.
    pub(crate) fn unset(mut self, name: &str) -> Self {
        self.environment.remove(name);
        self
    }

    /// Its folder, as a program that was started there names it.
    pub(crate) fn folder(&self) -> String {
        let folder = self.path("").canonicalize().expect("a folder").display().to_string();
        folder.strip_prefix(r"\\?\").unwrap_or(&folder).to_owned()
    }

    /// Where it is.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    /// Reads a file.
    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The command with these arguments, not yet started.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.args(arguments).env_clear().envs(&self.environment).current_dir(self.folder.path());
        command.stdin(Stdio::null());
        command
    }

    /// Runs the binary.
    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        self.run_in("", arguments)
    }

    /// Runs the binary with this on its standard input, as the guard's tests do, which need a shell.
    #[cfg(unix)]
    pub(crate) fn run_with(&self, arguments: &[&str], input: &[u8]) -> Run {
        use std::io::Write as _;
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary");
        let mut stdin = child.stdin.take().expect("a pipe");
        // One that has seen enough may have ended.
        let _ = stdin.write_all(input);
        drop(stdin);
        Run::of(&child.wait_with_output().expect("an end"))
    }

    /// Runs the binary in a folder below.
    pub(crate) fn run_in(&self, folder: &str, arguments: &[&str]) -> Run {
        let output = self.command(arguments).current_dir(self.path(folder)).output().expect("the binary");
        Run::of(&output)
    }
}

impl Run {
    pub(crate) fn of(output: &Output) -> Self {
        #[cfg(unix)]
        let signal = std::os::unix::process::ExitStatusExt::signal(&output.status);
        #[cfg(windows)]
        let signal = None;
        Self {
            code: output.status.code().unwrap_or_else(|| signal.map_or(-1, |signal: i32| -signal)),
            stdout: String::from_utf8(output.stdout.clone()).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr.clone()).expect("UTF-8"),
        }
    }
}

/// A scenario served over HTTP, until it is dropped.
pub(crate) struct HttpServer {
    child: Child,
    pub(crate) port: u16,
    log: tempfile::NamedTempFile,
}

impl HttpServer {
    pub(crate) fn start(name: &str) -> Self {
        let log = tempfile::NamedTempFile::new().expect("a file");
        let mut child = Command::new(fake_server())
            .args(["http", &scenario(name)])
            .env("FAKE_SERVER_LOG", log.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("stdout")).read_line(&mut line).expect("a line");
        let port = line.trim().rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
        Self { child, port, log }
    }

    /// Every request it got: `POST /mcp initialize`.
    pub(crate) fn requests(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.log.path()).expect("the log");
        let entries = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        entries.filter_map(|entry| entry.get("http").cloned()).collect()
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One test a scenario: `run` plays it with a budget of so many seconds, and the whole run is compared with its snapshot. Scenarios that
/// end by themselves have more time than any machine needs; the others never end, and get a short budget.
macro_rules! scenarios {
    ($prefix:literal, $run:path; $($(#[$only:meta])* $test:ident = $name:literal $timeout:literal -> $code:literal;)*) => {
        $(
            $(#[$only])*
            #[test]
            fn $test() {
                let run = $run($name, $timeout).expect($code);
                $crate::harness::snapshot(concat!($prefix, $name), &run);
            }
        )*
    };
}

pub(crate) use scenarios;

/// Compares a run with `testdata/expected/NAME.snap`, times and process numbers left out.
pub(crate) fn snapshot(name: &str, run: &Run) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/expected"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.add_filter(r" in (\d+ ms|\d+\.\d s)", " in [time]");
    settings.add_filter(r"\(\d+\)", "([pid])");
    settings.add_filter(r"\d+ ms \| █+", "[time] | [bar]");
    settings.add_filter(r#"time="[0-9.]+""#, r#"time="[time]""#);
    settings.add_filter(r#""semanticVersion": "[0-9.]+""#, r#""semanticVersion": "[version]""#);
    settings.add_filter(r"(127\.0\.0\.1|localhost):\d+", "$1:[port]");
    settings.add_filter(r#""\S*[/\\]fake-server(\.exe)?""#, "\"[fake-server]\"");
    if cfg!(windows) {
        settings.add_filter(r"now ended: process \(", "now ended: fake-server (");
    }
    settings.bind(|| insta::assert_snapshot!(name, run.to_string()));
}
