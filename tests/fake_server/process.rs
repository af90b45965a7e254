//! The processes that a script leaves behind.

use std::io;
use std::process::{Command, Stdio};

use serde_json::json;

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
