//! A server as a child process: a conversation over its three pipes, with one deadline.

use std::io;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::channel::{Call, Channel};
use super::child::{Patience, Wake};
use super::deadline::Deadline;
use super::duplex::{self, Duplex};
use super::jsonrpc::{self, Incoming, Reply, Text};
use super::lines::{LONGEST_MESSAGE, Tail};
use super::system::{self, ChildGroup, Pipes};
use super::trace::Trace;
use crate::deviation::Carrier;
use crate::interrupt::Interrupt;
use crate::observed::{FailureClass, LeftRunning, Noise, ProbeFailure, Step};
use crate::server::StdioServer;
use crate::text;

/// How long a server may take to end by itself after its stdin was closed, when its list is already known.
const CLOSING: Duration = Duration::from_secs(1);
/// How long it may take once it is asked to end.
const ONCE_ASKED: Duration = Duration::from_millis(400);
/// How long to wait for the exit status of a process that closed its stdout.
const SETTLING: Duration = Duration::from_millis(300);

/// A conversation over pipes.
pub(super) struct StdioChannel<'a> {
    server: &'a StdioServer,
    child: ChildGroup,
    pipes: Pipes,
    noise: Option<Noise>,
    next_id: u64,
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
            noise: None,
            next_id: 1,
            deadline,
            interrupt,
            trace,
            earlier_stderr: None,
            left_running: Vec::new(),
        })
    }

    /// Ends the server and everything it started.
    pub(super) fn close(mut self, is_listed: bool) -> Ended {
        self.pipes.drain_stderr(Duration::ZERO);
        let now = Instant::now();
        // Only a server that answered is given time; it must not push the run beyond its deadline.
        self.end_child(is_listed.then(|| (now + CLOSING).min(self.deadline.end().max(now))));
        let earlier = self.earlier_stderr.take().filter(|_| !is_listed);
        let stderr = earlier.unwrap_or(self.pipes.stderr);
        Ended { noise: self.noise, left_running: self.left_running, stderr: stderr.text(), stderr_cut: stderr.cut }
    }

    fn end_child(&mut self, by_itself: Option<Instant>) {
        self.child.look();
        self.pipes.close_stdin();
        let patience = Patience { by_itself, once_asked: ONCE_ASKED };
        let (_, left) = self.child.end(patience, self.interrupt);
        self.left_running.extend(left);
    }

    /// The messages of the next whole line; `None` when there is no whole line.
    fn next_messages(&mut self, step: Step) -> Result<Option<Vec<Incoming>>, ProbeFailure> {
        let line = match self.pipes.incoming.next_line() {
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

    /// One round of writing and reading, or waiting for either.
    /// With `until` the wait may end before the deadline, and that is no failure.
    fn pump(&mut self, step: Step, until: Option<Instant>) -> Result<(), ProbeFailure> {
        let end = self.deadline.end();
        match self.pipes.pump(until.map_or(end, |until| until.min(end)), self.interrupt) {
            Wake::Ready => Ok(()),
            Wake::TimeUp if Instant::now() < end => Ok(()),
            Wake::TimeUp => Err(self.timed_out(step)),
            Wake::Interrupted => Err(super::interrupted(step)),
        }
    }

    /// Why there will be no answer, now that stdout is closed.
    fn ended(&mut self, step: Step) -> ProbeFailure {
        let status = self.child.wait_until(self.deadline.end().min(Instant::now() + SETTLING), Some(self.interrupt));
        self.pipes.drain_stderr(Duration::from_millis(50));
        let torn = match self.pipes.incoming.rest() {
            0 => String::new(),
            bytes => format!(", in the middle of a message (after {})", text::count(bytes, "byte")),
        };
        if let Some(status) = status {
            let message = format!("the process {} before it answered {step}{torn}", system::describe(status));
            with_status(ProbeFailure::new(FailureClass::Exited, step, message), status)
        } else {
            let message = format!("the process closed its standard output before it answered {step}{torn}");
            ProbeFailure::new(FailureClass::Exited, step, message)
        }
    }

    fn timed_out(&mut self, step: Step) -> ProbeFailure {
        self.pipes.drain_stderr(Duration::ZERO);
        if let Some(status) = self.child.status() {
            let message = format!(
                "the process {} before it answered {step}; something it started still holds its standard output",
                system::describe(status)
            );
            return with_status(ProbeFailure::new(FailureClass::Exited, step, message), status);
        }
        let mut message = format!("{}: no answer to {step}", self.deadline.gave_up());
        if !self.pipes.is_stdin_open() {
            message.push_str(", and the process has closed its standard input");
        } else if self.pipes.incoming.rest() > 0 {
            let bytes = text::count(self.pipes.incoming.rest(), "byte");
            message = format!("{message}, only the beginning of a line ({bytes})");
        }
        ProbeFailure::new(FailureClass::Timeout, step, message)
    }
}

impl Duplex for StdioChannel<'_> {
    /// Never fails: what cannot be written is seen at the process's end.
    fn send(&mut self, _: Step, message: &Value) -> Result<(), ProbeFailure> {
        self.trace.sent(message);
        self.pipes.outgoing.extend_from_slice(message.to_string().as_bytes());
        self.pipes.outgoing.push(b'\n');
        Ok(())
    }

    fn receive(&mut self, step: Step, until: Option<Instant>) -> Result<Option<Vec<Incoming>>, ProbeFailure> {
        loop {
            if let Some(messages) = self.next_messages(step)? {
                return Ok(Some(messages));
            }
            if !self.pipes.is_stdout_open() {
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
        self.earlier_stderr.get_or_insert_with(|| std::mem::take(&mut self.pipes.stderr));
        (self.child, self.pipes) = start(self.server)?;
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
    let (child, ends) = system::start(command).map_err(|error| not_started(server, &error))?;
    let pipes = Pipes::of(ends).map_err(|error| {
        ProbeFailure::new(FailureClass::Spawn, Step::Start, format!("cannot set up its pipes: {error}"))
    })?;
    Ok((child, pipes))
}

fn with_status(mut failure: ProbeFailure, status: ExitStatus) -> ProbeFailure {
    failure.exit_status = Some(system::exit_number(status));
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
    let (message, help) = if command.is_empty() {
        (format!("the command {written:?} is empty"), "set the variable it is made of")
    } else {
        let (why, help) = system::reason(command, error);
        (format!("cannot run {written:?}: {why}"), help)
    };
    ProbeFailure::new(FailureClass::Spawn, Step::Start, message).with_help(help)
}
