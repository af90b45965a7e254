//! The process tree, where the system shows it (Linux: `/proc`). Elsewhere the tree is empty and process groups have to do.

use rustix::process::{Pid, Signal};

use crate::observed::LeftRunning;

/// A process, told apart from a later one with the same number by when it started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: Pid,
    started: u64,
    name: String,
}

impl Process {
    /// Whether it still lives. A zombie does not.
    pub(super) fn is_alive(&self) -> bool {
        stat(self.pid).is_some_and(|now| now.started == self.started && !now.is_zombie)
    }

    /// Sends it a signal, if it still lives.
    pub(super) fn signal(&self, signal: Signal) {
        if self.is_alive() {
            // It may have ended meanwhile, which is what was wanted.
            let _ = rustix::process::kill_process(self.pid, signal);
        }
    }

    /// How a report names it.
    pub(super) fn described(&self) -> LeftRunning {
        LeftRunning { pid: self.pid.as_raw_nonzero().get().unsigned_abs(), name: self.name.clone() }
    }
}

/// Every living process below `root`, without `root` itself.
pub(super) fn descendants(root: Pid) -> Vec<Process> {
    let mut found: Vec<Process> = Vec::new();
    let mut waiting = vec![root];
    // Bounded: a tree that grows faster than it is read ends here.
    while let Some(parent) = waiting.pop().filter(|_| found.len() < 4096) {
        for pid in children(parent) {
            if found.iter().any(|known| known.pid == pid) {
                continue;
            }
            waiting.push(pid);
            if let Some(stat) = stat(pid).filter(|stat| !stat.is_zombie) {
                found.push(Process { pid, started: stat.started, name: stat.name });
            }
        }
    }
    found
}

/// Asks the system to make orphans below this process its children, so that none can hide behind process 1.
pub(super) fn adopt_orphans() {
    // Where that is not to be had, process groups have to do.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// The children this process had before it started any: a shell that replaced itself by this tool (`exec`) leaves its own
/// background jobs to it.
pub(super) fn inherited() -> Vec<Process> {
    let own = children(rustix::process::getpid());
    own.into_iter()
        .filter_map(|pid| stat(pid).map(|stat| Process { pid, started: stat.started, name: stat.name }))
        .collect()
}

/// What this process was made the parent of: every child that it neither had before nor started, and what is below those. Only to
/// be asked once every server has been waited for.
pub(super) fn orphans(inherited: &[Process]) -> Vec<Process> {
    let is_inherited = |pid: &Pid| inherited.iter().any(|known| known.pid == *pid && known.is_alive());
    let adopted: Vec<Pid> = children(rustix::process::getpid()).into_iter().filter(|pid| !is_inherited(pid)).collect();
    let mut found = Vec::new();
    for pid in adopted {
        // Those that have ended only need to be waited for.
        let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::NOHANG);
        if let Some(stat) = stat(pid).filter(|stat| !stat.is_zombie) {
            found.push(Process { pid, started: stat.started, name: stat.name });
            found.extend(descendants(pid));
        }
    }
    found
}

#[cfg(target_os = "linux")]
fn children(parent: Pid) -> Vec<Pid> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{}/task", parent.as_raw_nonzero())) else { return Vec::new() };
    let lists = threads.flatten().filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let pids = lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>());
    pids.filter_map(Pid::from_raw).collect()
}

#[cfg(not(target_os = "linux"))]
fn children(_: Pid) -> Vec<Pid> {
    Vec::new()
}

struct Stat {
    name: String,
    started: u64,
    is_zombie: bool,
}

/// Reads `/proc/PID/stat` (`proc_pid_stat(5)`): the name in parentheses may hold anything, the fields follow the last one.
fn stat(pid: Pid) -> Option<Stat> {
    let text = std::fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    let text = String::from_utf8_lossy(&text);
    let (head, fields) = text.rsplit_once(") ")?;
    let name = head.split_once('(')?.1.to_owned();
    let mut fields = fields.split(' ');
    let is_zombie = matches!(fields.next()?, "Z" | "X");
    let started = fields.nth(18)?.parse().ok()?;
    Some(Stat { name, started, is_zombie })
}
