//! Many probes at once, within bounds, and an end to all of them on a signal.
//!
//! A probe's clock starts when its probe starts: waiting for a turn must not eat a server's budget.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::system::Strays;
use crate::interrupt::Interrupt;
use crate::network::Network;
use crate::observed::{LeftRunning, Observation};
use crate::server::{Server, ServerName, Transport};
use crate::values::Protocol;

/// Remote probes at once; waiting for a network costs nothing.
const REMOTE_AT_ONCE: usize = 64;
/// How long an interrupted run waits for its children to be gone.
const INTERRUPTED_GRACE: Duration = Duration::from_secs(3);
/// How often a waiting run looks whether a signal has arrived.
const GLANCE: Duration = Duration::from_millis(25);

/// The bounds of a run.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    /// One budget per server; `None`: by the kind of its command.
    pub(crate) timeout: Option<Duration>,
    /// When the whole run ends.
    pub(crate) run_end: Option<Instant>,
    /// How remote servers are reached.
    pub(crate) network: Network,
    /// Which era of the protocol is spoken.
    pub(crate) protocol: Protocol,
    /// Probes at once; `None`: 2 x processors for stdio servers, 64 for remote ones.
    pub(crate) jobs: Option<usize>,
    /// Whether to keep the messages.
    pub(crate) transcript: bool,
}

/// Is told when a probe begins and ends, for a live display.
pub(crate) trait Watcher {
    /// The probe of this server begins.
    fn began(&self, server: &ServerName);
    /// The probe of this server is over.
    fn ended(&self, server: &ServerName, observation: &Observation);
}

/// What came of all probes.
#[derive(Debug)]
pub(crate) struct ProbeEnd {
    /// One observation per server, in the servers' order.
    pub(crate) observations: Vec<Observation>,
    /// Processes that hid from their server's end and were found when all were over; they were ended.
    pub(crate) strays: Vec<LeftRunning>,
}

enum News {
    Began(usize),
    Ended(usize, Box<thread::Result<Observation>>),
}

/// A queue of servers, and how many are probed at once.
struct Lane {
    queue: Arc<Mutex<VecDeque<usize>>>,
    at_once: usize,
}

/// Probes all servers. `Err` holds the signal that interrupted the run; every child is gone then.
pub(crate) fn probe_all(
    servers: &[Server],
    limits: &Limits,
    interrupt: &Interrupt,
    watcher: &dyn Watcher,
) -> Result<ProbeEnd, u8> {
    let strays = Strays::watch();
    let shared: Arc<[Server]> = servers.into();
    let (sender, receiver) = channel();
    let worker = Worker {
        servers: shared,
        limits: limits.clone(),
        interrupt: interrupt.clone(),
        with_children: Arc::default(),
        sender,
    };
    let with_children = Arc::clone(&worker.with_children);
    for lane in lanes(servers, limits.jobs) {
        for _ in 0..lane.at_once {
            let (worker, queue) = (worker.clone(), Arc::clone(&lane.queue));
            // Never joined: a probe over HTTP cannot be woken, and ends with the process.
            thread::spawn(move || worker.run(&queue));
        }
    }
    drop(worker);
    let collected = collect(servers, &receiver, interrupt, &with_children, watcher);
    let strays = strays.end();
    let collected = collected.unwrap_or_else(|payload| resume_unwind(payload));
    match interrupt.signal() {
        Some(signal) => Err(signal),
        None => Ok(ProbeEnd { observations: collected, strays }),
    }
}

/// With `--jobs` one queue for all; without, stdio and remote servers do not wait for each other.
fn lanes(servers: &[Server], jobs: Option<usize>) -> Vec<Lane> {
    let (local, remote): (Vec<usize>, Vec<usize>) = (0..servers.len()).partition(|index| is_local(&servers[*index]));
    let lane = |indices: Vec<usize>, most: usize| Lane {
        at_once: most.min(indices.len()),
        queue: Arc::new(Mutex::new(indices.into())),
    };
    if let Some(jobs) = jobs {
        vec![lane((0..servers.len()).collect(), jobs)]
    } else {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        vec![lane(local, 2 * processors), lane(remote, REMOTE_AT_ONCE)]
    }
}

/// What a worker thread owns.
#[derive(Clone)]
struct Worker {
    servers: Arc<[Server]>,
    limits: Limits,
    interrupt: Interrupt,
    /// How many workers have, or are about to have, a child process.
    with_children: Arc<AtomicUsize>,
    sender: Sender<News>,
}

impl Worker {
    fn run(&self, queue: &Mutex<VecDeque<usize>>) {
        loop {
            // Counted before the interrupt is looked at: a run that was interrupted waits for whoever may start a child.
            self.with_children.fetch_add(1, Ordering::SeqCst);
            let index = if self.interrupt.is_raised() { None } else { next(queue) };
            let is_local = index.is_some_and(|index| is_local(&self.servers[index]));
            if !is_local {
                self.with_children.fetch_sub(1, Ordering::SeqCst);
            }
            let Some(index) = index else { return };
            self.probe(index);
            if is_local {
                self.with_children.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }

    fn probe(&self, index: usize) {
        // Nobody may be listening any more, after a signal.
        let _ = self.sender.send(News::Began(index));
        let probed =
            catch_unwind(AssertUnwindSafe(|| super::probe(&self.servers[index], &self.limits, &self.interrupt)));
        let _ = self.sender.send(News::Ended(index, Box::new(probed)));
    }
}

/// Whether probing this server starts a child process.
fn is_local(server: &Server) -> bool {
    match &server.transport {
        Ok(Transport::Stdio(_)) => true,
        // Its helper is a child process, too.
        Ok(Transport::Http(remote) | Transport::Sse(remote) | Transport::WebSocket(remote)) => remote.helper.is_some(),
        Err(_) => false,
    }
}

fn next(queue: &Mutex<VecDeque<usize>>) -> Option<usize> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
}

fn collect(
    servers: &[Server],
    receiver: &Receiver<News>,
    interrupt: &Interrupt,
    with_children: &AtomicUsize,
    watcher: &dyn Watcher,
) -> thread::Result<Vec<Observation>> {
    let mut observations: Vec<Option<Observation>> = servers.iter().map(|_| None).collect();
    let mut give_up_at = None;
    let mut panic = None;
    while observations.iter().any(Option::is_none) {
        match receiver.recv_timeout(GLANCE) {
            Ok(News::Began(index)) => watcher.began(&servers[index].name),
            Ok(News::Ended(index, probed)) => match *probed {
                Ok(observation) => {
                    watcher.ended(&servers[index].name, &observation);
                    observations[index] = Some(observation);
                }
                Err(payload) => {
                    panic = Some(payload);
                    interrupt.cancel();
                }
            },
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if interrupt.is_raised() {
            let until = *give_up_at.get_or_insert_with(|| Instant::now() + INTERRUPTED_GRACE);
            if with_children.load(Ordering::SeqCst) == 0 || Instant::now() > until {
                break;
            }
        }
    }
    match panic {
        Some(payload) => Err(payload),
        None => Ok(observations.into_iter().flatten().collect()),
    }
}
