//! Which file is which on Windows.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Every file that this process has read: whatever name it has, a report must not take its place.
static READ: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Remembers a file that is read.
pub(crate) fn note(path: &Path, _: &fs::Metadata) {
    // The current folder never changes; a path that leads nowhere any more is no danger.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    READ.lock().unwrap_or_else(PoisonError::into_inner).insert(path);
}

/// Whether this process has read the file, under this name or another one (links of both kinds are seen through).
pub(crate) fn was_read(path: &Path) -> bool {
    let read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    read.iter().any(|known| same_file::is_same_file(known, path).unwrap_or(false))
}

/// Opens a file for reading. Devices and pipes are no part of a folder here, and cannot come with a checkout.
pub(super) fn open(path: &Path) -> io::Result<File> {
    if path.is_dir() { Err(super::irregular()) } else { File::open(path) }
}
