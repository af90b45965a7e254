//! What came of the messages of a probe: their text, when a transcript was asked for (bounded), and what is odd about them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::channel::Call;
use super::jsonrpc::{self, Incoming, Text};
use crate::deviation::{Carrier, Deviation};
use crate::observed::{Era, Step};

/// How many messages are kept.
const MOST_LINES: usize = 400;

/// How much of a message is kept.
const LONGEST_LINE: usize = 64 * 1024;

/// Reads messages, and remembers what a report may want of them.
#[derive(Debug, Default)]
pub(super) struct Trace {
    is_on: bool,
    lines: Vec<String>,
    deviations: BTreeSet<Deviation>,
    /// Whether the server may not ask anything of the client now.
    is_one_way: bool,
}

/// What is left of a trace at the end.
#[derive(Debug)]
pub(super) struct Traced {
    /// The messages, each one line.
    pub(super) lines: Vec<String>,
    /// What was odd about them.
    pub(super) deviations: BTreeSet<Deviation>,
}

impl Trace {
    pub(super) fn new(is_on: bool) -> Self {
        Self { is_on, ..Self::default() }
    }

    /// Tells what is being asked now.
    pub(super) fn asks(&mut self, call: &Call) {
        // Before the first list nobody knows which era the server is in.
        self.is_one_way = call.era == Era::Modern && call.step == Step::ToolsList;
    }

    pub(super) fn sent(&mut self, message: &Value) {
        if self.is_on {
            self.push("->", &message.to_string());
        }
    }

    /// Reads a line, an event's data or a body.
    pub(super) fn read(&mut self, text: &[u8], carrier: Carrier) -> Text {
        self.received(text);
        let (read, is_loose) = jsonrpc::read_loosely(text);
        if let Text::Messages(messages) = &read {
            // What is lost without an answer in it is no loss.
            if messages.iter().any(|message| matches!(message, Incoming::Reply { .. })) {
                self.deviations.extend(jsonrpc::deviations(text, carrier, is_loose));
            }
            if self.is_one_way && messages.iter().any(|message| matches!(message, Incoming::Request { .. })) {
                self.deviations.insert(Deviation::RequestOfServer);
            }
        }
        read
    }

    /// Remembers something odd.
    pub(super) fn note(&mut self, deviation: Deviation) {
        self.deviations.insert(deviation);
    }

    /// Whether an answer with this id is the answer to the request `sent`.
    pub(super) fn is_answer(&mut self, id: &Value, sent: u64) -> bool {
        let is_answer = jsonrpc::is_id(id, sent);
        if is_answer && id.as_u64() != Some(sent) {
            self.deviations.insert(Deviation::IdOfAnotherType);
        }
        is_answer
    }

    /// Remembers text that is no message.
    pub(super) fn received(&mut self, text: &[u8]) {
        if self.is_on {
            // Bounded; what the cut tears is masked with the rest (`redact.rs`).
            self.push("<-", &String::from_utf8_lossy(&text[..text.len().min(LONGEST_LINE)]));
        }
    }

    /// Remembers an answer with an HTTP status other than success.
    pub(super) fn refused(&mut self, status: u16, body: &[u8]) {
        if self.is_on {
            let body = String::from_utf8_lossy(&body[..body.len().min(LONGEST_LINE)]);
            self.push("<-", &format!("HTTP {status} {body}"));
        }
    }

    pub(super) fn end(self) -> Traced {
        Traced { lines: self.lines, deviations: self.deviations }
    }

    fn push(&mut self, arrow: &str, text: &str) {
        if self.lines.len() < MOST_LINES {
            self.lines.push(format!("{arrow} {}", text.trim_end()));
        }
    }
}
