//! The messages of a probe, kept when a transcript was asked for. Bounded.

use serde_json::Value;

/// How many messages are kept.
const MOST_LINES: usize = 400;

/// How much of a message is kept.
const LONGEST_LINE: usize = 64 * 1024;

/// Collects messages, or drops them.
#[derive(Debug, Default)]
pub(super) struct Trace {
    is_on: bool,
    lines: Vec<String>,
}

impl Trace {
    pub(super) fn new(is_on: bool) -> Self {
        Self { is_on, lines: Vec::new() }
    }

    pub(super) fn sent(&mut self, message: &Value) {
        if self.is_on {
            self.push("->", &message.to_string());
        }
    }

    pub(super) fn received(&mut self, text: &[u8]) {
        if self.is_on {
            // Bounded; what the cut tears is masked with the rest (`redact.rs`).
            self.push("<-", &String::from_utf8_lossy(&text[..text.len().min(LONGEST_LINE)]));
        }
    }

    pub(super) fn into_lines(self) -> Vec<String> {
        self.lines
    }

    fn push(&mut self, arrow: &str, text: &str) {
        if self.lines.len() < MOST_LINES {
            self.lines.push(format!("{arrow} {}", text.trim_end()));
        }
    }
}
