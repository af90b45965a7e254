//! SIGINT, SIGTERM, SIGHUP and SIGQUIT as a value that every wait of a probe can watch. A leaf.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};

/// Becomes readable, and stays so, once a signal has arrived or [`Interrupt::cancel`] was called.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt {
    signal: Arc<AtomicUsize>,
    cancelled: Arc<AtomicBool>,
    released: Arc<AtomicBool>,
    /// Nobody reads from it: a byte in it wakes every poll, for ever.
    watched: Arc<UnixStream>,
    waker: Arc<UnixStream>,
}

impl Interrupt {
    /// Takes over the signals for the rest of the process.
    ///
    /// # Errors
    /// When the system gives no socket pair or no handler.
    pub(crate) fn install() -> io::Result<Self> {
        let interrupt = Self::detached()?;
        // A parent that ignores SIGCHLD hands that on, and the system would throw the exit status of every child away.
        signal_hook::flag::register(SIGCHLD, Arc::default())?;
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT].into_iter().filter(|signal| !is_ignored(*signal)) {
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&interrupt.released))?;
            let number = usize::try_from(signal).unwrap_or_default();
            signal_hook::flag::register_usize(signal, Arc::clone(&interrupt.signal), number)?;
            signal_hook::low_level::pipe::register(signal, interrupt.waker.try_clone()?)?;
        }
        Ok(interrupt)
    }

    /// One that no signal reaches.
    pub(crate) fn detached() -> io::Result<Self> {
        let (watched, waker) = UnixStream::pair()?;
        Ok(Self {
            signal: Arc::default(),
            cancelled: Arc::default(),
            released: Arc::default(),
            watched: Arc::new(watched),
            waker: Arc::new(waker),
        })
    }

    /// From now on a signal ends the process as it would have without this.
    pub(crate) fn release(&self) {
        self.released.store(true, Ordering::SeqCst);
    }

    /// The signal that arrived.
    pub(crate) fn signal(&self) -> Option<u8> {
        u8::try_from(self.signal.load(Ordering::SeqCst)).ok().filter(|signal| *signal != 0)
    }

    /// Whether all work should stop.
    pub(crate) fn is_raised(&self) -> bool {
        self.cancelled.load(Ordering::SeqCst) || self.signal().is_some()
    }

    /// Stops all work as a signal would.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
        // A full pipe is as readable as one with a byte more.
        let _ = io::Write::write(&mut &*self.waker, b"!");
    }

    /// What a poll watches.
    pub(crate) fn watched(&self) -> BorrowedFd<'_> {
        self.watched.as_fd()
    }
}

/// Whether the process was started with this signal ignored (`nohup` does so with SIGHUP), which must stay so. Only Linux tells.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    mask >> (signal - 1) & 1 == 1
}
