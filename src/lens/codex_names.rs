//! How Codex 0.171.0 makes full names: over all servers at once, with hashes where names are too long or meet. Measured, and held against
//! `testdata/clients/codex-names.json`, which holds what its model was offered.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use sha1::{Digest as _, Sha1};

/// A full name has at most this many characters, with the two underscores in its middle.
const LONGEST: usize = 128;
/// The characters of a hash, with its underscore.
const HASH: usize = 13;

/// The full names of these tools (server and tool, as written), in their order; `None` for one that came before.
pub(super) fn assign(tools: &[(&str, &str)]) -> Vec<Option<String>> {
    let mut named = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, (server, tool)) in tools.iter().enumerate() {
        let server_key = format!("{server}\0{server}\0");
        let key = format!("{server_key}\0{tool}\0{tool}");
        if seen.insert(key.clone()) {
            named.push(Named { index, key, server_key, space: space(server), name: clean(tool) });
        }
    }
    part_spaces(&mut named);
    part_names(&mut named);
    named.sort_by(|a, b| a.key.cmp(&b.key));
    let mut full = vec![None; tools.len()];
    let mut used = BTreeSet::new();
    for tool in named {
        full[tool.index] = Some(fitted(&tool, &mut used));
    }
    full
}

struct Named {
    index: usize,
    key: String,
    server_key: String,
    space: String,
    name: String,
}

/// Servers that share a namespace each get a hash of their own.
fn part_spaces(named: &mut [Named]) {
    let mut owners: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for tool in named.iter() {
        owners.entry(tool.space.clone()).or_default().insert(tool.server_key.clone());
    }
    for tool in named.iter_mut().filter(|tool| owners.get(&tool.space).is_some_and(|owners| owners.len() > 1)) {
        let hash = hash(&tool.server_key);
        tool.space = match tool.space.strip_suffix("__") {
            Some(start) => format!("{start}{hash}__"),
            None => format!("{}{hash}", tool.space),
        };
    }
}

/// So do tools of one namespace that share a name.
fn part_names(named: &mut [Named]) {
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for tool in named.iter() {
        *counts.entry((tool.space.clone(), tool.name.clone())).or_default() += 1;
    }
    for tool in named.iter_mut() {
        if counts.get(&(tool.space.clone(), tool.name.clone())).is_some_and(|count| *count > 1) {
            tool.name = format!("{}{}", tool.name, hash(&tool.key));
        }
    }
}

/// The name within its bounds, and unlike every other, where namespace and name are looked at without what stands between them.
fn fitted(tool: &Named, used: &mut BTreeSet<String>) -> String {
    let (mut space, mut name) = (tool.space.clone(), tool.name.clone());
    let mut tries = 0;
    while space.len() + name.len() + 2 > LONGEST || used.contains(&format!("{space}{name}")) {
        let key = if tries == 0 { tool.key.clone() } else { format!("{}\0{tries}", tool.key) };
        let room = (LONGEST - 2).saturating_sub(tool.space.len());
        if room >= HASH {
            name = format!("{}{}", &tool.name[..tool.name.len().min(room - HASH)], hash(&key));
        } else {
            space.truncate(LONGEST - 2 - HASH);
            name = hash(&key);
        }
        tries += 1;
    }
    used.insert(format!("{space}{name}"));
    format!("{space}__{name}")
}

fn space(server: &str) -> String {
    let server = clean(server);
    if server.starts_with("mcp__") { server } else { format!("mcp__{server}") }
}

/// Everything but ASCII letters, digits and `_` becomes `_`, and nothing becomes one, too.
pub(super) fn clean(name: &str) -> String {
    let cleaned: String = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if cleaned.is_empty() { "_".to_owned() } else { cleaned }
}

fn hash(key: &str) -> String {
    let digest = Sha1::digest(key.as_bytes());
    let mut hash = "_".to_owned();
    for byte in digest.iter().take(6) {
        // Writing to a String cannot fail.
        let _ = write!(hash, "{byte:02x}");
    }
    hash
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::assign;

    /// What the model was offered, case by case.
    #[test]
    fn names_are_those_that_were_seen() {
        let seen: Value = serde_json::from_str(include_str!("../../testdata/clients/codex-names.json")).expect("JSON");
        let cases = seen["cases"].as_array().expect("cases");
        assert!(cases.len() > 5);
        for case in cases {
            let mut tools = Vec::new();
            let servers = case["servers"].as_object().expect("servers").iter();
            // The others are no servers to it.
            for (server, names) in servers.filter(|(server, _)| crate::naming::is_accepted_by_codex(server)) {
                tools.extend(
                    names
                        .as_array()
                        .expect("names")
                        .iter()
                        .map(|name| (server.as_str(), name.as_str().expect("a name"))),
                );
            }
            let mut made: Vec<String> = assign(&tools).into_iter().flatten().collect();
            made.sort_unstable();
            let mut offered: Vec<&str> =
                case["offered"].as_array().expect("names").iter().filter_map(Value::as_str).collect();
            offered.sort_unstable();
            assert_eq!(made, offered);
        }
    }
}
