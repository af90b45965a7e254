//! What a probe says of a server's health, and what may help a sick one. Pure.

use std::sync::LazyLock;

use regex::Regex;

use super::policy::Reconnect;
use super::{Failure, FailureCode, LONGEST_TEXT, Millis};
use crate::observed::{Observation, Outcome, ProbeFailure};
use crate::server::{Server, VariableState, VariableUse};
use crate::text;

/// How much of a process's last words is kept.
const LONGEST_WORDS: usize = 160;

/// What an observation says of the server's health. Nobody but the client has its OAuth token: a server that wants one is reachable, and that
/// is all that can be seen from here; the same goes for one that does not take this way of asking (`origin.md` B).
pub(crate) fn judged(observation: &Observation, server: &Server) -> Result<(), Failure> {
    let Outcome::Failed(failure) = &observation.outcome else { return Ok(()) };
    let is_reachable = match failure.http_status {
        Some(401 | 403) => !server.has_credential(),
        Some(405 | 406) => true,
        _ => false,
    };
    if is_reachable {
        return Ok(());
    }
    // The last words of a process often say why.
    let last = observation.stderr.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let last =
        last.map(|line| format!("; its last words: {:?}", text::shorten(line, LONGEST_WORDS))).unwrap_or_default();
    Err(Failure {
        code: code(failure),
        error: on_one_line(&format!("{}: {}{last}", failure.class, failure.text())),
        wait: failure.retry_after.and_then(|wait| Millis::try_from(wait.as_millis()).ok()),
    })
}

/// The kind of a failed probe.
fn code(failure: &ProbeFailure) -> FailureCode {
    failure.http_status.map_or_else(|| FailureCode::Word(failure.class.as_str().to_owned()), FailureCode::Status)
}

/// Where the server's credential comes from, for somebody who has to mend it.
pub(crate) fn credential(server: &Server) -> String {
    let is_credential =
        |variable: &&VariableUse| variable.path.starts_with("headers") || variable.path.starts_with("env");
    let state = |variable: &VariableUse| match variable.state {
        VariableState::Set => "set",
        VariableState::Empty => "empty",
        VariableState::Defaulted => "not set, its default is used",
        VariableState::Unset => "not set",
        VariableState::Withheld => "kept from remote servers by the client",
    };
    let used: Vec<String> = server
        .variables
        .iter()
        .filter(is_credential)
        .map(|variable| format!("{} uses ${{{}}} ({})", variable.path, variable.name, state(variable)))
        .collect();
    match (used.is_empty(), server.has_credential()) {
        (false, _) => used.join(", "),
        (true, true) => format!("see the headers of its entry, {}", server.location),
        (true, false) => format!("its entry has none: {}, or add an Authorization header", sign_in()),
    }
}

/// Whether a command may help: a server that is down is restarted, a busy one is not, and a credential is renewed only by a command of the
/// server's own.
pub(crate) fn helps(reconnect: &Reconnect, failure: &Failure) -> bool {
    match failure.code {
        FailureCode::Status(429) => false,
        _ if failure.is_of_credential() => reconnect.is_own,
        _ => true,
    }
}

/// An error on one line.
pub(crate) fn on_one_line(error: &str) -> String {
    let words: Vec<&str> = error.split_whitespace().collect();
    words.join(" ")
}

/// As much of an error as is kept. Secrets have to be gone from it: a cut would tear them.
pub(crate) fn shortened(error: &str) -> String {
    text::shorten(error, LONGEST_TEXT)
}

/// What helps where the client signs in by itself.
pub(crate) fn sign_in() -> String {
    "sign in (/mcp in an interactive session)".to_owned()
}

/// A token behind its scheme, a value of a query, a user's password in an address.
static SECRETS: LazyLock<Option<[Regex; 2]>> = LazyLock::new(|| {
    let named = Regex::new(r"((?:[Bb]earer|BEARER|[Bb]asic|BASIC|[Tt]oken) +|[?&][^=&\s]+=)([^\s&\x22',;)]+)").ok()?;
    let password = Regex::new(r"(://[^/@:\s]*:)([^/@\s]+)@").ok()?;
    Some([named, password])
});

/// What looks like a credential in somebody's error is one.
pub(crate) fn without_secrets(error: &str) -> String {
    let Some([named, password]) = SECRETS.as_ref() else { return error.to_owned() };
    let error = named.replace_all(error, "$1***");
    password.replace_all(&error, "$1***@").into_owned()
}

#[cfg(test)]
mod tests {
    use super::{SECRETS, without_secrets};

    #[test]
    fn what_looks_like_a_credential_is_masked() {
        assert!(SECRETS.is_some());
        for (error, masked) in [
            ("401 Unauthorized: Bearer abc.def-1", "401 Unauthorized: Bearer ***"),
            ("GET https://x/y?key=s3cret&b=2 failed", "GET https://x/y?key=***&b=*** failed"),
            ("postgres://me:pw@db/x refused", "postgres://me:***@db/x refused"),
            ("connect http://127.0.0.1:9/mcp", "connect http://127.0.0.1:9/mcp"),
            ("no such file", "no such file"),
        ] {
            assert_eq!(without_secrets(error), masked);
        }
    }
}
