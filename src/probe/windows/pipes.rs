//! A child's pipes on Windows: a thread for each, and one channel that they all tell what happens.
//!
//! No thread is ever joined: one may sit in a read that only the end of the child ends.

use std::io::{self, Read, Write as _};
use std::process::ChildStdin;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use super::GLANCE;
use crate::interrupt::Interrupt;
use crate::probe::child::{CHUNK, Ends, Wake};
use crate::probe::lines::{LineBuffer, Tail};

/// How much may wait in the channel: a server that talks faster than it is read has to wait, as it would at a full pipe.
const WAITING: usize = 16;

/// What a thread has to tell.
enum Event {
    Stdout(Vec<u8>),
    StdoutEnded,
    Stderr(Vec<u8>),
    StderrEnded,
    StdinBroken,
}

/// The pipes, what has come out of them, and what is to go in.
pub(in crate::probe) struct Pipes {
    pub(in crate::probe) incoming: LineBuffer,
    pub(in crate::probe) stderr: Tail,
    pub(in crate::probe) outgoing: Vec<u8>,
    /// The child's stdin is closed with it, once what was given to it is written.
    stdin: Option<Sender<Vec<u8>>>,
    events: Receiver<Event>,
    is_stdout_open: bool,
    is_stderr_open: bool,
}

impl Pipes {
    /// Takes over our ends.
    ///
    /// # Errors
    /// When the system gives no threads.
    pub(in crate::probe) fn of(ends: Ends) -> io::Result<Self> {
        let (sender, events) = sync_channel(WAITING);
        let (stdin, lines) = channel();
        let Ends { stdin: pipe, stdout, stderr } = ends;
        let (is_stdout_open, is_stderr_open) = (stdout.is_some(), stderr.is_some());
        if let Some(stdout) = stdout {
            reader(stdout, sender.clone(), Event::Stdout, Event::StdoutEnded)?;
        }
        if let Some(stderr) = stderr {
            reader(stderr, sender.clone(), Event::Stderr, Event::StderrEnded)?;
        }
        if let Some(pipe) = pipe {
            thread::Builder::new().spawn(move || write(pipe, &lines, &sender))?;
        }
        let (incoming, stderr, outgoing) = (LineBuffer::default(), Tail::default(), Vec::new());
        Ok(Self { incoming, stderr, outgoing, stdin: Some(stdin), events, is_stdout_open, is_stderr_open })
    }

    pub(in crate::probe) fn is_stdin_open(&self) -> bool {
        self.stdin.is_some()
    }

    pub(in crate::probe) fn is_stdout_open(&self) -> bool {
        self.is_stdout_open
    }

    pub(in crate::probe) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// One round: hand on what is to be written, take what has been read, or wait for it.
    pub(in crate::probe) fn pump(&mut self, until: Instant, interrupt: &Interrupt) -> Wake {
        if let Some(stdin) = self.stdin.as_ref().filter(|_| !self.outgoing.is_empty())
            && stdin.send(std::mem::take(&mut self.outgoing)).is_err()
        {
            self.stdin = None;
        }
        loop {
            let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) else {
                return Wake::TimeUp;
            };
            if interrupt.is_raised() {
                return Wake::Interrupted;
            }
            match self.events.recv_timeout(left.min(GLANCE)) {
                Ok(event) => {
                    self.take(event);
                    self.take_some();
                    return Wake::Ready;
                }
                Err(RecvTimeoutError::Timeout) => {}
                // All pipes are closed, which the caller sees.
                Err(RecvTimeoutError::Disconnected) => return Wake::Ready,
            }
        }
    }

    /// Takes the rest of stderr, for a moment at most.
    pub(in crate::probe) fn drain_stderr(&mut self, moment: Duration) {
        let until = Instant::now() + moment;
        self.take_some();
        while self.is_stderr_open {
            let left = until.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(left) {
                Ok(event) => self.take(event),
                Err(_) => return,
            }
            if left.is_zero() {
                return;
            }
        }
    }

    /// Takes what is there already, within a bound.
    fn take_some(&mut self) {
        for _ in 0..2 * WAITING {
            let Ok(event) = self.events.try_recv() else { return };
            self.take(event);
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Stdout(bytes) => self.incoming.push(&bytes),
            Event::StdoutEnded => self.is_stdout_open = false,
            Event::Stderr(bytes) => self.stderr.push(&bytes),
            Event::StderrEnded => self.is_stderr_open = false,
            Event::StdinBroken => self.stdin = None,
        }
    }
}

/// Reads a pipe to its end, or until nobody listens.
fn reader(
    mut pipe: impl Read + Send + 'static,
    sender: SyncSender<Event>,
    read: fn(Vec<u8>) -> Event,
    ended: Event,
) -> io::Result<()> {
    let run = move || {
        let mut buffer = vec![0; CHUNK];
        loop {
            match pipe.read(&mut buffer) {
                Ok(length @ 1..) => {
                    if sender.send(read(buffer[..length].to_vec())).is_err() {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => break,
            }
        }
        // Nobody may listen any more.
        let _ = sender.send(ended);
    };
    thread::Builder::new().spawn(run).map(drop)
}

/// Writes what it is given; a server that closed its stdin may still answer, and one that is gone is seen at its stdout.
fn write(mut pipe: ChildStdin, lines: &Receiver<Vec<u8>>, sender: &SyncSender<Event>) {
    while let Ok(bytes) = lines.recv() {
        if pipe.write_all(&bytes).is_err() {
            let _ = sender.send(Event::StdinBroken);
            return;
        }
    }
}
