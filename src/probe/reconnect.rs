//! Commands that a person gave to bring a server back: a service manager's restart, say. Started directly; no shell reads them.

use std::process::Command;
use std::time::{Duration, Instant};

use super::run::{self, Unfinished};
use super::system;
use crate::interrupt::Interrupt;

/// Runs one within its time.
///
/// # Errors
/// Why it came to no good end, in words.
pub(crate) fn reconnect(words: &[String], limit: Duration, interrupt: &Interrupt) -> Result<(), String> {
    let Some((program, arguments)) = words.split_first() else { return Err("there is no command".to_owned()) };
    let mut command = Command::new(program);
    command.args(arguments);
    let found = system::found(command).map_err(Unfinished::NotStarted);
    let ended = found.and_then(|mut command| run::to_its_end(&mut command, Instant::now() + limit, interrupt));
    match ended {
        Ok(_) => Ok(()),
        Err(Unfinished::NotStarted(error)) => Err(format!("cannot start {program:?}: {error}")),
        Err(Unfinished::Failed(how)) => Err(format!("{program:?} {how}")),
    }
}
