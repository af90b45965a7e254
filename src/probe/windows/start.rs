//! Starting a program as a client's own start does (cross-spawn), and why one could not be started.

use std::io;
use std::os::windows::process::CommandExt as _;
use std::process::Command;

use super::{ChildGroup, program};
use crate::probe::child::Ends;

/// A command line for the shell, as Node.js hands one over (`shell: true`).
pub(in crate::probe) fn shell(line: &str) -> Command {
    let mut command = Command::new(program::shell());
    // The shell takes off one pair of quotation marks, and reads the rest as it stands.
    command.raw_arg("/d /s /c").raw_arg(format!("\"{line}\""));
    command
}

/// The command with the file that it means: a program without an ending is looked for with those of PATHEXT, and a batch file is run by
/// the standard library, which refuses arguments that the shell would read in its own way.
///
/// # Errors
/// When there is no such program.
pub(in crate::probe) fn found(command: Command) -> io::Result<Command> {
    let (found, before) = program::resolve(&command)?;
    let mut started = Command::new(found);
    if before.is_empty() && command.get_program() == started.get_program() {
        return Ok(command);
    }
    started.args(before).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => started.env(name, value),
            None => started.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        started.current_dir(folder);
    }
    Ok(started)
}

/// Starts a command in a job of its own.
///
/// # Errors
/// When the system cannot start it.
pub(in crate::probe) fn start(command: Command) -> io::Result<(ChildGroup, Ends)> {
    ChildGroup::spawn(&mut found(command)?)
}

/// Why a command could not be started, in words that lead to the mend, and the mend.
pub(in crate::probe) fn reason(command: &str, error: &io::Error) -> (String, &'static str) {
    match error.kind() {
        io::ErrorKind::NotFound if command.contains(['/', '\\']) => (
            "no such file".to_owned(),
            "check the path; relative paths begin where mcp-preflight was started, as they do for the client",
        ),
        io::ErrorKind::NotFound => {
            ("no such file in any folder of PATH".to_owned(), "install it, or add its folder to PATH")
        }
        io::ErrorKind::PermissionDenied => {
            ("permission denied".to_owned(), "check that it is a file, and that you may run it")
        }
        io::ErrorKind::InvalidInput => (
            format!("{error}; it is a batch file, and an argument holds what cmd.exe would read in its own way"),
            "start the program behind the batch file, such as node with its script",
        ),
        _ => (error.to_string(), "check the command; a script needs its interpreter as the command"),
    }
}
