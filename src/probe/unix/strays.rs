//! Processes that hid from their server's end: this process is made their parent, and ends them last.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::tree::{self, Process};
use crate::observed::LeftRunning;
use crate::probe::deadline::pause;

/// What has to be known before the first server is started.
#[derive(Debug)]
pub(in crate::probe) struct Strays {
    inherited: Vec<Process>,
}

impl Strays {
    /// From now on orphans become children of this process.
    pub(in crate::probe) fn watch() -> Self {
        let inherited = tree::inherited();
        tree::adopt_orphans();
        Self { inherited }
    }

    /// Ends what has become a child of this process although it never started it. One that starts another while it is ended is
    /// followed, for a while.
    pub(in crate::probe) fn end(&self) -> Vec<LeftRunning> {
        let mut ended: Vec<LeftRunning> = Vec::new();
        for round in 0..20 {
            let strays = tree::orphans(&self.inherited);
            if strays.is_empty() {
                break;
            }
            if round == 0 {
                ended = strays.iter().map(Process::described).collect();
                signal_and_wait(&strays, Signal::TERM, Duration::from_millis(100));
            }
            signal_and_wait(&strays, Signal::KILL, Duration::from_millis(200));
        }
        ended
    }
}

fn signal_and_wait(strays: &[Process], signal: Signal, grace: Duration) {
    let until = Instant::now() + grace;
    for stray in strays {
        stray.signal(signal);
    }
    while strays.iter().any(Process::is_alive) && Instant::now() < until {
        pause(Duration::from_millis(2));
    }
}
