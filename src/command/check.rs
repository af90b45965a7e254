//! The gate.

use std::time::Instant;

use super::gather::{self, Measure, Seen};
use crate::compare::Purpose;
use crate::config;
use crate::environment::Environment;
use crate::error::Error;
use crate::lock::Lock;
use crate::settings::{Check, Settings};
use crate::values::Client;
use crate::verdict::Verdict;
use crate::wiring::{self, Rule};

/// Probes, compares with the lock, judges. A static run leaves out the first.
pub(super) fn run(settings: &Settings, environment: &Environment, check: &Check) -> Result<Verdict, Error> {
    let began = Instant::now();
    let configuration = config::load(&settings.configs, settings.client, environment)?;
    let rules = rules(configuration.client, environment, check)?;
    let store = gather::open_lock(settings, environment, &configuration)?;
    let lock = match store.lock()? {
        Some(lock) => lock,
        // Without any need a missing lock would be satisfied by everything, and one that was named has to be there.
        None if check.needs_from_rules && settings.lock.is_none() && wiring::has_needs(&rules) => Lock::default(),
        None => return Err(no_lock(settings, store.shown())),
    };
    gather::check_names(settings, &[], &configuration, &lock.servers)?;
    let (purpose, seen) = if check.is_static {
        (Purpose::Static, Seen::default())
    } else {
        (Purpose::Check, gather::probe(settings, environment, &configuration)?)
    };
    let measure = Measure {
        lock: store.shown(),
        expected: &lock.servers,
        purpose,
        rules: &rules,
        needs_from_rules: check.needs_from_rules,
    };
    let verdict = gather::judge(settings, configuration, &measure, seen);
    Ok(Verdict { elapsed: began.elapsed(), ..verdict })
}

/// The rules that name tools, where the client has such.
fn rules(client: Client, environment: &Environment, check: &Check) -> Result<Vec<Rule>, Error> {
    if client == Client::Claude {
        return Ok(wiring::collect(&check.allowed_tools, environment));
    }
    if check.needs_from_rules || !check.allowed_tools.is_empty() {
        let message = format!(
            "--allowed-tools and --needs-from-rules know the rules of Claude Code, and this configuration is one of {}",
            client.name()
        );
        return Err(Error::Usage(message));
    }
    Ok(Vec::new())
}

/// There is nothing to compare with: say how to make it, with the files that were named.
fn no_lock(settings: &Settings, shown: &str) -> Error {
    Error::NoLock { path: shown.to_owned(), command: gather::update_command(settings) }
}
