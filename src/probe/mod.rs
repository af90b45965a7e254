//! The only rooms that start processes or open sockets: servers in, observations out.

mod channel;
mod child;
mod client;
mod connect;
mod deadline;
mod duplex;
mod helper;
mod http;
mod http_failure;
mod http_sse;
mod jsonrpc;
mod lines;
mod opening;
mod pool;
mod reconnect;
mod remote;
mod run;
mod session;
mod sse;
mod stdio;
mod tls;
mod trace;
#[cfg(unix)]
mod unix;
mod websocket;
#[cfg(windows)]
mod windows;

use std::time::{Duration, Instant};

pub(crate) use pool::{Limits, Watcher, probe_all};
pub(crate) use reconnect::reconnect;

use deadline::Deadline;
use http::HttpChannel;
use http_sse::SseChannel;
use session::Session;
use stdio::StdioChannel;
use trace::Trace;
/// Child processes, as this system has them.
#[cfg(unix)]
use unix as system;
use websocket::WebSocketChannel;
#[cfg(windows)]
use windows as system;

use crate::interrupt::Interrupt;
use crate::network::Network;
use crate::observed::{FailureClass, Observation, Outcome, Phases, ProbeFailure, Step, ToolTable};
use crate::server::{RemoteServer, Server, StdioServer, Transport};
use crate::values::Protocol;

/// How long a failed address may take to show that it speaks the older transport.
const GLANCE: Duration = Duration::from_secs(1);

/// Probes one server. Its clock starts here.
fn probe(server: &Server, limits: &Limits, interrupt: &Interrupt) -> Observation {
    let began = Instant::now();
    let transport = match &server.transport {
        Ok(transport) => transport,
        Err(reason) => {
            let failure = ProbeFailure::new(FailureClass::Unsupported, Step::Start, format!("invalid entry: {reason}"));
            return Observation::failed(failure, began.elapsed());
        }
    };
    // A helper has its own ten seconds, as it has in the client.
    let helping = if server.has_helper() { helper::LONGEST } else { Duration::ZERO };
    let usual = || deadline::default_budget(transport).max(server.startup.unwrap_or_default()) + helping;
    let budget = limits.timeout.unwrap_or_else(usual);
    let deadline = Deadline::start(budget, limits.run_end);
    if deadline.remaining().is_none() {
        let failure =
            ProbeFailure::new(FailureClass::Timeout, Step::Queue, "the time of the whole run was up before its turn");
        return Observation::failed(failure, began.elapsed());
    }
    let trace = Trace::new(limits.transcript);
    match transport {
        Transport::Stdio(stdio) => probe_stdio(stdio, limits.protocol, deadline, interrupt, trace),
        Transport::Http(remote) => {
            helped(remote, deadline, interrupt, |remote| probe_http(remote, limits, deadline, trace))
        }
        Transport::Sse(remote) => {
            helped(remote, deadline, interrupt, |remote| probe_sse(remote, &limits.network, deadline, trace))
        }
        Transport::WebSocket(remote) => {
            helped(remote, deadline, interrupt, |remote| probe_websocket(remote, &limits.network, deadline, trace))
        }
    }
}

/// Probes a remote server with the headers that its helper makes, if it has one.
fn helped(
    server: &RemoteServer,
    deadline: Deadline,
    interrupt: &Interrupt,
    probe: impl FnOnce(&RemoteServer) -> Observation,
) -> Observation {
    let Some(helper) = &server.helper else { return probe(server) };
    let made = helper::help(server, helper, deadline, interrupt);
    if interrupt.is_raised() {
        return Observation::failed(interrupted(Step::Connect), Duration::ZERO);
    }
    let mut observation = probe(&made.server);
    observation.secrets = made.secrets;
    // A missing credential is the likely cause of what came of it.
    if let (Outcome::Failed(failure), Some(problem)) = (&mut observation.outcome, &made.problem) {
        failure.message = format!("{problem}; then {}", failure.message);
    }
    observation.helper_problem = made.problem;
    observation
}

fn probe_stdio(
    server: &StdioServer,
    protocol: Protocol,
    deadline: Deadline,
    interrupt: &Interrupt,
    mut trace: Trace,
) -> Observation {
    let began = Instant::now();
    let mut session = Session::default();
    let mut channel = match StdioChannel::open(server, deadline, interrupt, &mut trace) {
        Ok(channel) => channel,
        Err(failure) => return Observation::failed(failure, began.elapsed()),
    };
    let connected = began.elapsed();
    let mut listed = session.list(&mut channel, protocol);
    let elapsed = began.elapsed();
    let ended = channel.close(listed.is_ok());
    if let Err(failure) = &mut listed {
        advise_on_download(failure, server);
    }
    let traced = trace.end();
    Observation {
        outcome: listed.map_or_else(Outcome::Failed, Outcome::Tools),
        elapsed,
        phases: Phases { connect: Some(connected), ..session.phases },
        identity: session.identity,
        deviations: traced.deviations,
        noise: ended.noise,
        left_running: ended.left_running,
        stderr: ended.stderr,
        stderr_cut: ended.stderr_cut,
        helper_problem: None,
        secrets: Vec::new(),
        transcript: traced.lines,
    }
}

fn probe_http(server: &RemoteServer, limits: &Limits, deadline: Deadline, mut trace: Trace) -> Observation {
    let began = Instant::now();
    let mut session = Session::default();
    let mut channel = match HttpChannel::open(server, &limits.network, deadline, &mut trace) {
        Ok(channel) => channel,
        Err(failure) => return Observation::failed(failure, began.elapsed()),
    };
    let listed = session.list(&mut channel, limits.protocol);
    let elapsed = began.elapsed();
    channel.close();
    let listed = match listed {
        Err(failure) if server.falls_back && is_of_older_transport(&failure, server, &limits.network, deadline) => {
            return probe_sse(server, &limits.network, deadline, trace);
        }
        listed => listed.map_err(|failure| advise_on_transport(failure, server, &limits.network, deadline)),
    };
    remotely_observed(listed, elapsed, session, trace)
}

/// The older transport knows the handshake only.
fn probe_sse(server: &RemoteServer, network: &Network, deadline: Deadline, mut trace: Trace) -> Observation {
    let began = Instant::now();
    let mut session = Session::default();
    let listed = SseChannel::open(server, network, deadline, &mut trace)
        .and_then(|mut channel| session.list(&mut channel, Protocol::Legacy));
    remotely_observed(listed, began.elapsed(), session, trace)
}

/// The handshake only, as the client does (`clients.md` 1.6).
fn probe_websocket(server: &RemoteServer, network: &Network, deadline: Deadline, mut trace: Trace) -> Observation {
    let began = Instant::now();
    let mut session = Session::default();
    let mut channel = match WebSocketChannel::open(server, network, deadline, &mut trace) {
        Ok(channel) => channel,
        Err(failure) => return Observation::failed(failure, began.elapsed()),
    };
    let listed = session.list(&mut channel, Protocol::Legacy);
    let elapsed = began.elapsed();
    channel.close();
    remotely_observed(listed, elapsed, session, trace)
}

/// What can be seen of a server that is no child process.
fn remotely_observed(
    listed: Result<ToolTable, ProbeFailure>,
    elapsed: Duration,
    session: Session,
    trace: Trace,
) -> Observation {
    let traced = trace.end();
    Observation {
        outcome: listed.map_or_else(Outcome::Failed, Outcome::Tools),
        elapsed,
        phases: session.phases,
        identity: session.identity,
        deviations: traced.deviations,
        transcript: traced.lines,
        ..Observation::empty()
    }
}

/// An address that knows no POST may be one of the older transport: the client would not try that by itself, but say so.
fn advise_on_transport(
    failure: ProbeFailure,
    server: &RemoteServer,
    network: &Network,
    deadline: Deadline,
) -> ProbeFailure {
    if is_of_older_transport(&failure, server, network, deadline) {
        return failure
            .with_help("this address speaks the older HTTP+SSE transport: set \"type\": \"sse\" in its entry");
    }
    failure
}

/// Whether an address that knows no POST opens the event stream of the older transport.
fn is_of_older_transport(failure: &ProbeFailure, server: &RemoteServer, network: &Network, deadline: Deadline) -> bool {
    let is_candidate = failure.step == Step::Initialize && matches!(failure.http_status, Some(400 | 404 | 405));
    is_candidate && SseChannel::open(server, network, deadline.within(GLANCE), &mut Trace::default()).is_ok()
}

/// A command that was still downloading needs more time, or to be installed before.
fn advise_on_download(failure: &mut ProbeFailure, server: &StdioServer) {
    if failure.class == FailureClass::Timeout && failure.step == Step::Initialize && deadline::may_download(server) {
        let command = &server.command.written;
        failure.help = Some(format!(
            "{command:?} may still have been downloading: raise --timeout, or install the server in an earlier step"
        ));
    }
}

/// JSON nested deeper than this tool reads.
fn too_deep(step: Step) -> ProbeFailure {
    ProbeFailure::new(FailureClass::Limit, step, "a message is nested deeper than 128 levels")
}

/// Never shown: a run that was interrupted has no verdict.
fn interrupted(step: Step) -> ProbeFailure {
    ProbeFailure::new(FailureClass::Timeout, step, "interrupted")
}
