//! A command of the configuration that makes headers (`headersHelper` of Claude Code, `clients.md` 1.5): a shell runs it, it prints a JSON
//! object of strings, and has ten seconds. One that fails leaves the static headers, as it does in the client.

use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use super::child::Patience;
use super::deadline::Deadline;
use super::system::{self, ChildGroup};
use crate::interrupt::Interrupt;
use crate::server::{Expanded, HeaderHelper, RemoteServer, Secret};

/// How long a helper may take.
pub(super) const LONGEST: Duration = Duration::from_secs(10);
/// How much it may print.
const MOST: usize = 64 * 1024;
/// How long its words may take to arrive once it has ended.
const SETTLING: Duration = Duration::from_millis(100);
/// How long it may take once it is asked to end.
const ONCE_ASKED: Duration = Duration::from_millis(200);

/// A server with all its headers.
pub(super) struct Helped {
    pub(super) server: RemoteServer,
    /// What the helper printed, to be masked everywhere.
    pub(super) secrets: Vec<Secret>,
    /// Why it made no headers.
    pub(super) problem: Option<String>,
}

/// Runs the helper of a server, and adds what it prints; headers of the same name are replaced.
pub(super) fn help(server: &RemoteServer, helper: &HeaderHelper, deadline: Deadline, interrupt: &Interrupt) -> Helped {
    let mut server = server.clone();
    let headers = run(helper, deadline, interrupt).and_then(|printed| parse(&printed));
    match headers {
        Err(problem) => Helped { server, secrets: Vec::new(), problem: Some(format!("headersHelper: {problem}")) },
        Ok(headers) => {
            server.headers.retain(|(name, _)| !headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)));
            let secrets = headers.iter().map(|(_, value)| Secret::new(value.as_str())).collect();
            let made = headers.into_iter().map(|(name, value)| {
                (name, Expanded { written: "(made by headersHelper)".to_owned(), value: Secret::new(value) })
            });
            server.headers.extend(made);
            Helped { server, secrets, problem: None }
        }
    }
}

fn run(helper: &HeaderHelper, deadline: Deadline, interrupt: &Interrupt) -> Result<Vec<u8>, String> {
    let mut command = system::shell(&helper.command);
    for name in &helper.withheld {
        command.env_remove(name);
    }
    command.envs(helper.provided.iter().map(|(name, value)| (name, value)));
    let (mut group, ends) = ChildGroup::spawn(&mut command).map_err(|error| format!("cannot run a shell: {error}"))?;
    drop(ends.stdin);
    let (sender, receiver) = mpsc::channel();
    let (stdout, stderr) = (ends.stdout, ends.stderr);
    let printed = Arc::new(Mutex::new(Vec::new()));
    let shared = Arc::clone(&printed);
    // Both end with the helper and what it has started, which is ended below.
    std::thread::spawn(move || {
        if let Some(mut stdout) = stdout {
            collect(&mut stdout, &shared);
        }
        // Nobody waits any more when the time is up.
        let _ = sender.send(());
    });
    std::thread::spawn(move || stderr.map(|mut stderr| std::io::copy(&mut stderr, &mut std::io::sink())));
    let end = (Instant::now() + LONGEST).min(deadline.end());
    let has_ended = group.wait_until(end, Some(interrupt)).is_some();
    if has_ended {
        // What it has left behind may hold the pipe open: its own words are there already.
        let _ = receiver.recv_timeout(SETTLING);
    }
    group.look();
    let patience = Patience { by_itself: None, once_asked: ONCE_ASKED };
    let (status, _) = group.end(patience, interrupt);
    match status {
        Some(status) if has_ended && status.success() => {
            Ok(std::mem::take(&mut *printed.lock().unwrap_or_else(PoisonError::into_inner)))
        }
        Some(status) if has_ended => Err(format!("it {}", system::describe(status))),
        _ => Err("it did not end in its time".to_owned()),
    }
}

/// Reads to the end, or as much as a helper may print.
fn collect(stdout: &mut impl Read, printed: &Mutex<Vec<u8>>) {
    let mut chunk = [0; 4096];
    while let Ok(length @ 1..) = stdout.read(&mut chunk) {
        let mut printed = printed.lock().unwrap_or_else(PoisonError::into_inner);
        printed.extend_from_slice(&chunk[..length]);
        if printed.len() > MOST {
            return;
        }
    }
}

fn parse(printed: &[u8]) -> Result<Vec<(String, String)>, String> {
    let value: serde_json::Value =
        serde_json::from_slice(printed.trim_ascii()).map_err(|_| "it printed no JSON".to_owned())?;
    let headers = value.as_object().ok_or("it printed no JSON object")?;
    let header = |(name, value): (&String, &serde_json::Value)| {
        let value = value.as_str().ok_or_else(|| format!("{name} is no string"))?;
        Ok((name.clone(), value.to_owned()))
    };
    headers.iter().map(header).collect()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn only_an_object_of_strings_makes_headers() {
        assert_eq!(parse(b" {\"A\": \"1\"}\n"), Ok(vec![("A".to_owned(), "1".to_owned())]));
        assert!(parse(b"token").is_err() && parse(b"[]").is_err() && parse(b"{\"A\": 1}").is_err());
    }
}
