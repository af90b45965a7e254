//! The lock: server name -> sorted tool names. Equal tables give equal bytes. This file is pure; `store.rs` touches the disk.
//!
//! | written by | read by this version |
//! |---|---|
//! | 0.1 | yes |
//! | by hand, unsorted, without a final newline, with CRLF or a byte order mark | yes; an unchanged table is not rewritten |
//! | a later version with contracts (an object in place of an array) | refused with its place, never guessed |

pub(crate) mod store;

use std::collections::{BTreeMap, BTreeSet};

use crate::document::{Document, Fault, Member, Node, Syntax};
use crate::server::ServerName;
use crate::text;

/// What every server is expected to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Lock {
    /// Raw tool names by server.
    pub(crate) servers: BTreeMap<ServerName, BTreeSet<String>>,
}

impl Lock {
    /// Reads a lock.
    ///
    /// # Errors
    /// The place of the first thing that is not an array of different tool names by server name.
    pub(crate) fn parse(document: &Document) -> Result<Self, Fault> {
        let root = document.parse(Syntax::Json)?;
        let mut servers = BTreeMap::new();
        for Member { key: name, node, .. } in &root.object("")?.members {
            let Some(elements) = node.array() else {
                return Err(node.fault(format!("{name}: expected an array of tool names, found {}", node.kind())));
            };
            servers.insert(ServerName::new(name), parse_names(name, elements)?);
        }
        Ok(Self { servers })
    }

    /// The bytes of the file: keys and names sorted by their bytes, two spaces, a final newline. Characters that would hide in a
    /// review are written as `\uXXXX`.
    pub(crate) fn render(&self) -> String {
        let map: BTreeMap<&str, Vec<&str>> = self
            .servers
            .iter()
            .map(|(name, tools)| (name.as_str(), tools.iter().map(String::as_str).collect()))
            .collect();
        // A map of strings always has a JSON form.
        let json = serde_json::to_string_pretty(&map).unwrap_or_default();
        format!("{}\n", text::escape_json(&json))
    }

    /// How many tools are locked.
    pub(crate) fn tool_count(&self) -> usize {
        self.servers.values().map(BTreeSet::len).sum()
    }
}

fn parse_names(server: &str, elements: &[Node]) -> Result<BTreeSet<String>, Fault> {
    let mut names = BTreeSet::new();
    for (index, element) in elements.iter().enumerate() {
        let Some(name) = element.text() else {
            return Err(element.fault(format!("{server}[{index}]: expected a tool name, found {}", element.kind())));
        };
        if !names.insert(name.to_owned()) {
            return Err(element.fault(format!("{server}[{index}]: the tool {name:?} stands here again")));
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::Lock;
    use crate::document::Document;
    use crate::server::ServerName;

    fn parse(text: &str) -> Result<Lock, String> {
        let document = Document::new("lock", text.as_bytes());
        Lock::parse(&document).map_err(|fault| format!("{}: {}", fault.location, fault.message))
    }

    #[test]
    fn the_bytes_are_those_of_the_contract() {
        let lock = parse(r#"{"report": ["list_report_dates", "fetch_daily_report"], "empty": []}"#).expect("a lock");
        let expected =
            "{\n  \"empty\": [],\n  \"report\": [\n    \"fetch_daily_report\",\n    \"list_report_dates\"\n  ]\n}\n";
        assert_eq!(lock.render(), expected);
        assert_eq!(parse(&expected.replace('\n', "\r\n")), Ok(lock));
    }

    #[test]
    fn the_example_is_a_lock_as_it_is_written() {
        let example = include_str!("../../mcp-tools.lock.json.example");
        assert_eq!(parse(example).expect("a lock").render(), example);
    }

    #[test]
    fn unknown_shapes_are_refused_with_their_place() {
        for (text, message) in [
            ("[]", "lock:1:1: expected an object, found an array"),
            ("{\"a\": {\"x\": 1}}", "lock:1:7: a: expected an array of tool names, found an object"),
            ("{\"a\": [\n 1]}", "lock:2:2: a[0]: expected a tool name, found a number"),
            ("{\"a\": [\"x\", \"x\"]}", "lock:1:13: a[1]: the tool \"x\" stands here again"),
            ("{\"a\": [], \"a\": []}", "lock:1:11: the key \"a\" stands here again; it stood in line 1 already"),
        ] {
            assert_eq!(parse(text), Err(message.to_owned()));
        }
    }

    proptest! {
        #[test]
        fn a_lock_reads_back_equal_and_renders_the_same(
            tables in proptest::collection::btree_map(any::<String>(), proptest::collection::btree_set(any::<String>(), 0..4), 0..4)
        ) {
            let servers: BTreeMap<_, _> = tables.into_iter().map(|(name, tools)| (ServerName::new(name), tools)).collect();
            let lock = Lock { servers };
            let text = lock.render();
            let again = parse(&text).unwrap();
            prop_assert_eq!(again.render(), text.clone());
            prop_assert_eq!(again, lock.clone());
            prop_assert_eq!(parse(text.trim_end()), Ok(lock));
        }
    }
}
