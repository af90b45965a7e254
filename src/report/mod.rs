//! Verdicts -> text. Pure functions into a writer, one file a format; they decide nothing. `sink.rs` opens the writers.

mod github;
mod human;
mod json;
mod junit;
mod lines;
mod markdown;
mod sarif;
mod sink;
mod tools;
mod wrap;

use std::io;

use crate::error::Error;
use crate::settings::{Job, Output};
use crate::values::{Format, FormatSpec};
use crate::verdict::{LockUpdate, Verdict};

/// Writes every report that was asked for.
///
/// # Errors
/// [`Error::ReportUnwritable`] for the first that could not be written; the others are written all the same.
pub(crate) fn write(verdict: &Verdict, job: &Job, output: &Output) -> Result<(), Error> {
    let render = |spec: &FormatSpec| -> io::Result<String> {
        let mut text = Vec::new();
        match spec.format {
            Format::Json => json::verdict(&mut text, verdict)?,
            Format::Github => github::verdict(&mut text, verdict, &output.from_root)?,
            Format::Markdown => markdown::verdict(&mut text, verdict)?,
            Format::Junit => junit::verdict(&mut text, verdict)?,
            Format::Sarif => sarif::verdict(&mut text, verdict, &output.from_root)?,
            Format::Human if *job == Job::Tools => tools::render(&mut text, verdict, output.verbose)?,
            Format::Human => {
                // On standard output the difference has been shown already, before anything was written.
                if let Some(update) = verdict.update.as_ref().filter(|_| spec.path.is_some()) {
                    human::difference(&mut text, update)?;
                }
                human::render(&mut text, verdict, output.verbose)?;
            }
        }
        String::from_utf8(text).map_err(io::Error::other)
    };
    let is_silent = |spec: &FormatSpec| {
        output.quiet
            && verdict.passes()
            && spec.path.is_none()
            && matches!(spec.format, Format::Human | Format::Github)
            && *job != Job::Tools
    };
    let wanted = output.formats.iter().filter(|spec| !is_silent(spec));
    let results = wanted.map(|spec| {
        render(spec).and_then(|text| sink::write(spec, output.color, &text)).map_err(|source| Error::ReportUnwritable {
            path: spec.path.as_ref().map_or_else(|| "standard output".to_owned(), |path| path.display().to_string()),
            source,
        })
    });
    // Every report is tried before the first error is returned.
    let mut results: Vec<Result<(), Error>> = results.collect();
    if let Some(path) = output.summary.as_ref().filter(|_| *job != Job::Tools) {
        let mut text = Vec::new();
        results.push(
            markdown::verdict(&mut text, verdict)
                .and_then(|()| sink::append(path, &String::from_utf8_lossy(&text)))
                .map_err(|source| Error::ReportUnwritable { path: path.display().to_string(), source }),
        );
    }
    results.into_iter().collect()
}

/// Shows a person what is about to be written to the lock.
///
/// # Errors
/// [`Error::ReportUnwritable`] when it could not be shown: nothing must be written that could not be seen.
pub(crate) fn show_difference(update: &LockUpdate, output: &Output) -> Result<(), Error> {
    let unwritable = |source| Error::ReportUnwritable { path: "standard output".to_owned(), source };
    let is_shown = |spec: &&FormatSpec| spec.path.is_none() && spec.format == Format::Human && !output.quiet;
    let Some(spec) = output.formats.iter().find(is_shown) else { return Ok(()) };
    let mut text = Vec::new();
    human::difference(&mut text, update)
        .and_then(|()| sink::write(spec, output.color, &String::from_utf8_lossy(&text)))
        .map_err(unwritable)
}

/// Says why no gate was performed: to a person on standard error, and to a program in every report that was asked for.
pub(crate) fn write_error(error: &Error, output: Option<&Output>) {
    let mut text = Vec::new();
    // Where standard error is closed, the exit code has to do.
    let _ = human::error(&mut text, error)
        .and_then(|()| sink::write_stderr(output.map(|output| output.color), &String::from_utf8_lossy(&text)));
    let Some(output) = output else { return };
    for spec in &output.formats {
        let mut text = Vec::new();
        let rendered = match spec.format {
            Format::Human => continue,
            Format::Json => json::error(&mut text, error),
            Format::Github => github::error(&mut text, error, &output.from_root),
            Format::Markdown => markdown::error(&mut text, error),
            Format::Junit => junit::error(&mut text, error),
            Format::Sarif => sarif::error(&mut text, error, &output.from_root),
        };
        let _ = rendered.and_then(|()| sink::write(spec, output.color, &String::from_utf8_lossy(&text)));
    }
    if let Some(path) = &output.summary {
        let mut text = Vec::new();
        let _ = markdown::error(&mut text, error).and_then(|()| sink::append(path, &String::from_utf8_lossy(&text)));
    }
}
