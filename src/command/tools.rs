//! The observed tool table, without a lock.

use std::time::Instant;

use super::gather::{self, Expected, Measure};
use crate::compare::Purpose;
use crate::config;
use crate::environment::Environment;
use crate::error::Error;
use crate::settings::Settings;
use crate::verdict::Verdict;

/// Probes, and says what was seen.
pub(super) fn run(settings: &Settings, environment: &Environment) -> Result<Verdict, Error> {
    let began = Instant::now();
    let configuration = config::load(&settings.configs, settings.client, environment)?;
    let (_, lock) = gather::lock_path(settings, environment, &configuration);
    gather::check_names(settings, &[], &configuration, &Expected::new())?;
    let seen = gather::probe(settings, environment, &configuration)?;
    let measure = Measure {
        lock: &lock,
        expected: &Expected::new(),
        purpose: Purpose::Look,
        rules: &[],
        needs_from_rules: false,
    };
    let verdict = gather::judge(settings, configuration, &measure, seen);
    Ok(Verdict { elapsed: began.elapsed(), ..verdict })
}
