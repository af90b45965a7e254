//! What all commands share: which servers, probing them, and holding what was seen against what is expected.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Instant;

use crate::compare::{Purpose, Subject, compare};
use crate::config::{self, Configuration};
use crate::environment::Environment;
use crate::error::Error;
use crate::finding::{Code, Finding};
use crate::interrupt::Interrupt;
use crate::lens::{self, Listed, Offer};
use crate::lock::store::Store;
use crate::observed::{LeftRunning, Observation};
use crate::probe::{Limits, probe_all};
use crate::progress::Progress;
use crate::redact::Redactor;
use crate::server::{Server, ServerName, Transport};
use crate::settings::{LOCK_NAME, Settings};
use crate::values::Client;
use crate::verdict::{self, ServerVerdict, Verdict};

/// What the lock expects, server by server.
pub(super) type Expected = BTreeMap<ServerName, BTreeSet<String>>;

/// What the probes saw.
pub(super) struct Seen {
    pub(super) observations: BTreeMap<ServerName, Observation>,
    strays: Vec<LeftRunning>,
}

/// Where the lock that goes with these configurations lies, and how it is shown.
pub(super) fn lock_path(
    settings: &Settings,
    environment: &Environment,
    configuration: &Configuration,
) -> (PathBuf, String) {
    let path: PathBuf = match &settings.lock {
        Some(path) => environment.folder.join(path),
        None => configuration.folder.join(LOCK_NAME),
    };
    let shown = config::shown(&path, &environment.folder);
    (path, shown)
}

/// Reads that lock.
pub(super) fn open_lock(
    settings: &Settings,
    environment: &Environment,
    configuration: &Configuration,
) -> Result<Store, Error> {
    let (path, shown) = lock_path(settings, environment, configuration);
    Store::open(&path, shown)
}

/// Whether this server takes part in the run.
pub(super) fn is_wanted(settings: &Settings, name: &ServerName) -> bool {
    let named = |names: &[String]| names.iter().any(|other| other == name.as_str());
    (settings.only.is_empty() || named(&settings.only)) && !named(&settings.skipped)
}

/// Refuses names given on the command line that neither the configuration nor the lock has: a typo must not narrow a gate.
pub(super) fn check_names(
    settings: &Settings,
    more: &[String],
    configuration: &Configuration,
    expected: &Expected,
) -> Result<(), Error> {
    let given = settings.only.iter().chain(&settings.skipped).chain(&settings.optional).chain(more);
    let known: BTreeSet<&str> = configuration
        .servers
        .iter()
        .map(|server| server.name.as_str())
        .chain(expected.keys().map(ServerName::as_str))
        .collect();
    for name in given {
        if !known.contains(name.as_str()) {
            let all: Vec<&str> = known.into_iter().collect();
            return Err(Error::Usage(format!(
                "no server {name:?} in the configuration or the lock, which have: {}",
                all.join(", ")
            )));
        }
    }
    Ok(())
}

/// Probes every server that takes part and that the client would start. Secrets are gone from what is returned.
pub(super) fn probe(settings: &Settings, environment: &Environment, servers: &[Server]) -> Result<Seen, Error> {
    let interrupt =
        Interrupt::install().map_err(|error| Error::Internal(format!("cannot watch for signals: {error}")))?;
    let wanted: Vec<Server> = servers
        .iter()
        .filter(|server| server.transport.is_ok() && server.disabled.is_none() && is_wanted(settings, &server.name))
        .cloned()
        .collect();
    let limits = Limits {
        timeout: settings.timeout,
        run_end: settings.run_timeout.map(|budget| Instant::now() + budget),
        network: settings.network.clone(),
        protocol: settings.protocol,
        jobs: settings.jobs,
        transcript: settings.output.verbose > 1,
    };
    let progress = Progress::new(!settings.output.ci && !settings.output.quiet);
    let end = probe_all(&wanted, &limits, &interrupt, &progress).map_err(Error::Interrupted)?;
    drop(progress);
    // No child is left that would need care: from here on a signal ends the process as usual.
    interrupt.release();
    let redactor = Redactor::new(servers, environment);
    let names = wanted.into_iter().map(|server| server.name);
    let seen = end.observations.into_iter().map(|observation| redactor.observation(observation));
    Ok(Seen { observations: names.zip(seen).collect(), strays: end.strays })
}

/// Holds what was seen against what is expected, server by server, and judges.
pub(super) fn judge(
    settings: &Settings,
    configuration: Configuration,
    lock: &str,
    expected: &Expected,
    seen: Seen,
    purpose: Purpose,
) -> Verdict {
    let mut offers = offers(configuration.client, &configuration.servers, &seen.observations);
    let mut observations = seen.observations;
    let mut servers = Vec::new();
    let mut findings = configuration.findings.clone();
    findings.extend(seen.strays.iter().map(stray));
    for (name, entry) in names(&configuration.servers, expected) {
        let subject = Subject {
            name: &name,
            entry,
            expected: expected.get(&name),
            is_skipped: !is_wanted(settings, &name),
            observation: observations.get(&name),
            offer: offers.remove(&name).unwrap_or_default(),
        };
        let mut comparison = compare(&subject, purpose);
        findings.append(&mut comparison.findings);
        let transport = entry.and_then(|entry| entry.transport.as_ref().ok()).map(Transport::label);
        let observation = observations.remove(&name);
        servers.push(ServerVerdict { name, transport, observation, comparison });
    }
    verdict::weigh(&mut findings, &settings.optional);
    Verdict {
        exit: verdict::exit(&findings, &servers, settings.tempfail),
        client: configuration.client,
        configs: configuration.files,
        lock: lock.to_owned(),
        elapsed: std::time::Duration::ZERO,
        servers,
        findings,
        update: None,
    }
}

/// The servers of the configuration, in its order, then those that only the lock has.
fn names<'a>(servers: &'a [Server], expected: &Expected) -> Vec<(ServerName, Option<&'a Server>)> {
    let configured = servers.iter().map(|server| (server.name.clone(), Some(server)));
    let is_absent = |name: &&ServerName| !servers.iter().any(|server| server.name == **name);
    configured.chain(expected.keys().filter(is_absent).map(|name| (name.clone(), None))).collect()
}

fn offers(
    client: Client,
    servers: &[Server],
    observations: &BTreeMap<ServerName, Observation>,
) -> BTreeMap<ServerName, Offer> {
    let listed: Vec<Listed<'_>> = servers
        .iter()
        .filter_map(|server| {
            let observation = observations.get(&server.name)?;
            let (table, identity) = (observation.table()?, observation.identity.as_ref()?);
            Some(Listed {
                server: &server.name,
                table,
                era: identity.era,
                version: &identity.protocol_version,
                is_streamable_http: matches!(server.transport, Ok(Transport::Http(_))),
                deviations: &observation.deviations,
                filter: &server.filter,
            })
        })
        .collect();
    let names = listed.iter().map(|listed| listed.server.clone());
    let started = servers.iter().filter(|server| server.disabled.is_none());
    let all: Vec<&ServerName> = started.map(|server| &server.name).collect();
    names.zip(lens::offers(client, &all, &listed)).collect()
}

fn stray(process: &LeftRunning) -> Finding {
    let LeftRunning { pid, name } = process;
    let message = format!("a server left a process running that had detached itself, which was ended: {name} ({pid})");
    Finding::new(Code::LeftRunning, message).help("probe the servers one by one (--server NAME) to see which")
}
