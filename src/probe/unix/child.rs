//! A child process in a group of its own, which dies with its handle on every path: success, failure, timeout, panic, signal.

use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, waitpgid, waitpid};

use super::tree::{self, Process};
use super::wait;
use crate::interrupt::Interrupt;
use crate::observed::LeftRunning;
use crate::probe::child::{Ends, KILL_GRACE, ORPHAN_GRACE, Patience, Wake};
use crate::probe::deadline::pause;

/// A running server and everything it started.
#[derive(Debug)]
pub(in crate::probe) struct ChildGroup {
    child: Child,
    group: Pid,
    status: Option<ExitStatus>,
    /// Everything it had started when that was last looked at.
    started: Vec<Process>,
    is_over: bool,
}

impl ChildGroup {
    /// Starts `command` in a new process group with three pipes.
    ///
    /// # Errors
    /// When the system cannot start it.
    pub(in crate::probe) fn spawn(command: &mut Command) -> io::Result<(Self, Ends)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut group = Self::start(command)?;
        let child = &mut group.child;
        let ends = Ends { stdin: child.stdin.take(), stdout: child.stdout.take(), stderr: child.stderr.take() };
        Ok((group, ends))
    }

    /// Starts `command` in a new process group that reads nothing, and whose words nobody reads.
    ///
    /// # Errors
    /// When the system cannot start it.
    pub(in crate::probe) fn spawn_silent(command: &mut Command) -> io::Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self::start(command)
    }

    #[expect(clippy::disallowed_methods, reason = "this is the one room that starts processes")]
    fn start(command: &mut Command) -> io::Result<Self> {
        let child = command.process_group(0).spawn()?;
        let group = Pid::from_child(&child);
        Ok(Self { child, group, status: None, started: Vec::new(), is_over: false })
    }

    /// The exit status, if the process has ended.
    pub(in crate::probe) fn status(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = self.child.try_wait().ok().flatten();
        }
        self.status
    }

    /// Waits for the process to end, at most until then.
    pub(in crate::probe) fn wait_until(&mut self, until: Instant, interrupt: Option<&Interrupt>) -> Option<ExitStatus> {
        let mut watch = wait::ExitWatch::new(self.group);
        while self.status().is_none() {
            match watch.wait(until, interrupt) {
                Wake::Ready => {}
                Wake::TimeUp | Wake::Interrupted => return self.status(),
            }
        }
        self.status
    }

    /// Looks whether it has ended, and what it has started that is still there: an orphan can no longer be traced to it.
    pub(in crate::probe) fn look(&mut self) {
        self.status();
        self.started = tree::descendants(self.group);
    }

    /// Leaves alone what is left of the group.
    pub(in crate::probe) fn leave(&mut self) {
        self.is_over = true;
    }

    /// Ends the server, which has been looked at, and whose stdin has been closed since: wait, SIGTERM to the group, wait, SIGKILL to the
    /// group.
    ///
    /// Returns what was still alive although the server had ended by itself; it has been ended too.
    pub(in crate::probe) fn end(
        &mut self,
        patience: Patience,
        interrupt: &Interrupt,
    ) -> (Option<ExitStatus>, Vec<LeftRunning>) {
        let left = self.end_group(patience, interrupt);
        (self.status, left)
    }

    fn end_group(&mut self, patience: Patience, interrupt: &Interrupt) -> Vec<LeftRunning> {
        let by_itself = match patience.by_itself {
            Some(until) => self.wait_until(until, Some(interrupt)).is_some(),
            // What was known before its stdin was closed: whether it ends in this very moment is chance.
            None => self.status.is_some(),
        };
        if !by_itself {
            self.signal_all(Signal::TERM);
            self.wait_until(Instant::now() + patience.once_asked, None);
            self.signal_all(Signal::KILL);
            self.wait_until(Instant::now() + KILL_GRACE, None);
        }
        let grace = if by_itself && !interrupt.is_raised() { ORPHAN_GRACE } else { Duration::ZERO };
        self.wait_for_orphans(grace);
        let left: Vec<LeftRunning> =
            self.started.iter().filter(|process| process.is_alive()).map(Process::described).collect();
        if self.has_orphans() {
            self.signal_all(Signal::TERM);
            self.wait_for_orphans(patience.once_asked.min(ORPHAN_GRACE));
            self.signal_all(Signal::KILL);
            self.wait_for_orphans(KILL_GRACE);
        }
        self.is_over = self.status.is_some();
        if by_itself { left } else { Vec::new() }
    }

    fn signal_all(&self, signal: Signal) {
        if self.status.is_none() || self.group_exists() {
            // Whoever has ended meanwhile did what was wanted.
            let _ = rustix::process::kill_process_group(self.group, signal);
        }
        for process in &self.started {
            process.signal(signal);
        }
    }

    fn has_orphans(&self) -> bool {
        self.reap();
        self.status.is_some() && self.group_exists() || self.started.iter().any(Process::is_alive)
    }

    /// Waits for orphans that have ended and were made children of this process ([`tree::adopt_orphans`]): until somebody does, they
    /// are members of the group, dead as they are. The leader belongs to its handle and has been waited for.
    fn reap(&self) {
        if self.status.is_some() {
            while matches!(waitpgid(self.group, WaitOptions::NOHANG), Ok(Some(_))) {}
        }
        for process in &self.started {
            let _ = waitpid(Some(process.pid), WaitOptions::NOHANG);
        }
    }

    /// Whether the group has a member. Only true to the point once the leader has been waited for: until then the leader,
    /// dead or alive, is a member; from then on its number cannot be given to another group while one is left.
    fn group_exists(&self) -> bool {
        rustix::process::test_kill_process_group(self.group).is_ok()
    }

    fn wait_for_orphans(&self, grace: Duration) {
        let until = Instant::now() + grace;
        while self.has_orphans() && Instant::now() < until {
            pause(Duration::from_millis(2));
        }
    }
}

impl Drop for ChildGroup {
    fn drop(&mut self) {
        if !self.is_over {
            self.started = tree::descendants(self.group);
            self.signal_all(Signal::KILL);
            self.wait_until(Instant::now() + KILL_GRACE, None);
        }
    }
}

/// The number of an exit status: the code, or 128 + n when signal n ended the process, as a shell says it.
pub(in crate::probe) fn exit_number(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

/// `exited with status 3`, `was killed by SIGKILL`.
pub(in crate::probe) fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with status {code}"),
        (None, Some(signal)) => {
            format!("was killed by {}", crate::error::signal_name(u8::try_from(signal).unwrap_or_default()))
        }
        (None, None) => "ended".to_owned(),
    }
}
