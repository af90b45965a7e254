//! The records on disk: read as a whole, changed under a lock, written beside and renamed, so that parallel hooks lose nothing and a crash
//! leaves the old ones. A file that cannot be understood is set aside; one of a later version is left alone.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::{Entry, Key, Millis};
use crate::files;
use crate::loose_json::as_every_reader_takes_it;

/// The version this tool reads and writes.
const VERSION: f64 = 1.0;
/// Nobody holds the lock for longer than a rename takes.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);
/// A record that nobody has touched for a week is dropped, in milliseconds.
const FORGOTTEN: Millis = 7 * 24 * 3_600_000;

/// The file.
#[derive(Debug)]
pub(crate) struct HealthFile {
    path: PathBuf,
}

/// What stands in it. What is not ours stays as it is.
#[derive(Debug, Default)]
pub(crate) struct Records {
    root: Map<String, Value>,
    servers: Map<String, Value>,
}

/// Why a file gives no records.
#[derive(Debug)]
enum Problem {
    /// The system does not let us.
    Io(io::Error),
    /// It is none of this tool's, or torn.
    Corrupt(String),
    /// A later version wrote it.
    Newer(f64),
}

impl HealthFile {
    /// The file at a path, there or not.
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: files::behind_link(path) }
    }

    /// The records as they are now, without waiting for anybody; none where the file is missing, or cannot be understood.
    pub(crate) fn glance(&self) -> Records {
        self.read().unwrap_or_default()
    }

    /// Changes the records under the lock. Returns what the change returns, and what there is to say of the old file.
    ///
    /// # Errors
    /// Why nothing was written, in words. The old file is untouched then.
    pub(crate) fn update<T>(
        &self,
        now: Millis,
        change: impl FnOnce(&mut Records) -> T,
    ) -> Result<(T, Option<String>), String> {
        let shown = self.path.display();
        let told = |what: &str, error: &io::Error| format!("{what} {shown}: {error}");
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder).map_err(|error| told("cannot make the folder of", &error))?;
        }
        let lock = self.lock().map_err(|error| told("cannot lock", &error))?;
        let (mut records, said) = match self.read() {
            Ok(records) => (records, None),
            Err(Problem::Corrupt(why)) => {
                let aside = self.beside(".corrupt");
                // Where a folder stands in the way, another name does.
                let aside = if aside.is_dir() { self.beside(&format!(".corrupt-{now}")) } else { aside };
                fs::rename(&self.path, &aside).map_err(|error| told("cannot set aside", &error))?;
                (
                    Records::default(),
                    Some(format!(
                        "{shown} could not be read ({why}): it was set aside as {}, and a new one begun",
                        aside.display()
                    )),
                )
            }
            Err(Problem::Newer(version)) => {
                return Err(format!(
                    "{shown} is of version {version}, and this tool knows {VERSION}: it was left alone"
                ));
            }
            Err(Problem::Io(error)) => return Err(told("cannot read", &error)),
        };
        let before = records.servers.clone();
        let result = change(&mut records);
        records.forget(now);
        if records.servers != before || said.is_some() {
            self.write(&records).map_err(|error| told("cannot write", &error))?;
        }
        drop(lock);
        Ok((result, said))
    }

    fn read(&self) -> Result<Records, Problem> {
        let bytes = match files::read_own(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Records::default()),
            Err(error) => return Err(Problem::Io(error)),
        };
        let value = serde_json::from_slice::<Value>(&bytes).or_else(|_| {
            // Another program may have written what only JavaScript takes.
            serde_json::from_str(&as_every_reader_takes_it(&String::from_utf8_lossy(&bytes)))
        });
        let value = value.map_err(|error| Problem::Corrupt(error.to_string()))?;
        let Value::Object(mut root) = value else { return Err(Problem::Corrupt("it holds no object".to_owned())) };
        match root.get("version").and_then(Value::as_f64) {
            Some(VERSION) => {}
            Some(version) if version > VERSION => return Err(Problem::Newer(version)),
            _ => return Err(Problem::Corrupt("\"version\" is not 1".to_owned())),
        }
        match root.remove("servers") {
            Some(Value::Object(servers)) => Ok(Records { root, servers }),
            None => Ok(Records { root, servers: Map::new() }),
            Some(_) => Err(Problem::Corrupt("\"servers\" is no object".to_owned())),
        }
    }

    /// A file beside it that is locked: the records themselves are replaced, and a lock on them would go with the old ones. The system
    /// lets go of it when the process ends, however it ends.
    fn lock(&self) -> io::Result<File> {
        let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(self.beside(".lock"))?;
        let until = Instant::now() + LOCK_PATIENCE;
        let mut pause = Duration::from_micros(200);
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) if Instant::now() >= until => {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "somebody else holds the lock"));
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(pause),
            }
            pause = (pause * 2).min(Duration::from_millis(10));
        }
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(ending);
        PathBuf::from(path)
    }

    /// A temporary file is its owner's alone, and so are the records.
    fn write(&self, records: &Records) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::Builder::new().prefix(".mcp-health.").suffix(".tmp").tempfile_in(folder)?;
        let mut root = records.root.clone();
        root.insert("version".to_owned(), 1.into());
        root.insert("servers".to_owned(), Value::Object(records.servers.clone()));
        let mut text = serde_json::to_string_pretty(&root)?;
        text.push('\n');
        file.write_all(text.as_bytes())?;
        file.persist(&self.path).map(drop).map_err(|error| error.error)
    }
}

impl Records {
    /// The record of a server, as its entry is now.
    pub(crate) fn get(&self, key: &Key) -> Option<Entry> {
        let entry: Entry = serde_json::from_value(self.servers.get(&key.text())?.clone()).ok()?;
        key.owns(&entry).then_some(entry)
    }

    /// Every key there is, of others' records too.
    pub(crate) fn keys(&self) -> Vec<String> {
        self.servers.keys().cloned().collect()
    }

    /// Keeps the record of a server.
    pub(crate) fn put(&mut self, key: &Key, entry: Entry) {
        let Key { server, source, fingerprint } = key.clone();
        // A record of strings and numbers always becomes JSON.
        if let Ok(value) = serde_json::to_value(Entry { server, source, fingerprint, ..entry }) {
            self.servers.insert(key.text(), value);
        }
    }

    /// Removes the records of a server, wherever it is configured, or all of them; returns whose they were.
    pub(crate) fn remove(&mut self, server: Option<&str>) -> Vec<String> {
        let is_meant = |key: &str, value: &Value| {
            let name = value.get("server").and_then(Value::as_str);
            server.is_none_or(|wanted| name == Some(wanted) || key == wanted)
        };
        let keys: Vec<String> =
            self.servers.iter().filter(|(key, value)| is_meant(key, value)).map(|(key, _)| key.clone()).collect();
        for key in &keys {
            self.servers.remove(key);
        }
        keys
    }

    /// Drops records of ours that nobody has touched for long: folders come and go.
    fn forget(&mut self, now: Millis) {
        self.servers.retain(|_, value| {
            let is_ours = value.get("fingerprint").is_some();
            let touched = value.get("checkedAt").and_then(Value::as_u64).unwrap_or(now);
            !is_ours || now.saturating_sub(touched) < FORGOTTEN
        });
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{FORGOTTEN, HealthFile};
    use crate::health::{Entry, Key, Status};

    const NOW: u64 = 1_800_000_000_000;

    fn key(server: &str, source: &str) -> Key {
        Key { server: server.to_owned(), source: source.to_owned(), fingerprint: "f".to_owned() }
    }

    /// A file that somebody else has left there.
    #[expect(clippy::disallowed_methods, reason = "a test may lose a file")]
    fn left(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    fn healthy() -> Entry {
        Entry { status: Status::Healthy, checked_at: NOW, ..Entry::default() }
    }

    fn file() -> (tempfile::TempDir, HealthFile, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("new/health.json");
        (folder, HealthFile::new(&path), path)
    }

    #[test]
    fn what_was_put_is_found_again_by_its_owner_alone() {
        let (_folder, file, _) = file();
        file.update(NOW, |records| records.put(&key("s", "/a"), healthy())).expect("written");
        let records = file.glance();
        assert_eq!(records.get(&key("s", "/a")).expect("a record").status, Status::Healthy);
        assert_eq!(records.get(&key("s", "/b")), None);
        // A changed entry is another server.
        assert_eq!(records.get(&Key { fingerprint: "g".to_owned(), ..key("s", "/a") }), None);
    }

    #[test]
    fn what_is_not_ours_stays() {
        let (_folder, file, path) = file();
        let former = format!(
            r#"{{"version": 1, "note": "x", "servers": {{"old": {{"status": "healthy", "checkedAt": {}}}}}}}"#,
            NOW - 2 * FORGOTTEN
        );
        left(&path, &former);
        file.update(NOW, |records| records.put(&key("s", "/a"), healthy())).expect("written");
        let text = std::fs::read_to_string(&path).expect("a file");
        assert!(text.contains("\"old\"") && text.contains("\"note\": \"x\"") && text.contains("\"s (/a)\""), "{text}");
        // Ours are dropped when nobody has touched them for long.
        file.update(NOW + FORGOTTEN, |records| {
            records.put(&key("t", "/a"), Entry { checked_at: NOW + FORGOTTEN, ..healthy() });
        })
        .expect("written");
        let text = std::fs::read_to_string(&path).expect("a file");
        assert!(text.contains("\"old\"") && !text.contains("\"s (/a)\"") && text.contains("\"t (/a)\""), "{text}");
    }

    #[test]
    fn what_cannot_be_understood_is_set_aside_and_said() {
        for corrupt in ["", "{", "[]", "{}", r#"{"version": "1"}"#, r#"{"version": 1, "servers": []}"#, "\0\0\0"] {
            let (_folder, file, path) = file();
            left(&path, corrupt);
            let ((), said) = file.update(NOW, |records| records.put(&key("s", "/a"), healthy())).expect("written");
            assert!(said.is_some_and(|said| said.contains("set aside")), "{corrupt}");
            assert_eq!(std::fs::read_to_string(path.with_file_name("health.json.corrupt")).expect("a file"), corrupt);
            assert!(file.glance().get(&key("s", "/a")).is_some());
        }
    }

    #[test]
    fn a_later_version_is_left_alone() {
        let (_folder, file, path) = file();
        left(&path, r#"{"version": 2, "x": 1}"#);
        let error = file.update(NOW, |records| records.put(&key("s", "/a"), healthy())).expect_err("left alone");
        assert!(error.contains("version 2"), "{error}");
        assert_eq!(std::fs::read_to_string(&path).expect("a file"), r#"{"version": 2, "x": 1}"#);
    }

    #[test]
    fn many_at_once_lose_nothing() {
        let (_folder, _, path) = file();
        let threads: Vec<_> = (0..16)
            .map(|number| {
                let path = path.clone();
                std::thread::spawn(move || {
                    let file = HealthFile::new(&path);
                    file.update(NOW, |records| records.put(&key(&format!("s{number}"), "/a"), healthy()))
                        .expect("written");
                })
            })
            .collect();
        for thread in threads {
            thread.join().expect("an end");
        }
        let records = HealthFile::new(&path).glance();
        assert!((0..16).all(|number| records.get(&key(&format!("s{number}"), "/a")).is_some()));
    }

    #[test]
    fn records_are_removed_by_name_or_all() {
        let (_folder, file, _) = file();
        let put = |name: &str, source: &str| {
            file.update(NOW, |records| records.put(&key(name, source), healthy())).expect("written")
        };
        put("s", "/a");
        put("s", "/b");
        put("t", "/a");
        let (removed, _) = file.update(NOW, |records| records.remove(Some("s"))).expect("written");
        assert_eq!(removed, ["s (/a)", "s (/b)"]);
        let (removed, _) = file.update(NOW, |records| records.remove(None)).expect("written");
        assert_eq!(removed, ["t (/a)"]);
    }
}
