//! What the process was started with: variables and the current folder. Read once, here, and passed in everywhere else.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// The variables and the folder the tool was started with.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
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
        Ok(Self { variables: std::env::vars_os().collect(), folder: std::env::current_dir()? })
    }

    /// An environment made of these variables, for tests.
    #[cfg(test)]
    pub(crate) fn of(variables: &[(&str, &str)]) -> Self {
        let variables = variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
        Self { variables, folder: PathBuf::from("/") }
    }

    /// The same, with these variables over it.
    pub(crate) fn with(&self, variables: impl Iterator<Item = (String, String)>) -> Self {
        let mut all = self.clone();
        all.variables.extend(variables.map(|(name, value)| (OsString::from(name), OsString::from(value))));
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
        self.variables.get(std::ffi::OsStr::new(name)).map(|value| value.to_string_lossy().into_owned())
    }

    /// The value of `name` when it is set and not empty: for this tool's own settings, where a CI system
    /// often passes an empty string for "not given".
    pub(crate) fn setting(&self, name: &str) -> Option<String> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// All variables as text.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (String, String)> {
        self.variables
            .iter()
            .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
    }
}
