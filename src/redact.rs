//! The one place where secrets are masked.
//!
//! Masked is every value that came from a variable, an `env` entry or a header of the configuration, and the value of every
//! variable of this process whose name says that it is a credential (the servers inherit it, and print it when they fail).
//! Names of servers and tools are identifiers, compared and locked letter by letter, and are never masked.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::environment::Environment;
use crate::observed::{Observation, Outcome, ProbeFailure};
use crate::server::{Server, Transport};
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
/// A shorter part of a path is a word.
const LONG_PART: usize = 16;
/// A shorter end of a text is no evidence of a torn secret.
const SHORTEST_TORN: usize = 6;
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
const CREDENTIAL_WORDS: [&str; 11] =
    ["TOKEN", "SECRET", "PASS", "_PWD", "_KEY", "APIKEY", "CREDENTIAL", "PRIVATE", "AUTH", "DSN", "DATABASE_URL"];

/// Knows the secrets of a run.
#[derive(Debug, Clone)]
pub(crate) struct Redactor {
    /// Longest first, so that a secret inside another one cannot save its rest.
    secrets: Vec<String>,
}

impl Redactor {
    /// Collects what may turn up wherever a server of the run prints: the values of every variable that an entry uses (all servers may
    /// inherit it), of inherited variables that are credentials, and what stands in addresses.
    pub(crate) fn new(servers: &[Server], environment: &Environment) -> Self {
        let used = servers.iter().flat_map(|server| &server.variables).filter_map(|variable| variable.value.as_ref());
        let used = used.flat_map(|secret| forms(secret.reveal(), SHORTEST));
        let inherited = environment.iter().filter(|(name, _)| is_credential(name));
        let inherited = inherited.flat_map(|(_, value)| forms(&value, SHORTEST_INHERITED));
        let in_addresses = environment.iter().flat_map(|(_, value)| credentials_in(&value));
        let remote = servers.iter().filter_map(Server::url).flat_map(|url| credentials_in(url.reveal()));
        let in_addresses = in_addresses.chain(remote).flat_map(|value| forms(&value, SHORTEST));
        Self::of(used.chain(inherited).chain(in_addresses).collect())
    }

    /// The same, with what only this server can know: the values of its own entry.
    pub(crate) fn for_server(&self, server: &Server) -> Self {
        let own = server.secrets().into_iter().flat_map(|secret| forms(secret.reveal(), SHORTEST));
        let literal = literals(server).into_iter().flat_map(|value| forms(&value, SHORTEST_INHERITED));
        Self::of(self.secrets.iter().cloned().chain(own).chain(literal).collect())
    }

    fn of(mut secrets: Vec<String>) -> Self {
        secrets.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        secrets.dedup();
        Self { secrets }
    }

    /// `text` without any secret, nor the beginning of one at its end, where a cut may have torn it.
    pub(crate) fn mask(&self, text: &str) -> String {
        let mut masked = text.to_owned();
        for secret in &self.secrets {
            if masked.contains(secret.as_str()) {
                masked = masked.replace(secret.as_str(), MASK);
            }
        }
        let torn = self.secrets.iter().map(|secret| torn_end(&masked, secret)).max().unwrap_or(0);
        if torn > 0 {
            masked.truncate(masked.len() - torn);
            masked.push_str(MASK);
        }
        masked
    }

    /// The observation with every free text masked.
    pub(crate) fn observation(&self, mut observation: Observation) -> Observation {
        let made = std::mem::take(&mut observation.secrets);
        if !made.is_empty() {
            let made = made.iter().flat_map(|secret| forms(secret.reveal(), SHORTEST));
            return Self::of(self.secrets.iter().cloned().chain(made).collect()).observation(observation);
        }
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
            // A version is compared later on, and one that looks like a version is no secret.
            if !is_date(&identity.protocol_version) {
                identity.protocol_version = self.excerpt(&identity.protocol_version, SHOWN_NOISE);
            }
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
        failure.said = self.excerpt(&failure.said, SHOWN);
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

/// What an address (`HTTPS_PROXY`, a `url`) says of who is asking, `http://user:password@host`: each part, as written and decoded, and the
/// pair as a `Basic` credential has it.
fn credentials_in(address: &str) -> Vec<String> {
    let found = || {
        let (_, rest) = address.split_once("://")?;
        let (pair, _) = rest.split(['/', '?', '#']).next()?.rsplit_once('@')?;
        Some(pair)
    };
    let Some(pair) = found() else { return Vec::new() };
    let decode = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
    let (user, password) = pair.split_once(':').unwrap_or((pair, ""));
    let basic = |user: &str, password: &str| BASE64.encode(format!("{user}:{password}"));
    let mut parts = vec![basic(user, password), basic(&decode(user), &decode(password))];
    // A user's name alone is one of a person; alone in its place it is a token.
    let secret = if password.is_empty() { user } else { password };
    parts.extend([secret.to_owned(), decode(secret)]);
    parts
}

/// Credentials that somebody wrote into an address or an argument: what stands at a name that says so (`?api_key=`, `--token`), the value of
/// a header that is passed on, and parts of a path that look like nothing else.
fn literals(server: &Server) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(url) = server.url() {
        let url = url.reveal().split('#').next().unwrap_or_default();
        let (address, query) = url.split_once('?').unwrap_or((url, ""));
        let path = address.split_once("://").map_or("", |(_, rest)| rest).split('/').skip(1);
        found.extend(path.filter(|part| is_token(part)).map(str::to_owned));
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        found.extend(pairs.filter(|(name, _)| is_credential(&format!("_{name}"))).map(|(_, value)| value.to_owned()));
    }
    if let Ok(Transport::Stdio(stdio)) = &server.transport {
        let mut is_next = false;
        for argument in stdio.arguments.iter().map(|argument| argument.value.reveal()) {
            let flag = argument.starts_with('-').then(|| argument.split_once('=').unwrap_or((argument, "")));
            let value = match flag {
                Some((name, value)) => {
                    is_next = value.is_empty() && names_credential(name);
                    if names_credential(name) { value } else { "" }
                }
                None if std::mem::take(&mut is_next) => argument,
                None => "",
            };
            // The value of a header, behind its name.
            found.push(value.split_once(": ").map_or(value, |(_, value)| value).to_owned());
        }
    }
    found
}

/// Whether an option of this name takes a credential, or a header that may be one.
fn names_credential(option: &str) -> bool {
    let name = format!("_{}", option.trim_start_matches('-').replace('-', "_"));
    is_credential(&name) || name.eq_ignore_ascii_case("_header")
}

/// Whether a part of a path looks like a credential: long, with letters and digits, and no version or name of a file.
fn is_token(part: &str) -> bool {
    let is_of = |kind: fn(&u8) -> bool| part.as_bytes().iter().any(kind);
    part.len() >= LONG_PART && is_of(u8::is_ascii_digit) && is_of(u8::is_ascii_alphabetic) && !part.contains('.')
}

/// Whether a variable of this name holds a credential.
fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_uppercase().replace('-', "_");
    // A PATH is no PAT.
    CREDENTIAL_WORDS.iter().any(|word| name.contains(word)) || name.ends_with("_PAT") || name.contains("_PAT_")
}

/// Whether this looks like a protocol version.
fn is_date(text: &str) -> bool {
    text.len() == 10 && text.chars().all(|c| c.is_ascii_digit() || c == '-')
}

/// How many bytes at the end of `text` are the beginning of `secret`.
fn torn_end(text: &str, secret: &str) -> usize {
    let most = secret.len().saturating_sub(1).min(text.len());
    let is_torn = |length: &usize| secret.is_char_boundary(*length) && text.ends_with(&secret[..*length]);
    (SHORTEST_TORN..=most).rev().find(is_torn).unwrap_or(0)
}

/// The forms in which a value can turn up: itself, its lines (an excerpt is shown line by line), the token behind a scheme
/// such as `Bearer`, what a Basic credential or a URL holds, and each of them as JSON and in a URL.
fn forms(value: &str, shortest: usize) -> Vec<String> {
    let value = value.trim();
    let mut plain: Vec<String> = vec![value.to_owned()];
    plain.extend(value.lines().map(|line| line.trim().to_owned()));
    if let Some((scheme, token)) = value.split_once(' ') {
        let token = token.trim();
        plain.push(token.to_owned());
        if scheme.eq_ignore_ascii_case("basic") {
            let decoded = BASE64.decode(token).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            plain.extend(decoded.into_iter().flat_map(|pair| pair_forms(&pair)));
        }
    }
    if let Some((user, _)) = value.split_once("://").and_then(|(_, rest)| rest.rsplit_once('@')) {
        plain.extend(pair_forms(user));
        plain.push(BASE64.encode(user));
    }
    let wanted =
        plain.into_iter().filter(|form| form.chars().count() >= shortest && !HARMLESS.contains(&form.as_str()));
    wanted.flat_map(|form| encoded(&form)).filter(|form| !form.is_empty()).collect()
}

/// `user:password`, and the password alone.
fn pair_forms(pair: &str) -> Vec<String> {
    let password = pair.split_once(':').map(|(_, password)| password.to_owned());
    std::iter::once(pair.to_owned()).chain(password).collect()
}

/// A value as it is, as a JSON string as several languages write it, and as part of a URL.
fn encoded(form: &str) -> Vec<String> {
    let quoted = serde_json::to_string(form).unwrap_or_default();
    let quoted = quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or_default().to_owned();
    let ascii: String = quoted
        .chars()
        .flat_map(|c| {
            let mut units = [0; 2];
            let is_plain = c.is_ascii();
            let escaped: Vec<String> = c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect();
            if is_plain { vec![c.to_string()] } else { escaped }
        })
        .collect();
    // Go, and whoever writes JSON into pages.
    let html = quoted.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e");
    // Python's `repr` of text and of bytes.
    let repr = form.replace('\\', "\\\\").replace('\'', "\\'");
    let bytes: String = repr
        .bytes()
        .map(|byte| if byte.is_ascii() { char::from(byte).to_string() } else { format!("\\x{byte:02x}") })
        .collect();
    let percent: String = form
        .bytes()
        .map(|byte| {
            let is_plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
            if is_plain { char::from(byte).to_string() } else { format!("%{byte:02X}") }
        })
        .collect();
    // A URL library leaves more as it is than a strict encoder does.
    let lenient: String = form
        .bytes()
        .map(|byte| match byte {
            b' ' | b'"' | b'<' | b'>' | b'\'' | b'#' => format!("%{byte:02X}"),
            byte if byte.is_ascii_graphic() => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect();
    let mut forms = vec![
        form.to_owned(),
        quoted.replace('/', "\\/"),
        quoted,
        ascii,
        html,
        repr,
        bytes,
        percent.to_lowercase(),
        percent,
        lenient,
    ];
    forms.sort_unstable();
    forms.dedup();
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
        // A personal access token is one, a search path is none.
        for (name, shown) in [("LD_LIBRARY_PATH", "/opt/lib-of-it"), ("GH_PAT", "***"), ("PAT_OF_CI_PAT_X", "***")] {
            let redactor = super::Redactor::new(&[], &Environment::of(&[(name, "/opt/lib-of-it")]));
            assert_eq!(redactor.mask("/opt/lib-of-it"), shown, "{name}");
        }
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
    fn what_a_credential_is_made_of_is_masked_however_it_is_written() {
        let redactor = redactor(&[
            ("A_AUTH", "Basic Ym9iOmh1bnRlcjIyMjI="),
            ("DATABASE_URL", "postgres://bob:s3cretpw99@host/db"),
            ("B_TOKEN", "se cret/\u{e4}\"x"),
        ]);
        for text in [
            "bob:hunter2222",
            "Basic Ym9iOmh1bnRlcjIyMjI=",
            "hunter2222",
            "s3cretpw99",
            "se%20cret%2F%C3%A4%22x",
            "se%20cret%2f%c3%a4%22x",
            "se%20cret/%C3%A4%22x",
            "se cret\\/\u{e4}\\\"x",
            "se cret/\\u00e4\\\"x",
        ] {
            assert!(
                !redactor.mask(text).chars().any(char::is_alphanumeric) || redactor.mask(text) == "Basic ***",
                "{text}: {}",
                redactor.mask(text)
            );
        }
    }

    #[test]
    fn the_beginning_of_a_secret_at_the_end_of_a_text_is_masked() {
        let redactor = redactor(&[("A_TOKEN", "sk-live-0123456789")]);
        assert_eq!(redactor.mask("tok=sk-live-01"), "tok=***");
        assert_eq!(redactor.mask("sk-li"), "sk-li");
    }

    #[test]
    fn a_torn_secret_at_the_start_of_a_tail_is_dropped() {
        let redactor = redactor(&[("A_TOKEN", "abcdefgh")]);
        assert_eq!(redactor.without_torn_start("efgh rest\nnext"), "next");
        assert_eq!(redactor.without_torn_start("efgh and the rest"), " the rest");
        assert_eq!(redactor.without_torn_start("efgh"), "");
    }
}
