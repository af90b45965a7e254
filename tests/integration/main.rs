//! The binary as its users see it: exit code, standard output and standard error together.

mod architecture;
mod cli;
mod config;
mod harness;
mod http;
mod hygiene;
mod lock;
mod origin;
mod report;
mod stdio;
