//! Ctrl-C and Ctrl-Break. Waits have nothing to watch: they look now and then.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use signal_hook::consts::{SIGBREAK, SIGINT};

/// Rings for nobody.
#[derive(Debug, Clone)]
pub(super) struct Bell;

impl Bell {
    /// A silent one.
    ///
    /// # Errors
    /// Never.
    #[expect(clippy::unnecessary_wraps, reason = "on other systems it can fail")]
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self)
    }

    /// Writes a signal down; once `released`, it does what it would have done otherwise. Ctrl-Break is one more Ctrl-C.
    ///
    /// # Errors
    /// When the system gives no handler.
    #[expect(clippy::unused_self, reason = "on other systems there is something to ring")]
    pub(super) fn listen(&self, written: &Arc<AtomicUsize>, released: &Arc<AtomicBool>) -> io::Result<()> {
        for signal in [SIGINT, SIGBREAK] {
            // The library knows no default for SIGBREAK; the exit code is the one the system would give.
            signal_hook::flag::register_conditional_shutdown(signal, CONTROL_C_EXIT, Arc::clone(released))?;
            signal_hook::flag::register_usize(
                signal,
                Arc::clone(written),
                usize::try_from(SIGINT).unwrap_or_default(),
            )?;
        }
        Ok(())
    }

    #[expect(clippy::unused_self, reason = "on other systems there is something to ring")]
    pub(super) fn ring(&self) {}
}

/// `STATUS_CONTROL_C_EXIT`.
const CONTROL_C_EXIT: i32 = 0xC000_013A_u32.cast_signed();
