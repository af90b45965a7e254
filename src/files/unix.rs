//! Which file is which on Unix, and how one is opened without waiting.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Device and inode of every file that this process has read: whatever name it has, a report must not take its place.
static READ: Mutex<BTreeSet<(u64, u64)>> = Mutex::new(BTreeSet::new());

/// Remembers a file that is read.
pub(crate) fn note(_: &Path, metadata: &fs::Metadata) {
    READ.lock().unwrap_or_else(PoisonError::into_inner).insert((metadata.dev(), metadata.ino()));
}

/// Whether this process has read the file, under this name or another one.
pub(crate) fn was_read(path: &Path) -> bool {
    let Ok(metadata) = fs::metadata(path) else { return false };
    READ.lock().unwrap_or_else(PoisonError::into_inner).contains(&(metadata.dev(), metadata.ino()))
}

/// Opens a file for reading; a pipe that nobody writes to is opened as well, and at once.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    OpenOptions::new().read(true).custom_flags(nonblocking).open(path)
}
