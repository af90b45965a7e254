//! What is said of a server that is down: one line for a model that reads it in place of a result. Pure.

use super::{Entry, FailureCode, Millis};

/// The line. `credential` says where the server's credential comes from.
pub(crate) fn down(server: &str, entry: Option<&Entry>, credential: &str, until: Millis, now: Millis) -> String {
    let unknown = Entry::default();
    let entry = entry.unwrap_or(&unknown);
    let error = entry.last_error.as_deref().unwrap_or("unknown failure");
    let since = entry.failing_since.unwrap_or(entry.checked_at);
    let times =
        if entry.failure_count == 1 { "1 failure".to_owned() } else { format!("{} failures", entry.failure_count) };
    let code = entry.last_failure_code.as_ref();
    let is_of_credential = code.is_some_and(FailureCode::is_of_credential);
    let state = match code {
        Some(FailureCode::Status(401 | 403)) => "refuses its credential",
        Some(FailureCode::Status(429)) => "limits its rate",
        Some(FailureCode::Status(503)) => "is overloaded",
        _ => "is down",
    };
    let cause = if is_of_credential { format!(" No retry can help: {credential}.") } else { String::new() };
    format!(
        "MCP server {server:?} {state} since {} ({}, {times}): {}.{cause} Calls to it are blocked until {} ({}): do not retry before then; go on without this server, or say that it is missing.",
        clock(since),
        span(now.saturating_sub(since)),
        error.trim_end_matches(['.', ' ']),
        clock(until),
        span(until.saturating_sub(now)),
    )
}

/// `12:03:05 UTC`.
fn clock(at: Millis) -> String {
    let seconds = at / 1_000 % 86_400;
    format!("{:02}:{:02}:{:02} UTC", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// `40 s`, `4 min`, `2 h`; never less than a second, which would read as over.
fn span(length: Millis) -> String {
    match length.div_ceil(1_000) {
        0 => "1 s".to_owned(),
        seconds @ 1..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use super::{clock, down, span};
    use crate::health::{Entry, FailureCode};

    #[test]
    fn moments_and_spans_read_well() {
        assert_eq!(clock(1_796_000_585_000), "01:03:05 UTC");
        for (length, text) in
            [(0, "1 s"), (1, "1 s"), (30_000, "30 s"), (119_001, "2 min"), (600_000, "10 min"), (7_200_000, "2 h")]
        {
            assert_eq!(span(length), text);
        }
    }

    #[test]
    fn a_model_reads_what_is_down_since_when_until_when_and_not_to_retry() {
        let now = 1_796_000_000_000;
        let entry = Entry {
            failure_count: 2,
            last_error: Some("connect: the connection was refused.".to_owned()),
            last_failure_code: Some(FailureCode::Word("connect".to_owned())),
            failing_since: Some(now - 90_000),
            ..Entry::default()
        };
        let line = down("report", Some(&entry), "", now + 60_000, now);
        assert_eq!(
            line,
            "MCP server \"report\" is down since 00:51:50 UTC (90 s, 2 failures): connect: the connection was refused. Calls to it are blocked until 00:54:20 UTC (60 s): do not retry before then; go on without this server, or say that it is missing."
        );
        let refused = Entry { last_failure_code: Some(FailureCode::Status(401)), ..entry };
        let line = down("report", Some(&refused), "headers.Authorization uses ${TOKEN} (unset)", now + 1, now);
        assert!(
            line.contains("refuses its credential since")
                && line.contains("No retry can help: headers.Authorization uses ${TOKEN} (unset)."),
            "{line}"
        );
    }
}
