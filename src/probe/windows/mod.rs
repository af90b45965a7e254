//! Child processes on Windows: a job object each, which ends with its last handle, and a thread for each pipe, because anonymous pipes
//! cannot be polled.

mod child;
mod pipes;
mod program;
mod start;
mod strays;

pub(super) use child::{ChildGroup, describe, exit_number};
pub(super) use pipes::Pipes;
pub(super) use start::{found, reason, shell, start};
pub(super) use strays::Strays;

use std::time::Duration;

/// How often a wait looks whether all work should stop.
const GLANCE: Duration = Duration::from_millis(15);
