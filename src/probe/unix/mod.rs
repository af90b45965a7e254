//! Child processes on Unix: a process group each, signals, and one poll over all pipes.

mod child;
mod pipes;
mod start;
mod strays;
mod tree;
mod wait;

pub(super) use child::{ChildGroup, describe, exit_number};
pub(super) use pipes::Pipes;
pub(super) use start::{found, reason, shell, start};
pub(super) use strays::Strays;
