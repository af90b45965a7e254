//! The command line, described: completions and the manual page.

use std::io::Write as _;

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::error::Error;
use crate::exit::Exit;

/// Prints completions.
pub(super) fn completions(shell: Shell) -> Result<Exit, Error> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "mcp-preflight", &mut text);
    print(&text)
}

/// Prints the manual page.
pub(super) fn manual() -> Result<Exit, Error> {
    let mut text = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut text).map_err(|error| Error::Internal(error.to_string()))?;
    print(&text)
}

fn print(text: &[u8]) -> Result<Exit, Error> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text).and_then(|()| out.flush()) {
        // A reader that has gone away has seen what it wanted.
        Err(source) if source.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::ReportUnwritable { path: "standard output".to_owned(), source })
        }
        _ => Ok(Exit::Ok),
    }
}
