//! What a script does to processes: its own, and those it leaves behind.

use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use rustix::process::{Signal, getpid, kill_process};
use serde_json::json;
use signal_hook::consts::SIGTERM;

use crate::script::Spawn;

/// Starts a grandchild.
#[expect(clippy::disallowed_methods, reason = "the grandchild must outlive this process, unwatched")]
pub(crate) fn leave_behind(spawn: &Spawn) -> io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["sleep", "60"]);
    if spawn.new_session {
        command.arg("new-session");
    }
    command.stdin(Stdio::null());
    if !spawn.keep_stdio {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }
    let pid = command.spawn()?.id();
    crate::note_pid(pid);
    crate::log(&json!({ "spawned": pid }));
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
