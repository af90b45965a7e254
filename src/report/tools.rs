//! For people: the observed tool table.

use std::io::{self, Write};

use super::human;
use crate::compare::Status;
use crate::text::{count, escape};
use crate::verdict::Verdict;

/// Every server with its tools, then what there is to say.
pub(super) fn render(out: &mut dyn Write, verdict: &Verdict, verbose: u8) -> io::Result<()> {
    for server in &verdict.servers {
        let name = escape(server.name.as_str());
        let tools = &server.comparison.observed;
        match (&server.observation, server.comparison.status) {
            (_, Status::Skipped) => writeln!(out, "{name} (skipped)")?,
            (Some(observation), _) if observation.table().is_some() => {
                writeln!(out, "{name} ({})", count(tools.len(), "tool"))?;
            }
            _ => writeln!(out, "{name} (not known: see below)")?,
        }
        for tool in tools {
            writeln!(out, "  {}", escape(tool))?;
        }
    }
    human::findings(out, &verdict.findings)?;
    if verbose > 0 { human::servers(out, verdict, verbose) } else { Ok(()) }
}
