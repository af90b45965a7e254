//! Where reports go: standard output with or without colours, or a file.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;

use anstream::{AutoStream, ColorChoice as StreamChoice, StripStream};
use clap::ColorChoice;
use terminal_size::{Height, Width};

use super::wrap::wrapped;
use crate::files;
use crate::values::{Format, FormatSpec};

/// Writes one whole report.
///
/// # Errors
/// When the place cannot be written. A reader that has gone away (`| head`) is no error: it has seen what it wanted.
pub(super) fn write(spec: &FormatSpec, color: ColorChoice, text: &str) -> io::Result<()> {
    if let Some(path) = &spec.path {
        spare(path)?;
        let mut file = StripStream::new(File::create(path)?);
        file.write_all(text.as_bytes())?;
        file.flush()
    } else {
        let is_for_eyes = spec.format == Format::Human && io::stdout().is_terminal();
        let text = fitted(text, is_for_eyes.then(|| terminal_size::terminal_size_of(io::stdout())).flatten());
        let mut stream = AutoStream::new(io::stdout().lock(), choice(color));
        whole(stream.write_all(text.as_bytes()).and_then(|()| stream.flush()))
    }
}

/// How much a summary of a step may hold; GitHub shows nothing of a larger one (1 MiB).
const LARGEST_SUMMARY: usize = 1_000_000;

/// Adds to the summary of a step, as much as there is room for.
///
/// # Errors
/// When it cannot be written.
pub(super) fn append(path: &Path, text: &str) -> io::Result<()> {
    spare(path)?;
    let mut file = File::options().create(true).append(true).open(path)?;
    let taken = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    file.write_all(shortened(text, LARGEST_SUMMARY.saturating_sub(taken)).as_bytes())?;
    file.flush()
}

/// Whole lines, and a word on what was left off.
fn shortened(text: &str, room: usize) -> Cow<'_, str> {
    if text.len() <= room {
        return Cow::Borrowed(text);
    }
    let kept = text.floor_char_boundary(room);
    let kept = text[..kept].rfind('\n').map_or("", |end| &text[..=end]);
    Cow::Owned(format!("{kept}\nThe rest is too long for a summary: see the log, or a report in a file.\n"))
}

/// Keeps what this run was about.
fn spare(path: &Path) -> io::Result<()> {
    if files::was_read(path) {
        return Err(io::Error::other("this run has read it, and a report must not take its place"));
    }
    Ok(())
}

/// Writes a message to standard error.
///
/// # Errors
/// When it cannot be written.
pub(super) fn write_stderr(color: Option<ColorChoice>, text: &str) -> io::Result<()> {
    let is_for_eyes = io::stderr().is_terminal();
    let text = fitted(text, is_for_eyes.then(|| terminal_size::terminal_size_of(io::stderr())).flatten());
    let mut stream = AutoStream::new(io::stderr().lock(), choice(color.unwrap_or(ColorChoice::Auto)));
    whole(stream.write_all(text.as_bytes()).and_then(|()| stream.flush()))
}

/// `text` for the screen it is shown on, if it is one.
fn fitted(text: &str, screen: Option<(Width, Height)>) -> Cow<'_, str> {
    screen.map_or(Cow::Borrowed(text), |(Width(width), _)| Cow::Owned(wrapped(text, usize::from(width))))
}

fn whole(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

fn choice(color: ColorChoice) -> StreamChoice {
    match color {
        ColorChoice::Auto => StreamChoice::Auto,
        ColorChoice::Always => StreamChoice::Always,
        ColorChoice::Never => StreamChoice::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn a_summary_is_cut_between_lines() {
        assert_eq!(shortened("ä\nb\n", 5), "ä\nb\n");
        for room in [3, 4] {
            assert!(shortened("ä\nb\n", room).starts_with("ä\n\nThe rest"));
        }
        assert!(shortened("ä\nb\n", 0).starts_with("\nThe rest"));
    }
}
