//! Server-sent events: bytes -> events (WHATWG HTML, section 9.2). No IO, bounded memory.

use super::lines::{LONGEST_MESSAGE, TooLong};

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Event {
    /// The `event:` field; empty where there is none, which means `message`.
    pub(super) name: String,
    /// The `data:` fields, joined by line breaks.
    pub(super) data: String,
}

/// Cuts a stream of bytes into events. Lines end with LF, CRLF or CR.
#[derive(Debug, Default)]
pub(super) struct EventBuffer {
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    after_cr: bool,
    started: bool,
    /// The last `id:` field: where a stream that was cut can be taken up again.
    pub(super) last_id: Option<String>,
    /// The last `retry:` field, in milliseconds.
    pub(super) retry: Option<u64>,
}

impl EventBuffer {
    /// Adds what was read, and returns the events that are whole now. Events without data are dropped, as the standard says
    /// (a priming event of 2025-11-25 is one).
    ///
    /// # Errors
    /// [`TooLong`] when an event is longer than the bound.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, TooLong> {
        let mut events = Vec::new();
        for &byte in bytes {
            let follows_cr = std::mem::replace(&mut self.after_cr, byte == b'\r');
            match byte {
                b'\n' if follows_cr => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                _ => self.line.push(byte),
            }
            if self.line.len() + self.event.data.len() > LONGEST_MESSAGE {
                return Err(TooLong);
            }
        }
        Ok(events)
    }

    fn end_line(&mut self) -> Option<Event> {
        let mut line = std::mem::take(&mut self.line);
        if !std::mem::replace(&mut self.started, true) && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return std::mem::take(&mut self.has_data).then_some(event).filter(|event| !event.data.is_empty());
        }
        let line = String::from_utf8_lossy(&line);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            "id" if !value.contains('\0') => self.last_id = Some(value.to_owned()),
            "retry" => self.retry = value.parse().ok().or(self.retry),
            // Comments (an empty field), and whatever else.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Event, EventBuffer};

    fn events(text: &str) -> Vec<Event> {
        EventBuffer::default().push(text.as_bytes()).expect("events")
    }

    fn data(text: &str) -> Vec<String> {
        events(text).into_iter().map(|event| event.data).collect()
    }

    #[test]
    fn the_standards_oddities_are_read() {
        assert_eq!(data("data: a\n\n"), ["a"]);
        assert_eq!(data("data:a\r\n\r\ndata: b\r\r"), ["a", "b"]);
        assert_eq!(data(": comment\nid: 1\nretry: 3\ndata: {\ndata: }\n\n"), ["{\n}"]);
        assert_eq!(data("\u{feff}data: a\n\n"), ["a"]);
        assert_eq!(data("data:  two\n\n"), [" two"]);
        assert_eq!(data("id: 0\ndata: \n\ndata: a\n\n"), ["a"]);
        assert_eq!(data("data\n\n"), Vec::<String>::new());
        assert_eq!(data("data: unfinished\n"), Vec::<String>::new());
        let mut buffer = EventBuffer::default();
        buffer.push(b"id: 7\nretry: 250\nretry: soon\ndata:\n\n").expect("events");
        assert_eq!((buffer.last_id.as_deref(), buffer.retry), (Some("7"), Some(250)));
        assert_eq!(events("event: endpoint\ndata: /x\n\n")[0].name, "endpoint");
    }

    proptest! {
        /// However the bytes arrive, the events are the same.
        #[test]
        fn events_do_not_depend_on_chunks(text in "(data: ?|:|[a-zä]|\r\n|\n|\r){0,60}", size in 1_usize..7) {
            let mut buffer = EventBuffer::default();
            let mut found = Vec::new();
            for chunk in text.as_bytes().chunks(size) {
                found.extend(buffer.push(chunk).expect("events"));
            }
            prop_assert_eq!(found, events(&text));
        }
    }
}
