//! A server as a child process: one thread, one poll over its three pipes and the interrupt, one deadline.
//!
//! Nothing here waits for the end of a pipe: an orphan may hold it for ever.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use serde_json::Value;

use super::channel::{Call, Channel};
use super::child::{self, ChildGroup, Patience, Pipes};
use super::deadline::Deadline;
use super::duplex::{self, Duplex};
use super::jsonrpc::{self, Incoming, Reply, Text};
use super::lines::{LONGEST_MESSAGE, LineBuffer, Tail};
use super::trace::Trace;
use super::wait::{self, Wake};
use crate::deviation::Carrier;
use crate::interrupt::Interrupt;
use crate::observed::{FailureClass, LeftRunning, Noise, ProbeFailure, Step};
use crate::server::StdioServer;
use crate::text;

/// How long a server may take to end by itself after its stdin was closed, when its list is already known.
const CLOSING: Duration = Duration::from_secs(1);
/// How long it may take after SIGTERM.
const AFTER_TERM: Duration = Duration::from_millis(400);
/// How long to wait for the exit status of a process that closed its stdout.
const SETTLING: Duration = Duration::from_millis(300);
/// Room for one read.
const CHUNK: usize = 64 * 1024;

/// A conversation over pipes.
pub(super) struct StdioChannel<'a> {
    server: &'a StdioServer,
    child: ChildGroup,
    pipes: Pipes,
    outgoing: Vec<u8>,
    incoming: LineBuffer,
    stderr: Tail,
    noise: Option<Noise>,
    next_id: u64,
    buffer: Vec<u8>,
    deadline: Deadline,
    interrupt: &'a Interrupt,
    trace: &'a mut Trace,
    /// The stderr of the process before a restart.
    earlier_stderr: Option<Tail>,
    left_running: Vec<LeftRunning>,
}

/// What is known of a server once it is gone.
pub(super) struct Ended {
    pub(super) noise: Option<Noise>,
    pub(super) left_running: Vec<LeftRunning>,
    pub(super) stderr: String,
    pub(super) stderr_cut: bool,
}

impl<'a> StdioChannel<'a> {
    /// Starts the server.
    ///
    /// # Errors
    /// A failure of class `spawn`.
    pub(super) fn open(
        server: &'a StdioServer,
        deadline: Deadline,
        interrupt: &'a Interrupt,
        trace: &'a mut Trace,
    ) -> Result<Self, ProbeFailure> {
        let (child, pipes) = start(server)?;
        Ok(Self {
            server,
            child,
            pipes,
            outgoing: Vec::new(),
            incoming: LineBuffer::default(),
            stderr: Tail::default(),
            noise: None,
            next_id: 1,
            buffer: vec![0; CHUNK],
            deadline,
            interrupt,
            trace,
            earlier_stderr: None,
            left_running: Vec::new(),
        })
    }

    /// Ends the server and everything it started.
    pub(super) fn close(mut self, is_listed: bool) -> Ended {
        self.drain_stderr(Duration::ZERO);
        let now = Instant::now();
        // Only a server that answered is given time; it must not push the run beyond its deadline.
        self.end_child(is_listed.then(|| (now + CLOSING).min(self.deadline.end().max(now))));
        let earlier = self.earlier_stderr.take().filter(|_| !is_listed);
        let stderr = earlier.unwrap_or(self.stderr);
        Ended { noise: self.noise, left_running: self.left_running, stderr: stderr.text(), stderr_cut: stderr.cut }
    }

    fn end_child(&mut self, by_itself: Option<Instant>) {
        self.child.status();
        let started = self.child.descendants();
        self.pipes.stdin = None;
        let patience = Patience { by_itself, after_term: AFTER_TERM };
        let (_, left) = self.child.end(&started, patience, self.interrupt);
        self.left_running.extend(left);
    }

    /// The messages of the next whole line; `None` when there is no whole line.
    fn next_messages(&mut self, step: Step) -> Result<Option<Vec<Incoming>>, ProbeFailure> {
        let line = match self.incoming.next_line() {
            Ok(Some(line)) => line,
            Ok(None) => return Ok(None),
            Err(_) => return Err(too_long(step)),
        };
        match self.trace.read(line, Carrier::Stream) {
            Text::Messages(messages) => Ok(Some(messages)),
            Text::Blank => Ok(Some(Vec::new())),
            Text::TooDeep => Err(super::too_deep(step)),
            Text::Noise => {
                let noise = self
                    .noise
                    .get_or_insert_with(|| Noise { lines: 0, first: String::from_utf8_lossy(line).trim().to_owned() });
                noise.lines += 1;
                Ok(Some(Vec::new()))
            }
        }
    }

    /// One round: write what can be written, read what is there, or wait for either.
    /// With `until` the wait may end before the deadline, and that is no failure.
    fn pump(&mut self, step: Step, until: Option<Instant>) -> Result<(), ProbeFailure> {
        let end = self.deadline.end();
        match self.poll(until.map_or(end, |until| until.min(end)), Some(self.interrupt)) {
            Wake::Ready => {}
            Wake::TimeUp if Instant::now() < end => return Ok(()),
            Wake::TimeUp => return Err(self.timed_out(step)),
            Wake::Interrupted => return Err(super::interrupted(step)),
        }
        self.write();
        self.read_stdout();
        self.read_stderr();
        Ok(())
    }

    fn poll(&self, until: Instant, interrupt: Option<&Interrupt>) -> Wake {
        let mut fds = Vec::with_capacity(4);
        if let Some(interrupt) = interrupt {
            fds.push(PollFd::from_borrowed_fd(interrupt.watched(), PollFlags::IN));
        }
        if let Some(stdout) = &self.pipes.stdout {
            fds.push(PollFd::from_borrowed_fd(stdout.as_fd(), PollFlags::IN));
        }
        if let Some(stderr) = &self.pipes.stderr {
            fds.push(PollFd::from_borrowed_fd(stderr.as_fd(), PollFlags::IN));
        }
        if let Some(stdin) = self.pipes.stdin.as_ref().filter(|_| !self.outgoing.is_empty()) {
            fds.push(PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::OUT));
        }
        wait::for_any(&mut fds, until, interrupt)
    }

    /// A server that closed its stdin may still answer; one that is gone is seen at its stdout.
    fn write(&mut self) {
        let Some(stdin) = self.pipes.stdin.as_mut().filter(|_| !self.outgoing.is_empty()) else { return };
        match stdin.write(&self.outgoing) {
            Ok(written) => drop(self.outgoing.drain(..written)),
            Err(error) if is_later(&error) => {}
            Err(_) => self.pipes.stdin = None,
        }
    }

    fn read_stdout(&mut self) {
        let Some(stdout) = self.pipes.stdout.as_mut() else { return };
        match stdout.read(&mut self.buffer) {
            Ok(0) => self.pipes.stdout = None,
            Ok(length) => self.incoming.push(&self.buffer[..length]),
            Err(error) if is_later(&error) => {}
            Err(_) => self.pipes.stdout = None,
        }
    }

    fn read_stderr(&mut self) {
        let Some(stderr) = self.pipes.stderr.as_mut() else { return };
        match stderr.read(&mut self.buffer) {
            Ok(0) => self.pipes.stderr = None,
            Ok(length) => self.stderr.push(&self.buffer[..length]),
            Err(error) if is_later(&error) => {}
            Err(_) => self.pipes.stderr = None,
        }
    }

    /// Reads the rest of stderr, for a moment at most.
    fn drain_stderr(&mut self, moment: Duration) {
        let until = Instant::now() + moment;
        loop {
            self.read_stderr();
            let Some(stderr) = &self.pipes.stderr else { return };
            let mut fds = vec![PollFd::from_borrowed_fd(stderr.as_fd(), PollFlags::IN)];
            if wait::for_any(&mut fds, until, None) != Wake::Ready {
                return;
            }
        }
    }

    /// Why there will be no answer, now that stdout is closed.
    fn ended(&mut self, step: Step) -> ProbeFailure {
        let status = self.child.wait_until(self.deadline.end().min(Instant::now() + SETTLING), Some(self.interrupt));
        self.drain_stderr(Duration::from_millis(50));
        let torn = match self.incoming.rest() {
            0 => String::new(),
            bytes => format!(", in the middle of a message (after {})", text::count(bytes, "byte")),
        };
        if let Some(status) = status {
            let message = format!("the process {} before it answered {step}{torn}", child::describe(status));
            with_status(ProbeFailure::new(FailureClass::Exited, step, message), status)
        } else {
            let message = format!("the process closed its standard output before it answered {step}{torn}");
            ProbeFailure::new(FailureClass::Exited, step, message)
        }
    }

    fn timed_out(&mut self, step: Step) -> ProbeFailure {
        self.drain_stderr(Duration::ZERO);
        if let Some(status) = self.child.status() {
            let message = format!(
                "the process {} before it answered {step}; something it started still holds its standard output",
                child::describe(status)
            );
            return with_status(ProbeFailure::new(FailureClass::Exited, step, message), status);
        }
        let mut message = format!("{}: no answer to {step}", self.deadline.gave_up());
        if self.pipes.stdin.is_none() {
            message.push_str(", and the process has closed its standard input");
        } else if self.incoming.rest() > 0 {
            let bytes = text::count(self.incoming.rest(), "byte");
            message = format!("{message}, only the beginning of a line ({bytes})");
        }
        ProbeFailure::new(FailureClass::Timeout, step, message)
    }
}

impl Duplex for StdioChannel<'_> {
    /// Never fails: what cannot be written is seen at the process's end.
    fn send(&mut self, _: Step, message: &Value) -> Result<(), ProbeFailure> {
        self.trace.sent(message);
        self.outgoing.extend_from_slice(message.to_string().as_bytes());
        self.outgoing.push(b'\n');
        Ok(())
    }

    fn receive(&mut self, step: Step, until: Option<Instant>) -> Result<Option<Vec<Incoming>>, ProbeFailure> {
        loop {
            if let Some(messages) = self.next_messages(step)? {
                return Ok(Some(messages));
            }
            if self.pipes.stdout.is_none() {
                return Err(self.ended(step));
            }
            self.pump(step, until)?;
            if until.is_some_and(|until| until <= Instant::now()) {
                return Ok(None);
            }
        }
    }

    fn trace(&mut self) -> &mut Trace {
        self.trace
    }
}

impl Channel for StdioChannel<'_> {
    fn request(&mut self, call: &Call) -> Result<Reply, ProbeFailure> {
        let id = self.next_id;
        self.next_id += 1;
        duplex::ask(self, call, id)
    }

    fn notify(&mut self, step: Step) -> Result<(), ProbeFailure> {
        self.send(step, &jsonrpc::notification(step.as_str()))
    }

    fn restart(&mut self) -> Result<(), ProbeFailure> {
        self.end_child(None);
        // What the first process said is the reason, should the second one have none.
        self.earlier_stderr.get_or_insert_with(|| std::mem::take(&mut self.stderr));
        (self.child, self.pipes) = start(self.server)?;
        self.incoming = LineBuffer::default();
        self.outgoing.clear();
        Ok(())
    }
}

/// Starts the server: no shell, the whole environment of this process plus the entry's, in the current folder.
fn start(server: &StdioServer) -> Result<(ChildGroup, Pipes), ProbeFailure> {
    let mut command = Command::new(server.command.value.reveal());
    command.args(server.arguments.iter().map(|argument| argument.value.reveal()));
    for name in &server.withheld {
        command.env_remove(name);
    }
    command.envs(server.provided.iter().map(|(name, value)| (name, value)));
    if let Some(folder) = &server.folder {
        command.current_dir(folder);
    }
    command.envs(server.environment.iter().map(|(name, value)| (name, value.value.reveal())));
    let spawned = match ChildGroup::spawn(&mut command) {
        // A script without a first line (#!): the client's own start falls back to a shell for it, as `execvp(3)` does.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()) => {
            let mut shell = Command::new("/bin/sh");
            shell.arg(command.get_program()).args(command.get_args());
            for (name, value) in command.get_envs() {
                match value {
                    Some(value) => shell.env(name, value),
                    None => shell.env_remove(name),
                };
            }
            if let Some(folder) = command.get_current_dir() {
                shell.current_dir(folder);
            }
            ChildGroup::spawn(&mut shell)
        }
        spawned => spawned,
    };
    let (child, pipes) = spawned.map_err(|error| not_started(server, &error))?;
    unblock(&pipes).map_err(|error| {
        ProbeFailure::new(FailureClass::Spawn, Step::Start, format!("cannot set up its pipes: {error}"))
    })?;
    Ok((child, pipes))
}

/// Makes our ends of the pipes return at once instead of waiting.
fn unblock(pipes: &Pipes) -> io::Result<()> {
    let Pipes { stdin, stdout, stderr } = pipes;
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

fn with_status(mut failure: ProbeFailure, status: ExitStatus) -> ProbeFailure {
    failure.exit_status = Some(child::exit_number(status));
    failure
}

fn too_long(step: Step) -> ProbeFailure {
    let bound = LONGEST_MESSAGE / (1024 * 1024);
    let message = format!("a line on standard output is longer than {bound} MiB");
    ProbeFailure::new(FailureClass::Limit, step, message)
}

/// Why a command could not be started, in words that lead to the mend.
fn not_started(server: &StdioServer, error: &io::Error) -> ProbeFailure {
    let command = server.command.value.reveal();
    let written = &server.command.written;
    let is_path = command.contains('/');
    let (message, help) = match error.kind() {
        _ if command.is_empty() => (format!("the command {written:?} is empty"), "set the variable it is made of"),
        io::ErrorKind::NotFound if is_path && std::path::Path::new(command).exists() => (
            format!("cannot run {written:?}: no such file: the interpreter in its first line is missing"),
            "check the file's first line (#!)",
        ),
        io::ErrorKind::NotFound if is_path => (
            format!("cannot run {written:?}: no such file"),
            "check the path; relative paths begin where mcp-preflight was started, as they do for the client",
        ),
        io::ErrorKind::NotFound => (
            format!("cannot run {written:?}: no such file in any folder of PATH"),
            "install it, or add its folder to PATH",
        ),
        io::ErrorKind::PermissionDenied => (
            format!("cannot run {written:?}: permission denied"),
            "make it executable (chmod +x), or check that it is a file",
        ),
        _ => (format!("cannot run {written:?}: {error}"), "check the command"),
    };
    ProbeFailure::new(FailureClass::Spawn, Step::Start, message).with_help(help)
}
