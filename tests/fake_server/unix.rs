//! What only a process on Unix can do to itself.

use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::process::{Signal, getpid, kill_process};
use serde_json::json;
use signal_hook::consts::SIGTERM;

/// The system knows who is alive.
pub(crate) fn give_sign_of_life(_: &Path) {}

/// Leaves the process group, and the session.
pub(crate) fn leave_group() {
    let _ = rustix::process::setsid();
}

/// Puts a pipe in the place of standard output: writing to it fails, as it would to a closed descriptor.
pub(crate) fn close_stdout() -> io::Result<()> {
    let (_, write) = rustix::pipe::pipe()?;
    rustix::stdio::dup2_stdout(write)?;
    Ok(())
}

/// The same with standard error.
pub(crate) fn close_stderr() -> io::Result<()> {
    let (_, write) = rustix::pipe::pipe()?;
    rustix::stdio::dup2_stderr(write)?;
    Ok(())
}

/// Survives SIGTERM from now on, and writes each one to the log.
pub(crate) fn ignore_term() -> io::Result<()> {
    let (mut reader, writer) = UnixStream::pair()?;
    signal_hook::low_level::pipe::register(SIGTERM, writer)?;
    std::thread::spawn(move || {
        while reader.read_exact(&mut [0]).is_ok() {
            crate::log(&json!({ "signal": SIGTERM }));
        }
    });
    Ok(())
}

/// Dies of a signal.
pub(crate) fn kill_self(signal: i32) -> io::Result<()> {
    let signal = Signal::from_named_raw(signal).ok_or_else(|| io::Error::other(format!("no signal {signal}")))?;
    kill_process(getpid(), signal)?;
    std::thread::sleep(crate::LONGEST);
    Ok(())
}
