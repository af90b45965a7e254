//! A server behind Streamable HTTP (2025-03-26 and later): one POST a message, JSON or an event stream back.

use std::io::Read as _;
use std::time::Duration;

use reqwest::blocking::{Client, Response};
use reqwest::header::{
    ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE,
};
use reqwest::{Method, StatusCode, Url};
use serde_json::Value;

use super::client::Clients;
use super::deadline::Deadline;
use super::http_failure::{self, Refusal};
use super::jsonrpc::{self, Incoming, Reply, Text};
use super::lines::LONGEST_MESSAGE;
use super::opening::MODERN;
use super::session::{Call, Channel};
use super::sse::EventBuffer;
use super::trace::Trace;
use crate::observed::{Era, FailureClass, ProbeFailure, Step};
use crate::server::RemoteServer;

/// How long ending the session may take.
const CLOSING: Duration = Duration::from_millis(500);
/// How long the answer to `server/discover` is waited for.
const DISCOVERING: Duration = Duration::from_secs(5);
/// More redirects are not followed.
const MOST_REDIRECTS: usize = 5;
/// Room for one read.
const CHUNK: usize = 16 * 1024;
/// How much of a body that is no answer is read, to tell what it is.
const EXCERPT: usize = 16 * 1024;

/// A conversation over HTTP.
pub(super) struct HttpChannel<'a> {
    client: &'a Client,
    url: Url,
    headers: HeaderMap,
    session: Option<HeaderValue>,
    version: Option<HeaderValue>,
    next_id: u64,
    deadline: Deadline,
    trace: &'a mut Trace,
}

impl<'a> HttpChannel<'a> {
    /// Prepares the conversation; nothing is sent yet.
    ///
    /// # Errors
    /// When the address or a header cannot be used.
    pub(super) fn open(
        server: &RemoteServer,
        clients: &'a Clients,
        deadline: Deadline,
        trace: &'a mut Trace,
    ) -> Result<Self, ProbeFailure> {
        let url = address(server)?;
        let client = clients.for_url(&url)?;
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in &server.headers {
            let (name, value) = header(name, value.value.reveal())?;
            headers.insert(name, value);
        }
        Ok(Self { client, url, headers, session: None, version: None, next_id: 1, deadline, trace })
    }

    /// Ends the session, if there is one. What the server says to that does not matter (405 is common).
    pub(super) fn close(self) {
        let Some(timeout) = self.deadline.remaining().filter(|_| self.session.is_some()) else { return };
        let request = self.client.request(Method::DELETE, self.url.clone()).headers(self.all_headers(None));
        let _ = request.timeout(timeout.min(CLOSING)).send();
    }

    /// In the modern era each request names its version and method; before, a session and the agreed version are repeated.
    fn all_headers(&self, modern: Option<Step>) -> HeaderMap {
        let mut headers = self.headers.clone();
        if let Some(step) = modern {
            headers.insert("mcp-protocol-version", HeaderValue::from_static(MODERN));
            headers.insert("mcp-method", HeaderValue::from_static(step.as_str()));
            return headers;
        }
        if let Some(session) = &self.session {
            headers.insert("mcp-session-id", session.clone());
        }
        if let Some(version) = &self.version {
            headers.insert("mcp-protocol-version", version.clone());
        }
        headers
    }

    /// Posts a message, following redirects that stay at the same origin and keep the method (307, 308).
    fn post(&mut self, step: Step, era: Era, message: &Value) -> Result<Response, ProbeFailure> {
        self.trace.sent(message);
        let body = message.to_string();
        let modern = Some(step).filter(|_| era == Era::Modern);
        for _ in 0..=MOST_REDIRECTS {
            let timeout = self.patience(step).ok_or_else(|| self.timed_out(step))?;
            let request = self.client.post(self.url.clone()).headers(self.all_headers(modern)).body(body.clone());
            let response = request
                .timeout(timeout)
                .send()
                .map_err(|error| http_failure::of_error(step, &self.deadline, &error))?;
            match self.redirect(&response) {
                Some(target) => self.url = target?,
                None => return Ok(response),
            }
        }
        let message = format!("the server redirected more than {MOST_REDIRECTS} times");
        Err(ProbeFailure::new(FailureClass::Protocol, step, message))
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

    /// Reads the answer to request `id` from the body.
    fn read_reply(&mut self, step: Step, id: u64, mut response: Response) -> Result<Reply, ProbeFailure> {
        match media_type(&response).as_str() {
            "text/event-stream" => self.read_stream(step, id, response),
            "application/json" => {
                let body = self.read_body(step, &mut response, LONGEST_MESSAGE)?;
                self.trace.received(&body);
                match jsonrpc::read(&body) {
                    Text::Messages(messages) => match self.find_reply(step, id, messages)? {
                        Some(reply) => Ok(reply),
                        None => Err(http_failure::no_reply(step, "the body holds no answer to this request")),
                    },
                    Text::Blank => Err(http_failure::no_reply(step, "the body is empty")),
                    Text::Noise => Err(http_failure::not_mcp(step, "application/json", &body)),
                    Text::TooDeep => Err(super::too_deep(step)),
                }
            }
            other => {
                let body = self.read_body(step, &mut response, EXCERPT).unwrap_or_default();
                Err(http_failure::not_mcp(step, other, &body))
            }
        }
    }

    /// Reads events until the answer is there. Never waits for the end of the stream: some servers keep it open.
    fn read_stream(&mut self, step: Step, id: u64, mut response: Response) -> Result<Reply, ProbeFailure> {
        let mut events = EventBuffer::default();
        let mut chunk = vec![0; CHUNK];
        loop {
            let length = self.read_some(step, &mut response, &mut chunk)?;
            if length == 0 {
                return Err(http_failure::no_reply(step, "the event stream ended first"));
            }
            let whole = events.push(&chunk[..length]).map_err(|_| http_failure::too_long(step))?;
            for event in whole.into_iter().filter(|event| matches!(event.name.as_str(), "" | "message")) {
                self.trace.received(event.data.as_bytes());
                match jsonrpc::read(event.data.as_bytes()) {
                    Text::Messages(messages) => {
                        if let Some(reply) = self.find_reply(step, id, messages)? {
                            return Ok(reply);
                        }
                    }
                    Text::TooDeep => return Err(super::too_deep(step)),
                    Text::Blank | Text::Noise => {}
                }
            }
        }
    }

    /// The answer among these messages. What the server asks of us is answered with a POST of its own.
    fn find_reply(&mut self, step: Step, id: u64, messages: Vec<Incoming>) -> Result<Option<Reply>, ProbeFailure> {
        let mut found = None;
        for message in messages {
            match message {
                Incoming::Reply { id: answered, reply } if jsonrpc::answers(&answered, &reply, id) => {
                    found = Some(reply);
                }
                Incoming::Request { id, method } if found.is_none() => {
                    self.post(step, Era::Legacy, &jsonrpc::response_to(&id, &method))?;
                }
                _ => {}
            }
        }
        Ok(found)
    }

    fn read_body(&self, step: Step, response: &mut Response, limit: usize) -> Result<Vec<u8>, ProbeFailure> {
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

    fn read_some(&self, step: Step, response: &mut Response, chunk: &mut [u8]) -> Result<usize, ProbeFailure> {
        let length = response.read(chunk).map_err(|error| http_failure::of_read(step, &self.deadline, &error))?;
        // The client's own timeout covers the body; this one holds if it should not.
        if self.deadline.remaining().is_none() { Err(self.timed_out(step)) } else { Ok(length) }
    }

    /// Anything but success becomes a refusal, with its body.
    fn accepted(&self, step: Step, mut response: Response) -> Result<Result<Response, Refusal>, ProbeFailure> {
        let status = response.status();
        if status.is_success() {
            return Ok(Ok(response));
        }
        let header = |name| response.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let challenge = header(WWW_AUTHENTICATE).map(str::to_owned);
        let retry_after = header(RETRY_AFTER).map(str::to_owned);
        let location = header(LOCATION).map(str::to_owned);
        let body = self.read_body(step, &mut response, EXCERPT)?;
        Ok(Err(Refusal { status: status.as_u16(), challenge, retry_after, location, body }))
    }
}

impl Channel for HttpChannel<'_> {
    fn request(&mut self, call: &Call) -> Result<Reply, ProbeFailure> {
        let (id, step) = (self.next_id, call.step);
        self.next_id += 1;
        let message = jsonrpc::request(id, step.as_str(), call.params.as_ref());
        let response = self.post(step, call.era, &message)?;
        let response = match (self.accepted(step, response)?, call.era) {
            (Ok(response), _) => response,
            // In the modern era errors have statuses of their own, and the error is the answer.
            (Err(refusal), Era::Modern) => match refusal.rpc_error() {
                Some(error) => return Ok(Err(error)),
                None => return Err(refusal.into_failure(step, false)),
            },
            (Err(refusal), Era::Legacy) => return Err(refusal.into_failure(step, self.session.is_some())),
        };
        if matches!(response.status(), StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            let status = response.status().as_u16();
            let what = format!("the server answered {status} without a body");
            return Err(http_failure::no_reply(step, &what).with_http_status(status));
        }
        // A session is only given with the result of initialize (`protocol.md` 3.3).
        let session = response.headers().get("mcp-session-id").cloned().filter(|_| step == Step::Initialize);
        let reply = self.read_reply(step, id, response)?;
        if let (Some(session), Ok(_)) = (session, &reply) {
            self.session = Some(session);
        }
        Ok(reply)
    }

    fn notify(&mut self, step: Step) -> Result<(), ProbeFailure> {
        let response = self.post(step, Era::Legacy, &jsonrpc::notification(step.as_str()))?;
        self.accepted(step, response)?.map(drop).map_err(|refusal| refusal.into_failure(step, self.session.is_some()))
    }

    fn discovers_first(&self) -> bool {
        true
    }

    fn restart(&mut self) -> Result<(), ProbeFailure> {
        Err(ProbeFailure::new(FailureClass::Unsupported, Step::Start, "a remote server cannot be started anew"))
    }

    fn agreed(&mut self, version: &str) {
        self.version = HeaderValue::from_str(version).ok();
    }
}

/// `application/json; charset=utf-8` -> `application/json`; empty where the server does not say.
fn media_type(response: &Response) -> String {
    let value = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn address(server: &RemoteServer) -> Result<Url, ProbeFailure> {
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
        "http" | "https" => Ok(url),
        scheme => Err(unusable(&format!("has the scheme {scheme:?}, not http or https"))),
    }
}

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), ProbeFailure> {
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
