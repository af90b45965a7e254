//! Where reports go: standard output with or without colours, or a file.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use anstream::{AutoStream, ColorChoice as StreamChoice, StripStream};
use clap::ColorChoice;

use crate::values::FormatSpec;

/// Writes one whole report.
///
/// # Errors
/// When the place cannot be written. A reader that has gone away (`| head`) is no error: it has seen what it wanted.
pub(super) fn write(spec: &FormatSpec, color: ColorChoice, text: &str) -> io::Result<()> {
    if let Some(path) = &spec.path {
        let mut file = StripStream::new(File::create(path)?);
        file.write_all(text.as_bytes())?;
        file.flush()
    } else {
        let mut stream = AutoStream::new(io::stdout().lock(), choice(color));
        whole(stream.write_all(text.as_bytes()).and_then(|()| stream.flush()))
    }
}

/// Adds to a file that others write to as well (the summary of a step).
///
/// # Errors
/// When it cannot be written.
pub(super) fn append(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = File::options().create(true).append(true).open(path)?;
    file.write_all(text)?;
    file.flush()
}

/// Writes a message to standard error.
///
/// # Errors
/// When it cannot be written.
pub(super) fn write_stderr(color: Option<ColorChoice>, text: &str) -> io::Result<()> {
    let mut stream = AutoStream::new(io::stderr().lock(), choice(color.unwrap_or(ColorChoice::Auto)));
    whole(stream.write_all(text.as_bytes()).and_then(|()| stream.flush()))
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
