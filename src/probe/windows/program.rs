//! Which file a command means on Windows: what `which` and `cross-spawn`, the packages that clients start servers with, make of it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What counts as a program where PATHEXT is not set.
const USUAL_ENDINGS: &str = ".EXE;.CMD;.BAT;.COM";
/// How much of a file is searched for a first line that names an interpreter.
const FIRST_LINE: u64 = 150;

/// Where and how programs are looked for.
#[derive(Debug)]
struct Search {
    /// Folders, in order.
    folders: Vec<PathBuf>,
    /// Endings, each with its dot.
    endings: Vec<OsString>,
    /// What relative paths begin at.
    folder: PathBuf,
}

/// The file to start for a command, and the arguments that come before its own: a script with a first line (`#!`) is given to the
/// interpreter that it names.
///
/// # Errors
/// When there is no such file.
pub(super) fn resolve(command: &Command) -> io::Result<(PathBuf, Vec<OsString>)> {
    let search = Search::of(command)?;
    let missing = || io::Error::from(io::ErrorKind::NotFound);
    let found = search.find(command.get_program()).ok_or_else(missing)?;
    if has_ending(&found, &["exe", "com", "cmd", "bat"]) {
        return Ok((found, Vec::new()));
    }
    let Some((interpreter, argument)) = interpreter(&found) else { return Ok((found, Vec::new())) };
    let program = search.find(OsStr::new(&interpreter)).ok_or_else(missing)?;
    Ok((program, argument.map(OsString::from).into_iter().chain([found.into_os_string()]).collect()))
}

/// The shell that the system names.
pub(super) fn shell() -> OsString {
    own("ComSpec").unwrap_or_else(|| "cmd.exe".into())
}

#[expect(clippy::disallowed_methods, reason = "what a child inherits, as the system itself would look for a program")]
fn own(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

impl Search {
    fn of(command: &Command) -> io::Result<Self> {
        // What the child will see: its own value, or the one it inherits.
        let seen = |name: &str| {
            let set = command.get_envs().find(|(other, _)| other.eq_ignore_ascii_case(name));
            set.map_or_else(|| own(name), |(_, value)| value.map(OsStr::to_os_string))
        };
        let folder = std::path::absolute(command.get_current_dir().unwrap_or(Path::new(".")))?;
        let mut folders = Vec::new();
        if seen("NoDefaultCurrentDirectoryInExePath").is_none() {
            folders.push(folder.clone());
        }
        let path = seen("PATH").unwrap_or_default();
        folders.extend(std::env::split_paths(&path).filter(|entry| !entry.as_os_str().is_empty()));
        let endings = own("PATHEXT").unwrap_or_else(|| USUAL_ENDINGS.into());
        let endings = std::env::split_paths(&endings).map(PathBuf::into_os_string);
        Ok(Self { folders, endings: endings.filter(|ending| !ending.is_empty()).collect(), folder })
    }

    fn find(&self, program: &OsStr) -> Option<PathBuf> {
        let text = program.to_string_lossy();
        if text.is_empty() {
            return None;
        }
        let places: Vec<PathBuf> = if text.contains(['/', '\\']) {
            vec![self.folder.join(program)]
        } else {
            self.folders.iter().map(|folder| self.folder.join(folder).join(program)).collect()
        };
        let with_endings = places.iter().find_map(|place| self.with_ending(place, text.contains('.')));
        with_endings.or_else(|| places.into_iter().find(|place| place.is_file()))
    }

    /// The first of the files that a place may mean: as it stands, where it has one of the endings, or with each of them.
    fn with_ending(&self, place: &Path, has_dot: bool) -> Option<PathBuf> {
        let is_program = |ending: &OsString| {
            let name = place.as_os_str().to_string_lossy().to_ascii_lowercase();
            name.ends_with(&ending.to_string_lossy().to_ascii_lowercase())
        };
        if has_dot && place.is_file() && self.endings.iter().any(is_program) {
            return Some(place.to_path_buf());
        }
        let with = |ending: &OsString| {
            let mut name = place.as_os_str().to_os_string();
            name.push(ending);
            PathBuf::from(name)
        };
        self.endings.iter().map(with).find(|path| path.is_file())
    }
}

fn has_ending(path: &Path, endings: &[&str]) -> bool {
    path.extension().is_some_and(|found| endings.iter().any(|ending| found.eq_ignore_ascii_case(ending)))
}

/// The interpreter that a script's first line names, and its one argument: `#!/usr/bin/env node` is `node`.
fn interpreter(path: &Path) -> Option<(String, Option<String>)> {
    let mut start = Vec::new();
    File::open(path).ok()?.take(FIRST_LINE).read_to_end(&mut start).ok()?;
    let start = String::from_utf8_lossy(&start);
    let line = start.lines().next()?.strip_prefix("#!")?.trim();
    let (path, argument) = line.split_once(' ').map_or((line, None), |(path, argument)| (path, Some(argument.trim())));
    match (path.rsplit('/').next()?, argument) {
        ("env", argument) => Some((argument?.to_owned(), None)),
        (name, argument) => Some((name.to_owned(), argument.map(str::to_owned))),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::path::PathBuf;

    use super::{Search, interpreter};

    fn file(folder: &tempfile::TempDir, name: &str, text: &str) -> PathBuf {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::File::create(&path).expect("a file");
        let mut options = std::fs::OpenOptions::new();
        std::io::Write::write_all(&mut options.write(true).open(&path).expect("a file"), text.as_bytes())
            .expect("text");
        path
    }

    #[test]
    fn programs_are_found_as_clients_find_them() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["a/npx", "a/npx.cmd", "b/npx.exe", "b/node.exe", "b/plain", "server.cmd", "c.d/run.me.exe"] {
            file(&folder, name, "");
        }
        let at = |name: &str| folder.path().join(name);
        let search = Search {
            folders: vec![at("a"), PathBuf::from("b"), at("c.d")],
            endings: vec![".EXE".into(), ".CMD".into()],
            folder: folder.path().to_path_buf(),
        };
        let found = |program: &str| {
            let found = search.find(OsStr::new(program))?;
            Some(found.strip_prefix(folder.path()).expect("inside").to_string_lossy().to_lowercase().replace('\\', "/"))
        };
        let rows = [
            // The one with an ending wins over the shell script beside it.
            ("npx", Some("a/npx.cmd")),
            ("npx.exe", Some("b/npx.exe")),
            ("node", Some("b/node.exe")),
            ("plain", Some("b/plain")),
            ("run.me", Some("c.d/run.me.exe")),
            ("server", None),
            ("./server", Some("./server.cmd")),
            (".\\server.cmd", Some("./server.cmd")),
            ("b/node", Some("b/node.exe")),
            ("gone", None),
            (".", None),
            ("", None),
        ];
        for (program, expected) in rows {
            assert_eq!(
                found(program).map(|found| found.replace("./", "")),
                expected.map(|path| path.replace("./", ""))
            );
        }
    }

    #[test]
    fn a_first_line_names_an_interpreter() {
        let folder = tempfile::tempdir().expect("a folder");
        let rows = [
            ("#!/usr/bin/env node\nx", Some(("node", None))),
            ("#!/usr/bin/python3 -u\r\n", Some(("python3", Some("-u")))),
            ("#! /bin/sh", Some(("sh", None))),
            ("console.log(1)", None),
            ("", None),
        ];
        for (text, expected) in rows {
            let found = interpreter(&file(&folder, "s", text));
            let found = found.as_ref().map(|(name, argument)| (name.as_str(), argument.as_deref()));
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
