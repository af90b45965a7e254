//! What a stricter client would stumble over in a table.

use std::collections::{BTreeMap, BTreeSet};

use super::Subject;
use crate::deviation::Deviation;
use crate::finding::{Code, Finding};
use crate::lens::{Unusable, annotation};
use crate::observed::{Era, Observation, Tool, ToolTable};
use crate::server::Transport;

/// A name has 1 to this many characters (2025-11-25, section Tool Names).
const LONGEST_NAME: usize = 128;

/// One finding a deviation.
pub(super) fn findings(subject: &Subject<'_>, observation: &Observation) -> Vec<Finding> {
    let mut found = observation.deviations.clone();
    if let Some(table) = observation.table() {
        found.extend(of_names(table));
        // Where the client itself loses tools, the lens has said so, and why.
        if subject.offer.unusable.is_empty() {
            found.extend(of_table(table));
        }
        let is_modern = observation.identity.as_ref().is_some_and(|identity| identity.era == Era::Modern);
        let is_http = subject.entry.is_some_and(|entry| matches!(entry.transport, Ok(Transport::Http(_))));
        if is_modern && is_http {
            found.extend(of_header_annotations(table, &subject.offer.unusable));
        }
    }
    let is_said = |deviation: &Deviation| {
        let what = deviation.what();
        subject.offer.unusable.iter().any(|unusable| unusable.reason.contains(&what))
    };
    found
        .into_iter()
        .filter(|deviation| !is_said(deviation))
        .map(|deviation| {
            Finding::new(Code::ProtocolDeviation, format!("the server {}", deviation.what()))
                .note(deviation.effect())
                .naming(deviation.tools())
                .help("report it to the server's makers; whoever uses another client may miss this server")
        })
        .collect()
}

fn of_table(table: &ToolTable) -> impl Iterator<Item = Deviation> {
    let found = [
        table.null_cursor.then_some(Deviation::NullCursor),
        table.repeated_cursor.then_some(Deviation::RepeatedCursor),
        (!table.declares_tools && !table.tools.is_empty()).then_some(Deviation::UndeclaredTools),
        table.handshake_faults.first().map(|fault| Deviation::Handshake(fault.what)),
    ];
    found.into_iter().flatten()
}

fn of_names(table: &ToolTable) -> impl Iterator<Item = Deviation> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for tool in &table.tools {
        *counts.entry(&tool.name).or_default() += 1;
    }
    let owned = |names: Vec<&str>| {
        Some(names.into_iter().map(str::to_owned).collect::<Vec<_>>()).filter(|names| !names.is_empty())
    };
    // A page that came twice is another deviation.
    let repeated = counts
        .iter()
        .filter(|_| !table.repeated_cursor)
        .filter(|(_, count)| **count > 1)
        .map(|(name, _)| *name)
        .collect();
    let odd = counts.keys().copied().filter(|name| !is_plain(name)).collect();
    [owned(repeated).map(Deviation::RepeatedNames), owned(odd).map(Deviation::OddNames)].into_iter().flatten()
}

fn is_plain(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

fn of_header_annotations(table: &ToolTable, unusable: &[Unusable]) -> Option<Deviation> {
    let said: BTreeSet<&str> = unusable.iter().map(|unusable| unusable.tool.as_str()).collect();
    let fault = |tool: &Tool| {
        let is_said = said.contains(tool.name.as_str());
        let fault = annotation::faults(&tool.definition["inputSchema"]).into_iter().next().filter(|_| !is_said)?;
        Some((tool.name.clone(), fault.to_string()))
    };
    let mut faults: Vec<(String, String)> = table.tools.iter().filter_map(fault).collect();
    faults.sort_unstable();
    (!faults.is_empty()).then_some(Deviation::HeaderAnnotations(faults))
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn plain_names_are_those_of_the_protocol() {
        assert!(is_plain("a") && is_plain("A-b_c.9") && is_plain(&"x".repeat(128)));
        assert!(!is_plain("") && !is_plain("a/b") && !is_plain("ä") && !is_plain(&"x".repeat(129)));
    }
}
