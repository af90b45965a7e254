//! Reading files that somebody else has written: regular ones, of a size that such a file has. A pipe would be waited for without an end, and a
//! device has none; both can come with a checkout, behind a link.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

pub(crate) use system::{note, was_read};

/// A larger file is not read: Claude Code has the same bound for its configuration (`clients.md` 1.2).
const LARGEST: u64 = 2_097_152;

/// A person's own file keeps histories.
const LARGEST_OWN: u64 = 64 * 1024 * 1024;

/// The bytes of a file.
///
/// # Errors
/// When it is not there, no regular file, or too large.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    bounded(path, LARGEST)
}

/// The bytes of a file of the person's own, which holds other things, too.
///
/// # Errors
/// See [`read`].
pub(crate) fn read_own(path: &Path) -> io::Result<Vec<u8>> {
    bounded(path, LARGEST_OWN)
}

/// Whether two paths lead to one file.
pub(crate) fn is_same(path: &Path, other: &Path) -> bool {
    path == other || path.canonicalize().is_ok_and(|path| other.canonicalize().is_ok_and(|other| path == other))
}

/// Where a file is to be written: what a link leads to is replaced, not the link, also where nothing is there yet.
pub(crate) fn behind_link(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| match path.read_link() {
        Ok(target) => path.parent().map_or_else(|| target.clone(), |folder| folder.join(&target)),
        Err(_) => path.to_path_buf(),
    })
}

/// A path with its links resolved, as far as they can be.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    let Ok(found) = path.canonicalize() else { return path.to_path_buf() };
    // Windows answers with a form that other programs do not write.
    let plain = found
        .to_str()
        .and_then(|text| text.strip_prefix(r"\\?\"))
        .filter(|text| cfg!(windows) && !text.starts_with("UNC"));
    plain.map(PathBuf::from).unwrap_or(found)
}

/// What is said of folders, devices and pipes.
fn irregular() -> io::Error {
    io::Error::other("it is no regular file, and the client would skip it")
}

/// A path with one kind of slash, which Windows reads as well, and reports for programs want.
pub(crate) fn slashed(path: &Path) -> String {
    let text = path.display().to_string();
    if cfg!(windows) { text.replace('\\', "/") } else { text }
}

fn bounded(path: &Path, largest: u64) -> io::Result<Vec<u8>> {
    let file = system::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(irregular());
    }
    if metadata.len() > largest {
        let bound = largest / (1024 * 1024);
        return Err(io::Error::other(format!("it is larger than {bound} MiB, and the client would skip it")));
    }
    note(path, &metadata);
    let mut bytes = Vec::new();
    file.take(largest).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The same as text, bytes that are no UTF-8 replaced.
///
/// # Errors
/// See [`read`].
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::read;

    #[test]
    fn only_files_are_read() {
        assert!(read(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))).is_ok());
        for path in ["/dev/zero", "/dev/null", "/", "/nowhere"] {
            assert!(read(Path::new(path)).is_err(), "{path}");
        }
    }
}
