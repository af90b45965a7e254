//! The binary as its users see it: exit code, standard output and standard error together.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and starts the binary as a user does"
)]

mod action;
mod architecture;
mod cli;
mod clients;
mod config;
mod formats;
mod harness;
mod hook;
mod hook_scopes;
mod http;
mod hygiene;
mod lock;
mod network;
mod origin;
mod relay;
mod report;
mod reviewed;
mod stdio;
mod wiring;
