//! Writing the lock: never from a failed probe, never blindly, never half.

use std::collections::BTreeMap;
use std::time::Instant;

use similar::TextDiff;

use super::gather::{self, Expected, Measure, Seen};
use crate::compare::Purpose;
use crate::config::{self, Configuration};
use crate::environment::Environment;
use crate::error::Error;
use crate::finding::{Code, Finding, Severity};
use crate::lock::Lock;
use crate::lock::store::Store;
use crate::report;
use crate::server::{Location, Server};
use crate::settings::Settings;
use crate::text;
use crate::verdict::{self, LockUpdate, UpdateOutcome, Verdict};

/// Probes, shows the difference, writes.
pub(super) fn run(
    settings: &Settings,
    environment: &Environment,
    dry_run: bool,
    allow_empty: &[String],
) -> Result<Verdict, Error> {
    let began = Instant::now();
    let configuration = config::load(&settings.configs, settings.client, environment)?;
    let store = gather::open_lock(settings, environment, &configuration)?;
    let old = store.lock()?;
    let known = old.clone().unwrap_or_default().servers;
    gather::check_names(settings, allow_empty, &configuration, &known)?;
    let is_started = |server: &&Server| server.disabled.is_none() && gather::is_wanted(settings, &server.name);
    let is_touched = configuration.servers.iter().any(|server| is_started(&server));
    let is_kept = known.keys().any(|name| !gather::is_wanted(settings, name));
    if !is_touched && !is_kept {
        return Err(nothing_to_lock(&configuration));
    }
    let seen = gather::probe(settings, environment, &configuration)?;
    let new = merged(settings, old.as_ref(), &seen, &configuration.servers);
    let switched_off = switched_off(&configuration.servers, &known, &new);
    let measure = Measure {
        lock: store.shown(),
        expected: &new.servers,
        purpose: Purpose::Lock,
        rules: &[],
        needs_from_rules: false,
    };
    let mut verdict = gather::judge(settings, configuration, &measure, seen);
    verdict.findings.extend(switched_off);
    verdict.findings.retain(|finding| {
        let is_allowed =
            finding.server.as_ref().is_some_and(|name| allow_empty.iter().any(|other| other == name.as_str()));
        !(finding.code == Code::ToolsEmpty && is_allowed)
    });
    verdict.exit = verdict::exit(&verdict.findings, &verdict.servers, false);
    let update = plan(&store, old.as_ref(), &new, &verdict, dry_run);
    report::show_difference(&update, &settings.output)?;
    if update.outcome == UpdateOutcome::Written {
        store.replace(&new)?;
    }
    verdict.update = Some(update);
    Ok(Verdict { elapsed: began.elapsed(), ..verdict })
}

/// What is to become of the lock, and how it would change.
fn plan(store: &Store, old: Option<&Lock>, new: &Lock, verdict: &Verdict, dry_run: bool) -> LockUpdate {
    let is_refused = verdict.findings.iter().any(|finding| finding.severity == Severity::Error);
    let outcome = match old {
        _ if is_refused => UpdateOutcome::Refused,
        Some(old) if old == new => UpdateOutcome::Unchanged,
        _ if dry_run => UpdateOutcome::DryRun,
        _ => UpdateOutcome::Written,
    };
    let changes = matches!(outcome, UpdateOutcome::Written | UpdateOutcome::DryRun);
    let diff = if changes { difference(&store.text(), &new.render(), store.shown()) } else { String::new() };
    let message = if changes { commit_message(old.map(|lock| &lock.servers), &new.servers) } else { String::new() };
    LockUpdate { outcome, diff, message, servers: new.servers.len(), tools: new.tool_count() }
}

/// The tables that were seen, and for servers that took no part the entries they had.
fn merged(settings: &Settings, old: Option<&Lock>, seen: &Seen, entries: &[Server]) -> Lock {
    let old = old.map(|lock| &lock.servers);
    let kept = old.into_iter().flatten().filter(|(name, _)| !gather::is_wanted(settings, name));
    let mut servers: Expected = kept.map(|(name, tools)| (name.clone(), tools.clone())).collect::<BTreeMap<_, _>>();
    for (name, observation) in &seen.observations {
        if let Some(table) = observation.table() {
            // What its own entry leaves out, the agent does not get.
            let filter = entries.iter().find(|entry| entry.name == *name).map(|entry| &entry.filter);
            let is_let_through = |tool: &String| filter.is_none_or(|filter| filter.keeps_out(tool).is_none());
            servers.insert(name.clone(), table.names().into_iter().filter(is_let_through).collect());
        }
    }
    Lock { servers }
}

/// `Lock MCP tools: report +1 -2, new github (26), without old`.
fn commit_message(old: Option<&Expected>, new: &Expected) -> String {
    let none = Expected::new();
    let old = old.unwrap_or(&none);
    let mut changes = Vec::new();
    for (name, tools) in new {
        match old.get(name) {
            None => changes.push(format!("new {} ({})", name.as_str(), tools.len())),
            Some(before) if before != tools => {
                let (added, removed) = (tools.difference(before).count(), before.difference(tools).count());
                let signs = [("+", added), ("-", removed)].into_iter().filter(|(_, count)| *count > 0);
                let signs: Vec<String> = signs.map(|(sign, count)| format!("{sign}{count}")).collect();
                changes.push(format!("{} {}", name.as_str(), signs.join(" ")));
            }
            Some(_) => {}
        }
    }
    changes.extend(old.keys().filter(|name| !new.contains_key(*name)).map(|name| format!("without {}", name.as_str())));
    // One line, whatever a server is called.
    text::escape(&format!("Lock MCP tools: {}", changes.join(", ")))
}

/// Servers that are switched off and lose their entry in the lock: nobody may find that out from the difference alone.
fn switched_off(entries: &[Server], known: &Expected, new: &Lock) -> Vec<Finding> {
    let is_dropped = |entry: &&Server| known.contains_key(&entry.name) && !new.servers.contains_key(&entry.name);
    let finding = |entry: &Server| {
        let disabled = entry.disabled.as_ref()?;
        let message = format!("the client does not start this server ({}): its tools leave the lock", disabled.reason);
        let finding = Finding::new(Code::ServerDisabled, message).severity(Severity::Warning).about(&entry.name);
        Some(finding.at(&disabled.location).help("switch it on first, if the run counts on it"))
    };
    entries.iter().filter(is_dropped).filter_map(finding).collect()
}

fn difference(old: &str, new: &str, shown: &str) -> String {
    TextDiff::from_lines(old, new).unified_diff().context_radius(2).header(shown, shown).to_string()
}

fn nothing_to_lock(configuration: &Configuration) -> Error {
    let file = configuration.files.first().cloned().unwrap_or_default();
    Error::Config {
        location: Location { file, line: 1, column: 1 },
        message: "there is no server to lock: a lock of nothing would be satisfied by everything".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::commit_message;
    use crate::command::gather::Expected;
    use crate::server::ServerName;

    fn lock(servers: &[(&str, &[&str])]) -> Expected {
        let tools = |tools: &[&str]| tools.iter().map(|tool| (*tool).to_owned()).collect::<BTreeSet<_>>();
        servers.iter().map(|(name, names)| (ServerName::new(*name), tools(names))).collect()
    }

    #[test]
    fn a_commit_says_what_an_agent_gains_and_loses() {
        let old = lock(&[("gone", &["a"]), ("report", &["a", "b", "c"]), ("same", &["x"])]);
        let new = lock(&[("fresh", &["a", "b"]), ("report", &["a", "d"]), ("same", &["x"])]);
        let expected = "Lock MCP tools: new fresh (2), report +1 -2, without gone";
        assert_eq!(commit_message(Some(&old), &new), expected);
        assert_eq!(commit_message(None, &lock(&[("s", &["a"])])), "Lock MCP tools: new s (1)");
    }
}
