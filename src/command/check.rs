//! The gate.

use std::time::Instant;

use super::gather;
use crate::compare::Purpose;
use crate::config;
use crate::environment::Environment;
use crate::error::Error;
use crate::settings::Settings;
use crate::verdict::Verdict;

/// Probes, compares with the lock, judges.
pub(super) fn run(settings: &Settings, environment: &Environment) -> Result<Verdict, Error> {
    let began = Instant::now();
    let configuration = config::load(&settings.configs, settings.client, environment)?;
    let store = gather::open_lock(settings, environment, &configuration)?;
    let lock = store.lock()?.ok_or_else(|| no_lock(settings, store.shown()))?;
    gather::check_names(settings, &[], &configuration, &lock.servers)?;
    let seen = gather::probe(settings, environment, &configuration.servers)?;
    let verdict = gather::judge(settings, configuration, store.shown(), &lock.servers, seen, Purpose::Check);
    Ok(Verdict { elapsed: began.elapsed(), ..verdict })
}

/// There is nothing to compare with: say how to make it, with the files that were named.
fn no_lock(settings: &Settings, shown: &str) -> Error {
    let files = settings.configs.iter().map(|path| format!(" --config {}", path.display()));
    let lock = settings.lock.iter().map(|path| format!(" --lock {}", path.display()));
    let options: String = files.chain(lock).collect();
    Error::NoLock { path: shown.to_owned(), command: format!("mcp-preflight --update-lock{options}") }
}
