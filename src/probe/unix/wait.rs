//! Waiting, always with an end: for descriptors, for a process.

use std::os::fd::{AsFd as _, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;

use crate::interrupt::Interrupt;
use crate::probe::child::Wake;

/// Waits until one of `fds` is ready, the time is up, or all work should stop.
pub(super) fn for_any(fds: &mut Vec<PollFd<'_>>, until: Instant, interrupt: Option<&Interrupt>) -> Wake {
    let Some(left) = until.checked_duration_since(Instant::now()) else { return Wake::TimeUp };
    if interrupt.is_some_and(Interrupt::is_raised) {
        return Wake::Interrupted;
    }
    match poll(fds, Some(&timespec(left))) {
        Ok(0) => Wake::TimeUp,
        // EINTR and the like: the caller looks again.
        Ok(_) | Err(_) => Wake::Ready,
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        // One more, so that a poll never wakes just before its time.
        tv_nsec: i64::from(duration.subsec_nanos().min(999_999_998)) + 1,
    }
}

/// Watches one process for its end: by a descriptor where the system has one, else by looking now and then.
#[derive(Debug)]
pub(super) struct ExitWatch {
    descriptor: Option<OwnedFd>,
    pause: Duration,
}

impl ExitWatch {
    pub(super) fn new(pid: Pid) -> Self {
        Self { descriptor: descriptor(pid), pause: Duration::from_millis(1) }
    }

    /// Waits for a while, or until the process has ended.
    pub(super) fn wait(&mut self, until: Instant, interrupt: Option<&Interrupt>) -> Wake {
        let mut fds = Vec::with_capacity(2);
        if let Some(interrupt) = interrupt {
            fds.push(PollFd::from_borrowed_fd(interrupt.watched(), PollFlags::IN));
        }
        if let Some(descriptor) = &self.descriptor {
            fds.push(PollFd::from_borrowed_fd(descriptor.as_fd(), PollFlags::IN));
            return for_any(&mut fds, until, interrupt);
        }
        let pause = until.min(Instant::now() + self.pause);
        self.pause = (self.pause * 2).min(Duration::from_millis(20));
        match for_any(&mut fds, pause, interrupt) {
            Wake::TimeUp if pause < until => Wake::Ready,
            wake => wake,
        }
    }
}

#[cfg(target_os = "linux")]
fn descriptor(pid: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn descriptor(_: Pid) -> Option<OwnedFd> {
    None
}
