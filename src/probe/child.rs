//! What a child process is on every system: its pipes, its time to end, why a wait is over. How a system does it stands in `unix` and
//! `windows`, which offer the same names.

use std::process::{ChildStderr, ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

/// Room for one read.
pub(super) const CHUNK: usize = 64 * 1024;
/// How long a process that lost its server may take to notice.
pub(super) const ORPHAN_GRACE: Duration = Duration::from_millis(250);
/// How long the system may take to end a killed process.
pub(super) const KILL_GRACE: Duration = Duration::from_millis(500);

/// Our ends of a child's pipes, as the system gives them.
#[derive(Debug)]
pub(super) struct Ends {
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: Option<ChildStdout>,
    pub(super) stderr: Option<ChildStderr>,
}

/// How long a server may take to end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// Until when it may end by itself, now that its stdin is closed; `None` when it may not.
    pub(super) by_itself: Option<Instant>,
    /// How long it may take once it is asked to end: by SIGTERM, or, where there is no such thing, by the end of its stdin.
    pub(super) once_asked: Duration,
}

/// Why a wait is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wake {
    /// Something may be ready: look.
    Ready,
    /// The time is up.
    TimeUp,
    /// All work should stop.
    Interrupted,
}
