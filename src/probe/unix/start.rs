//! Starting a program as `execvp(3)` does, and why one could not be started.

use std::io;
use std::path::Path;
use std::process::Command;

use super::ChildGroup;
use crate::probe::child::Ends;

/// A command line for the shell.
pub(in crate::probe) fn shell(line: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", line]);
    command
}

/// The command as the system finds it by itself.
///
/// # Errors
/// Never; elsewhere there may be no such program.
#[expect(clippy::unnecessary_wraps, reason = "on other systems it can fail")]
pub(in crate::probe) fn found(command: Command) -> io::Result<Command> {
    Ok(command)
}

/// Starts a command in a group of its own.
///
/// # Errors
/// When the system cannot start it.
pub(in crate::probe) fn start(mut command: Command) -> io::Result<(ChildGroup, Ends)> {
    match ChildGroup::spawn(&mut command) {
        // A script without a first line (#!): the client's own start falls back to a shell for it, as `execvp(3)` does.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()) => {
            let mut shell = Command::new("/bin/sh");
            shell.arg(command.get_program()).args(command.get_args());
            for (name, value) in command.get_envs() {
                match value {
                    Some(value) => shell.env(name, value),
                    None => shell.env_remove(name),
                };
            }
            if let Some(folder) = command.get_current_dir() {
                shell.current_dir(folder);
            }
            ChildGroup::spawn(&mut shell)
        }
        spawned => spawned,
    }
}

/// Why a command could not be started, in words that lead to the mend, and the mend.
pub(in crate::probe) fn reason(command: &str, error: &io::Error) -> (String, &'static str) {
    let is_path = command.contains('/');
    match error.kind() {
        io::ErrorKind::NotFound if is_path && Path::new(command).exists() => (
            "no such file: the interpreter in its first line is missing".to_owned(),
            "check the file's first line (#!)",
        ),
        io::ErrorKind::NotFound if is_path => (
            "no such file".to_owned(),
            "check the path; relative paths begin where mcp-preflight was started, as they do for the client",
        ),
        io::ErrorKind::NotFound => {
            ("no such file in any folder of PATH".to_owned(), "install it, or add its folder to PATH")
        }
        io::ErrorKind::PermissionDenied => {
            ("permission denied".to_owned(), "make it executable (chmod +x), or check that it is a file")
        }
        _ => (error.to_string(), "check the command"),
    }
}
