//! The wish of a person or a system that this process should end, as a value that every wait of a probe can watch. A leaf.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

/// Is raised, and stays so, once a signal has arrived or [`Interrupt::cancel`] was called.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt {
    signal: Arc<AtomicUsize>,
    cancelled: Arc<AtomicBool>,
    released: Arc<AtomicBool>,
    bell: system::Bell,
}

impl Interrupt {
    /// Takes over the signals for the rest of the process.
    ///
    /// # Errors
    /// When the system gives no handler, or nothing to wake a wait with.
    pub(crate) fn install() -> io::Result<Self> {
        let interrupt = Self::detached()?;
        interrupt.bell.listen(&interrupt.signal, &interrupt.released)?;
        Ok(interrupt)
    }

    /// One that no signal reaches.
    pub(crate) fn detached() -> io::Result<Self> {
        let bell = system::Bell::new()?;
        Ok(Self { signal: Arc::default(), cancelled: Arc::default(), released: Arc::default(), bell })
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
        self.bell.ring();
    }
}
