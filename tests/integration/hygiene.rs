//! After every kind of end, nothing that a server started is alive.

use crate::harness::{Project, stdio};

/// Records the process ids of servers and grandchildren.
pub(crate) struct Pids(pub(crate) tempfile::NamedTempFile);

impl Pids {
    pub(crate) fn new() -> Self {
        Self(tempfile::NamedTempFile::new().expect("a file"))
    }

    pub(crate) fn project(&self, scenario: &str) -> Project {
        let project = Project::of(scenario).locked(&["alpha", "beta", "gamma"]);
        project.env("FAKE_SERVER_PIDS", &self.0.path().display().to_string())
    }

    pub(crate) fn all(&self) -> Vec<i32> {
        let text = std::fs::read_to_string(self.0.path()).expect("the list");
        let mut pids: Vec<i32> = text.lines().filter_map(|line| line.parse().ok()).collect();
        pids.sort_unstable();
        pids.dedup();
        pids
    }

    pub(crate) fn assert_gone(&self, at_least: usize) {
        // Windows gives the number of a process that has ended to the next one.
        let at_least = if cfg!(windows) { at_least.min(1) } else { at_least };
        assert!(self.all().len() >= at_least, "the servers never started: {:?}", self.all());
        let alive: Vec<i32> = self.all().into_iter().filter(|pid| self.is_alive(*pid)).collect();
        assert_eq!(alive, Vec::<i32>::new(), "still alive");
    }

    #[cfg(unix)]
    #[expect(clippy::unused_self, reason = "the system knows by the number")]
    fn is_alive(&self, pid: i32) -> bool {
        crate::signals::is_alive(pid)
    }

    /// Each process holds a file of its own, which nobody else can open as long as it lives.
    #[cfg(windows)]
    fn is_alive(&self, pid: i32) -> bool {
        let held = self.0.path().with_extension(pid.to_string());
        if !held.exists() {
            // It was ended before it came so far, or will come so far now.
            std::thread::sleep(std::time::Duration::from_millis(500));
        }
        held.exists() && std::fs::File::open(held).is_err()
    }
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
