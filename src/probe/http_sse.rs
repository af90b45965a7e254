//! A server behind HTTP+SSE (2024-11-05): one event stream for all answers, and an address to post to that it names first.

use std::collections::VecDeque;
use std::io::{self, Read as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Instant;

use reqwest::blocking::Response;
use serde_json::Value;

use super::channel::{Call, Channel};
use super::deadline::Deadline;
use super::duplex::{self, Duplex};
use super::http::messages_of;
use super::http_failure;
use super::jsonrpc::{self, Incoming, Reply};
use super::remote::{CHUNK, EXCERPT, Remote, media_type};
use super::sse::{Event, EventBuffer};
use super::trace::Trace;
use crate::network::Network;
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
    chunks: Receiver<io::Result<Vec<u8>>>,
    deadline: Deadline,
    events: EventBuffer,
    waiting: VecDeque<Event>,
}

impl<'a> SseChannel<'a> {
    /// Opens the stream and waits for the address to post to.
    ///
    /// # Errors
    /// When the stream cannot be opened, or names no address of its own origin.
    pub(super) fn open(
        server: &RemoteServer,
        network: &Network,
        deadline: Deadline,
        trace: &'a mut Trace,
    ) -> Result<Self, ProbeFailure> {
        let remote = Remote::open(server, network, deadline)?;
        let response = remote.get(Step::Connect, Vec::new())?;
        let mut response =
            remote.accepted(Step::Connect, response)?.map_err(|refusal| refusal.into_failure(Step::Connect, false))?;
        let kind = media_type(&response);
        if kind != "text/event-stream" {
            let body = remote.read_body(Step::Connect, &mut response, EXCERPT).unwrap_or_default();
            return Err(http_failure::not_mcp(Step::Connect, &kind, &body));
        }
        let mut stream = Stream::of(response, deadline);
        loop {
            let Some(event) = stream.next(Step::Connect, None)? else { continue };
            if event.name == "endpoint" {
                trace.received(event.data.as_bytes());
                let Some(target) = remote.at(event.data.trim()) else { return Err(foreign(&event.data)) };
                return Ok(Self { target, stream, next_id: 1, trace });
            }
        }
    }
}

impl Stream {
    /// A body can only be read with one patience for the whole of it, so that a thread reads it. It ends with the body, whose own
    /// limit is the deadline, or when nobody listens any more.
    fn of(response: Response, deadline: Deadline) -> Self {
        let (sender, chunks) = sync_channel(1);
        thread::spawn(move || read(response, &sender));
        Self { chunks, deadline, events: EventBuffer::default(), waiting: VecDeque::new() }
    }

    /// The next whole event; `None` when `until` has come first.
    fn next(&mut self, step: Step, until: Option<Instant>) -> Result<Option<Event>, ProbeFailure> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Ok(Some(event));
            }
            let end = until.map_or(self.deadline.end(), |until| until.min(self.deadline.end()));
            let chunk = match self.chunks.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(Ok(chunk)) => chunk,
                Ok(Err(error)) => return Err(http_failure::of_read(step, &self.deadline, &error)),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(http_failure::no_reply(step, "the event stream ended first"));
                }
                Err(RecvTimeoutError::Timeout) if self.deadline.remaining().is_some() => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {
                    return Err(http_failure::of_read(step, &self.deadline, &io::ErrorKind::TimedOut.into()));
                }
            };
            self.waiting.extend(self.events.push(&chunk).map_err(|_| http_failure::too_long(step))?);
        }
    }
}

/// Hands on what the body brings, to its end.
fn read(mut response: Response, sender: &SyncSender<io::Result<Vec<u8>>>) {
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = response.read(&mut chunk).map(|length| chunk[..length].to_vec());
        let is_over = read.as_ref().map_or(true, Vec::is_empty);
        let is_end = read.as_ref().is_ok_and(Vec::is_empty);
        if is_end || sender.send(read).is_err() || is_over {
            return;
        }
    }
}

impl Duplex for SseChannel<'_> {
    fn send(&mut self, step: Step, message: &Value) -> Result<(), ProbeFailure> {
        self.trace.sent(message);
        let response = self.target.post(step, &Vec::new(), &message.to_string())?;
        self.target.accepted(step, response)?.map(drop).map_err(|refusal| refusal.into_failure(step, true))
    }

    fn receive(&mut self, step: Step, until: Option<Instant>) -> Result<Option<Vec<Incoming>>, ProbeFailure> {
        match self.stream.next(step, until)? {
            Some(event) => messages_of(step, &event, self.trace).map(Some),
            None => Ok(None),
        }
    }

    fn trace(&mut self) -> &mut Trace {
        self.trace
    }
}

impl Channel for SseChannel<'_> {
    fn request(&mut self, call: &Call) -> Result<Reply, ProbeFailure> {
        let id = self.next_id;
        self.next_id += 1;
        duplex::ask(self, call, id)
    }

    fn notify(&mut self, step: Step) -> Result<(), ProbeFailure> {
        self.send(step, &jsonrpc::notification(step.as_str()))
    }
}

fn foreign(reference: &str) -> ProbeFailure {
    let message = "the event stream names an address of another origin to post to";
    ProbeFailure::new(FailureClass::Protocol, Step::Connect, message)
        .saying(reference)
        .with_help("the configured headers must not go there: check the url and what stands in front of the server")
}
