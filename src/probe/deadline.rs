//! One monotonic deadline per server, over everything its probe does.

use std::time::{Duration, Instant};

use crate::server::{StdioServer, Transport};
use crate::text;

/// The budget of a server that is already installed, or remote.
const USUAL: Duration = Duration::from_secs(10);
/// The budget of a command that may download its server first (measured: 8 to 19 s for a first `npx`, `zoo.md` section 3).
const DOWNLOADING: Duration = Duration::from_mins(1);

/// The end of a server's time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline {
    end: Instant,
    budget: Duration,
    of_run: bool,
}

impl Deadline {
    /// A budget that begins now, cut off where the whole run ends.
    pub(super) fn start(budget: Duration, run_end: Option<Instant>) -> Self {
        let now = Instant::now();
        let end = now + budget;
        match run_end {
            Some(run_end) if run_end < end => {
                Self { end: run_end, budget: run_end.saturating_duration_since(now), of_run: true }
            }
            _ => Self { end, budget, of_run: false },
        }
    }

    /// When it ends.
    pub(super) fn end(self) -> Instant {
        self.end
    }

    /// What is left; `None` when nothing is.
    pub(super) fn remaining(self) -> Option<Duration> {
        self.end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
    }

    /// The same, but at most this long from now.
    pub(super) fn within(self, budget: Duration) -> Self {
        Self { end: self.end.min(Instant::now() + budget), ..self }
    }

    /// `gave up after 2.0 s`, and whose budget that was.
    pub(super) fn gave_up(self) -> String {
        let whose = if self.of_run { ", when the time of the whole run was up" } else { "" };
        format!("gave up after {}{whose}", text::duration(self.budget))
    }
}

/// Sleeps for a moment.
pub(super) fn pause(moment: Duration) {
    std::thread::sleep(moment);
}

/// The budget of a server when none was given.
pub(super) fn default_budget(transport: &Transport) -> Duration {
    match transport {
        Transport::Stdio(stdio) if may_download(stdio) => DOWNLOADING,
        _ => USUAL,
    }
}

/// Whether this command may fetch its server from a registry before it starts it.
pub(super) fn may_download(stdio: &StdioServer) -> bool {
    let (program, arguments) = stdio.launched();
    let mut arguments = arguments.into_iter().map(|argument| argument.value.reveal());
    match program {
        "npx" | "uvx" | "bunx" | "pnpx" => true,
        "npm" => arguments.any(|argument| matches!(argument, "exec" | "x")),
        "bun" => arguments.any(|argument| argument == "x"),
        "pnpm" | "yarn" => arguments.any(|argument| matches!(argument, "dlx" | "exec")),
        "uv" | "pipx" | "docker" | "podman" | "nerdctl" | "deno" | "cargo" | "go" | "dotnet" | "dnx" => {
            program == "dnx" || arguments.any(|argument| matches!(argument, "run" | "tool" | "x"))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::may_download;
    use crate::server::{Expanded, Secret, StdioServer};

    fn stdio(line: &str) -> StdioServer {
        let mut words = line.split(' ').map(|word| Expanded { written: word.to_owned(), value: Secret::new(word) });
        let command = words.next().expect("a command");
        StdioServer { command, arguments: words.collect(), ..StdioServer::default() }
    }

    #[test]
    fn launchers_are_known() {
        for line in [
            "npx -y pkg",
            "/usr/bin/npx pkg",
            "npx.cmd pkg",
            "cmd /c npx -y pkg",
            "uvx pkg",
            "pnpm dlx pkg",
            "yarn dlx pkg",
            "docker run -i image",
            "npm exec pkg",
            "uv tool run pkg",
        ] {
            assert!(may_download(&stdio(line)), "{line}");
        }
        for line in ["node server.js", "python3 -m run", "docker exec -i box server", "/opt/npx-like", "npm start"] {
            assert!(!may_download(&stdio(line)), "{line}");
        }
    }
}
