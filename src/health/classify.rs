//! What the text of a failed call says of its server. Pure. The first half are the client's own words, as Claude Code 2.1.332 was heard to say
//! them (`docs/guard.md` has the list); what a tool itself reports may sound alike and mean something else, and is a suspicion only.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCode, LONGEST_TEXT, Millis};

/// A failure that is the server's, not the tool's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Signal {
    /// What kind.
    pub(crate) code: FailureCode,
    /// Whether it is certain: said by the client or by the server's endpoint. Else a tool's own words only sound like it.
    pub(crate) is_certain: bool,
    /// Whether a probe can refute it: a connection that broke may be there again, a refused credential or a full quota is not seen by one.
    pub(crate) is_refutable: bool,
    /// How long the server wants to be left alone, in milliseconds.
    pub(crate) wait: Option<Millis>,
}

/// How long to wait, in the many ways in which that is said.
static WAIT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?:retry[-_ ]?after|again (?:in|after)|wait)[^0-9a-z]{0,6}(?:for |about )?([0-9]{1,9})(?:\.[0-9]+)? ?([a-z]*)").ok()
});

/// Words for each status, as they begin an answer, or stand in it.
const STATUSES: [(u16, &[&str]); 4] = [
    (
        401,
        &[
            "unauthorized",
            "unauthenticated",
            "authentication failed",
            "authentication expired",
            "authentication required",
            "auth failed",
            "auth expired",
            "auth invalid",
            "invalid token",
            "token expired",
            "not authenticated",
        ],
    ),
    (403, &["forbidden", "permission denied", "access denied"]),
    (429, &["too many requests", "rate limit", "rate-limit", "ratelimit"]),
    (503, &["service unavailable", "overloaded", "temporarily unavailable"]),
];

/// What begins the text of a connection that broke or never was.
const BROKEN: [&str; 19] = [
    "connection closed",
    "connection lost",
    "connection reset",
    "connection refused",
    "connection failed",
    "connection error",
    "connect econnrefused",
    "econnrefused",
    "econnreset",
    "enotfound",
    "eai_again",
    "etimedout",
    "epipe",
    "getaddrinfo",
    "socket hang up",
    "fetch failed",
    "request timed out",
    "unable to connect",
    "not connected",
];

/// The same, inside of other words.
const BROKEN_INSIDE: [&str; 12] = [
    "econnrefused",
    "econnreset",
    "enotfound",
    "eai_again",
    "etimedout",
    "socket hang up",
    "timed out",
    "connection closed",
    "connection lost",
    "connection reset",
    "connection failed",
    "connection refused",
];

/// What the text says of the server; `None` for a failure of the tool's own.
pub(crate) fn classify(error: &str) -> Option<Signal> {
    // Only the beginning counts: what follows is what the tool had to say.
    let head: String = error.chars().take(LONGEST_TEXT).collect::<String>().to_lowercase();
    let head = bare(head.trim());
    let (code, is_certain) =
        certain(head).map(|code| (code, true)).or_else(|| suspected(head).map(|code| (code, false)))?;
    let is_refutable = !is_certain || !matches!(code, FailureCode::Status(_));
    let wait = if matches!(code, FailureCode::Status(429 | 503)) { wait(head) } else { None };
    Some(Signal { code, is_certain, is_refutable, wait })
}

/// Without what clients put before an error.
fn bare(mut text: &str) -> &str {
    loop {
        let before = text;
        for prefix in ["<tool_use_error>", "error: ", "typeerror: ", "mcperror: ", "streamable http error: "] {
            text = text.strip_prefix(prefix).unwrap_or(text);
        }
        // `MCP error -32000: ` of the SDKs.
        if let Some(rest) = text.strip_prefix("mcp error ")
            && let Some((number, rest)) = rest.split_once(": ")
            && number.parse::<i64>().is_ok()
        {
            text = rest;
        }
        if text == before {
            return text;
        }
    }
}

/// The client's own words, and answers of the server's endpoint.
fn certain(text: &str) -> Option<FailureCode> {
    let transport = || Some(FailureCode::Word("transport".to_owned()));
    if let Some(said) = of_client(text) {
        return match said {
            _ if said.starts_with("session expired") || said.starts_with("rejected the authorization header") => {
                Some(FailureCode::Status(401))
            }
            _ if said.contains("authenticat") => Some(FailureCode::Status(401)),
            _ if said.starts_with("timed out") => Some(FailureCode::Word("timeout".to_owned())),
            _ if said.starts_with("is not connected") => transport(),
            _ => None,
        };
    }
    if let Some(answer) = text.strip_prefix("error posting to endpoint") {
        // The client tells the body, and not the status; older ones did.
        let known = status_at_start(answer.trim_start_matches([' ', '(', ':'])).or_else(|| status_inside(answer));
        return known.map(FailureCode::Status).or_else(|| Some(FailureCode::Word("http-status".to_owned())));
    }
    if text.starts_with("unexpected content type") {
        return Some(FailureCode::Word("http-status".to_owned()));
    }
    if BROKEN.iter().any(|words| text.starts_with(words)) {
        return transport();
    }
    status_at_start(text).map(FailureCode::Status)
}

/// What the client says of a server, whose name comes first and may hold anything.
fn of_client(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("mcp server \"")?;
    Some(rest.rsplit_once('"').map_or(rest, |(_, said)| said).trim_start())
}

/// Words that a tool may have for something else.
fn suspected(text: &str) -> Option<FailureCode> {
    let text = of_client(text).unwrap_or(text);
    let broken = || BROKEN_INSIDE.iter().any(|words| text.contains(words));
    status_inside(text).map(FailureCode::Status).or_else(|| broken().then(|| FailureCode::Word("transport".to_owned())))
}

/// `503 Service Unavailable`, `HTTP 429: ...`, `Unauthorized`.
fn status_at_start(text: &str) -> Option<u16> {
    let mut rest = text;
    for prefix in ["http error", "http", "error", "status code", "status", "code"] {
        rest = rest.strip_prefix(prefix).unwrap_or(rest).trim_start_matches([' ', ':', '/', '(']);
    }
    let is = |(status, words): &(u16, &[&str])| {
        let number = rest.strip_prefix(&status.to_string());
        number.is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric()))
            || words.iter().any(|words| text.starts_with(words))
    };
    STATUSES.iter().find(|row| is(row)).map(|(status, _)| *status)
}

fn status_inside(text: &str) -> Option<u16> {
    let is = |(status, words): &(u16, &[&str])| {
        has_number(text, &status.to_string()) || words.iter().any(|words| text.contains(words))
    };
    STATUSES.iter().find(|row| is(row)).map(|(status, _)| *status)
}

/// Whether the number stands there by itself.
fn has_number(text: &str, number: &str) -> bool {
    text.match_indices(number).any(|(at, _)| {
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        !text[..at].ends_with(is_part)
            && !text[at + number.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
    })
}

fn wait(text: &str) -> Option<Millis> {
    let captures = WAIT.as_ref()?.captures(text)?;
    let number: Millis = captures[1].parse().ok()?;
    let unit = match captures.get(2).map_or("", |unit| unit.as_str()) {
        unit if unit.starts_with("ms") || unit.starts_with("milli") => 1,
        unit if unit.starts_with('m') => 60_000,
        unit if unit.starts_with('h') => 3_600_000,
        _ => 1_000,
    };
    number.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{WAIT, classify};
    use crate::health::FailureCode;

    fn code(text: &str) -> Option<(String, bool)> {
        classify(text).map(|signal| {
            let code = match signal.code {
                FailureCode::Status(status) => status.to_string(),
                FailureCode::Word(word) => word,
            };
            (code, signal.is_certain)
        })
    }

    /// Each was said by Claude Code 2.1.332, or by an SDK.
    #[test]
    fn the_clients_own_words_are_certain() {
        let rows = [
            ("Connection closed", "transport"),
            ("MCP error -32000: Connection closed", "transport"),
            ("MCP error -32001: Request timed out", "transport"),
            ("MCP server \"web\" is not connected", "transport"),
            ("MCP server \"usr\" tool \"hang\" timed out after 3s", "timeout"),
            ("MCP server \"web\" session expired", "401"),
            (
                "MCP server \"web\" rejected the Authorization header in its config (update it, then run /mcp to reconnect)",
                "401",
            ),
            (
                "ECONNRESET: The socket connection was closed unexpectedly. For more information, pass `verbose: true` in the second argument to fetch()",
                "transport",
            ),
            ("connect ECONNREFUSED 127.0.0.1:9", "transport"),
            ("getaddrinfo ENOTFOUND mcp.invalid", "transport"),
            ("TypeError: fetch failed", "transport"),
            ("socket hang up", "transport"),
            ("Error POSTing to endpoint: {\"error\":\"nope\"}", "http-status"),
            ("Error POSTing to endpoint: {\"error\":\"Too Many Requests\"}", "429"),
            ("Error POSTing to endpoint (HTTP 503): busy", "503"),
            ("Streamable HTTP error: Error POSTing to endpoint: Unauthorized", "401"),
            ("Unexpected content type: text/html", "http-status"),
            ("503 Service Unavailable", "503"),
            ("HTTP 429: Too Many Requests", "429"),
            ("Error: HTTP 401 Unauthorized", "401"),
            ("Forbidden", "403"),
            ("Service temporarily unavailable", "503"),
        ];
        for (text, expected) in rows {
            let certain = !text.starts_with("Service temporarily");
            assert_eq!(code(text), Some((expected.to_owned(), certain)), "{text}");
        }
    }

    #[test]
    fn a_tools_own_words_are_a_suspicion_at_most() {
        for (text, expected) in [
            ("upstream said 403 Forbidden", "403"),
            ("locator.click: Timeout exceeded, timed out after 30000ms", "transport"),
            ("cannot reach the database: connect ECONNREFUSED 127.0.0.1:5432", "transport"),
            ("GitHub: API rate limit exceeded for user", "429"),
        ] {
            assert_eq!(code(text), Some((expected.to_owned(), false)), "{text}");
        }
        for text in ["", "no such file", "row 4010 is bad", "v1.403 is old", "issue #x503y", "invalid argument: name"] {
            assert_eq!(code(text), None, "{text}");
        }
        // A server's name is no word of the client's.
        assert_eq!(code("MCP server \"503 is not connected\" says no"), None);
    }

    #[test]
    fn waits_are_read_in_their_many_forms() {
        assert!(WAIT.is_some());
        for (text, expected) in [
            ("429 Too Many Requests, Retry-After: 17", Some(17_000)),
            ("429 {\"retryAfter\": 20}", Some(20_000)),
            ("429 rate limited; try again in 90 seconds", Some(90_000)),
            ("503 overloaded, retry after 1500ms", Some(1_500)),
            ("429 please try again in 2 minutes", Some(120_000)),
            ("503 try again in 1 hour", Some(3_600_000)),
            ("429 Too Many Requests", None),
            ("401 retry after 5", None),
        ] {
            assert_eq!(classify(text).expect("a signal").wait, expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_fault(text in ".{0,200}") {
            let _ = classify(&text);
        }
    }
}
