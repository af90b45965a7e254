//! The only rooms that see everything: each command is the flow, on one screen.

mod answer;
mod check;
mod describe;
mod gather;
mod guard;
mod hook;
mod lock;
mod tools;

pub(crate) use answer::{as_answer, guards};

use crate::environment::Environment;
use crate::error::Error;
use crate::exit::Exit;
use crate::report;
use crate::settings::{Job, Settings};
use crate::verdict::Verdict;

/// Does what was asked for.
///
/// # Errors
/// Why no gate was performed, or why its report could not be written.
pub(crate) fn run(settings: &Settings, environment: &Environment) -> Result<Exit, Error> {
    let verdict: Verdict = match &settings.job {
        Job::Check(check) => check::run(settings, environment, check)?,
        Job::UpdateLock { dry_run, allow_empty } => lock::run(settings, environment, *dry_run, allow_empty)?,
        Job::Tools => tools::run(settings, environment)?,
        Job::Hook(hook) => return Ok(hook::run(settings, environment, hook)),
        Job::Completions(shell) => return describe::completions(*shell),
        Job::Man => return describe::manual(),
    };
    let written = report::write(&verdict, &settings.job, &settings.output);
    match written {
        // A closed gate stays closed, whatever became of its report.
        Err(error) if !verdict.passes() => {
            report::write_error(&error, None);
            Ok(verdict.exit)
        }
        Err(error) => Err(error),
        Ok(()) => Ok(verdict.exit),
    }
}
