//! After every kind of end, nothing that a server started is alive.

use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{Project, Run, eventually, stdio};

/// Records the process ids of servers and grandchildren.
struct Pids(tempfile::NamedTempFile);

impl Pids {
    fn new() -> Self {
        Self(tempfile::NamedTempFile::new().expect("a file"))
    }

    fn project(&self, scenario: &str) -> Project {
        let project = Project::of(scenario).locked(&["alpha", "beta", "gamma"]);
        project.env("FAKE_SERVER_PIDS", &self.0.path().display().to_string())
    }

    fn all(&self) -> Vec<i32> {
        let text = std::fs::read_to_string(self.0.path()).expect("the list");
        let mut pids: Vec<i32> = text.lines().filter_map(|line| line.parse().ok()).collect();
        pids.sort_unstable();
        pids.dedup();
        pids
    }

    fn assert_gone(&self, at_least: usize) {
        assert!(self.all().len() >= at_least, "the servers never started: {:?}", self.all());
        let alive: Vec<i32> = self.all().into_iter().filter(|pid| is_alive(*pid)).collect();
        assert_eq!(alive, Vec::<i32>::new(), "still alive");
    }
}

/// A zombie is not alive: it only waits for somebody to read its status.
fn is_alive(pid: i32) -> bool {
    let Some(pid) = Pid::from_raw(pid) else { return false };
    if rustix::process::test_kill_process(pid).is_err() {
        return false;
    }
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    !stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'))
}

#[test]
fn after_success_and_failure_and_timeout() {
    for (scenario, timeout, code, processes) in [
        ("healthy", "60", 0, 1),
        ("grandchild", "60", 0, 2),
        ("grandchild-keeps-pipes-healthy", "60", 0, 2),
        ("grandchild-keeps-pipes", "1", 78, 2),
        ("grandchild-silent", "1", 78, 2),
        ("ignore-eof", "60", 0, 1),
        ("ignore-eof-and-term", "60", 0, 2),
        ("silent-start", "0.5", 78, 1),
        ("stops-reading", "0.5", 78, 1),
        ("error-list", "60", 78, 1),
        ("huge-line", "60", 78, 1),
    ] {
        let pids = Pids::new();
        pids.project(scenario).run(&["-t", timeout]).expect(code);
        pids.assert_gone(processes);
    }
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

/// Many servers, more than run at once: each is there, in the order of the configuration, and all are gone.
#[test]
fn after_many_servers() {
    let pids = Pids::new();
    let names: Vec<String> = (0..40).map(|index| format!("s{index:02}")).collect();
    let servers: Vec<(&str, serde_json::Value)> = names
        .iter()
        .enumerate()
        .map(|(index, name)| (name.as_str(), stdio(if index % 2 == 0 { "healthy" } else { "grandchild" })))
        .collect();
    let project = Project::with(&servers).env("FAKE_SERVER_PIDS", &pids.0.path().display().to_string());
    let run = project.run(&["--update-lock", "-t", "60", "--format", "json"]).expect(0);
    let report = run.json();
    let found: Vec<&str> =
        report["servers"].as_array().expect("servers").iter().filter_map(|server| server["name"].as_str()).collect();
    assert_eq!(found, names);
    pids.assert_gone(60);
    project.run(&["--jobs", "3", "-q", "-t", "60"]).expect(0);
    pids.assert_gone(120);
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
