//! A server behind HTTP+SSE (2024-11-05): one event stream for all answers, and an address to post to that it names first.

use reqwest::blocking::Response;
use serde_json::Value;

use super::deadline::Deadline;
use super::http::messages_of;
use super::http_failure;
use super::jsonrpc::{self, Incoming, Reply};
use super::remote::{CHUNK, EXCERPT, Remote, media_type};
use super::session::{Call, Channel};
use super::sse::{Event, EventBuffer};
use super::trace::Trace;
use crate::observed::{FailureClass, ProbeFailure, Step};
use crate::server::RemoteServer;

/// A conversation over an event stream and posts.
pub(super) struct SseChannel<'a> {
    /// Where messages are posted.
    target: Remote,
    stream: Stream,
    next_id: u64,
    trace: &'a mut Trace,
}

/// The event stream.
struct Stream {
    remote: Remote,
    response: Response,
    events: EventBuffer,
    waiting: std::collections::VecDeque<Event>,
}

impl<'a> SseChannel<'a> {
    /// Opens the stream and waits for the address to post to.
    ///
    /// # Errors
    /// When the stream cannot be opened, or names no address of its own origin.
    pub(super) fn open(server: &RemoteServer, deadline: Deadline, trace: &'a mut Trace) -> Result<Self, ProbeFailure> {
        let remote = Remote::open(server, deadline)?;
        let response = remote.get(Step::Connect, Vec::new())?;
        let mut response =
            remote.accepted(Step::Connect, response)?.map_err(|refusal| refusal.into_failure(Step::Connect, false))?;
        let kind = media_type(&response);
        if kind != "text/event-stream" {
            let body = remote.read_body(Step::Connect, &mut response, EXCERPT).unwrap_or_default();
            return Err(http_failure::not_mcp(Step::Connect, &kind, &body));
        }
        let mut stream =
            Stream { remote, response, events: EventBuffer::default(), waiting: std::collections::VecDeque::new() };
        loop {
            let event = stream.next(Step::Connect)?;
            if event.name == "endpoint" {
                trace.received(event.data.as_bytes());
                let Some(target) = stream.remote.at(event.data.trim()) else { return Err(foreign(&event.data)) };
                return Ok(Self { target, stream, next_id: 1, trace });
            }
        }
    }

    fn post(&mut self, step: Step, message: &Value) -> Result<(), ProbeFailure> {
        self.trace.sent(message);
        let response = self.target.post(step, &Vec::new(), &message.to_string())?;
        self.target.accepted(step, response)?.map(drop).map_err(|refusal| refusal.into_failure(step, true))
    }
}

impl Stream {
    /// The next whole event.
    fn next(&mut self, step: Step) -> Result<Event, ProbeFailure> {
        let mut chunk = vec![0; CHUNK];
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Ok(event);
            }
            let length = self.remote.read_some(step, &mut self.response, &mut chunk)?;
            if length == 0 {
                return Err(http_failure::no_reply(step, "the event stream ended first"));
            }
            self.waiting.extend(self.events.push(&chunk[..length]).map_err(|_| http_failure::too_long(step))?);
        }
    }
}

impl Channel for SseChannel<'_> {
    fn request(&mut self, call: &Call) -> Result<Reply, ProbeFailure> {
        let (id, step) = (self.next_id, call.step);
        self.next_id += 1;
        self.trace.asks(call);
        self.post(step, &jsonrpc::request(id, step.as_str(), call.params.as_ref()))?;
        loop {
            let event = self.stream.next(step)?;
            for message in messages_of(step, &event, self.trace)? {
                match message {
                    Incoming::Reply { id: answered, reply }
                        if self.trace.is_answer(&answered, id) || jsonrpc::is_unaddressed(&answered, &reply) =>
                    {
                        return Ok(reply);
                    }
                    Incoming::Request { id, method } => self.post(step, &jsonrpc::response_to(&id, &method))?,
                    _ => {}
                }
            }
        }
    }

    fn notify(&mut self, step: Step) -> Result<(), ProbeFailure> {
        self.post(step, &jsonrpc::notification(step.as_str()))
    }
}

fn foreign(reference: &str) -> ProbeFailure {
    let message = "the event stream names an address of another origin to post to";
    ProbeFailure::new(FailureClass::Protocol, Step::Connect, message)
        .saying(reference)
        .with_help("the configured headers must not go there: check the url and what stands in front of the server")
}
