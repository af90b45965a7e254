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
    /// Whether it is certain: said by the client, or by a remote server's endpoint. Else a tool's own words only sound like it.
    pub(crate) is_certain: bool,
    /// Whether a probe can refute it: a connection that broke may be there again; that an endpoint refused a credential, or that a quota is used
    /// up, is not seen by one.
    pub(crate) is_refutable: bool,
    /// How long the server wants to be left alone, in milliseconds, ten minutes at most: it was read out of prose.
    pub(crate) wait: Option<Millis>,
}

/// Whose error it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Failed<'a> {
    /// The server that was called.
    pub(crate) server: &'a str,
    /// Whether it is known to be reached over HTTP: only then is a status an endpoint's.
    pub(crate) is_remote: bool,
}

/// The longest wait that is read out of prose, in milliseconds.
const LONGEST_WAIT: Millis = 600_000;
/// The longest body that is an endpoint's own refusal, and not a tool's words about something else.
const LONGEST_ANSWER: usize = 160;

/// How long to wait, in the many ways in which that is said.
static WAIT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?:retry[-_ ]?after|again (?:in|after)|wait)[^0-9a-z]{0,6}(?:for |about )?([0-9]{1,9})(?:\.[0-9]+)? ?([a-z]*)").ok()
});

/// Words for each status. The first is the one that an endpoint's own answer has (RFC 9110, 15).
const STATUSES: [(u16, &[&str]); 4] = [
    (
        401,
        &[
            "unauthorized",
            "unauthenticated",
            "authentication failed",
            "authentication expired",
            "authentication required",
            "invalid token",
            "token expired",
            "not authenticated",
        ],
    ),
    (403, &["forbidden", "permission denied", "access denied"]),
    (429, &["too many requests", "rate limit", "rate-limit", "ratelimit"]),
    (503, &["service unavailable", "overloaded", "temporarily unavailable"]),
];

/// What the client itself says of a connection that broke, at the beginning.
const BROKEN: [&str; 5] = [
    "connection closed",
    "request timed out",
    "not connected",
    "econnreset: the socket connection was closed unexpectedly",
    "unable to connect. is the computer able to access the url",
];

/// The same in anybody's words, anywhere.
const BROKEN_INSIDE: [&str; 16] = [
    "econnrefused",
    "econnreset",
    "enotfound",
    "eai_again",
    "etimedout",
    "epipe",
    "getaddrinfo",
    "socket hang up",
    "fetch failed",
    "timed out",
    "unable to connect",
    "connection lost",
    "connection reset",
    "connection failed",
    "connection error",
    "connection refused",
];

/// What the text says of the server; `None` for a failure of the tool's own.
pub(crate) fn classify(error: &str, failed: Failed<'_>) -> Option<Signal> {
    // Only the beginning counts: what follows is what the tool had to say.
    let head: String = error.chars().take(LONGEST_TEXT).collect::<String>().to_lowercase();
    let head = bare(head.trim());
    let certain = certain(head, failed).map(|code| (code, true));
    let (code, is_certain) = certain.or_else(|| suspected(head).map(|code| (code, false)))?;
    let is_of_endpoint = failed.is_remote && matches!(code, FailureCode::Status(_));
    let is_of_client = of_client(head).is_some() && matches!(code, FailureCode::Status(_));
    let is_refutable = !(is_certain && (is_of_endpoint || is_of_client));
    let wait = if is_certain && matches!(code, FailureCode::Status(429 | 503)) { wait(head) } else { None };
    Some(Signal { code, is_certain, is_refutable, wait: wait.map(|wait| wait.min(LONGEST_WAIT)) })
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
fn certain(text: &str, failed: Failed<'_>) -> Option<FailureCode> {
    let transport = || Some(FailureCode::Word("transport".to_owned()));
    if let Some(said) = of_client(text) {
        // It speaks of the server that was called, or it is not the client that speaks.
        let name = format!("mcp server {:?}", failed.server.to_lowercase());
        return match said {
            _ if !text.starts_with(&name) => None,
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
        let known = status_of(answer.trim_start_matches([' ', '(', ':'])).or_else(|| status_of_body(answer));
        let known = known.filter(|_| failed.is_remote);
        return known.map(FailureCode::Status).or_else(|| Some(FailureCode::Word("http-status".to_owned())));
    }
    if text.starts_with("unexpected content type") {
        return Some(FailureCode::Word("http-status".to_owned()));
    }
    if BROKEN.iter().any(|words| text.starts_with(words)) {
        return transport();
    }
    None
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

/// `503 Service Unavailable`, `HTTP 429: Too Many Requests`, `HTTP 401)`: a status with its own words, or named as one.
fn status_of(text: &str) -> Option<u16> {
    let mut rest = text;
    let mut is_named = false;
    for prefix in ["http error", "http", "status code", "status"] {
        if let Some(after) = rest.strip_prefix(prefix) {
            (rest, is_named) = (after.trim_start_matches([' ', ':', '/', '(']), true);
        }
    }
    STATUSES.iter().find_map(|(status, words)| {
        let after = rest.strip_prefix(&status.to_string())?;
        let is_whole = !after.starts_with(|c: char| c.is_alphanumeric());
        let has_words = after.trim_start_matches([' ', ':', ')', '-']).starts_with(words[0]);
        (is_whole && (is_named || has_words)).then_some(*status)
    })
}

/// A refusal in a status's own words, short, and no answer of the protocol (those are about a call).
fn status_of_body(body: &str) -> Option<u16> {
    let is_refusal = body.len() <= LONGEST_ANSWER && !body.contains("jsonrpc") && !body.contains("\"code\":");
    let is = |words: &[&str]| {
        words.first().is_some_and(|own| body.contains(own))
            || words.contains(&"rate limit") && body.contains("rate limit")
    };
    STATUSES.iter().find(|(_, words)| is_refusal && is(words)).map(|(status, _)| *status)
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

    use super::{Failed, WAIT, classify};
    use crate::health::FailureCode;

    const REMOTE: Failed<'_> = Failed { server: "web", is_remote: true };
    const LOCAL: Failed<'_> = Failed { server: "web", is_remote: false };

    fn code(text: &str, failed: Failed<'_>) -> Option<(String, bool, bool)> {
        classify(text, failed).map(|signal| {
            let code = match signal.code {
                FailureCode::Status(status) => status.to_string(),
                FailureCode::Word(word) => word,
            };
            (code, signal.is_certain, signal.is_refutable)
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
            ("MCP server \"web\" tool \"hang\" timed out after 3s", "timeout"),
            ("MCP server \"web\" session expired", "401"),
            (
                "MCP server \"web\" rejected the Authorization header in its config (update it, then run /mcp to reconnect)",
                "401",
            ),
            (
                "ECONNRESET: The socket connection was closed unexpectedly. For more information, pass `verbose: true` in the second argument to fetch()",
                "transport",
            ),
            ("Error POSTing to endpoint: {\"error\":\"nope\"}", "http-status"),
            ("Error POSTing to endpoint: {\"error\":\"Too Many Requests\"}", "429"),
            ("Error POSTing to endpoint (HTTP 503): busy", "503"),
            ("Streamable HTTP error: Error POSTing to endpoint: Unauthorized", "401"),
            ("Unexpected content type: text/html", "http-status"),
        ];
        for (text, expected) in rows {
            let is_status = expected.parse::<u16>().is_ok();
            assert_eq!(code(text, REMOTE), Some((expected.to_owned(), true, !is_status)), "{text}");
        }
    }

    /// A program has no status: whatever sounds like one there is a tool's, and only the program itself can tell.
    #[test]
    fn a_tools_own_words_are_a_suspicion_at_most() {
        let suspicions = [
            ("upstream said 403 Forbidden", "403"),
            ("locator.click: Timeout exceeded, timed out after 30000ms", "transport"),
            ("cannot reach the database: connect ECONNREFUSED 127.0.0.1:5432", "transport"),
            ("GitHub: API rate limit exceeded for user", "429"),
            ("Access denied - path outside allowed directories: /etc", "403"),
            ("Forbidden word in query", "403"),
            ("401 rows affected", "401"),
            ("503 tests failed", "503"),
            ("Error: 503 is not a valid port", "503"),
            ("rate limit must be a number", "429"),
            ("429 hosts scanned; wait 60 min", "429"),
            ("429 Too Many Requests for https://example.com (retry-after: 3600)", "429"),
            ("Service temporarily unavailable", "503"),
            ("403 Forbidden", "403"),
            ("HTTP 403 Forbidden: you may not read repo x/y", "403"),
            ("Error: HTTP 503 Service Unavailable", "503"),
            ("status 401: token for jira is invalid", "401"),
            ("connect ECONNREFUSED 127.0.0.1:5432", "transport"),
            ("getaddrinfo ENOTFOUND mcp.invalid", "transport"),
            ("TypeError: fetch failed", "transport"),
            ("socket hang up", "transport"),
            ("Unable to connect to database prod", "transport"),
        ];
        for (text, expected) in suspicions {
            for failed in [LOCAL, REMOTE] {
                assert_eq!(code(text, failed), Some((expected.to_owned(), false, true)), "{text}");
                assert_eq!(classify(text, failed).expect("a signal").wait, None);
            }
        }
        // The body of an answer is the endpoint's only where it says nothing of a call.
        for body in [
            r#"{"error":{"code":-32602,"message":"row 401 is bad"}}"#,
            r#"{"jsonrpc":"2.0","error":{"message":"forbidden"}}"#,
            "row 401 is bad",
        ] {
            let text = format!("Error POSTing to endpoint: {body}");
            assert_eq!(code(&text, REMOTE), Some(("http-status".to_owned(), true, true)), "{text}");
        }
        for text in ["", "no such file", "row 4010 is bad", "v1.403 is old", "issue #x503y", "invalid argument: name"] {
            assert_eq!(code(text, REMOTE), None, "{text}");
        }
        // A server's name is no word of the client's, and another server's session is none of this one.
        assert_eq!(code("MCP server \"503 is not connected\" says no", REMOTE), None);
        assert_eq!(code("MCP server \"other\" session expired", REMOTE), None);
    }

    #[test]
    fn waits_are_read_in_their_many_forms() {
        assert!(WAIT.is_some());
        for (text, expected) in [
            ("too many requests, Retry-After: 17", Some(17_000)),
            ("(HTTP 429): {\"retryAfter\": 20}", Some(20_000)),
            ("rate limited; too many requests; try again in 90 seconds", Some(90_000)),
            ("(HTTP 503): overloaded, retry after 1500ms", Some(1_500)),
            ("Too Many Requests: please try again in 2 minutes", Some(120_000)),
            ("(HTTP 503): try again in 1 hour", Some(600_000)),
            ("Too Many Requests", None),
            ("(HTTP 401): retry after 5", None),
        ] {
            let text = format!("Error POSTing to endpoint: {text}");
            assert_eq!(classify(&text, REMOTE).expect("a signal").wait, expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_fault(text in ".{0,200}", server in ".{0,9}", is_remote in any::<bool>()) {
            let _ = classify(&text, Failed { server: &server, is_remote });
        }
    }
}
