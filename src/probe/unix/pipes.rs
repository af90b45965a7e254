//! A child's pipes on Unix: one poll over all three and the interrupt.
//!
//! Nothing here waits for the end of a pipe: an orphan may hold it for ever.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use super::wait;
use crate::interrupt::Interrupt;
use crate::probe::child::{CHUNK, Ends, Wake};
use crate::probe::lines::{LineBuffer, Tail};

/// The pipes, what has come out of them, and what is to go in.
pub(in crate::probe) struct Pipes {
    pub(in crate::probe) incoming: LineBuffer,
    pub(in crate::probe) stderr: Tail,
    pub(in crate::probe) outgoing: Vec<u8>,
    ends: Ends,
    buffer: Vec<u8>,
}

impl Pipes {
    /// Takes over our ends.
    ///
    /// # Errors
    /// When they cannot be made to return at once instead of waiting.
    pub(in crate::probe) fn of(ends: Ends) -> io::Result<Self> {
        unblock(&ends)?;
        let (incoming, stderr, outgoing) = (LineBuffer::default(), Tail::default(), Vec::new());
        Ok(Self { incoming, stderr, outgoing, ends, buffer: vec![0; CHUNK] })
    }

    pub(in crate::probe) fn is_stdin_open(&self) -> bool {
        self.ends.stdin.is_some()
    }

    pub(in crate::probe) fn is_stdout_open(&self) -> bool {
        self.ends.stdout.is_some()
    }

    pub(in crate::probe) fn close_stdin(&mut self) {
        self.ends.stdin = None;
    }

    /// One round: write what can be written, read what is there, or wait for either.
    pub(in crate::probe) fn pump(&mut self, until: Instant, interrupt: &Interrupt) -> Wake {
        let wake = self.poll(until, interrupt);
        if wake == Wake::Ready {
            self.write();
            self.read_stdout();
            self.read_stderr();
        }
        wake
    }

    /// Reads the rest of stderr, for a moment at most.
    pub(in crate::probe) fn drain_stderr(&mut self, moment: Duration) {
        let until = Instant::now() + moment;
        loop {
            self.read_stderr();
            let Some(stderr) = &self.ends.stderr else { return };
            let mut fds = vec![PollFd::from_borrowed_fd(stderr.as_fd(), PollFlags::IN)];
            if wait::for_any(&mut fds, until, None) != Wake::Ready {
                return;
            }
        }
    }

    fn poll(&self, until: Instant, interrupt: &Interrupt) -> Wake {
        let mut fds = Vec::with_capacity(4);
        fds.push(PollFd::from_borrowed_fd(interrupt.watched(), PollFlags::IN));
        if let Some(stdout) = &self.ends.stdout {
            fds.push(PollFd::from_borrowed_fd(stdout.as_fd(), PollFlags::IN));
        }
        if let Some(stderr) = &self.ends.stderr {
            fds.push(PollFd::from_borrowed_fd(stderr.as_fd(), PollFlags::IN));
        }
        if let Some(stdin) = self.ends.stdin.as_ref().filter(|_| !self.outgoing.is_empty()) {
            fds.push(PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::OUT));
        }
        wait::for_any(&mut fds, until, Some(interrupt))
    }

    /// A server that closed its stdin may still answer; one that is gone is seen at its stdout.
    fn write(&mut self) {
        let Some(stdin) = self.ends.stdin.as_mut().filter(|_| !self.outgoing.is_empty()) else { return };
        match stdin.write(&self.outgoing) {
            Ok(written) => drop(self.outgoing.drain(..written)),
            Err(error) if is_later(&error) => {}
            Err(_) => self.ends.stdin = None,
        }
    }

    fn read_stdout(&mut self) {
        let Some(stdout) = self.ends.stdout.as_mut() else { return };
        match stdout.read(&mut self.buffer) {
            Ok(0) => self.ends.stdout = None,
            Ok(length) => self.incoming.push(&self.buffer[..length]),
            Err(error) if is_later(&error) => {}
            Err(_) => self.ends.stdout = None,
        }
    }

    fn read_stderr(&mut self) {
        let Some(stderr) = self.ends.stderr.as_mut() else { return };
        match stderr.read(&mut self.buffer) {
            Ok(0) => self.ends.stderr = None,
            Ok(length) => self.stderr.push(&self.buffer[..length]),
            Err(error) if is_later(&error) => {}
            Err(_) => self.ends.stderr = None,
        }
    }
}

/// Makes our ends of the pipes return at once instead of waiting.
fn unblock(ends: &Ends) -> io::Result<()> {
    let Ends { stdin, stdout, stderr } = ends;
    let fds = [stdin.as_ref().map(AsFd::as_fd), stdout.as_ref().map(AsFd::as_fd), stderr.as_ref().map(AsFd::as_fd)];
    for fd in fds.into_iter().flatten() {
        let flags = rustix::fs::fcntl_getfl(fd)?;
        rustix::fs::fcntl_setfl(fd, flags | rustix::fs::OFlags::NONBLOCK)?;
    }
    Ok(())
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
