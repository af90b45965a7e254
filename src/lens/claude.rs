//! Claude Code's eyes. Rules as seen on Claude Code 2.1.332 (`clients.md` 1.6 to 1.8); the constants are the data.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::annotation::{self, Fault};
use super::{Listed, Offer, Unusable, name};
use crate::deviation::{Carrier, Deviation};
use crate::observed::{Era, Tool};
use crate::server::ServerName;

/// Later pages are lost without a word (1.7).
const MOST_PAGES: usize = 20;
/// A tool with a longer full name is dropped (1.8).
const LONGEST_NAME: usize = 128;
/// Any other answer to `initialize` makes the connection fail (1.6).
const ACCEPTED_VERSIONS: [&str; 5] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"];

/// How many names a reason names.
const NAMED: usize = 4;

/// What the client would offer, server by server. `names` are all servers of the configuration, probed or not.
pub(super) fn offers(names: &[&ServerName], tables: &[Listed<'_>]) -> Vec<Offer> {
    let mut by_prefix: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for name in names {
        by_prefix.entry(name::of_server(name.as_str())).or_default().push(name.as_str());
    }
    tables
        .iter()
        .map(|listed| {
            let prefix = name::of_server(listed.server.as_str());
            let namesakes = by_prefix.get(&prefix).map(Vec::as_slice).unwrap_or_default();
            offer(listed, &prefix, namesakes)
        })
        .collect()
}

fn offer(listed: &Listed<'_>, prefix: &str, namesakes: &[&str]) -> Offer {
    let is_refused = listed.era == Era::Legacy && !ACCEPTED_VERSIONS.contains(&listed.version);
    let refused_version = is_refused.then(|| listed.version.to_owned());
    if let Some(reason) = whole_list_reason(listed, prefix, namesakes) {
        let drop_all = |tool: &Tool| Unusable { tool: tool.name.clone(), reason: reason.clone() };
        let unusable = listed.table.tools.iter().map(drop_all).collect();
        return Offer { unusable, refused_version, ..Offer::default() };
    }
    let mut by_name: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for tool in &listed.table.tools {
        by_name.entry(name::full(prefix, &tool.name)).or_default().insert(&tool.name);
    }
    let mut offer = Offer::default();
    for tool in &listed.table.tools {
        let full = name::full(prefix, &tool.name);
        if let Some(reason) = reason(listed, tool, &full) {
            offer.unusable.push(Unusable { tool: tool.name.clone(), reason });
            continue;
        }
        if let Some(reason) = collision(&full, by_name.get(&full)) {
            offer.unusable.push(Unusable { tool: tool.name.clone(), reason });
        }
        // One of those that collide has the name.
        offer.offered.push(full);
    }
    offer.offered.sort_unstable();
    offer.offered.dedup();
    if refused_version.is_some() {
        offer.offered.clear();
    }
    offer.refused_version = refused_version;
    offer
}

/// `"a", "b" and 7 more`.
fn quoted<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let more = names.len().saturating_sub(NAMED);
    let shown: Vec<String> = names.take(NAMED).map(|name| format!("{name:?}")).collect();
    let shown = shown.join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

/// Why the client would offer nothing of this table.
fn whole_list_reason(listed: &Listed<'_>, prefix: &str, namesakes: &[&str]) -> Option<String> {
    let table = listed.table;
    if let Some(deviation) = listed.deviations.iter().find(|deviation| is_unreadable(deviation)) {
        return Some(format!("the server {}, which the client does not read", deviation.what()));
    }
    if !table.declares_tools {
        return Some(
            "the server does not declare the capability \"tools\", so that the client does not ask".to_owned(),
        );
    }
    if table.null_cursor {
        return Some("the last page says \"nextCursor\": null, for which the client drops the whole list".to_owned());
    }
    if let Some(fault) = &table.handshake_fault {
        return Some(format!("the answer to initialize is one that the client refuses: {fault}"));
    }
    if namesakes.len() > 1 {
        let names = quoted(namesakes.iter().copied());
        return Some(format!("the servers {names} all become mcp__{prefix}__, and the client keeps only one of them"));
    }
    let (index, tool, fault) = table
        .tools
        .iter()
        .enumerate()
        .find_map(|(index, tool)| Some((index, tool, schema_fault(&tool.definition)?)))?;
    Some(format!("tools[{index}] ({}): {fault}; for one such tool the client drops the whole list", tool.name))
}

/// What makes the client refuse a tool, and with it the list: its own schema of a tool (that of the TypeScript SDK 1.32.2, tried
/// field by field) allows these keys to be absent, but not to be null or of another type.
fn schema_fault(definition: &Value) -> Option<&'static str> {
    let of = |value: &Value, key: &str, fits: fn(&Value) -> bool| value.get(key).is_none_or(fits);
    let input = &definition["inputSchema"];
    if !input.is_object() {
        return Some("inputSchema is no object");
    }
    let checks = [
        (is_object_schema(input), "inputSchema.type is not \"object\""),
        (of(input, "properties", is_properties), "inputSchema.properties is no object of schemas"),
        (of(input, "required", is_names), "inputSchema.required is no array of names"),
        (of(definition, "description", Value::is_string), "description is no string"),
        (of(definition, "title", Value::is_string), "title is no string"),
        (of(definition, "annotations", is_annotations), "annotations is no object of hints"),
        (of(definition, "outputSchema", is_object_schema), "outputSchema.type is not \"object\""),
        (of(definition, "_meta", Value::is_object), "_meta is no object"),
        (of(definition, "icons", Value::is_array), "icons is no array"),
        (of(definition, "execution", Value::is_object), "execution is no object"),
    ];
    checks.into_iter().find(|(is_fine, _)| !is_fine).map(|(_, fault)| fault)
}

fn is_object_schema(schema: &Value) -> bool {
    schema["type"] == "object"
}

fn is_properties(properties: &Value) -> bool {
    properties.as_object().is_some_and(|properties| properties.values().all(Value::is_object))
}

fn is_names(names: &Value) -> bool {
    names.as_array().is_some_and(|names| names.iter().all(Value::is_string))
}

fn is_annotations(annotations: &Value) -> bool {
    let hints = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];
    annotations.is_object()
        && annotations.get("title").is_none_or(Value::is_string)
        && hints.iter().all(|hint| annotations.get(hint).is_none_or(Value::is_boolean))
}

/// Why the client would not offer this one tool.
fn reason(listed: &Listed<'_>, tool: &Tool, full: &str) -> Option<String> {
    let table = listed.table;
    if tool.page >= MOST_PAGES {
        return Some(format!("stands on page {}, and the client stops after page {MOST_PAGES}", tool.page + 1));
    }
    if table.empty_cursor_after.is_some_and(|pages| tool.page >= pages) {
        return Some("stands behind an empty nextCursor, at which the client stops".to_owned());
    }
    let length = full.chars().count();
    if length > LONGEST_NAME {
        return Some(format!("its full name has {length} characters, and the client drops it above {LONGEST_NAME}"));
    }
    if listed.is_streamable_http && listed.era == Era::Modern {
        let faults = annotation::faults(&tool.definition["inputSchema"]);
        let fault = faults.iter().find(|fault| !matches!(fault, Fault::Number(_)))?;
        return Some(format!("its x-mcp-header annotations are not valid ({fault})"));
    }
    None
}

/// Messages that the client's JSON parser, or its schema of a message, refuses (tried on 2.1.332; a body over HTTP is read by other means).
fn is_unreadable(deviation: &Deviation) -> bool {
    matches!(deviation, Deviation::Batch(Carrier::Stream) | Deviation::ByteOrderMark(Carrier::Stream))
}

/// Why a name is lost to another tool.
fn collision(full: &str, sharing: Option<&BTreeSet<&str>>) -> Option<String> {
    let sharing = sharing.filter(|sharing| sharing.len() > 1)?;
    let names = quoted(sharing.iter().copied());
    Some(format!("{names} all become {full}, and the client keeps only one of them"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::offers;
    use crate::deviation::{Carrier, Deviation};
    use crate::lens::{Listed, Offer};
    use crate::observed::{Era, Tool, ToolTable};
    use crate::server::ServerName;

    fn tool(name: &str) -> Tool {
        let definition = json!({ "name": name, "inputSchema": { "type": "object" } });
        Tool { name: name.to_owned(), page: 0, definition }
    }

    fn table(tools: Vec<Tool>) -> ToolTable {
        ToolTable { tools, pages: 1, declares_tools: true, ..ToolTable::default() }
    }

    fn listed<'a>(server: &'a ServerName, table: &'a ToolTable) -> Listed<'a> {
        static NONE: BTreeSet<Deviation> = BTreeSet::new();
        Listed { server, table, era: Era::Legacy, version: "2025-11-25", is_streamable_http: false, deviations: &NONE }
    }

    fn offer(server: &str, table: &ToolTable) -> Offer {
        let server = ServerName::new(server);
        offers(&[&server], &[listed(&server, table)]).remove(0)
    }

    #[test]
    fn names_are_made_as_the_client_makes_them() {
        let offer = offer("my.srv", &table(vec![tool("b/c"), tool("a-1_x")]));
        assert_eq!(offer.offered, ["mcp__my_srv__a-1_x", "mcp__my_srv__b_c"]);
        assert!(offer.unusable.is_empty());
    }

    /// Each fault was seen to lose the whole list while the server stays "connected".
    #[test]
    fn one_bad_tool_loses_all() {
        let bad: [(&str, Value); 13] = [
            ("title is no string", json!({ "inputSchema": { "type": "object" }, "title": null })),
            ("annotations is", json!({ "inputSchema": { "type": "object" }, "annotations": null })),
            (
                "annotations is",
                json!({ "inputSchema": { "type": "object" }, "annotations": { "readOnlyHint": "yes" } }),
            ),
            ("outputSchema.type", json!({ "inputSchema": { "type": "object" }, "outputSchema": null })),
            ("_meta is no object", json!({ "inputSchema": { "type": "object" }, "_meta": null })),
            ("icons is no array", json!({ "inputSchema": { "type": "object" }, "icons": null })),
            ("inputSchema is no object", json!({})),
            ("inputSchema.type is not", json!({ "inputSchema": { "anyOf": [] } })),
            ("inputSchema.type is not", json!({ "inputSchema": { "type": "string" } })),
            ("properties is no object of schemas", json!({ "inputSchema": { "type": "object", "properties": null } })),
            ("required is no array of names", json!({ "inputSchema": { "type": "object", "required": [1] } })),
            ("description is no string", json!({ "inputSchema": { "type": "object" }, "description": null })),
            ("inputSchema is no object", json!({ "inputSchema": null })),
        ];
        for (fault, definition) in bad {
            let offer = offer("s", &table(vec![tool("good"), Tool { definition, ..tool("bad") }]));
            assert!(offer.offered.is_empty());
            assert_eq!(offer.unusable.len(), 2);
            assert!(offer.unusable[0].reason.contains(fault), "{}", offer.unusable[0].reason);
            assert!(offer.unusable[0].reason.starts_with("tools[1] (bad)"));
        }
    }

    #[test]
    fn a_root_any_of_beside_the_type_is_fine() {
        let definition = json!({ "inputSchema": { "type": "object", "anyOf": [] }, "description": "" });
        assert_eq!(offer("s", &table(vec![Tool { definition, ..tool("a") }])).offered, ["mcp__s__a"]);
    }

    #[test]
    fn limits_and_collisions_lose_single_tools() {
        let late = Tool { page: 20, ..tool("late") };
        let long = tool(&"x".repeat(121));
        let found = offer("s", &table(vec![tool("a.b"), tool("a/b"), tool("fine"), tool("fine"), late, long]));
        assert_eq!(found.offered, ["mcp__s__a_b", "mcp__s__fine"]);
        let reasons: Vec<&str> = found.unusable.iter().map(|unusable| unusable.reason.as_str()).collect();
        assert_eq!(reasons[0], "\"a.b\", \"a/b\" all become mcp__s__a_b, and the client keeps only one of them");
        assert_eq!(reasons[2], "stands on page 21, and the client stops after page 20");
        assert_eq!(reasons[3], "its full name has 129 characters, and the client drops it above 128");
        let behind = ToolTable { empty_cursor_after: Some(1), ..table(vec![tool("a"), Tool { page: 1, ..tool("b") }]) };
        assert_eq!(offer("s", &behind).offered, ["mcp__s__a"]);
    }

    #[test]
    fn a_list_can_be_lost_as_a_whole() {
        for lost in [
            ToolTable { declares_tools: false, ..table(vec![tool("a")]) },
            ToolTable { null_cursor: true, ..table(vec![tool("a")]) },
        ] {
            assert!(offer("s", &lost).offered.is_empty());
            assert_eq!(offer("s", &lost).unusable.len(), 1);
        }
    }

    #[test]
    fn servers_that_share_a_prefix_lose_each_other() {
        let (a, b) = (ServerName::new("a b"), ServerName::new("a_b"));
        let table = table(vec![tool("t")]);
        for offer in offers(&[&a, &b], &[listed(&a, &table), listed(&b, &table)]) {
            assert!(offer.offered.is_empty());
            assert!(offer.unusable[0].reason.contains("\"a b\", \"a_b\""));
        }
    }

    #[test]
    fn another_version_is_turned_down() {
        let (server, table) = (ServerName::new("s"), table(vec![tool("a")]));
        let listed = |era| Listed { era, version: "2026-07-28", ..listed(&server, &table) };
        let offer = offers(&[&server], &[listed(Era::Legacy)]).remove(0);
        assert_eq!(offer.refused_version.as_deref(), Some("2026-07-28"));
        assert!(offer.offered.is_empty() && offer.unusable.is_empty());
        assert_eq!(offers(&[&server], &[listed(Era::Modern)])[0].offered, ["mcp__s__a"]);
    }

    #[test]
    fn answers_that_the_client_cannot_read_lose_the_list() {
        let (server, table) = (ServerName::new("s"), table(vec![tool("a")]));
        for (deviation, is_lost) in [
            (Deviation::Batch(Carrier::Stream), true),
            (Deviation::ByteOrderMark(Carrier::Stream), true),
            (Deviation::Batch(Carrier::Body), false),
            (Deviation::NotUtf8, false),
            (Deviation::IdOfAnotherType, false),
        ] {
            let deviations = BTreeSet::from([deviation]);
            let offer = offers(&[&server], &[Listed { deviations: &deviations, ..listed(&server, &table) }]).remove(0);
            assert_eq!(offer.offered.is_empty(), is_lost, "{deviations:?}");
        }
    }

    #[test]
    fn annotations_matter_over_modern_http_only() {
        let server = ServerName::new("s");
        let with = |name: &str, kind: &str, header: &str| {
            let property = json!({ "type": kind, "x-mcp-header": header });
            let definition =
                json!({ "name": name, "inputSchema": { "type": "object", "properties": { "p": property } } });
            Tool { definition, ..tool(name) }
        };
        let table =
            table(vec![with("bad", "string", "a b"), with("fine", "string", "A"), with("number", "number", "A")]);
        for (is_streamable_http, era, count) in
            [(true, Era::Modern, 2), (true, Era::Legacy, 3), (false, Era::Modern, 3)]
        {
            let listed = Listed { era, is_streamable_http, ..listed(&server, &table) };
            assert_eq!(offers(&[&server], &[listed]).remove(0).offered.len(), count);
        }
    }
}
