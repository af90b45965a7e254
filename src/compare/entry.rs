//! What can be said of an entry before it is probed, and of an entry that is not there.

use super::{Purpose, Subject};
use crate::finding::{Code, Finding, Severity};
use crate::server::{Disabled, Server, Transport, VariableState};
use crate::text;
use crate::values::Client;

/// The findings about the configuration of one server.
pub(super) fn findings(subject: &Subject<'_>, purpose: Purpose) -> Vec<Finding> {
    let Some(entry) = subject.entry else {
        return absent(subject).into_iter().collect();
    };
    let mut findings = Vec::new();
    if let Some(disabled) = &entry.disabled {
        return vec![switched_off(subject, disabled)]
            .into_iter()
            .flatten()
            .map(|finding| finding.about(subject.name))
            .collect();
    }
    if let Err(reason) = &entry.transport {
        findings.push(
            Finding::new(Code::EntryInvalid, format!("the client skips this entry: {reason}"))
                .at(&entry.location)
                .firm(subject.expected.is_some() || subject.is_needed)
                .help("mend the entry: the agent would start without this server, and say nothing"),
        );
    }
    findings.extend(variables(entry, subject.client, purpose));
    for (message, location) in &entry.notices {
        let severity = if purpose == Purpose::Lock { Severity::Error } else { Severity::Warning };
        let finding = Finding::new(Code::ConfigIgnored, message.as_str()).severity(severity).at(location);
        findings.push(
            finding.help("trust the folder once by hand where the agent runs, or put the credential into headers"),
        );
    }
    for (key, location) in &entry.unknown_keys {
        findings.push(
            Finding::new(Code::KeyUnknown, format!("the client ignores the key {key:?}"))
                .at(location)
                .help("remove it, or check its spelling"),
        );
    }
    findings.extend(unpinned(entry));
    if subject.expected.is_none() && entry.transport.is_ok() && matches!(purpose, Purpose::Check | Purpose::Static) {
        findings.push(
            Finding::new(Code::ServerUnlocked, "the lock does not know this server: its tools are not checked")
                .at(&entry.location)
                .help(format!("add it: {}", super::table::update_command(subject))),
        );
    }
    findings.into_iter().map(|finding| finding.about(subject.name)).collect()
}

fn absent(subject: &Subject<'_>) -> Option<Finding> {
    let expected = subject.expected?;
    let message =
        format!("the lock expects {} of this server, but no configuration has it", text::count(expected.len(), "tool"));
    let finding = Finding::new(Code::ServerAbsent, message)
        .about(subject.name)
        .naming(expected.iter().cloned().collect())
        .help(format!(
            "put its entry back, or, when it was removed on purpose, run `{}` and commit the lock",
            subject.update
        ));
    Some(finding)
}

/// What an unset variable means to a client (`clients.md` 1.4, 2, 3).
fn unset_note(client: Client, path: &str) -> &'static str {
    match client {
        // It expands `env` once more, and what is unset is empty then.
        Client::Gemini if path.starts_with("env.") => "the server gets an empty value, here as there",
        Client::Claude | Client::Gemini => {
            "the server gets an empty value here; the client would pass on the literal placeholder"
        }
        Client::Codex => "the server gets nothing, here as there",
        _ => "the server gets an empty value here",
    }
}

/// Where nothing is started nothing is missing yet: credentials are kept from such runs. A list of variables to pass on is no promise.
fn unset_severity(client: Client, path: &str, purpose: Purpose) -> Severity {
    match purpose {
        Purpose::Static => Severity::Warning,
        _ if client == Client::Codex && path.starts_with("env_vars") => Severity::Note,
        _ => Severity::Error,
    }
}

fn unpinned(entry: &Server) -> Option<Finding> {
    let Ok(Transport::Stdio(stdio)) = &entry.transport else { return None };
    let package = super::pin::unpinned(stdio)?;
    let message = format!(
        "{} runs whatever version of {package} is there, and it may differ from machine to machine",
        stdio.command.written
    );
    Some(
        Finding::new(Code::ServerUnpinned, message)
            .at(&entry.location)
            .help("name a version, so that the list changes when you change it"),
    )
}

/// A server that is switched off is no news, unless the lock counts on it.
fn switched_off(subject: &Subject<'_>, disabled: &Disabled) -> Option<Finding> {
    let expected = subject.expected?;
    let count = text::count(expected.len(), "tool");
    let message =
        format!("the lock expects {count} of this server, but the client does not start it: {}", disabled.reason);
    let finding = Finding::new(Code::ServerDisabled, message)
        .naming(expected.iter().cloned().collect())
        .at(&disabled.location)
        .help(format!("switch it on, or, when it is off on purpose, run `{}` and commit the lock", subject.update));
    Some(finding)
}

/// One finding a variable and severity, however often the entry uses it.
fn variables(entry: &Server, client: Client, purpose: Purpose) -> Vec<Finding> {
    entry
        .unsatisfied_variables()
        .into_iter()
        .map(|variable| {
            let (name, path) = (&variable.name, &variable.path);
            let finding = match variable.state {
                VariableState::Empty => {
                    Finding::new(Code::VariableEmpty, format!("{path} uses ${{{name}}}, and {name} is set but empty"))
                }
                VariableState::Withheld => {
                    let message =
                        format!("{path} uses ${{{name}}}, which the client keeps from its servers: they get nothing");
                    Finding::new(Code::VariableWithheld, message)
                }
                _ => Finding::new(Code::VariableUnset, format!("{path} uses ${{{name}}}, and {name} is not set"))
                    .severity(unset_severity(client, path, purpose))
                    .note(unset_note(client, path)),
            };
            let help = match variable.state {
                VariableState::Withheld => format!("pass the credential on under another name than {name}"),
                _ => format!("set {name} in the step that runs mcp-preflight and the agent"),
            };
            finding.at(&variable.location).help(help)
        })
        .collect()
}
