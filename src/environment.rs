//! What the process was started with: variables and the current folder. Read once, here, and passed in everywhere else.

use std::collections::BTreeMap;
#[cfg(unix)]
use std::ffi::OsStr;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// The variables and the folder the tool was started with.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    /// By their names as the system tells them apart ([`key`]).
    variables: BTreeMap<OsString, OsString>,
    /// Where the tool was started. Servers are started here too, as the client does.
    pub(crate) folder: PathBuf,
}

impl Environment {
    /// Reads the environment of this process.
    ///
    /// # Errors
    /// When the current folder is gone or unreadable.
    #[expect(clippy::disallowed_methods, reason = "this is the one room that reads the environment")]
    pub(crate) fn read() -> io::Result<Self> {
        let variables = std::env::vars_os().map(|(name, value)| (key(name), value)).collect();
        Ok(Self { variables, folder: std::env::current_dir()? })
    }

    /// An environment made of these variables, for tests.
    #[cfg(test)]
    pub(crate) fn of(variables: &[(&str, &str)]) -> Self {
        let variables =
            variables.iter().map(|(name, value)| (key(OsString::from(name)), OsString::from(value))).collect();
        Self { variables, folder: PathBuf::from("/") }
    }

    /// The same, with these variables over it.
    pub(crate) fn with(&self, variables: impl Iterator<Item = (String, String)>) -> Self {
        let mut all = self.clone();
        all.variables.extend(variables.map(|(name, value)| (key(OsString::from(name)), OsString::from(value))));
        all
    }

    /// The same, without these variables.
    pub(crate) fn without(&self, names: &[String]) -> Self {
        let mut all = self.clone();
        all.variables.retain(|name, _| !names.iter().any(|other| name.as_os_str() == other.as_str()));
        all
    }

    /// The value of `name`: `None` when unset, `Some("")` when set but empty. Bytes that are no UTF-8 are replaced.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        find(&self.variables, name).map(|value| value.to_string_lossy().into_owned())
    }

    /// The value of `name` when it is set and not empty: for this tool's own settings, where a CI system
    /// often passes an empty string for "not given".
    pub(crate) fn setting(&self, name: &str) -> Option<String> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// The person's own folder, as clients find it.
    pub(crate) fn home(&self) -> Option<PathBuf> {
        self.setting(HOME).map(PathBuf::from)
    }

    /// All variables as text.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (String, String)> {
        self.variables
            .iter()
            .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
    }
}

/// The variable that names the person's own folder.
#[cfg(unix)]
pub(crate) const HOME: &str = "HOME";
#[cfg(windows)]
pub(crate) const HOME: &str = "USERPROFILE";

#[cfg(unix)]
fn key(name: OsString) -> OsString {
    name
}

/// On Windows `Path` and `PATH` are one variable. Clients write the names they know in capitals.
#[cfg(windows)]
fn key(name: OsString) -> OsString {
    name.into_string().map_or_else(|name| name, |name| OsString::from(name.to_uppercase()))
}

#[cfg(unix)]
fn find<'a>(variables: &'a BTreeMap<OsString, OsString>, name: &str) -> Option<&'a OsString> {
    variables.get(OsStr::new(name))
}

#[cfg(windows)]
fn find<'a>(variables: &'a BTreeMap<OsString, OsString>, name: &str) -> Option<&'a OsString> {
    variables.get(&key(OsString::from(name)))
}

#[cfg(test)]
mod tests {
    use super::Environment;

    #[test]
    fn names_are_told_apart_as_the_system_does() {
        let environment = Environment::of(&[("Token", "a")]).with([("TOKEN".to_owned(), "b".to_owned())].into_iter());
        assert_eq!(environment.get("TOKEN").as_deref(), Some("b"));
        assert_eq!(environment.get("Token").as_deref(), Some(if cfg!(windows) { "b" } else { "a" }));
        assert_eq!(environment.get("token").as_deref(), cfg!(windows).then_some("b"));
    }
}
