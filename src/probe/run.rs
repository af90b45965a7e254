//! Runs a command to its end, within a time: what makes headers, and what brings a server back. What it has started ends with it, or stays where that is what it was run for.

use std::io::{self, Read};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use super::child::Patience;
use super::system::{self, ChildGroup};
use crate::interrupt::Interrupt;

/// How much it may print.
const MOST: usize = 64 * 1024;
/// How long its words may take to arrive once it has ended.
const SETTLING: Duration = Duration::from_millis(100);
/// How long it may take once it is asked to end.
const ONCE_ASKED: Duration = Duration::from_millis(200);

/// Why a command came to no good end.
pub(super) enum Unfinished {
    /// The system cannot start it.
    NotStarted(io::Error),
    /// How it ended: `exited with status 3`, `did not end in its time`.
    Failed(String),
}

/// Runs a command, and returns what it printed.
pub(super) fn to_its_end(command: &mut Command, end: Instant, interrupt: &Interrupt) -> Result<Vec<u8>, Unfinished> {
    let (mut group, ends) = ChildGroup::spawn(command).map_err(Unfinished::NotStarted)?;
    drop(ends.stdin);
    let (sender, receiver) = mpsc::channel();
    let (stdout, stderr) = (ends.stdout, ends.stderr);
    let printed = Arc::new(Mutex::new(Vec::new()));
    let shared = Arc::clone(&printed);
    // Both end with the command and what it has started, which is ended below.
    std::thread::spawn(move || {
        if let Some(mut stdout) = stdout {
            collect(&mut stdout, &shared);
        }
        // Nobody waits any more when the time is up.
        let _ = sender.send(());
    });
    std::thread::spawn(move || stderr.map(|mut stderr| io::copy(&mut stderr, &mut io::sink())));
    let has_ended = group.wait_until(end, Some(interrupt)).is_some();
    if has_ended {
        // What it has left behind may hold the pipe open: its own words are there already.
        let _ = receiver.recv_timeout(SETTLING);
    }
    group.look();
    let patience = Patience { by_itself: None, once_asked: ONCE_ASKED };
    let (status, _) = group.end(patience, interrupt);
    match status {
        Some(status) if has_ended && status.success() => {
            Ok(std::mem::take(&mut *printed.lock().unwrap_or_else(PoisonError::into_inner)))
        }
        Some(status) if has_ended => Err(Unfinished::Failed(system::describe(status))),
        _ => Err(Unfinished::Failed("did not end in its time".to_owned())),
    }
}

/// Runs a command that prints for nobody, and leaves alone what it has started, once it has ended well by itself.
pub(super) fn and_leave(command: &mut Command, end: Instant, interrupt: &Interrupt) -> Result<(), Unfinished> {
    let mut group = ChildGroup::spawn_silent(command).map_err(Unfinished::NotStarted)?;
    let status = group.wait_until(end, Some(interrupt));
    if status.is_some_and(|status| status.success()) {
        group.leave();
        return Ok(());
    }
    group.look();
    group.end(Patience { by_itself: None, once_asked: ONCE_ASKED }, interrupt);
    Err(Unfinished::Failed(status.map_or_else(|| "did not end in its time".to_owned(), system::describe)))
}

/// Reads to the end, or as much as a command may print.
fn collect(stdout: &mut impl Read, printed: &Mutex<Vec<u8>>) {
    let mut chunk = [0; 4096];
    while let Ok(length @ 1..) = stdout.read(&mut chunk) {
        let mut printed = printed.lock().unwrap_or_else(PoisonError::into_inner);
        printed.extend_from_slice(&chunk[..length]);
        if printed.len() > MOST {
            return;
        }
    }
}
