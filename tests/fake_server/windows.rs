//! What a process on Windows cannot do to itself without unsafe code; the tests that want it are for Unix only.

use std::fs::OpenOptions;
use std::io;
use std::os::windows::fs::OpenOptionsExt as _;
use std::path::Path;

/// Holds a file beside the list of processes until its end, as nobody else can.
pub(crate) fn give_sign_of_life(list: &Path) {
    let path = list.with_extension(std::process::id().to_string());
    if let Ok(held) = OpenOptions::new().create(true).append(true).share_mode(0).open(path) {
        std::mem::forget(held);
    }
}

/// There is no group to leave: a job holds whatever was started in it.
pub(crate) fn leave_group() {}

pub(crate) fn close_stdout() -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

pub(crate) fn close_stderr() -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// There is no SIGTERM to survive.
#[expect(clippy::unnecessary_wraps, reason = "on other systems it can fail")]
pub(crate) fn ignore_term() -> io::Result<()> {
    Ok(())
}

pub(crate) fn kill_self(_: i32) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}
