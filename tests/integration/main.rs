//! The binary as its users see it: exit code, standard output and standard error together.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and starts the binary as a user does"
)]

#[cfg(unix)]
mod action;
mod architecture;
mod cli;
mod clients;
mod config;
mod formats;
mod harness;
#[cfg(unix)]
mod hook;
#[cfg(unix)]
mod hook_scopes;
mod http;
mod hygiene;
mod lock;
mod network;
mod origin;
mod relay;
mod report;
mod reviewed;
#[cfg(unix)]
mod signals;
mod stdio;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;
mod wiring;
