//! Bytes -> lines, and the end of stderr. No IO, bounded memory.

use std::collections::VecDeque;

/// A longer message is not read (`product.md`: 16 MiB a message).
pub(super) const LONGEST_MESSAGE: usize = 16 * 1024 * 1024;
/// How much of stderr is kept.
const KEPT_STDERR: usize = 64 * 1024;

/// A message that is longer than [`LONGEST_MESSAGE`].
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

/// Cuts a stream of bytes into lines.
#[derive(Debug, Default)]
pub(super) struct LineBuffer {
    bytes: Vec<u8>,
    /// How much at the start has been handed out.
    taken: usize,
    /// How far the search for a line's end has come.
    searched: usize,
}

impl LineBuffer {
    /// Adds what was read.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.taken > 0 && self.taken == self.bytes.len() {
            self.bytes.clear();
            (self.taken, self.searched) = (0, 0);
        } else if self.taken > 1024 * 1024 {
            self.bytes.drain(..self.taken);
            self.searched -= self.taken;
            self.taken = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole line, without its end.
    ///
    /// # Errors
    /// [`TooLong`] when a line has no end within the bound.
    pub(super) fn next_line(&mut self) -> Result<Option<&[u8]>, TooLong> {
        let found = self.bytes[self.searched..].iter().position(|byte| *byte == b'\n');
        let Some(found) = found else {
            self.searched = self.bytes.len();
            return if self.rest() > LONGEST_MESSAGE { Err(TooLong) } else { Ok(None) };
        };
        let (start, end) = (self.taken, self.searched + found);
        (self.taken, self.searched) = (end + 1, end + 1);
        if end - start > LONGEST_MESSAGE { Err(TooLong) } else { Ok(Some(&self.bytes[start..end])) }
    }

    /// How many bytes stand behind the last whole line.
    pub(super) fn rest(&self) -> usize {
        self.bytes.len() - self.taken
    }
}

/// The end of what a process wrote to stderr.
#[derive(Debug, Default)]
pub(super) struct Tail {
    bytes: VecDeque<u8>,
    /// Whether something was dropped.
    pub(super) cut: bool,
}

impl Tail {
    /// Adds what was read, and drops what is too old.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        let surplus = self.bytes.len().saturating_sub(KEPT_STDERR);
        if surplus > 0 {
            self.bytes.drain(..surplus);
            self.cut = true;
        }
    }

    /// The text, bytes that are no UTF-8 replaced.
    pub(super) fn text(&self) -> String {
        let (front, back) = self.bytes.as_slices();
        String::from_utf8_lossy(&[front, back].concat()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{KEPT_STDERR, LONGEST_MESSAGE, LineBuffer, Tail, TooLong};

    proptest! {
        /// However the bytes arrive, the lines are the same.
        #[test]
        fn lines_do_not_depend_on_chunks(text in "[a\n]{0,200}", size in 1_usize..20) {
            let mut buffer = LineBuffer::default();
            let mut lines = Vec::new();
            for chunk in text.as_bytes().chunks(size) {
                buffer.push(chunk);
                while let Ok(Some(line)) = buffer.next_line() {
                    lines.push(String::from_utf8(line.to_vec()).unwrap());
                }
            }
            let mut expected: Vec<String> = text.split('\n').map(str::to_owned).collect();
            prop_assert_eq!(buffer.rest(), expected.pop().unwrap().len());
            prop_assert_eq!(lines, expected);
        }
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let mut buffer = LineBuffer::default();
        buffer.push(&vec![b'x'; LONGEST_MESSAGE]);
        assert_eq!(buffer.next_line(), Ok(None));
        buffer.push(b"y");
        assert_eq!(buffer.next_line(), Err(TooLong));
    }

    #[test]
    fn a_tail_keeps_the_end() {
        let mut tail = Tail::default();
        tail.push(&vec![b'a'; KEPT_STDERR]);
        assert!(!tail.cut);
        tail.push(b"end");
        assert!(tail.cut);
        assert_eq!(tail.text().len(), KEPT_STDERR);
        assert!(tail.text().ends_with("aend"));
    }
}
