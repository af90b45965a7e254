//! A command of the configuration that makes headers (`headersHelper` of Claude Code, `clients.md` 1.5): a shell runs it, it prints a JSON
//! object of strings, and has ten seconds. One that fails leaves the static headers, as it does in the client.

use std::time::{Duration, Instant};

use super::deadline::Deadline;
use super::run::{self, Unfinished};
use super::system;
use crate::interrupt::Interrupt;
use crate::server::{Expanded, HeaderHelper, RemoteServer, Secret};

/// How long a helper may take.
pub(super) const LONGEST: Duration = Duration::from_secs(10);

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
    let end = (Instant::now() + LONGEST).min(deadline.end());
    run::to_its_end(&mut command, end, interrupt).map_err(|error| match error {
        Unfinished::NotStarted(error) => format!("cannot run a shell: {error}"),
        Unfinished::Failed(how) => format!("it {how}"),
    })
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
