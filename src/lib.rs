//! mcp-preflight: before an unattended agent starts, prove that every MCP tool the run counts on is really there.
//!
//! The flow goes one way; only `command` sees all of it:
//!
//! ```text
//! config  files -> servers, as the client would run them      (cli, values, settings, environment)
//!   probe   servers -> observations, in parallel, one deadline each
//!     redact  observations without secrets
//!       lens    tables -> what the client would offer
//!         lock    what is expected                              (store: the file)
//!           compare (lock, offered) -> findings
//!             verdict findings -> verdict, exit code
//!               report  verdict -> text                         (text: escaping)
//! ```
//!
//! Beside the flow stands the guard (`hook`): an event of a session comes in (`event`), what is known of its server outside of any context
//! (`health`) lets the call through, blocks it, or has the server probed.
//!
//! A dead server is a value (`observed`); an error (`error`) means that no gate was performed.

mod cli;
mod command;
mod compare;
mod config;
mod deviation;
mod document;
mod environment;
mod error;
mod event;
mod exit;
mod files;
mod finding;
mod health;
mod interrupt;
mod lens;
mod lock;
mod loose_json;
mod naming;
mod network;
mod observed;
mod probe;
mod progress;
mod redact;
mod report;
mod server;
mod settings;
mod text;
mod values;
mod verdict;
mod wiring;

use std::ffi::OsString;
use std::panic::catch_unwind;
use std::process::ExitCode;

use clap::Parser as _;

use crate::cli::Cli;
use crate::environment::Environment;
use crate::error::Error;
use crate::exit::Exit;
use crate::settings::{Output, Settings};

/// Runs the tool with the arguments and the environment of this process.
#[must_use]
pub fn run() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    // A bug must not look like an answer: 70, and every child is ended while the panic unwinds.
    let exit = catch_unwind(start).unwrap_or(Exit::Software);
    // A guard has two answers, whatever happens to it: its client takes every other number for neither.
    let is_answer = matches!(exit, Exit::Ok | Exit::Blocked);
    if !is_answer && command::guards(&arguments) { command::as_answer(exit, &arguments) } else { exit }.into()
}

fn start() -> Exit {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(message) => {
            let exit = if message.use_stderr() { Exit::Usage } else { Exit::Ok };
            // Where nobody reads it, the exit code has to do.
            let _ = message.print();
            return exit;
        }
    };
    let environment = match Environment::read() {
        Ok(environment) => environment,
        Err(error) => return failed(&Error::Usage(format!("cannot read the current folder: {error}")), None),
    };
    let output = Output::asked_for(&cli, &environment);
    let settings = match Settings::new(cli, &environment) {
        Ok(settings) => settings,
        Err(error) => return failed(&error, Some(&output)),
    };
    command::run(&settings, &environment).unwrap_or_else(|error| failed(&error, Some(&settings.output)))
}

fn failed(error: &Error, output: Option<&Output>) -> Exit {
    report::write_error(error, output);
    error.exit()
}
