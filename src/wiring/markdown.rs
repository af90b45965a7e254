//! Lists of tools at the head of agents, commands and skills. Their head is read line by line, not as YAML: the client accepts heads that
//! are none (a colon in a description), and only one key is wanted.

use std::path::{Path, PathBuf};

use super::{Kind, Rule};
use crate::environment::Environment;
use crate::files;
use crate::naming;
use crate::server::Location;

/// Folders below `.claude`, and the key that lists tools there.
const FOLDERS: [(&str, &str, Kind); 3] = [
    ("agents", "tools", Kind::Agent),
    ("commands", "allowed-tools", Kind::Command),
    ("skills", "allowed-tools", Kind::Command),
];
/// Folders deeper than this hold nothing of the client's.
const DEEPEST: usize = 6;

/// Every listed tool.
pub(super) fn rules(environment: &Environment) -> Vec<Rule> {
    let mut rules = Vec::new();
    for (folder, key, kind) in FOLDERS {
        for path in files(&environment.folder.join(".claude").join(folder), DEEPEST) {
            let Ok(text) = files::read_text(&path) else { continue };
            let shown = files::slashed(path.strip_prefix(&environment.folder).unwrap_or(&path));
            let own = own_servers(&text);
            let names_own = |rule: &Rule| {
                let rest = rule.text.strip_prefix("mcp__");
                rest.is_some_and(|rest| {
                    own.iter().any(|server| rest == server || rest.starts_with(&format!("{server}__")))
                })
            };
            rules.extend(of_head(&text, key, kind, &shown).into_iter().filter(|rule| !names_own(rule)));
        }
    }
    rules
}

/// The Markdown files in a folder, sorted.
fn files(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let (path, Ok(metadata)) = (entry.path(), entry.metadata()) else { continue };
        if metadata.is_dir() && depth > 0 {
            found.extend(files(&path, depth - 1));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found.sort_unstable();
    found
}

/// The items of `key` between the two lines `---`.
fn of_head(text: &str, key: &str, kind: Kind, shown: &str) -> Vec<Rule> {
    let mut lines = text.trim_start_matches('\u{feff}').lines().enumerate();
    if lines.next().is_none_or(|(_, line)| line.trim_end() != "---") {
        return Vec::new();
    }
    let mut rules = Vec::new();
    let mut is_inside = false;
    for (index, line) in lines.take_while(|(_, line)| line.trim_end() != "---") {
        let value = match line.strip_prefix(key).and_then(|rest| rest.strip_prefix(':')) {
            Some(value) => {
                is_inside = true;
                value
            }
            None if is_inside && (line.starts_with([' ', '\t', '-']) || line.trim().is_empty()) => line,
            None => {
                is_inside = false;
                continue;
            }
        };
        let start = line.len() - value.len();
        for (at, item) in items(value) {
            let column = line[..start + at].chars().count() + 1;
            let location = Location { file: shown.to_owned(), line: index + 1, column };
            rules.push(Rule { text: item.to_owned(), kind, location: Some(location) });
        }
    }
    rules
}

/// Servers that an agent brings along (`mcpServers` in its head), as full names have them.
fn own_servers(text: &str) -> Vec<String> {
    let head = text.trim_start_matches('\u{feff}').lines().skip(1).take_while(|line| line.trim_end() != "---");
    let block = head.skip_while(|line| !line.starts_with("mcpServers:")).skip(1);
    let block = block.take_while(|line| line.starts_with([' ', '\t', '-']) || line.trim().is_empty());
    let names =
        block.map(|line| line.trim().trim_start_matches('-').trim().trim_end_matches(':').trim_matches(['"', '\'']));
    names.filter(|name| !name.is_empty()).map(naming::of_server).collect()
}

/// The items of a list, each with its byte offset: `Read, Bash(git add:*) mcp__a__b`, `["Read", "Write"]`, `- Read`. What stands in
/// parentheses belongs to its item.
pub(super) fn items(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut depth = 0_usize;
    let mut starts = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let separates = depth == 0 && (c.is_whitespace() || matches!(c, ',' | '[' | ']' | '"' | '\''));
        match (separates, start) {
            (true, Some(began)) => {
                starts.push((began, at));
                start = None;
            }
            (false, None) => start = Some(at),
            _ => {}
        }
    }
    starts.extend(start.map(|began| (began, text.len())));
    // A dash alone makes an item of a list.
    starts.into_iter().map(|(start, end)| (start, &text[start..end])).filter(|(_, item)| *item != "-")
}

#[cfg(test)]
mod tests {
    use super::{Kind, items, of_head};

    #[test]
    fn items_are_separated_as_people_separate_them() {
        let of = |text| items(text).map(|(_, item)| item).collect::<Vec<_>>();
        assert_eq!(of(" Read, Bash(git add:*, x), mcp__a__b"), ["Read", "Bash(git add:*, x)", "mcp__a__b"]);
        assert_eq!(of("[\"Read\", 'Write']"), ["Read", "Write"]);
        assert_eq!(of("  - mcp__a__*"), ["mcp__a__*"]);
        assert_eq!(of("a b"), ["a", "b"]);
        assert!(of(" ,  ").is_empty());
    }

    #[test]
    fn a_head_is_read_with_places() {
        let text =
            "---\nname: x\ndescription: a: b\ntools:\n  - Read\n  - mcp__s__ä\nmodel: opus\n---\ntools: mcp__no__no\n";
        let rules = of_head(text, "tools", Kind::Agent, "a.md");
        let found: Vec<(String, String)> =
            rules.into_iter().map(|rule| (rule.text, rule.location.expect("a place").to_string())).collect();
        let expected = [("Read", "a.md:5:5"), ("mcp__s__ä", "a.md:6:5")];
        assert_eq!(found, expected.map(|(text, place)| (text.to_owned(), place.to_owned())));
        let rules = of_head("---\nallowed-tools: Read, mcp__s__t\n---\n", "allowed-tools", Kind::Command, "c.md");
        assert_eq!(rules[1].location.as_ref().expect("a place").to_string(), "c.md:2:22");
        assert!(of_head("tools: mcp__s__t\n", "tools", Kind::Agent, "a.md").is_empty());
    }
}
