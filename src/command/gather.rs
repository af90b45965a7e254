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
use crate::observed::{Identity, LeftRunning, Observation, Outcome, Tool, ToolTable};
use crate::probe::{Limits, Watcher, probe_all};
use crate::progress::Progress;
use crate::redact::Redactor;
use crate::server::{Server, ServerName, Transport};
use crate::settings::{LOCK_NAME, Settings, Weights};
use crate::text;
use crate::values::{Client, Protocol};
use crate::verdict::{self, ServerVerdict, Verdict};
use crate::wiring::{self, KnownServer, Rule};

/// What the lock expects, server by server.
pub(super) type Expected = BTreeMap<ServerName, BTreeSet<String>>;

/// What the probes saw.
#[derive(Default)]
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
pub(super) fn probe(
    settings: &Settings,
    environment: &Environment,
    configuration: &Configuration,
) -> Result<Seen, Error> {
    let servers = &configuration.servers;
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
        protocol: match (settings.protocol, configuration.client) {
            // It knows no other (`docs/clients.md`): a server of the other era is lost to it.
            (Protocol::Auto, Client::Codex | Client::Gemini) => Protocol::Legacy,
            (protocol, _) => protocol,
        },
        jobs: settings.jobs,
        transcript: settings.output.verbose > 1,
    };
    let progress = Progress::new(!settings.output.ci && !settings.output.quiet);
    let redactor = Redactor::new(servers, environment);
    let (observations, strays) = observe(&wanted, &limits, &redactor, &interrupt, &progress)?;
    drop(progress);
    // No child is left that would need care: from here on a signal ends the process as usual.
    interrupt.release();
    let seen = wanted.into_iter().map(|server| server.name).zip(observations);
    Ok(Seen { observations: seen.collect(), strays })
}

/// Probes these servers. Secrets are gone from what is returned, in their order; beside it are processes that hid from the end of theirs.
pub(super) fn observe(
    servers: &[Server],
    limits: &Limits,
    redactor: &Redactor,
    interrupt: &Interrupt,
    watcher: &dyn Watcher,
) -> Result<(Vec<Observation>, Vec<LeftRunning>), Error> {
    let mut end = probe_all(servers, limits, interrupt, watcher).map_err(Error::Interrupted)?;
    for stray in &mut end.strays {
        stray.name = redactor.mask(&stray.name);
    }
    let observations = servers.iter().zip(end.observations);
    let observations =
        observations.map(|(server, observation)| redactor.for_server(server).observation(observation)).collect();
    Ok((observations, end.strays))
}

/// What a run is held against.
pub(super) struct Measure<'a> {
    /// The lock's file, as shown.
    pub(super) lock: &'a str,
    /// What the lock expects.
    pub(super) expected: &'a Expected,
    /// What the comparison is for.
    pub(super) purpose: Purpose,
    /// The rules that name tools.
    pub(super) rules: &'a [Rule],
    /// Whether the exact names among them are needed.
    pub(super) needs_from_rules: bool,
}

/// Holds what was seen against what is expected, server by server, and judges.
pub(super) fn judge(settings: &Settings, configuration: Configuration, measure: &Measure<'_>, seen: Seen) -> Verdict {
    let Measure { expected, purpose, rules, .. } = *measure;
    let mut offers = if purpose == Purpose::Static {
        offers(configuration.client, &configuration.servers, &as_listed(expected))
    } else {
        offers(configuration.client, &configuration.servers, &seen.observations)
    };
    let needed = if measure.needs_from_rules {
        let known: Vec<KnownServer> =
            configuration.servers.iter().map(|server| KnownServer::new(&server.name, None)).collect();
        wiring::needed_servers(rules, &known)
    } else {
        Vec::new()
    };
    let update = update_command(settings);
    let mut optional = settings.optional.clone();
    let mut observations = seen.observations;
    let mut servers = Vec::new();
    let mut findings = configuration.findings.clone();
    findings.extend(seen.strays.iter().map(stray));
    for (name, entry) in names(&configuration.servers, expected) {
        let required = entry.and_then(|entry| entry.required);
        // What the client itself can do without, and the lock does not know, stops nobody (`product.md`, --optional).
        let is_optional = required == Some(false) && purpose != Purpose::Lock;
        if is_optional && !expected.contains_key(&name) && !needed.contains(&name) {
            optional.push(name.as_str().to_owned());
        }
        let subject = Subject {
            name: &name,
            entry,
            expected: expected.get(&name),
            is_skipped: !is_wanted(settings, &name),
            observation: observations.get(&name),
            offer: offers.remove(&name).unwrap_or_default(),
            is_needed: required == Some(true) || needed.contains(&name),
            client: configuration.client,
            update: &update,
        };
        let mut comparison = compare(&subject, purpose);
        findings.append(&mut comparison.findings);
        let transport = entry.and_then(|entry| entry.transport.as_ref().ok()).map(Transport::label);
        let observation = observations.remove(&name);
        servers.push(ServerVerdict { name, transport, observation, comparison });
    }
    let elsewhere = configuration.elsewhere.iter().map(|name| KnownServer::new(name, None));
    let known: Vec<KnownServer> =
        configuration.servers.iter().filter_map(|entry| known(entry, &servers, measure)).chain(elsewhere).collect();
    findings.extend(wiring::judge(rules, &known, measure.needs_from_rules));
    // What must not become the expectation is judged by its nature, whatever was said of its code.
    let weights = if purpose == Purpose::Lock { Weights::default() } else { settings.weights.clone() };
    verdict::weigh(&mut findings, &optional, &weights);
    Verdict {
        exit: verdict::exit(&findings, &servers, settings.tempfail),
        client: configuration.client,
        is_static: purpose == Purpose::Static,
        configs: configuration.files,
        lock: measure.lock.to_owned(),
        elapsed: std::time::Duration::ZERO,
        servers,
        findings,
        update: None,
    }
}

/// The command that updates the lock of this run, with the files that were named.
pub(super) fn update_command(settings: &Settings) -> String {
    let mut words = vec!["mcp-preflight --update-lock".to_owned()];
    words.extend(settings.client.iter().map(|client| format!("--client {}", client.as_str())));
    let path = |path: &PathBuf| text::shell_quoted(&path.display().to_string());
    words.extend(settings.configs.iter().map(|config| format!("--config {}", path(config))));
    words.extend(settings.lock.iter().map(|lock| format!("--lock {}", path(lock))));
    words.join(" ")
}

/// What rules can count on of a server.
fn known(entry: &Server, servers: &[ServerVerdict], measure: &Measure<'_>) -> Option<KnownServer> {
    let server = servers.iter().find(|server| server.name == entry.name)?;
    let is_started = entry.transport.is_ok() && entry.disabled.is_none();
    let is_listed = server.observation.as_ref().is_some_and(|observation| observation.table().is_some());
    let is_locked = measure.purpose == Purpose::Static && measure.expected.contains_key(&entry.name);
    let offered = match (is_started, is_listed || is_locked) {
        (false, _) => Some(Vec::new()),
        (true, true) => Some(server.comparison.offered.clone()),
        // Not verified: nobody knows.
        (true, false) => None,
    };
    Some(KnownServer { is_listed: !is_locked, ..KnownServer::new(&entry.name, offered) })
}

/// The lock's tables as if they had been listed, by servers without a fault.
fn as_listed(expected: &Expected) -> BTreeMap<ServerName, Observation> {
    let tool = |name: &String| {
        let definition = serde_json::json!({ "name": name, "inputSchema": { "type": "object" } });
        Tool { name: name.clone(), page: 0, definition }
    };
    let observation = |(name, tools): (&ServerName, &BTreeSet<String>)| {
        let tools = tools.iter().map(tool).collect();
        let table = ToolTable { tools, pages: 1, declares_tools: true, ..ToolTable::default() };
        let identity = Identity { protocol_version: "2025-11-25".to_owned(), ..Identity::default() };
        let observation =
            Observation { outcome: Outcome::Tools(table), identity: Some(identity), ..Observation::empty() };
        (name.clone(), observation)
    };
    expected.iter().map(observation).collect()
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
    let started = servers.iter().filter(|server| server.disabled.is_none() && server.transport.is_ok());
    let all: Vec<&ServerName> = started.map(|server| &server.name).collect();
    names.zip(lens::offers(client, &all, &listed)).collect()
}

fn stray(process: &LeftRunning) -> Finding {
    let LeftRunning { pid, name } = process;
    let message = format!("a server left a process running that had detached itself, which was ended: {name} ({pid})");
    Finding::new(Code::LeftRunning, message).help("probe the servers one by one (--server NAME) to see which")
}
