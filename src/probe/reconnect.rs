//! Commands that a person gave to bring a server back: a service manager's restart, say. Started directly; no shell reads them.

use std::process::Command;
use std::time::{Duration, Instant};

use super::run::{self, Unfinished};
use super::system;
use crate::interrupt::Interrupt;

/// Runs one within its time, without the variables in `withheld`. What a successful one has started stays: that is the server.
///
/// # Errors
/// Why it came to no good end, in words.
pub(crate) fn reconnect(
    words: &[String],
    withheld: &[String],
    limit: Duration,
    interrupt: &Interrupt,
) -> Result<(), String> {
    let Some((program, arguments)) = words.split_first() else { return Err("there is no command".to_owned()) };
    let mut command = Command::new(program);
    command.args(arguments);
    for name in withheld {
        command.env_remove(name);
    }
    let found = system::found(command).map_err(Unfinished::NotStarted);
    let end = Instant::now() + limit;
    match found.and_then(|mut command| run::and_leave(&mut command, end, interrupt)) {
        Ok(()) => Ok(()),
        Err(Unfinished::NotStarted(error)) => {
            Err(format!("cannot start {program:?} (a name alone is looked for in PATH): {error}"))
        }
        Err(Unfinished::Failed(how)) => Err(format!("{program:?} {how}")),
    }
}
