//! How long records are believed, how long failing servers are left alone, how long one is asked: the defaults, and the variables that
//! change them (`MCP_PREFLIGHT_*`; those of the hook that this one replaces, `ECC_MCP_*`, where the former are not set).

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Millis;
use crate::environment::{Environment, HOME};

/// The prefix of this tool's variables.
const OWN: &str = "MCP_PREFLIGHT_";
/// The prefix of the hook that this one replaces (`clients.md` section 4).
const FORMER: &str = "ECC_MCP_";
/// The longest time that can be asked for: a day, in milliseconds.
const LONGEST: Millis = 86_400_000;
/// The longest backoff, in milliseconds.
const LONGEST_BACKOFF: Millis = 600_000;

/// The times of a guard, in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Policy {
    /// How long an answer is believed.
    pub(crate) ttl: Millis,
    /// How long a server is left alone after its first failure.
    pub(crate) backoff: Millis,
    /// How long one may take to answer.
    pub(crate) probe: Duration,
    /// How long a reconnect command may take.
    pub(crate) reconnect: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self { ttl: 120_000, backoff: 30_000, probe: Duration::from_secs(5), reconnect: Duration::from_secs(5) }
    }
}

impl Policy {
    /// The wait after so many failures: doubled each time, ten minutes at most.
    pub(super) fn backoff_after(&self, failures: u32) -> Millis {
        let doublings = failures.saturating_sub(1).min(32);
        // A first wait that somebody has set longer than the longest is meant so.
        self.backoff.saturating_mul(1 << doublings).min(LONGEST_BACKOFF.max(self.backoff))
    }
}

/// Up to a tenth less, by chance.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a part of a number of milliseconds, far from any bound"
)]
pub(super) fn jittered(wait: Millis, roll: f64) -> Millis {
    wait - (wait as f64 * 0.1 * roll.clamp(0.0, 1.0)) as Millis
}

/// The variables of a guard, and which of them nobody may set but the person.
#[derive(Debug)]
pub(crate) struct Variables<'a> {
    environment: &'a Environment,
    untrusted: &'a Untrusted,
}

/// Variables that are not the person's word: a project's settings give them a value, for every program that the client starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Untrusted {
    /// Those of these names.
    Names(Vec<String>),
    /// Nobody can tell which: none of a guard's own counts.
    Unknown,
}

impl Untrusted {
    /// Whether a variable is none of the person's.
    pub(crate) fn has(&self, name: &str) -> bool {
        match self {
            Self::Names(names) => names.iter().any(|other| other.eq_ignore_ascii_case(name)),
            Self::Unknown => name.starts_with(OWN) || name.starts_with(FORMER),
        }
    }
}

impl<'a> Variables<'a> {
    /// Those of this process, less what a project's settings have put there.
    pub(crate) fn new(environment: &'a Environment, untrusted: &'a Untrusted) -> Self {
        Self { environment, untrusted }
    }

    /// The value of a variable by the part of its name after the prefix, with its whole name.
    pub(crate) fn get(&self, rest: &str) -> Option<(String, String)> {
        [OWN, FORMER].iter().find_map(|prefix| {
            let name = format!("{prefix}{rest}");
            let value = self.environment.setting(&name).filter(|_| !self.untrusted.has(&name))?;
            Some((name, value))
        })
    }

    /// Names of this tool's, and of the former hook's, that are set and passed over.
    pub(crate) fn passed_over(&self) -> Vec<String> {
        let is_ours = |name: &String| name.starts_with(OWN) || name.starts_with(FORMER);
        self.environment.iter().map(|(name, _)| name).filter(|name| is_ours(name) && self.untrusted.has(name)).collect()
    }

    /// The times; what cannot be read is said, and the default holds.
    pub(crate) fn policy(&self, complaints: &mut Vec<String>) -> Policy {
        let mut milliseconds = |rest: &str, otherwise: Millis| {
            let Some((name, value)) = self.get(rest) else { return otherwise };
            if let Ok(value @ 1..=LONGEST) = value.trim().parse::<Millis>() {
                return value;
            }
            // What stands there in its place may be a secret.
            complaints.push(format!("{name}: expected milliseconds, 1 to {LONGEST}; {otherwise} is used"));
            otherwise
        };
        let usual = Policy::default();
        let own = Duration::from_millis;
        Policy {
            ttl: milliseconds("HEALTH_TTL_MS", usual.ttl),
            backoff: milliseconds("HEALTH_BACKOFF_MS", usual.backoff),
            probe: own(milliseconds("HEALTH_TIMEOUT_MS", 5_000)),
            reconnect: own(milliseconds("RECONNECT_TIMEOUT_MS", 5_000)),
        }
    }

    /// Whether nothing is to be blocked, only said.
    pub(crate) fn fails_open(&self) -> bool {
        let is_on = |value: &str| matches!(value.trim().to_ascii_lowercase().as_str(), "1" | "true" | "yes");
        self.get("HEALTH_FAIL_OPEN").is_some_and(|(_, value)| is_on(&value))
    }

    /// Configurations that were named, in place of a search.
    pub(crate) fn configs(&self) -> Vec<PathBuf> {
        let list = self.get("CONFIG_PATH").map(|(_, value)| value).unwrap_or_default();
        std::env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()).collect()
    }

    /// Where the records are: the variable, or beside the person's own settings.
    pub(crate) fn file(&self) -> Option<PathBuf> {
        const NAME: &str = "mcp-health-cache.json";
        if let Some((_, path)) = self.get("HEALTH_STATE_PATH") {
            return Some(self.environment.folder.join(path));
        }
        // Where a project says where the person's own files are, it could as well write them.
        let own = |name: &str| self.environment.setting(name).filter(|_| !self.untrusted.has(name));
        let home = || own(HOME).map(|home| PathBuf::from(home).join(".claude"));
        own("CLAUDE_CONFIG_DIR").map(PathBuf::from).or_else(home).map(|folder| folder.join(NAME))
    }

    /// The command that brings a server back, as words, with the name of the variable: the server's own, or the one for all.
    ///
    /// # Errors
    /// Why a command that was given cannot be run.
    pub(crate) fn reconnect(&self, server: &str) -> Result<Option<Reconnect>, String> {
        let upper = server.to_ascii_uppercase();
        let part: String = upper.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let own = self
            .get(&format!("RECONNECT_{part}"))
            .filter(|_| !matches!(part.as_str(), "COMMAND" | "TIMEOUT_MS" | "ALLOW"));
        let is_own = own.is_some();
        let Some((name, line)) = own.or_else(|| self.get("RECONNECT_COMMAND")) else { return Ok(None) };
        let words = shlex::split(&line).filter(|words| !words.is_empty());
        let mut words = words.ok_or_else(|| format!("{name}: a quote is not closed, or there is no word"))?;
        let is_of_shell = |word: &String| {
            matches!(word.as_str(), "&&" | "||" | "|" | ";" | "&" | ">" | ">>" | "<" | "2>&1") || word.ends_with(';')
        };
        if words.iter().any(is_of_shell) || words[0].starts_with(['~', '$']) {
            return Err(format!(
                "{name}: no shell reads this line, and it is written for one: name a script, or write sh -c '...'"
            ));
        }
        let program = Path::new(&words[0]);
        if program.is_relative() && program.components().count() > 1 {
            // It would be found in the project.
            return Err(format!("{name}: name the program by its whole path, or by its name alone"));
        }
        if program.is_relative() && self.untrusted.has("PATH") {
            return Err(format!(
                "{name}: the project's own settings say where programs are (PATH): name this one by its whole path"
            ));
        }
        if words.iter().any(|word| word.contains("{server}")) {
            // A name comes from a configuration that somebody else may have written: it must not become an option or a path.
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
            if server.is_empty() || server.starts_with(['-', '.']) || !server.chars().all(is_plain) {
                return Err(format!(
                    "{name}: the server's name does not go into a command: letters, digits, '_', '-' and '.' do"
                ));
            }
            for word in &mut words {
                *word = word.replace("{server}", server);
            }
        }
        Ok(Some(Reconnect { name, words, is_own }))
    }
}

/// A command that brings a server back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reconnect {
    /// The variable that holds it.
    pub(crate) name: String,
    /// The program and its arguments. No shell reads them.
    pub(crate) words: Vec<String>,
    /// Whether it is the server's own, rather than the one for all.
    pub(crate) is_own: bool,
}

#[cfg(test)]
mod tests {
    use super::{Policy, Untrusted, Variables};
    use crate::environment::{Environment, HOME};

    fn none() -> Untrusted {
        Untrusted::Names(Vec::new())
    }

    fn words(variables: &[(&str, &str)], server: &str) -> Result<Option<Vec<String>>, String> {
        let environment = Environment::of(variables);
        Variables::new(&environment, &none()).reconnect(server).map(|found| found.map(|reconnect| reconnect.words))
    }

    #[test]
    fn the_former_names_are_read_where_the_new_ones_are_not_set() {
        let environment = Environment::of(&[
            ("ECC_MCP_HEALTH_TTL_MS", "1000"),
            ("ECC_MCP_HEALTH_TIMEOUT_MS", "2000"),
            ("MCP_PREFLIGHT_HEALTH_TIMEOUT_MS", "3000"),
            ("ECC_MCP_HEALTH_FAIL_OPEN", "Yes"),
            ("ECC_MCP_HEALTH_BACKOFF_MS", "soon"),
        ]);
        let (none, mut complaints) = (none(), Vec::new());
        let variables = Variables::new(&environment, &none);
        let policy = variables.policy(&mut complaints);
        assert_eq!((policy.ttl, policy.probe.as_millis(), policy.backoff), (1_000, 3_000, 30_000));
        assert!(variables.fails_open());
        assert_eq!(complaints.len(), 1);
        assert!(complaints[0].starts_with("ECC_MCP_HEALTH_BACKOFF_MS: "), "{complaints:?}");
        let plain = Environment::of(&[]);
        assert_eq!(Variables::new(&plain, &none).policy(&mut complaints), Policy::default());
    }

    #[test]
    fn a_project_sets_nothing_here() {
        let environment = Environment::of(&[
            ("MCP_PREFLIGHT_RECONNECT_COMMAND", "evil"),
            (HOME, "/home/me"),
            ("CLAUDE_CONFIG_DIR", "/p"),
        ]);
        let untrusted =
            Untrusted::Names(vec!["MCP_PREFLIGHT_RECONNECT_COMMAND".to_owned(), "CLAUDE_CONFIG_DIR".to_owned()]);
        let variables = Variables::new(&environment, &untrusted);
        assert_eq!(variables.reconnect("s"), Ok(None));
        assert_eq!(variables.passed_over(), ["MCP_PREFLIGHT_RECONNECT_COMMAND"]);
        assert_eq!(variables.file().as_deref(), Some(std::path::Path::new("/home/me/.claude/mcp-health-cache.json")));
    }

    #[test]
    fn a_program_is_nobodys_but_the_persons() {
        let of = |line: &str, untrusted: Untrusted| {
            let environment = Environment::of(&[("MCP_PREFLIGHT_RECONNECT_S", line)]);
            Variables::new(&environment, &untrusted).reconnect("s").map(|found| found.is_some())
        };
        let path = || Untrusted::Names(vec!["Path".to_owned()]);
        let whole = if cfg!(windows) { "C:/bin/restart" } else { "/bin/restart" };
        for (line, untrusted, expected) in [
            ("restart", none(), Ok(true)),
            (whole, path(), Ok(true)),
            ("restart", path(), Err(())),
            ("./restart", none(), Err(())),
            ("bin/restart", none(), Err(())),
            ("~/bin/restart", none(), Err(())),
            ("stop it && start it", none(), Err(())),
            ("stop it; start it", none(), Err(())),
            ("sh -c 'stop it && start it'", none(), Ok(true)),
            (whole, Untrusted::Unknown, Ok(false)),
        ] {
            assert_eq!(of(line, untrusted).map_err(drop), expected, "{line}");
        }
    }

    #[test]
    fn records_lie_beside_the_persons_settings() {
        for (variables, path) in [
            (&[(HOME, "/h")][..], Some("/h/.claude/mcp-health-cache.json")),
            (&[(HOME, "/h"), ("CLAUDE_CONFIG_DIR", "/c")], Some("/c/mcp-health-cache.json")),
            (&[("ECC_MCP_HEALTH_STATE_PATH", "/x/y.json"), (HOME, "/h")], Some("/x/y.json")),
            (&[], None),
        ] {
            let environment = Environment::of(variables);
            assert_eq!(Variables::new(&environment, &none()).file().as_deref(), path.map(std::path::Path::new));
        }
    }

    #[test]
    fn commands_are_words_and_a_name_stays_one_of_them() {
        let all = ("MCP_PREFLIGHT_RECONNECT_COMMAND", "systemctl restart 'mcp-{server}' \"a b\"");
        let expected = ["systemctl", "restart", "mcp-report", "a b"].map(str::to_owned).to_vec();
        assert_eq!(words(&[all], "report"), Ok(Some(expected)));
        for hostile in ["a; rm -rf x", "$(x)", "-rf", "../x", "", "a b", "a'b"] {
            assert!(words(&[all], hostile).is_err(), "{hostile}");
        }
        let own = ("ECC_MCP_RECONNECT_MY_SERVER", "restart it");
        assert_eq!(words(&[all, own], "my.server"), Ok(Some(vec!["restart".to_owned(), "it".to_owned()])));
        assert!(words(&[("MCP_PREFLIGHT_RECONNECT_COMMAND", "a 'b")], "s").is_err());
        // The variable for all is no server's own.
        assert_eq!(words(&[("MCP_PREFLIGHT_RECONNECT_TIMEOUT_MS", "7")], "timeout.ms"), Ok(None));
    }
}
