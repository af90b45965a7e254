//! The lock on disk: read, and replaced as a whole (written beside, then renamed), so that a crash leaves the old one.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::document::Document;
use crate::error::Error;
use crate::files;
use crate::lock::Lock;

/// A larger file is no lock: 50,000 tools of 100 servers would be smaller.
const LARGEST_FILE: u64 = 256 * 1024 * 1024;

/// A lock file: where it is, and what stands in it.
#[derive(Debug)]
pub(crate) struct Store {
    path: PathBuf,
    shown: String,
    /// The bytes that were read; `None` when there is no file.
    bytes: Option<Vec<u8>>,
}

impl Store {
    /// Reads the file, if there is one.
    ///
    /// # Errors
    /// [`Error::Unreadable`] when there is one that cannot be read.
    pub(crate) fn open(path: &Path, shown: String) -> Result<Self, Error> {
        let path = files::behind_link(path);
        match read(&path) {
            Ok(bytes) => Ok(Self { path, shown, bytes }),
            Err(source) => Err(Error::Unreadable { what: "lock", path: shown, source }),
        }
    }

    /// How reports name the file.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// The text that was read, empty when there is no file.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(self.bytes.as_deref().unwrap_or_default()).into_owned()
    }

    /// The lock that was read; `None` when there is no file.
    ///
    /// # Errors
    /// [`Error::Lock`] when the file has an unknown shape.
    pub(crate) fn lock(&self) -> Result<Option<Lock>, Error> {
        let Some(bytes) = &self.bytes else { return Ok(None) };
        let document = Document::new(self.shown.as_str(), bytes);
        Lock::parse(&document)
            .map(Some)
            .map_err(|fault| Error::Lock { location: fault.location, message: fault.message })
    }

    /// Replaces the file.
    ///
    /// # Errors
    /// [`Error::LockChanged`] when somebody else has written it since, [`Error::LockUnwritable`] when it cannot be written. The old file
    /// is untouched then.
    pub(crate) fn replace(&self, lock: &Lock) -> Result<(), Error> {
        let unwritable = |source| Error::LockUnwritable { path: self.shown.clone(), source };
        let now = read(&self.path).map_err(unwritable)?;
        if now != self.bytes {
            // Another run that came to the same table has done this one's work.
            let is_done = now.is_some_and(|bytes| Lock::parse(&Document::new("", &bytes)).as_ref() == Ok(lock));
            return if is_done { Ok(()) } else { Err(Error::LockChanged { path: self.shown.clone() }) };
        }
        self.write(lock.render().as_bytes()).map_err(unwritable)
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = tempfile::Builder::new().prefix(".mcp-tools.lock.").suffix(".tmp").tempfile_in(folder)?;
        file.write_all(bytes)?;
        self.permit(file.as_file())?;
        file.as_file().sync_all()?;
        file.persist(&self.path).map(drop).map_err(|error| error.error)
    }

    /// Gives the file the permissions of the old one; a new one gets those that the user's mask gives (a temporary file has stricter ones).
    #[cfg(unix)]
    fn permit(&self, file: &fs::File) -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt as _;
        let permissions = match fs::metadata(&self.path) {
            Ok(metadata) => metadata.permissions(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mask = rustix::process::umask(rustix::fs::Mode::empty());
                rustix::process::umask(mask);
                // Its bits are 16 on macOS, and 32 elsewhere.
                fs::Permissions::from_mode(u32::try_from(0o666 & !u64::from(mask.bits())).unwrap_or(0o600))
            }
            Err(error) => return Err(error),
        };
        file.set_permissions(permissions)
    }

    /// The folder decides who may do what.
    #[cfg(windows)]
    #[expect(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "on other systems the old file decides, and it can fail"
    )]
    fn permit(&self, _: &fs::File) -> io::Result<()> {
        Ok(())
    }
}

fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => Err(io::Error::other("it is no regular file")),
        Ok(metadata) if metadata.len() > LARGEST_FILE => Err(io::Error::other("it is too large to be a lock")),
        Ok(metadata) => {
            files::note(path, &metadata);
            fs::read(path).map(Some)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
