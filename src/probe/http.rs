//! A server behind Streamable HTTP (2025-03-26 and later): one POST a message, JSON or an event stream back.

use std::time::Duration;

use reqwest::StatusCode;
use reqwest::blocking::Response;
use reqwest::header::HeaderValue;
use serde_json::Value;

use super::channel::MODERN;
use super::channel::{Call, Channel};
use super::deadline::Deadline;
use super::http_failure::{self, Refusal};
use super::jsonrpc::{self, Incoming, Reply, Text};
use super::lines::LONGEST_MESSAGE;
use super::remote::{CHUNK, EXCERPT, Extra, Remote, media_type};
use super::sse::{Event, EventBuffer};
use super::trace::Trace;
use crate::deviation::{Carrier, Deviation};
use crate::network::Network;
use crate::observed::{Era, ProbeFailure, Step};
use crate::server::RemoteServer;

/// How often a stream that ended early is taken up again.
const MOST_RESUMED: usize = 2;

/// How often a busy server is asked again.
const MOST_RETRIES: usize = 3;

/// Whether the server has answered 404 within a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Forgotten {
    Never,
    Now,
    Before,
}

/// A conversation over HTTP.
pub(super) struct HttpChannel<'a> {
    remote: Remote,
    session: Option<HeaderValue>,
    version: Option<HeaderValue>,
    /// A new session is asked for once at most.
    forgotten: Forgotten,
    next_id: u64,
    trace: &'a mut Trace,
}

impl<'a> HttpChannel<'a> {
    /// Prepares the conversation; nothing is sent yet.
    ///
    /// # Errors
    /// When the address or a header cannot be used.
    pub(super) fn open(
        server: &RemoteServer,
        network: &Network,
        deadline: Deadline,
        trace: &'a mut Trace,
    ) -> Result<Self, ProbeFailure> {
        let remote = Remote::open(server, network, deadline)?;
        Ok(Self { remote, session: None, version: None, forgotten: Forgotten::Never, next_id: 1, trace })
    }

    /// Ends the session, if there is one. Servers of 2025-03-26 are left alone: Python's mcp 1.9.4 answers nobody any more after a DELETE
    /// (`docs/servers.md`).
    pub(super) fn close(self) {
        let is_newer = self
            .version
            .as_ref()
            .and_then(|version| version.to_str().ok())
            .is_some_and(|version| version > "2025-03-26");
        if self.session.is_some() && is_newer {
            self.remote.delete(&self.extra(Step::ToolsList, Era::Legacy));
        }
    }

    /// In the modern era each request names its version and method; before, a session and the agreed version are repeated.
    fn extra(&self, step: Step, era: Era) -> Extra {
        if era == Era::Modern {
            return vec![
                ("mcp-protocol-version", HeaderValue::from_static(MODERN)),
                ("mcp-method", HeaderValue::from_static(step.as_str())),
            ];
        }
        let session = self.session.iter().map(|session| ("mcp-session-id", session.clone()));
        let version = self.version.iter().map(|version| ("mcp-protocol-version", version.clone()));
        session.chain(version).collect()
    }

    fn post(&mut self, step: Step, era: Era, message: &Value) -> Result<Response, ProbeFailure> {
        self.trace.sent(message);
        let extra = self.extra(step, era);
        self.remote.post(step, &extra, &message.to_string())
    }

    fn exchange(&mut self, step: Step, era: Era, message: &Value) -> Result<Result<Response, Refusal>, ProbeFailure> {
        let response = self.post(step, era, message)?;
        let accepted = self.remote.accepted(step, response)?;
        if let Err(refusal) = &accepted {
            self.trace.refused(refusal.status, &refusal.body);
        }
        Ok(accepted)
    }

    fn refused(&mut self, step: Step, refusal: Refusal) -> ProbeFailure {
        if refusal.status == 404 && self.session.is_some() && self.forgotten == Forgotten::Never {
            self.forgotten = Forgotten::Now;
        }
        refusal.into_failure(step, self.session.is_some())
    }

    /// Reads the answer to request `id` from the body.
    fn read_reply(&mut self, step: Step, id: u64, mut response: Response) -> Result<Reply, ProbeFailure> {
        match media_type(&response).as_str() {
            "text/event-stream" => self.read_stream(step, id, response),
            "application/json" => {
                let body = self.remote.read_body(step, &mut response, LONGEST_MESSAGE)?;
                match self.trace.read(&body, Carrier::Body) {
                    Text::Messages(messages) => match self.find_reply(step, id, messages)? {
                        Found { reply: Some(reply), .. } | Found { unaddressed: Some(reply), .. } => Ok(reply),
                        Found { .. } => Err(http_failure::no_reply(step, "the body holds no answer to this request")),
                    },
                    Text::Blank => Err(http_failure::no_reply(step, "the body is empty")),
                    Text::Noise => Err(http_failure::not_mcp(step, "application/json", &body)),
                    Text::TooDeep => Err(super::too_deep(step)),
                }
            }
            other => {
                let body = self.remote.read_body(step, &mut response, EXCERPT).unwrap_or_default();
                Err(http_failure::not_mcp(step, other, &body))
            }
        }
    }

    /// Reads events until the answer is there. Never waits for the end of the stream: some servers keep it open.
    fn read_stream(&mut self, step: Step, id: u64, mut response: Response) -> Result<Reply, ProbeFailure> {
        let mut events = EventBuffer::default();
        let mut chunk = vec![0; CHUNK];
        // An error that names no request is believed when nothing better follows.
        let mut unaddressed = None;
        let mut resumed = 0;
        loop {
            let length = match (self.remote.read_some(step, &mut response, &mut chunk), unaddressed.take()) {
                (Err(_) | Ok(0), Some(reply)) => return Ok(reply),
                (Ok(0), None) if resumed < MOST_RESUMED && events.last_id.is_some() => {
                    resumed += 1;
                    response = self.resume(step, &mut events)?;
                    continue;
                }
                (Ok(0), None) => return Err(http_failure::no_reply(step, "the event stream ended first")),
                (Ok(length), known) => {
                    unaddressed = known;
                    length
                }
                (Err(failure), None) => return Err(failure),
            };
            let whole = events.push(&chunk[..length]).map_err(|_| http_failure::too_long(step))?;
            for event in whole {
                let messages = messages_of(step, &event, self.trace)?;
                let found = self.find_reply(step, id, messages)?;
                if let Some(reply) = found.reply {
                    if unaddressed.is_some() || found.unaddressed.is_some() {
                        self.trace.note(Deviation::StrayError(Carrier::Body));
                    }
                    return Ok(reply);
                }
                unaddressed = unaddressed.or(found.unaddressed);
            }
        }
    }

    /// Takes up a stream that the server has ended early, as 2025-11-25 lets it do after an event with an id (`protocol.md` 3.3).
    fn resume(&mut self, step: Step, events: &mut EventBuffer) -> Result<Response, ProbeFailure> {
        let id = events.last_id.take().unwrap_or_default();
        self.remote.pause(Duration::from_millis(events.retry.unwrap_or(0)));
        let mut extra = self.extra(step, Era::Legacy);
        extra.extend(HeaderValue::from_str(&id).ok().map(|id| ("last-event-id", id)));
        let response = self.remote.get(step, extra)?;
        *events = EventBuffer::default();
        match self.remote.accepted(step, response)? {
            Ok(response) if media_type(&response) == "text/event-stream" => Ok(response),
            _ => Err(http_failure::no_reply(step, "the event stream ended first, and could not be taken up again")),
        }
    }

    /// The answer among these messages. What the server asks of us is answered with a POST of its own.
    fn find_reply(&mut self, step: Step, id: u64, messages: Vec<Incoming>) -> Result<Found, ProbeFailure> {
        let mut found = Found::default();
        for message in messages {
            match message {
                Incoming::Reply { id: answered, reply } if self.trace.is_answer(&answered, id) => {
                    found.reply = Some(reply);
                }
                Incoming::Reply { id: answered, reply } if jsonrpc::is_unaddressed(&answered, &reply) => {
                    found.unaddressed = Some(reply);
                }
                Incoming::Request { id, method } if found.reply.is_none() => {
                    self.post(step, Era::Legacy, &jsonrpc::response_to(&id, &method))?;
                }
                _ => {}
            }
        }
        Ok(found)
    }
}

/// The messages in an event; none in one of another kind, or that is no JSON-RPC.
pub(super) fn messages_of(step: Step, event: &Event, trace: &mut Trace) -> Result<Vec<Incoming>, ProbeFailure> {
    if !matches!(event.name.as_str(), "" | "message") {
        return Ok(Vec::new());
    }
    match trace.read(event.data.as_bytes(), Carrier::Stream) {
        Text::Messages(messages) => Ok(messages),
        Text::TooDeep => Err(super::too_deep(step)),
        Text::Blank | Text::Noise => Ok(Vec::new()),
    }
}

/// What was found among some messages.
#[derive(Default)]
struct Found {
    /// The answer to the request.
    reply: Option<Reply>,
    /// An error that names no request.
    unaddressed: Option<Reply>,
}

impl Channel for HttpChannel<'_> {
    fn request(&mut self, call: &Call) -> Result<Reply, ProbeFailure> {
        let (id, step) = (self.next_id, call.step);
        self.next_id += 1;
        self.trace.asks(call);
        let message = jsonrpc::request(id, step.as_str(), call.params.as_ref());
        let mut accepted = self.exchange(step, call.era, &message)?;
        for _ in 0..MOST_RETRIES {
            // This is a read, and can be asked again.
            if !accepted.as_ref().is_err_and(|refusal| self.remote.waits(refusal.retry_after())) {
                break;
            }
            accepted = self.exchange(step, call.era, &message)?;
        }
        let response = match (accepted, call.era) {
            (Ok(response), _) => response,
            // In the modern era errors have statuses of their own, and the error is the answer.
            (Err(refusal), Era::Modern) => match refusal.rpc_error() {
                Some(error) => return Ok(Err(error)),
                None => return Err(refusal.into_failure(step, false)),
            },
            (Err(refusal), Era::Legacy) => return Err(self.refused(step, refusal)),
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
        self.remote.accepted(step, response)?.map(drop).map_err(|refusal| self.refused(step, refusal))
    }

    fn discovers_first(&self) -> bool {
        true
    }

    fn forgets(&mut self) -> bool {
        let forgets = self.forgotten == Forgotten::Now;
        if forgets {
            (self.forgotten, self.session, self.version) = (Forgotten::Before, None, None);
        }
        forgets
    }

    fn agreed(&mut self, version: &str) {
        self.version = HeaderValue::from_str(version).ok();
    }
}
