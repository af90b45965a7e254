//! What can go wrong on the way to an HTTP server and back, told apart. No IO.

use std::error::Error;
use std::io;
use std::time::{Duration, SystemTime};

use super::deadline::Deadline;
use super::jsonrpc::{self, Incoming, RpcError, Text};
use super::lines::LONGEST_MESSAGE;
use crate::observed::{FailureClass, ProbeFailure, Step};

/// An answer with a status other than 2xx.
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) challenge: Option<String>,
    pub(super) retry_after: Option<String>,
    pub(super) location: Option<String>,
    pub(super) body: Vec<u8>,
}

impl Refusal {
    /// The JSON-RPC error in the body, if there is one.
    pub(super) fn rpc_error(&self) -> Option<RpcError> {
        let Text::Messages(messages) = jsonrpc::read(&self.body) else { return None };
        messages.into_iter().find_map(|message| match message {
            Incoming::Reply { reply: Err(error), .. } => Some(error),
            _ => None,
        })
    }

    /// How long to wait before asking again, when the server is only busy (429, 503) and says so: in seconds, or by a date (RFC 9110, 10.2.3).
    pub(super) fn retry_after(&self) -> Option<Duration> {
        let after = self.retry_after.as_ref().filter(|_| matches!(self.status, 429 | 503))?.trim();
        let until = || httpdate::parse_http_date(after).ok()?.duration_since(SystemTime::now()).ok();
        after.parse().ok().map(Duration::from_secs).or_else(until)
    }

    /// What the body says: a JSON-RPC error, or the beginning of its text.
    fn said(&self) -> String {
        if let Some(error) = self.rpc_error() {
            return format!("error {}: {}", error.code, error.message);
        }
        one_line(&self.body)
    }

    /// The failure it means.
    pub(super) fn into_failure(self, step: Step, has_session: bool) -> ProbeFailure {
        let status = self.status;
        let said = self.said();
        let retry_after = self.retry_after();
        let detail = match (&self.challenge, &self.retry_after, &self.location) {
            (Some(challenge), _, _) if status == 401 => format!("(WWW-Authenticate: {challenge}) "),
            (_, Some(after), _) => format!("(Retry-After: {after}) "),
            (_, _, Some(location)) if (300..400).contains(&status) => format!("(Location: {location}) "),
            _ => String::new(),
        };
        let (class, help) = match status {
            401 => (
                FailureClass::Auth,
                Some(
                    "the credential is missing, wrong or expired: check the entry's headers and the variables in them",
                ),
            ),
            403 => (FailureClass::Auth, Some("the credential is known but may not do this: check its permissions")),
            404 if has_session => (FailureClass::HttpStatus, Some("the server forgot the session it had just given")),
            404 => (FailureClass::HttpStatus, Some("check the path of the url (often /mcp)")),
            405 => (
                FailureClass::HttpStatus,
                Some("this may be an address of the older HTTP+SSE transport (type \"sse\"), or no MCP server"),
            ),
            429 => (FailureClass::RateLimited, Some("wait, then run again")),
            503 => (FailureClass::Unavailable, Some("the server is overloaded or starting: wait, then run again")),
            300..=399 => (FailureClass::HttpStatus, Some("put the address it redirects to into the configuration")),
            _ => (FailureClass::HttpStatus, None),
        };
        let message = format!("the server answered {step} with HTTP {status}");
        let said = format!("{detail}{said}");
        let failure = ProbeFailure::new(class, step, message).saying(said.trim_end()).with_http_status(status);
        let failure = ProbeFailure { retry_after, ..failure };
        match help {
            Some(help) => failure.with_help(help),
            None => failure,
        }
    }
}

/// A body on one line.
fn one_line(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

/// A body that is no MCP message.
pub(super) fn not_mcp(step: Step, media_type: &str, body: &[u8]) -> ProbeFailure {
    let what = match media_type {
        "" => "a body without Content-Type".to_owned(),
        "application/json" => "a body of application/json that is no JSON-RPC message".to_owned(),
        other => format!("a body of {other}"),
    };
    let message = format!("the answer to {step} is {what}, not an MCP message");
    ProbeFailure::new(FailureClass::Protocol, step, message)
        .saying(one_line(body))
        .with_help("check the url: a web page or a proxy may answer in the server's place")
}

/// An answer without a reply in it.
pub(super) fn no_reply(step: Step, what: &str) -> ProbeFailure {
    ProbeFailure::new(FailureClass::Protocol, step, format!("no answer to {step}: {what}"))
}

/// A body longer than the bound.
pub(super) fn too_long(step: Step) -> ProbeFailure {
    let bound = LONGEST_MESSAGE / (1024 * 1024);
    ProbeFailure::new(FailureClass::Limit, step, format!("the answer to {step} is longer than {bound} MiB"))
}

/// A request that got no answer.
pub(super) fn of_error(step: Step, deadline: &Deadline, error: &reqwest::Error) -> ProbeFailure {
    if error.is_timeout() || deadline.remaining().is_none() {
        let message = format!("{}: no answer to {step}", deadline.gave_up());
        return ProbeFailure::new(FailureClass::Timeout, step, message);
    }
    of_chain(step, error)
}

/// A body that could not be read to its end.
pub(super) fn of_read(step: Step, deadline: &Deadline, error: &io::Error) -> ProbeFailure {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<reqwest::Error>());
    if error.kind() == io::ErrorKind::TimedOut
        || inner.is_some_and(reqwest::Error::is_timeout)
        || deadline.remaining().is_none()
    {
        let message = format!("{}: the answer to {step} was still incomplete", deadline.gave_up());
        return ProbeFailure::new(FailureClass::Timeout, step, message);
    }
    let message = format!("the connection broke before the answer to {step} was complete");
    ProbeFailure::new(FailureClass::Connect, step, message).with_help("see the server's own log, or run again")
}

/// Tells DNS, TLS and connections apart by the chain of causes: reqwest has one kind for all of them.
fn of_chain(step: Step, error: &(dyn Error + 'static)) -> ProbeFailure {
    let chain = chain(error);
    let cause = chain.last().cloned().unwrap_or_default();
    if chain.iter().any(|text| text.contains("dns error")) {
        return unresolved(&cause);
    }
    if has_tls_error(error) || chain.iter().any(|text| text.contains("tls handshake")) {
        return untrusted(cause);
    }
    if chain.iter().any(|text| text.starts_with("invalid HTTP")) {
        return ProbeFailure::new(FailureClass::Protocol, step, "what listens there does not speak HTTP").saying(cause);
    }
    match io_kind(error) {
        Some(io::ErrorKind::ConnectionRefused) => {
            ProbeFailure::new(FailureClass::Connect, Step::Connect, "the connection was refused: nothing listens there")
                .with_help("start the server, or check the host and port in the url")
        }
        _ => ProbeFailure::new(FailureClass::Connect, step, "the connection failed").saying(cause),
    }
}

/// A host name without an address.
pub(super) fn unresolved(cause: &str) -> ProbeFailure {
    ProbeFailure::new(FailureClass::Dns, Step::Connect, format!("the host name cannot be resolved: {cause}"))
        .with_help("check the host name in the url, and this machine's network")
}

fn untrusted(cause: String) -> ProbeFailure {
    let mut help = "check the certificate (a private CA: name its file in NODE_EXTRA_CA_CERTS, for the agent's client too), and whether the server speaks https at all".to_owned();
    for problem in super::tls::problems() {
        help = format!("{help}; not loaded: {problem}");
    }
    ProbeFailure::new(FailureClass::Tls, Step::Connect, "no trusted TLS connection").saying(cause).with_help(help)
}

/// A proxy that does not let us through.
pub(super) fn of_proxy(proxy: &str, status: u16) -> ProbeFailure {
    let message = format!("the proxy {proxy} answered with HTTP {status}, and the server was not reached");
    let help = match status {
        407 => "the proxy wants a credential: http://USER:PASSWORD@HOST:PORT in HTTPS_PROXY",
        _ => "check HTTPS_PROXY, or name the host in NO_PROXY if it is to be reached directly",
    };
    let class = if status == 407 { FailureClass::Auth } else { FailureClass::Connect };
    ProbeFailure::new(class, Step::Connect, message).with_http_status(status).with_help(help)
}

/// The same failure, met on the way to the server: a proxy stands there.
pub(super) fn through(proxy: &str, failure: ProbeFailure) -> ProbeFailure {
    let message = format!("{} (on the way through the proxy {proxy})", failure.message);
    let help = match failure.class {
        FailureClass::Dns | FailureClass::Connect => Some(
            "check HTTPS_PROXY or HTTP_PROXY, or name the server's host in NO_PROXY if it is to be reached directly"
                .to_owned(),
        ),
        _ => failure.help,
    };
    ProbeFailure { message, help, ..failure }
}

/// A connection of our own that failed.
pub(super) fn of_io(step: Step, deadline: &Deadline, error: &io::Error) -> ProbeFailure {
    if error.kind() == io::ErrorKind::TimedOut || deadline.remaining().is_none() {
        let message = format!("{}: no answer to {step}", deadline.gave_up());
        return ProbeFailure::new(FailureClass::Timeout, step, message);
    }
    of_chain(step, error)
}

/// Whether a proxy wants a credential before it lets us through.
pub(super) fn is_challenged(error: &(dyn Error + 'static)) -> bool {
    chain(error).iter().any(|text| text.contains("proxy authorization required"))
}

/// Whether a connection that stood was broken off, rather than refused or never there.
pub(super) fn is_reset(error: &(dyn Error + 'static)) -> bool {
    let kinds = [
        io::ErrorKind::ConnectionReset,
        io::ErrorKind::ConnectionAborted,
        io::ErrorKind::BrokenPipe,
        io::ErrorKind::UnexpectedEof,
    ];
    io_kind(error).is_some_and(|kind| kinds.contains(&kind))
        // hyper's own words where the other side closed in good order, but too early.
        || chain(error).iter().any(|text| text.contains("connection closed before message completed"))
}

/// An error and its causes, outermost first. An error inside an IO error is a cause too, which its `source()` passes over.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let error = next.take()?;
        next = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        };
        Some(error)
    })
}

/// Every message of a chain of causes, outermost first, without addresses (they may hold secrets).
pub(super) fn chain(error: &(dyn Error + 'static)) -> Vec<String> {
    causes(error)
        .map(|error| match error.downcast_ref::<reqwest::Error>() {
            // Its text names the whole address; the causes below say what happened.
            Some(_) => "the request failed".to_owned(),
            None => error.to_string(),
        })
        .collect()
}

fn has_tls_error(error: &(dyn Error + 'static)) -> bool {
    causes(error).any(<dyn std::error::Error + 'static>::is::<rustls::Error>)
}

fn io_kind(error: &(dyn Error + 'static)) -> Option<io::ErrorKind> {
    causes(error).filter_map(|error| error.downcast_ref::<io::Error>()).map(io::Error::kind).last()
}
