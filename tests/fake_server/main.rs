//! A scripted MCP server that can misbehave in every way the tests need. Its scripts are `testdata/scenario/*.json`.
//!
//! `fake-server stdio FILE`, `fake-server http FILE` (prints its port, serves until its stdin ends), `fake-server sleep SECONDS [new-session]`.
//! Nothing it does lasts longer than two minutes, so that a failed test leaves nothing behind for ever.

mod engine;
mod http;
mod http_answer;
mod process;
mod script;
mod stdio;
#[cfg(unix)]
mod unix;
mod websocket;
#[cfg(windows)]
mod windows;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use script::Script;
#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

/// Nothing waits longer than this.
const LONGEST: Duration = Duration::from_mins(2);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["stdio", file] => with_script(file, stdio::serve),
        ["http", file] => with_script(file, http::serve),
        ["sleep", seconds, rest @ ..] => sleep(seconds, rest == ["new-session"]),
        _ => complain("usage: fake-server stdio|http FILE, or sleep SECONDS [new-session]"),
    }
}

fn with_script(file: &str, serve: fn(Script) -> ExitCode) -> ExitCode {
    match Script::load(file) {
        Ok(script) => {
            log(&serde_json::json!({ "started": std::process::id() }));
            note_pid(std::process::id());
            serve(script)
        }
        Err(message) => complain(&message),
    }
}

fn complain(message: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "fake-server: {message}");
    ExitCode::from(99)
}

/// The grandchild that a server leaves behind.
fn sleep(seconds: &str, new_session: bool) -> ExitCode {
    if new_session {
        system::leave_group();
    }
    note_pid(std::process::id());
    let seconds = seconds.parse().map_or(LONGEST, Duration::from_secs);
    std::thread::sleep(seconds.min(LONGEST));
    ExitCode::SUCCESS
}

/// Appends what happened to the file that `FAKE_SERVER_LOG` names.
fn log(entry: &serde_json::Value) {
    append("FAKE_SERVER_LOG", &entry.to_string());
}

/// Appends a process id to the file that `FAKE_SERVER_PIDS` names.
fn note_pid(pid: u32) {
    append("FAKE_SERVER_PIDS", &pid.to_string());
    if let Some(list) = environment("FAKE_SERVER_PIDS").filter(|_| pid == std::process::id()) {
        system::give_sign_of_life(Path::new(&list));
    }
}

fn append(variable: &str, line: &str) {
    let Some(path) = environment(variable) else { return };
    if let Ok(mut file) = std::fs::OpenOptions::new().create(true).append(true).open(path) {
        let _ = file.write_all(format!("{line}\n").as_bytes());
    }
}

#[expect(clippy::disallowed_methods, reason = "a server reads its own environment")]
fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
