//! A child process in a job object of its own, which dies with its handle on every path: success, failure, timeout, panic, Ctrl-C, and the
//! sudden end of this process.

use std::io;
use std::os::windows::io::AsRawHandle as _;
use std::os::windows::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use process_wrap::std::{ChildWrapper, CommandWrap, CommandWrapper, JobObject};
use win32job::{ExtendedLimitInfo, Job};

use super::GLANCE;
use crate::interrupt::Interrupt;
use crate::observed::LeftRunning;
use crate::probe::child::{Ends, KILL_GRACE, ORPHAN_GRACE, Patience};
use crate::probe::deadline::pause;

/// `CREATE_SUSPENDED`: it is in its job before its first instruction.
const SUSPENDED: u32 = 0x0000_0004;
/// `CREATE_NEW_PROCESS_GROUP`: a Ctrl-C is ours to handle; the server is told by the end of its stdin.
const NEW_GROUP: u32 = 0x0000_0200;

/// A running server and everything it started.
#[derive(Debug)]
pub(in crate::probe) struct ChildGroup {
    child: Box<dyn ChildWrapper>,
    /// The system ends whatever is in it when the last handle is closed, however that comes.
    job: Arc<Job>,
    status: Option<ExitStatus>,
    is_over: bool,
}

/// Puts a child that does not run yet into the job that ends with its handle. [`JobObject`] has a second one inside it, wakes the child,
/// and can end both.
#[derive(Debug)]
struct InJob(Arc<Job>);

impl CommandWrapper for InJob {
    fn pre_spawn(&mut self, command: &mut Command, _: &CommandWrap) -> io::Result<()> {
        command.creation_flags(SUSPENDED | NEW_GROUP);
        Ok(())
    }

    fn post_spawn(&mut self, _: &mut Command, child: &mut Child, _: &CommandWrap) -> io::Result<()> {
        let assigned = self.0.assign_process(child.as_raw_handle() as isize).map_err(io::Error::other);
        if assigned.is_err() {
            // It never ran, and never will.
            let _ = child.kill();
        }
        assigned
    }
}

impl ChildGroup {
    /// Starts `command` in a new job with three pipes.
    ///
    /// # Errors
    /// When the system cannot start it.
    pub(in crate::probe) fn spawn(command: &mut Command) -> io::Result<(Self, Ends)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut group = Self::start(command)?;
        let child = &mut group.child;
        let ends = Ends { stdin: child.stdin().take(), stdout: child.stdout().take(), stderr: child.stderr().take() };
        Ok((group, ends))
    }

    /// Starts `command` in a new job that reads nothing, and whose words nobody reads.
    ///
    /// # Errors
    /// When the system cannot start it.
    pub(in crate::probe) fn spawn_silent(command: &mut Command) -> io::Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self::start(command)
    }

    fn start(command: &mut Command) -> io::Result<Self> {
        let mut limits = ExtendedLimitInfo::new();
        limits.limit_kill_on_job_close();
        let job = Arc::new(Job::create_with_limit_info(&limits).map_err(io::Error::other)?);
        let mut wrap = CommandWrap::from(std::mem::replace(command, Command::new("")));
        // In this order: the flags of the later one count, and its child is in its job before the earlier one wakes it.
        wrap.wrap(JobObject).wrap(InJob(Arc::clone(&job)));
        let child = wrap.spawn()?;
        Ok(Self { child, job, status: None, is_over: false })
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
        let mut moment = Duration::from_millis(1);
        while self.status().is_none() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || interrupt.is_some_and(Interrupt::is_raised) {
                return self.status();
            }
            pause(moment.min(left));
            moment = (moment * 2).min(GLANCE);
        }
        self.status
    }

    /// Looks whether it has ended. What it has started cannot leave its job.
    pub(in crate::probe) fn look(&mut self) {
        self.status();
    }

    /// Leaves alone what is left in the job: it no longer ends with its handle.
    pub(in crate::probe) fn leave(&mut self) {
        // Where the system refuses, what was started ends with this process: the next probe will tell.
        let _ = self.job.set_extended_limit_info(&ExtendedLimitInfo::new());
        self.is_over = true;
    }

    /// Ends the server, whose stdin has been closed: wait, then end the job.
    ///
    /// Returns what was still alive although the server had ended by itself; it has been ended too.
    pub(in crate::probe) fn end(
        &mut self,
        patience: Patience,
        interrupt: &Interrupt,
    ) -> (Option<ExitStatus>, Vec<LeftRunning>) {
        let by_itself = match patience.by_itself {
            Some(until) => self.wait_until(until, Some(interrupt)).is_some(),
            None => self.status.is_some(),
        };
        if !by_itself && !interrupt.is_raised() {
            // There is no SIGTERM: the end of its stdin is all the asking there is.
            self.wait_until(Instant::now() + patience.once_asked, Some(interrupt));
        }
        let left = if by_itself { self.left(interrupt) } else { Vec::new() };
        self.kill();
        self.is_over = self.status.is_some();
        (self.status, left)
    }

    /// What has outlived the server, after a moment to notice its end.
    fn left(&self, interrupt: &Interrupt) -> Vec<LeftRunning> {
        let until = Instant::now() + ORPHAN_GRACE;
        loop {
            let left = self.members();
            if left.is_empty() || Instant::now() >= until || interrupt.is_raised() {
                // What it is called cannot be asked without unsafe code.
                return left.into_iter().map(|pid| LeftRunning { pid, name: "process".to_owned() }).collect();
            }
            pause(Duration::from_millis(2));
        }
    }

    /// Every living process of the job, the root among them; none where the system does not say (more than 1,024 are not counted).
    fn members(&self) -> Vec<u32> {
        let pids = self.job.query_process_id_list().unwrap_or_default();
        pids.into_iter().filter_map(|pid| u32::try_from(pid).ok()).collect()
    }

    fn is_empty(&self) -> bool {
        self.job.query_process_id_list().is_ok_and(|pids| pids.is_empty())
    }

    /// Ends all that is in the job, and waits until it is gone.
    fn kill(&mut self) {
        if self.status().is_some() && self.is_empty() {
            return;
        }
        // Whoever has ended meanwhile did what was wanted.
        let _ = self.child.start_kill();
        let until = Instant::now() + KILL_GRACE;
        self.wait_until(until, None);
        while !self.is_empty() && Instant::now() < until {
            pause(Duration::from_millis(2));
        }
    }
}

impl Drop for ChildGroup {
    fn drop(&mut self) {
        if !self.is_over {
            self.kill();
        }
    }
}

/// The number of an exit status.
pub(in crate::probe) fn exit_number(status: ExitStatus) -> i32 {
    status.code().unwrap_or_default()
}

/// `exited with status 3`, `exited with status 0xC0000005` for what the system itself says.
pub(in crate::probe) fn describe(status: ExitStatus) -> String {
    match exit_number(status) {
        code @ 0.. => format!("exited with status {code}"),
        code => format!("exited with status 0x{:08X}", code.cast_unsigned()),
    }
}
