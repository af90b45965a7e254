//! The one place where secrets are masked.
//!
//! Masked is every value that came from a variable, an `env` entry or a header of the configuration, and the value of every
//! variable of this process whose name says that it is a credential (the servers inherit it, and print it when they fail).
//! Names of servers and tools are identifiers, compared and locked letter by letter, and are never masked.

use crate::environment::Environment;
use crate::observed::{Observation, Outcome, ProbeFailure};
use crate::server::Server;
use crate::text;

/// What stands where a secret stood.
const MASK: &str = "***";
/// How much of a message from outside is shown.
const SHOWN: usize = 800;
/// How much of a line of noise is shown.
const SHOWN_NOISE: usize = 120;
/// How much of a message in a transcript is shown.
const SHOWN_TRANSCRIPT: usize = 2000;
/// Shorter values are not masked: they would blank out letters everywhere, and are no secrets.
const SHORTEST: usize = 4;
/// For values of the process environment, which nobody chose to show to this tool.
const SHORTEST_INHERITED: usize = 8;
/// Values that are settings wherever they stand.
const HARMLESS: [&str; 20] = [
    "auto",
    "debug",
    "development",
    "error",
    "false",
    "file",
    "http",
    "https",
    "info",
    "local",
    "localhost",
    "none",
    "null",
    "production",
    "stdio",
    "test",
    "trace",
    "true",
    "warn",
    "warning",
];
/// Parts of names that make an inherited variable a credential (the list of Gemini CLI, `clients.md` section 3).
const CREDENTIAL_WORDS: [&str; 9] =
    ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "_KEY", "APIKEY", "CREDENTIAL", "PRIVATE", "AUTH"];

/// Knows the secrets of a run.
#[derive(Debug)]
pub(crate) struct Redactor {
    /// Longest first, so that a secret inside another one cannot save its rest.
    secrets: Vec<String>,
}

impl Redactor {
    /// Collects the secrets of these servers and of the environment they inherit.
    pub(crate) fn new(servers: &[Server], environment: &Environment) -> Self {
        let configured = servers.iter().flat_map(Server::secrets).map(|secret| secret.reveal().to_owned());
        let configured = configured.flat_map(|value| forms(&value, SHORTEST));
        let inherited = environment.iter().filter(|(name, _)| is_credential(name));
        let inherited = inherited.flat_map(|(_, value)| forms(&value, SHORTEST_INHERITED));
        let mut secrets: Vec<String> = configured.chain(inherited).collect();
        secrets.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        secrets.dedup();
        Self { secrets }
    }

    /// `text` without any secret.
    pub(crate) fn mask(&self, text: &str) -> String {
        let mut masked = text.to_owned();
        for secret in &self.secrets {
            if masked.contains(secret.as_str()) {
                masked = masked.replace(secret.as_str(), MASK);
            }
        }
        masked
    }

    /// The observation with every free text masked.
    pub(crate) fn observation(&self, mut observation: Observation) -> Observation {
        if let Outcome::Failed(failure) = &mut observation.outcome {
            self.failure(failure);
        }
        let stderr = std::mem::take(&mut observation.stderr);
        let tail = if observation.stderr_cut { self.without_torn_start(&stderr) } else { &stderr };
        observation.stderr = self.mask(tail);
        if let Some(noise) = &mut observation.noise {
            noise.first = self.excerpt(&noise.first, SHOWN_NOISE);
        }
        for process in &mut observation.left_running {
            process.name = self.mask(&process.name);
        }
        if let Some(identity) = &mut observation.identity {
            identity.name = self.mask(&identity.name);
            identity.version = self.mask(&identity.version);
            identity.protocol_version = self.mask(&identity.protocol_version);
        }
        for line in &mut observation.transcript {
            *line = self.excerpt(line, SHOWN_TRANSCRIPT);
        }
        observation
    }

    /// The beginning of `text`, masked before it is cut: a cut would tear secrets.
    fn excerpt(&self, text: &str, limit: usize) -> String {
        text::shorten(&self.mask(text), limit)
    }

    fn failure(&self, failure: &mut ProbeFailure) {
        failure.message = self.excerpt(&failure.message, SHOWN);
        failure.help = failure.help.as_deref().map(|help| self.mask(help));
    }

    /// A tail that was cut may begin with the end of a secret, which no search finds: its first line goes, or, when there
    /// is only one line, as much as the longest secret has.
    fn without_torn_start<'a>(&self, tail: &'a str) -> &'a str {
        if let Some((_, rest)) = tail.split_once('\n') {
            return rest;
        }
        let longest = self.secrets.first().map_or(0, String::len);
        let start = (longest..=tail.len()).find(|index| tail.is_char_boundary(*index)).unwrap_or(tail.len());
        &tail[start..]
    }
}

/// Whether a variable of this name holds a credential.
fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    CREDENTIAL_WORDS.iter().any(|word| name.contains(word))
}

/// The forms in which a value can turn up: itself, its lines (an excerpt is shown line by line), the token behind a scheme
/// such as `Bearer`, and each of them as a JSON string.
fn forms(value: &str, shortest: usize) -> Vec<String> {
    let token = value.split_once(' ').map(|(_, token)| token.trim());
    let plain = std::iter::once(value.trim()).chain(value.lines().map(str::trim)).chain(token);
    let mut forms: Vec<String> = Vec::new();
    for form in plain.filter(|form| form.chars().count() >= shortest && !HARMLESS.contains(form)) {
        let quoted = serde_json::to_string(form).unwrap_or_default();
        forms.push(quoted.trim_matches('"').to_owned());
        forms.push(form.to_owned());
    }
    forms.retain(|form| !form.is_empty());
    forms
}

#[cfg(test)]
mod tests {
    use super::Redactor;
    use crate::environment::Environment;

    fn redactor(variables: &[(&str, &str)]) -> Redactor {
        Redactor::new(&[], &Environment::of(variables))
    }

    #[test]
    fn credentials_of_the_environment_are_masked_and_settings_are_not() {
        let redactor = redactor(&[("GITHUB_TOKEN", "ghp_12345678"), ("HOME", "/home/somebody"), ("A_TOKEN", "true")]);
        assert_eq!(redactor.mask("bad ghp_12345678 in /home/somebody: true"), "bad *** in /home/somebody: true");
    }

    #[test]
    fn a_secret_within_another_is_masked_whole() {
        let redactor = redactor(&[("A_TOKEN", "abcdefgh"), ("B_TOKEN", "abcdefgh-and-more")]);
        assert_eq!(redactor.mask("x abcdefgh-and-more abcdefgh"), "x *** ***");
    }

    #[test]
    fn lines_and_quoted_forms_of_a_secret_are_masked() {
        let redactor = redactor(&[("KEY_AUTH", "first-line\nsecond\"line")]);
        assert_eq!(redactor.mask("first-line"), "***");
        assert_eq!(redactor.mask(r#"{"k":"first-line\nsecond\"line"}"#), r#"{"k":"***"}"#);
        assert_eq!(redactor.mask("second\"line"), "***");
    }

    #[test]
    fn a_torn_secret_at_the_start_of_a_tail_is_dropped() {
        let redactor = redactor(&[("A_TOKEN", "abcdefgh")]);
        assert_eq!(redactor.without_torn_start("efgh rest\nnext"), "next");
        assert_eq!(redactor.without_torn_start("efgh and the rest"), " the rest");
        assert_eq!(redactor.without_torn_start("efgh"), "");
    }
}
