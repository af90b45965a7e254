//! An address, its headers and its deadline: what every conversation over HTTP shares.

use std::io::Read as _;
use std::time::Duration;

use reqwest::blocking::{Client, Response};
use reqwest::header::{
    ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE,
};
use reqwest::{Method, StatusCode, Url};

use super::connect;
use super::deadline::Deadline;
use super::http_failure::{self, Refusal};
use crate::network::Network;
use crate::observed::{FailureClass, ProbeFailure, Step};
use crate::server::RemoteServer;

/// How long ending a session may take.
const CLOSING: Duration = Duration::from_millis(500);
/// How long the answer to `server/discover` is waited for.
const DISCOVERING: Duration = Duration::from_secs(5);
/// More redirects are not followed.
const MOST_REDIRECTS: usize = 5;
/// Room for one read.
pub(super) const CHUNK: usize = 16 * 1024;
/// How much of a body that is no answer is read, to tell what it is.
pub(super) const EXCERPT: usize = 16 * 1024;

/// A connection that breaks before any answer is tried again after these.
const AFTER_RESET: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(400)];

/// A request without an answer.
struct Unanswered {
    failure: ProbeFailure,
    /// Whether the connection broke.
    is_reset: bool,
}

/// Headers of one request beside those of the configuration.
pub(super) type Extra = Vec<(&'static str, HeaderValue)>;

/// A remote server.
pub(super) struct Remote {
    client: &'static Client,
    url: Url,
    headers: HeaderMap,
    deadline: Deadline,
    /// The proxy on the way, for messages.
    proxy: Option<String>,
}

impl Remote {
    /// Prepares the requests; nothing is sent yet.
    ///
    /// # Errors
    /// When the address or a header cannot be used.
    pub(super) fn open(server: &RemoteServer, network: &Network, deadline: Deadline) -> Result<Self, ProbeFailure> {
        let url = address(server, &["http", "https"])?;
        let client = super::client::for_url(&url, network)?;
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in &server.headers {
            let (name, value) = header(name, value.value.reveal())?;
            headers.insert(name, value);
        }
        let proxy = connect::proxy_for(&url).map(|proxy| proxy.shown());
        Ok(Self { client, url, headers, deadline, proxy })
    }

    /// The address that a reference leads to, when it stays at this origin: credentials never leave it.
    pub(super) fn at(&self, reference: &str) -> Option<Remote> {
        let url = self.url.join(reference).ok().filter(|url| url.origin() == self.url.origin())?;
        let (headers, proxy) = (self.headers.clone(), self.proxy.clone());
        Some(Self { client: self.client, url, headers, deadline: self.deadline, proxy })
    }

    /// Posts a body, following redirects that stay at the same origin and keep the method (307, 308).
    pub(super) fn post(&mut self, step: Step, extra: &Extra, body: &str) -> Result<Response, ProbeFailure> {
        for _ in 0..=MOST_REDIRECTS {
            let response = self.send(step, &Method::POST, extra, body)?;
            match self.redirect(&response) {
                Some(target) => self.url = target?,
                None => return Ok(response),
            }
        }
        let message = format!("the server redirected more than {MOST_REDIRECTS} times");
        Err(ProbeFailure::new(FailureClass::Protocol, step, message))
    }

    /// Opens an event stream.
    pub(super) fn get(&self, step: Step, mut extra: Extra) -> Result<Response, ProbeFailure> {
        extra.push(("accept", HeaderValue::from_static("text/event-stream")));
        self.send(step, &Method::GET, &extra, "")
    }

    /// Waits as long as a busy server wants, when that leaves time to ask again. Whether it did.
    pub(super) fn waits(&self, moment: Option<Duration>) -> bool {
        let fits = |moment: &Duration| self.deadline.remaining().is_some_and(|left| *moment < left);
        moment.filter(fits).map(super::deadline::pause).is_some()
    }

    /// Waits for a moment, at most until the deadline.
    pub(super) fn pause(&self, moment: Duration) {
        super::deadline::pause(moment.min(self.deadline.remaining().unwrap_or_default()));
    }

    /// Ends a session. What the server says to that does not matter (405 is common).
    pub(super) fn delete(&self, extra: &Extra) {
        let Some(timeout) = self.deadline.remaining() else { return };
        let request = self.client.request(Method::DELETE, self.url.clone()).headers(self.headers_with(extra));
        let _ = request.timeout(timeout.min(CLOSING)).send();
    }

    /// One request. Everything asked here is a read: when the connection breaks before any answer, it is asked again.
    fn send(&self, step: Step, method: &Method, extra: &Extra, body: &str) -> Result<Response, ProbeFailure> {
        let mut failure = None;
        for pause in AFTER_RESET {
            match self.send_once(step, method, extra, body) {
                Err(Unanswered { failure: broken, is_reset: true }) => failure = Some(broken),
                answered => return answered.map_err(|unanswered| unanswered.failure),
            }
            if !self.waits(Some(pause)) {
                break;
            }
        }
        match (self.send_once(step, method, extra, body), failure) {
            (Err(Unanswered { failure, is_reset: true }), _) => {
                let message = format!("{}, {} times", failure.message, AFTER_RESET.len() + 1);
                Err(ProbeFailure { message, ..failure })
            }
            // The time was up before the last try: what happened before is the reason.
            (Err(Unanswered { failure, .. }), Some(broken)) if failure.class == FailureClass::Timeout => Err(broken),
            (answered, _) => answered.map_err(|unanswered| unanswered.failure),
        }
    }

    fn send_once(&self, step: Step, method: &Method, extra: &Extra, body: &str) -> Result<Response, Unanswered> {
        let timeout =
            self.patience(step).ok_or_else(|| Unanswered { failure: self.timed_out(step), is_reset: false })?;
        let request = self.client.request(method.clone(), self.url.clone()).headers(self.headers_with(extra));
        let request = if body.is_empty() { request } else { request.body(body.to_owned()) };
        request.timeout(timeout).send().map_err(|error| {
            let failure = http_failure::of_error(step, &self.deadline, &error);
            let is_reset = failure.class == FailureClass::Connect && http_failure::is_reset(&error);
            let failure = match &self.proxy {
                Some(proxy) if http_failure::is_challenged(&error) => http_failure::of_proxy(proxy, 407),
                Some(proxy) => http_failure::through(proxy, failure),
                None => failure,
            };
            Unanswered { failure, is_reset }
        })
    }

    fn headers_with(&self, extra: &Extra) -> HeaderMap {
        let mut headers = self.headers.clone();
        for (name, value) in extra {
            headers.insert(*name, value.clone());
        }
        headers
    }

    /// Where a 307 or 308 leads; credentials never leave the origin.
    fn redirect(&self, response: &Response) -> Option<Result<Url, ProbeFailure>> {
        let status = response.status();
        if !matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT) {
            return None;
        }
        let target = response.headers().get(LOCATION)?.to_str().ok()?;
        let target = self.url.join(target).ok()?;
        if target.origin() == self.url.origin() {
            return Some(Ok(target));
        }
        let message = format!(
            "the server redirects to another origin ({}), where the configured headers must not go",
            target.origin().ascii_serialization()
        );
        let failure = ProbeFailure::new(FailureClass::HttpStatus, Step::Connect, message)
            .with_http_status(status.as_u16())
            .with_help("put the new address into the configuration, if it is to be trusted");
        Some(Err(failure))
    }

    /// How long an answer may take: what is left, but for the first question, which a gateway may swallow, a part of it.
    fn patience(&self, step: Step) -> Option<Duration> {
        let left = self.deadline.remaining()?;
        Some(if step == Step::Discover { (left / 3).min(DISCOVERING) } else { left })
    }

    fn timed_out(&self, step: Step) -> ProbeFailure {
        let message = format!("{}: no answer to {step}", self.deadline.gave_up());
        ProbeFailure::new(FailureClass::Timeout, step, message)
    }

    /// Reads a body up to a bound.
    pub(super) fn read_body(&self, step: Step, response: &mut Response, limit: usize) -> Result<Vec<u8>, ProbeFailure> {
        let mut body = Vec::new();
        let mut chunk = vec![0; CHUNK];
        loop {
            match self.read_some(step, response, &mut chunk)? {
                0 => return Ok(body),
                length => body.extend_from_slice(&chunk[..length]),
            }
            if body.len() > limit {
                return if limit == EXCERPT { Ok(body) } else { Err(http_failure::too_long(step)) };
            }
        }
    }

    /// Reads what is there; 0 at the end.
    pub(super) fn read_some(
        &self,
        step: Step,
        response: &mut Response,
        chunk: &mut [u8],
    ) -> Result<usize, ProbeFailure> {
        let length = response.read(chunk).map_err(|error| http_failure::of_read(step, &self.deadline, &error))?;
        // The client's own timeout covers the body; this one holds if it should not.
        if self.deadline.remaining().is_none() { Err(self.timed_out(step)) } else { Ok(length) }
    }

    /// Anything but success becomes a refusal, with its body.
    pub(super) fn accepted(
        &self,
        step: Step,
        mut response: Response,
    ) -> Result<Result<Response, Refusal>, ProbeFailure> {
        let status = response.status();
        if status.is_success() {
            return Ok(Ok(response));
        }
        if let Some(proxy) = self.proxy.as_ref().filter(|_| status == StatusCode::PROXY_AUTHENTICATION_REQUIRED) {
            return Err(http_failure::of_proxy(proxy, status.as_u16()));
        }
        let header = |name| response.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let challenge = header(WWW_AUTHENTICATE).map(str::to_owned);
        let retry_after = header(RETRY_AFTER).map(str::to_owned);
        let location = header(LOCATION).map(str::to_owned);
        let body = self.read_body(step, &mut response, EXCERPT)?;
        Ok(Err(Refusal { status: status.as_u16(), challenge, retry_after, location, body }))
    }
}

/// `application/json; charset=utf-8` -> `application/json`; empty where the server does not say.
pub(super) fn media_type(response: &Response) -> String {
    let value = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The address of a server, of one of these schemes.
///
/// # Errors
/// When it is none.
pub(super) fn address(server: &RemoteServer, schemes: &[&str]) -> Result<Url, ProbeFailure> {
    let unusable = |what: &str| {
        let message = format!("the url {:?} {what}", server.url.written);
        ProbeFailure::new(FailureClass::Unsupported, Step::Connect, message)
            .with_help("mend the url in the configuration, or set the variable it is made of")
    };
    let text = server.url.value.reveal();
    if text.is_empty() {
        return Err(unusable("is empty"));
    }
    let url = Url::parse(text).map_err(|error| unusable(&format!("is not valid: {error}")))?;
    match url.scheme() {
        scheme if schemes.contains(&scheme) => Ok(url),
        scheme => Err(unusable(&format!("has the scheme {scheme:?}, not {}", schemes.join(" or ")))),
    }
}

/// A header of the configuration.
///
/// # Errors
/// When its name or value can be in no request.
pub(super) fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), ProbeFailure> {
    let unusable = |what: &str| {
        ProbeFailure::new(FailureClass::Unsupported, Step::Connect, format!("the header {name:?} {what}"))
            .with_help("mend the header in the configuration; the client would fail at it too")
    };
    let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unusable("has no valid name"))?;
    let mut value = HeaderValue::from_str(value)
        .or_else(|_| HeaderValue::from_bytes(value.as_bytes()))
        .map_err(|_| unusable("has a value with characters that no header may have (a line break?)"))?;
    value.set_sensitive(true);
    Ok((parsed, value))
}
