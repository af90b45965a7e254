//! Ctrl-C and Ctrl-Break. Waits have nothing to watch: they look now and then.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The number that Ctrl-C has elsewhere, and that exit codes are made of.
const SIGINT: usize = 2;

/// Where it is written down, and whether it is somebody else's business now.
type Listener = (Arc<AtomicUsize>, Arc<AtomicBool>);

/// The last one who wanted to know.
static LISTENER: Mutex<Option<Listener>> = Mutex::new(None);

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

    /// Writes Ctrl-C down (Ctrl-Break, and the end of the session, are one more Ctrl-C); once `released`, it ends the process.
    ///
    /// # Errors
    /// When the system gives no handler.
    #[expect(clippy::unused_self, reason = "on other systems there is something to ring")]
    pub(super) fn listen(&self, written: &Arc<AtomicUsize>, released: &Arc<AtomicBool>) -> io::Result<()> {
        let is_new = listener().replace((Arc::clone(written), Arc::clone(released))).is_none();
        if is_new { ctrlc::try_set_handler(arrived).map_err(io::Error::other) } else { Ok(()) }
    }

    #[expect(clippy::unused_self, reason = "on other systems there is something to ring")]
    pub(super) fn ring(&self) {}
}

fn listener() -> std::sync::MutexGuard<'static, Option<Listener>> {
    LISTENER.lock().unwrap_or_else(PoisonError::into_inner)
}

#[expect(
    clippy::disallowed_methods,
    clippy::exit,
    reason = "no child is left, and this is what Ctrl-C does to a process"
)]
fn arrived() {
    let listener = listener().clone();
    let Some((written, released)) = listener else { return };
    if released.load(Ordering::SeqCst) {
        std::process::exit(130);
    }
    written.store(SIGINT, Ordering::SeqCst);
}
