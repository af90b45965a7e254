//! Verdicts -> text. Pure functions into a writer, one file a format; they decide nothing. `sink.rs` opens the writers.

mod human;
mod json;
mod sink;
mod tools;

use std::io;

use crate::error::Error;
use crate::settings::{Format, FormatSpec, Job, Output};
use crate::verdict::Verdict;

/// Writes every report that was asked for.
///
/// # Errors
/// [`Error::ReportUnwritable`] for the first that could not be written; the others are written all the same.
pub(crate) fn write(verdict: &Verdict, job: &Job, output: &Output) -> Result<(), Error> {
    let render = |format: Format, verbose: u8| -> io::Result<String> {
        let mut text = Vec::new();
        match format {
            Format::Json => json::verdict(&mut text, verdict)?,
            Format::Human if *job == Job::Tools => tools::render(&mut text, verdict, verbose)?,
            Format::Human => human::render(&mut text, verdict, verbose)?,
        }
        String::from_utf8(text).map_err(io::Error::other)
    };
    let is_silent = |spec: &FormatSpec| {
        output.quiet && verdict.passes() && spec.path.is_none() && spec.format == Format::Human && *job != Job::Tools
    };
    let wanted = output.formats.iter().filter(|spec| !is_silent(spec));
    let results = wanted.map(|spec| {
        let text = render(spec.format, output.verbose);
        text.and_then(|text| sink::write(spec, output.color, &text)).map_err(|source| Error::ReportUnwritable {
            path: spec.path.as_ref().map_or_else(|| "standard output".to_owned(), |path| path.display().to_string()),
            source,
        })
    });
    // Every report is tried before the first error is returned.
    results.collect::<Vec<_>>().into_iter().collect()
}

/// Says why no gate was performed: to a person on standard error, and to a program in every JSON report that was asked for.
pub(crate) fn write_error(error: &Error, output: Option<&Output>) {
    let mut text = Vec::new();
    // Where standard error is closed, the exit code has to do.
    let _ = human::error(&mut text, error)
        .and_then(|()| sink::write_stderr(output.map(|output| output.color), &String::from_utf8_lossy(&text)));
    let Some(output) = output else { return };
    for spec in output.formats.iter().filter(|spec| spec.format == Format::Json) {
        let mut text = Vec::new();
        let _ = json::error(&mut text, error)
            .and_then(|()| sink::write(spec, output.color, &String::from_utf8_lossy(&text)));
    }
}
