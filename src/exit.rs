//! The numbers the process ends with. They are an API: `docs/exit-codes.md` has the same table, and a test compares them.

use std::process::ExitCode;

/// How the process ends. The names and numbers follow sysexits.h.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Every locked tool was seen and is usable.
    Ok,
    /// Only of `hook`: the call is blocked.
    Blocked,
    /// The command line is wrong.
    Usage,
    /// A bug in mcp-preflight.
    Software,
    /// The lock or a report could not be written.
    Io,
    /// Only with `--tempfail`: everything that failed may pass on a retry.
    TempFail,
    /// The gate says no, or there is nothing it could judge by.
    Config,
    /// Ended by this signal, after every child was gone.
    Interrupted(u8),
}

impl Exit {
    /// The process exit code.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Blocked => 2,
            Self::Usage => 64,
            Self::Software => 70,
            Self::Io => 74,
            Self::TempFail => 75,
            Self::Config => 78,
            Self::Interrupted(signal) => 128_u8.saturating_add(signal),
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::Exit;

    /// One table in the documentation, one enum here: they must agree row by row.
    #[test]
    fn documentation_has_the_same_numbers() {
        let documented = include_str!("../docs/exit-codes.md");
        let rows: Vec<(&str, &str)> = documented
            .lines()
            .filter_map(|line| {
                let mut cells = line.trim_matches('|').split('|').map(str::trim);
                Some((cells.next()?, cells.next()?)).filter(|(code, _)| code.parse::<u8>().is_ok())
            })
            .collect();
        let names = [
            (Exit::Ok, "EX_OK"),
            (Exit::Blocked, ""),
            (Exit::Usage, "EX_USAGE"),
            (Exit::Software, "EX_SOFTWARE"),
            (Exit::Io, "EX_IOERR"),
            (Exit::TempFail, "EX_TEMPFAIL"),
            (Exit::Config, "EX_CONFIG"),
        ];
        let expected: Vec<(String, &str)> = names.iter().map(|(exit, name)| (exit.code().to_string(), *name)).collect();
        let found: Vec<(String, &str)> = rows.into_iter().map(|(code, name)| (code.to_owned(), name)).collect();
        assert_eq!(found, expected);
        assert_eq!(Exit::Interrupted(2).code(), 130);
        assert_eq!(Exit::Interrupted(15).code(), 143);
    }
}
