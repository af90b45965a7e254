//! Signals and shells: after them, too, nothing that a server started is alive, and nothing else was touched.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{Project, Run};
use crate::hygiene::Pids;

/// A zombie is not alive: it only waits for somebody to read its status.
pub(crate) fn is_alive(pid: i32) -> bool {
    let Some(pid) = Pid::from_raw(pid) else { return false };
    if rustix::process::test_kill_process(pid).is_err() {
        return false;
    }
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    !stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'))
}

/// Closing its stdin comes first, then SIGTERM, and SIGKILL last: a server can end in good order as long as it wants to.
#[test]
fn a_server_is_asked_before_it_is_killed() {
    let log = tempfile::NamedTempFile::new().expect("a file");
    let project = Project::of("ignore-term").locked(&["alpha", "beta", "gamma"]);
    project.env("FAKE_SERVER_LOG", &log.path().display().to_string()).run(&["-t", "60"]).expect(0);
    let text = std::fs::read_to_string(log.path()).expect("the log");
    let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what} never happened: {text}"));
    assert!(at("\"eof\":true") < at("\"signal\":15"), "{text}");
}

/// A process that left its group, and one whose parent is gone as well.
#[cfg(target_os = "linux")]
#[test]
fn after_a_server_whose_children_hide() {
    let pids = Pids::new();
    pids.project("grandchild-new-session").run(&["-t", "60"]).expect(0);
    pids.assert_gone(2);
    let script = format!(
        "(setsid sh -c 'echo $$ >> \"$FAKE_SERVER_PIDS\"; exec sleep 60' >/dev/null 2>&1 &) ; exec {} stdio {}",
        crate::harness::fake_server(),
        crate::harness::scenario("healthy")
    );
    let pids = Pids::new();
    let project = Project::with(&[("s", serde_json::json!({ "command": "sh", "args": ["-c", script] }))])
        .locked(&["alpha"])
        .env("FAKE_SERVER_PIDS", &pids.0.path().display().to_string());
    // The hidden one may start after the server has answered; whatever has started is gone.
    let run = project.run(&["-t", "60"]).expect(0);
    assert!(run.stdout.contains("left-running") || pids.all().len() == 1, "{run}");
    pids.assert_gone(1);
}

#[test]
fn after_a_signal() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let pids = Pids::new();
        let project = pids.project("grandchild-silent");
        project.write("mcp-tools.lock.json", r#"{"s": ["alpha"]}"#);
        let child = project
            .command(&["--update-lock", "-t", "60"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary");
        eventually("two processes", || pids.all().len() >= 2);
        let pid = Pid::from_child(&child);
        kill_process(pid, signal).expect("a signal");
        let run = Run::of(&child.wait_with_output().expect("an end"));
        assert_eq!(run.code, code, "{run}");
        assert!(run.stderr.contains("interrupted by SIG"), "{run}");
        assert_eq!(run.stdout, "", "no verdict was reached");
        assert_eq!(project.read("mcp-tools.lock.json"), r#"{"s": ["alpha"]}"#);
        pids.assert_gone(2);
    }
}

/// Whoever reads our output may go away; the verdict stays.
#[test]
fn a_closed_pipe_changes_no_verdict() {
    let project = Project::of("healthy").locked(&["alpha", "nope"]);
    let binary = crate::harness::binary();
    let output = Command::new("sh")
        .args(["-c", &format!("{{ {binary} -t 60; echo $? >&2; }} | true")])
        .current_dir(project.path(""))
        .output()
        .expect("a shell");
    assert_eq!(String::from_utf8_lossy(&output.stderr).trim(), "78");
}

/// A shell that replaces itself by the gate leaves its background jobs to it as children: they are none of the gate's business.
#[cfg(target_os = "linux")]
#[test]
fn processes_that_were_there_before_are_left_alone() {
    let project = Project::of("healthy").locked(&["alpha", "beta", "gamma"]);
    let binary = crate::harness::binary();
    // The job has its own output, so that the shell's ends with the gate.
    let script = format!("sleep 60 >/dev/null 2>&1 & echo $!; exec {binary} -t 60");
    let output = Command::new("bash").args(["-c", &script]).current_dir(project.path("")).output().expect("a shell");
    let (code, text) = (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned());
    let pid: i32 = text.lines().next().and_then(|line| line.parse().ok()).expect("a pid");
    let was_alive = is_alive(pid);
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, Signal::KILL);
    }
    assert_eq!(code, Some(0), "{text}");
    assert!(was_alive, "the gate ended a process that it never started: {text}");
    assert!(!text.contains("left-running"), "{text}");
}

/// A parent that ignores SIGCHLD hands that on; servers end as quickly all the same.
#[test]
fn an_ignored_sigchld_changes_nothing() {
    let project = Project::of("exit-at-start").locked(&["alpha"]);
    let binary = crate::harness::binary();
    let script = format!("trap '' CHLD; exec {binary} -t 60 --format json");
    let output = Command::new("bash").args(["-c", &script]).current_dir(project.path("")).output().expect("a shell");
    let run = Run::of(&output).expect(78);
    assert_eq!(run.json()["servers"][0]["failure"]["exit_status"], 1, "{run}");
}

/// Waits for something to become true, for a time that only a broken program uses up.
pub(crate) fn eventually(what: &str, mut is_true: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !is_true() {
        assert!(Instant::now() < until, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
