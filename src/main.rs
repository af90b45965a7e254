//! The binary. Everything happens in the library, so that it can be seen by tests and documentation.

use std::process::ExitCode;

fn main() -> ExitCode {
    mcp_preflight::run()
}
