//! A child process in a group of its own, which dies with its handle on every path: success, failure, timeout, panic, signal.

use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, waitpgid, waitpid};

use super::tree::{self, Process};
use super::wait::{self, Wake};
use crate::interrupt::Interrupt;
use crate::observed::LeftRunning;

/// How long a process that lost its server may take to notice.
const ORPHAN_GRACE: Duration = Duration::from_millis(250);
/// How long the system may take to end a killed process.
const KILL_GRACE: Duration = Duration::from_millis(500);

/// A running server and everything it started.
#[derive(Debug)]
pub(super) struct ChildGroup {
    child: Child,
    group: Pid,
    status: Option<ExitStatus>,
    is_over: bool,
}

/// Our ends of a child's pipes.
#[derive(Debug)]
pub(super) struct Pipes {
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: Option<ChildStdout>,
    pub(super) stderr: Option<ChildStderr>,
}

/// How long a server may take to end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// Until when it may end by itself, now that its stdin is closed; `None` when it may not.
    pub(super) by_itself: Option<Instant>,
    /// How long it may take after SIGTERM.
    pub(super) after_term: Duration,
}

impl ChildGroup {
    /// Starts `command` in a new process group with three pipes.
    ///
    /// # Errors
    /// When the system cannot start it.
    #[expect(clippy::disallowed_methods, reason = "this is the one room that starts processes")]
    pub(super) fn spawn(command: &mut Command) -> io::Result<(Self, Pipes)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn()?;
        let pipes = Pipes { stdin: child.stdin.take(), stdout: child.stdout.take(), stderr: child.stderr.take() };
        let group = Pid::from_child(&child);
        Ok((Self { child, group, status: None, is_over: false }, pipes))
    }

    /// The exit status, if the process has ended.
    pub(super) fn status(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = self.child.try_wait().ok().flatten();
        }
        self.status
    }

    /// Waits for the process to end, at most until then.
    pub(super) fn wait_until(&mut self, until: Instant, interrupt: Option<&Interrupt>) -> Option<ExitStatus> {
        let mut watch = wait::ExitWatch::new(self.group);
        while self.status().is_none() {
            match watch.wait(until, interrupt) {
                Wake::Ready => {}
                Wake::TimeUp | Wake::Interrupted => return self.status(),
            }
        }
        self.status
    }

    /// Everything it has started that is still there.
    pub(super) fn descendants(&self) -> Vec<Process> {
        tree::descendants(self.group)
    }

    /// Ends the server, whose stdin has been closed: wait, SIGTERM to the group, wait, SIGKILL to the group.
    ///
    /// Returns what was still alive although the server had ended by itself; it has been ended too.
    pub(super) fn end(
        &mut self,
        started: &[Process],
        patience: Patience,
        interrupt: &Interrupt,
    ) -> (Option<ExitStatus>, Vec<LeftRunning>) {
        let left = self.end_group(started, patience, interrupt);
        (self.status, left)
    }

    fn end_group(&mut self, started: &[Process], patience: Patience, interrupt: &Interrupt) -> Vec<LeftRunning> {
        let by_itself = match patience.by_itself {
            Some(until) => self.wait_until(until, Some(interrupt)).is_some(),
            // What was known before its stdin was closed: whether it ends in this very moment is chance.
            None => self.status.is_some(),
        };
        if !by_itself {
            self.signal_all(started, Signal::TERM);
            self.wait_until(Instant::now() + patience.after_term, None);
            self.signal_all(started, Signal::KILL);
            self.wait_until(Instant::now() + KILL_GRACE, None);
        }
        let grace = if by_itself && !interrupt.is_raised() { ORPHAN_GRACE } else { Duration::ZERO };
        self.wait_for_orphans(started, grace);
        let left: Vec<LeftRunning> =
            started.iter().filter(|process| process.is_alive()).map(Process::described).collect();
        if self.has_orphans(started) {
            self.signal_all(started, Signal::TERM);
            self.wait_for_orphans(started, patience.after_term.min(ORPHAN_GRACE));
            self.signal_all(started, Signal::KILL);
            self.wait_for_orphans(started, KILL_GRACE);
        }
        self.is_over = self.status.is_some();
        if by_itself { left } else { Vec::new() }
    }

    /// Leaves alone what is left of the group.
    pub(super) fn leave(&mut self) {
        self.is_over = true;
    }

    fn signal_all(&self, started: &[Process], signal: Signal) {
        if self.status.is_none() || self.group_exists() {
            // Whoever has ended meanwhile did what was wanted.
            let _ = rustix::process::kill_process_group(self.group, signal);
        }
        for process in started {
            process.signal(signal);
        }
    }

    fn has_orphans(&self, started: &[Process]) -> bool {
        self.reap(started);
        self.status.is_some() && self.group_exists() || started.iter().any(Process::is_alive)
    }

    /// Waits for orphans that have ended and were made children of this process ([`tree::adopt_orphans`]): until somebody does, they
    /// are members of the group, dead as they are. The leader belongs to its handle and has been waited for.
    fn reap(&self, started: &[Process]) {
        if self.status.is_some() {
            while matches!(waitpgid(self.group, WaitOptions::NOHANG), Ok(Some(_))) {}
        }
        for process in started {
            let _ = waitpid(Some(process.pid), WaitOptions::NOHANG);
        }
    }

    /// Whether the group has a member. Only true to the point once the leader has been waited for: until then the leader,
    /// dead or alive, is a member; from then on its number cannot be given to another group while one is left.
    fn group_exists(&self) -> bool {
        rustix::process::test_kill_process_group(self.group).is_ok()
    }

    fn wait_for_orphans(&self, started: &[Process], grace: Duration) {
        let until = Instant::now() + grace;
        while self.has_orphans(started) && Instant::now() < until {
            wait::pause(Duration::from_millis(2));
        }
    }
}

impl Drop for ChildGroup {
    fn drop(&mut self) {
        if !self.is_over {
            let started = self.descendants();
            self.signal_all(&started, Signal::KILL);
            self.wait_until(Instant::now() + KILL_GRACE, None);
        }
    }
}

/// The number of an exit status: the code, or 128 + n when signal n ended the process, as a shell says it.
pub(super) fn exit_number(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

/// `exited with status 3`, `was killed by SIGKILL`.
pub(super) fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with status {code}"),
        (None, Some(signal)) => {
            format!("was killed by {}", crate::error::signal_name(u8::try_from(signal).unwrap_or_default()))
        }
        (None, None) => "ended".to_owned(),
    }
}
