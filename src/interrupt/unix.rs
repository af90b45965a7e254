//! SIGINT, SIGTERM, SIGHUP and SIGQUIT, and a descriptor that a poll can watch.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use super::Interrupt;

/// Becomes readable, and stays so.
#[derive(Debug, Clone)]
pub(super) struct Bell {
    /// Nobody reads from it: a byte in it wakes every poll, for ever.
    watched: Arc<UnixStream>,
    waker: Arc<UnixStream>,
}

impl Bell {
    /// A silent one.
    ///
    /// # Errors
    /// When the system gives no socket pair.
    pub(super) fn new() -> io::Result<Self> {
        let (watched, waker) = UnixStream::pair()?;
        Ok(Self { watched: Arc::new(watched), waker: Arc::new(waker) })
    }

    /// Rings on a signal, which is written down; once `released`, the signal does what it would have done otherwise.
    ///
    /// # Errors
    /// When the system gives no handler.
    pub(super) fn listen(&self, written: &Arc<AtomicUsize>, released: &Arc<AtomicBool>) -> io::Result<()> {
        // A parent that ignores SIGCHLD hands that on, and the system would throw the exit status of every child away.
        signal_hook::flag::register(SIGCHLD, Arc::default())?;
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT].into_iter().filter(|signal| !is_ignored(*signal)) {
            signal_hook::flag::register_conditional_default(signal, Arc::clone(released))?;
            let number = usize::try_from(signal).unwrap_or_default();
            signal_hook::flag::register_usize(signal, Arc::clone(written), number)?;
            signal_hook::low_level::pipe::register(signal, self.waker.try_clone()?)?;
        }
        Ok(())
    }

    pub(super) fn ring(&self) {
        // A full pipe is as readable as one with a byte more.
        let _ = io::Write::write(&mut &*self.waker, b"!");
    }
}

impl Interrupt {
    /// What a poll watches.
    pub(crate) fn watched(&self) -> BorrowedFd<'_> {
        self.bell.watched.as_fd()
    }
}

/// Whether the process was started with this signal ignored (`nohup` does so with SIGHUP), which must stay so. Only Linux tells.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    mask >> (signal - 1) & 1 == 1
}
