//! What is known of the health of servers, outside any agent's context: one record a server, when to believe it, when to ask again.
//! `breaker` decides (pure), `policy` has the times, `classify` reads error texts (pure), `seen` reads probes (pure), `wording` says what is known, `file` keeps it.

pub(crate) mod breaker;
pub(crate) mod classify;
pub(crate) mod file;
pub(crate) mod policy;
pub(crate) mod seen;
pub(crate) mod wording;

use serde::{Deserialize, Serialize};
use sha1::{Digest as _, Sha1};

/// How much of an error's text is read, and kept.
pub(crate) const LONGEST_TEXT: usize = 400;

/// Milliseconds since 1970 (UTC).
pub(crate) type Millis = u64;

/// What is known of one server. Times are milliseconds since 1970; the names are those of the file (`docs/guard.md`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Entry {
    /// The server's configured name.
    pub(crate) server: String,
    /// The configuration that its entry stands in.
    pub(crate) source: String,
    /// Which entry it was that was judged: a changed one is another server.
    pub(crate) fingerprint: String,
    /// How it is.
    pub(crate) status: Status,
    /// When that was seen.
    pub(crate) checked_at: Millis,
    /// Until when a healthy one is believed to be so.
    pub(crate) expires_at: Millis,
    /// Failures since it was last seen healthy.
    pub(crate) failure_count: u32,
    /// What the last failure said.
    pub(crate) last_error: Option<String>,
    /// What kind it was: an HTTP status, or a word.
    pub(crate) last_failure_code: Option<FailureCode>,
    /// Since when it has been failing.
    pub(crate) failing_since: Option<Millis>,
    /// Until when nobody asks a failing one again.
    pub(crate) next_retry_at: Option<Millis>,
    /// When it last came back.
    pub(crate) last_restored_at: Option<Millis>,
    /// What brought it back: `reconnect`, or nothing where it came by itself.
    pub(crate) restored_by: Option<String>,
    /// Until when somebody is asking it, and the others wait for the answer.
    pub(crate) probing_until: Option<Millis>,
}

/// How a server is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// It answered.
    Healthy,
    /// It did not.
    Unhealthy,
    /// Nobody knows.
    #[default]
    #[serde(other)]
    Unknown,
}

/// The kind of a failure: an HTTP status where there was one, else a word (`connect`, `timeout`, `transport` ...).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum FailureCode {
    /// An HTTP status.
    Status(u16),
    /// A word.
    Word(String),
}

/// Something that went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Its kind.
    pub(crate) code: FailureCode,
    /// What was said of it, harmless to show and without secrets.
    pub(crate) error: String,
    /// How long the server wants to be left alone, where it says so, in milliseconds.
    pub(crate) wait: Option<Millis>,
}

impl Failure {
    /// Whether a credential was refused: waiting cannot help.
    pub(crate) fn is_of_credential(&self) -> bool {
        self.code.is_of_credential()
    }
}

impl FailureCode {
    /// 401 or 403.
    pub(crate) fn is_of_credential(&self) -> bool {
        matches!(self, Self::Status(401 | 403))
    }
}

/// Whose record it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    /// The server's configured name.
    pub(crate) server: String,
    /// The configuration that its entry stands in.
    pub(crate) source: String,
    /// See [`fingerprint`]; empty where the entry is not known.
    pub(crate) fingerprint: String,
}

impl Key {
    /// The key in the file: for eyes, and different for different servers. The record itself says again whose it is.
    pub(crate) fn text(&self) -> String {
        format!("{} ({})", self.server, self.source)
    }

    /// Whether a record is this server's, as its entry is now.
    pub(crate) fn owns(&self, entry: &Entry) -> bool {
        entry.server == self.server && entry.source == self.source && entry.fingerprint == self.fingerprint
    }
}

/// A short digest of everything an entry consists of. The values behind it cannot be read from it; the file is its owner's alone all the same.
pub(crate) fn fingerprint<'a>(parts: impl Iterator<Item = &'a str>) -> String {
    let mut digest = Sha1::new();
    for part in parts {
        // With lengths, so that two parts are never one.
        digest.update(part.len().to_le_bytes());
        digest.update(part.as_bytes());
    }
    let bytes = digest.finalize();
    let first = bytes.iter().take(8).fold(0_u64, |all, byte| all << 8 | u64::from(*byte));
    format!("{first:016x}")
}
