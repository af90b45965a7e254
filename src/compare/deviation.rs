//! What a stricter client would stumble over in a table.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Subject;
use crate::deviation::Deviation;
use crate::finding::{Code, Finding};
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
            found.extend(of_header_annotations(table));
        }
    }
    found
        .into_iter()
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
        table.handshake_fault.map(Deviation::Handshake),
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

fn of_header_annotations(table: &ToolTable) -> Option<Deviation> {
    let fault = |tool: &Tool| Some((tool.name.clone(), header_fault(&tool.definition["inputSchema"])?));
    let mut faults: Vec<(String, String)> = table.tools.iter().filter_map(fault).collect();
    faults.sort_unstable();
    (!faults.is_empty()).then_some(Deviation::HeaderAnnotations(faults))
}

/// What is wrong with the `x-mcp-header` annotations of a schema (2026-07-28, `server/tools.mdx`): each is a token of RFC 9110,
/// unique but for case, on a string, an integer or a boolean that only `properties` lead to.
fn header_fault(schema: &Value) -> Option<String> {
    annotation_fault(schema, true, &mut BTreeSet::new())
}

fn annotation_fault(schema: &Value, is_reachable: bool, seen: &mut BTreeSet<String>) -> Option<String> {
    match schema {
        Value::Array(schemas) => schemas.iter().find_map(|schema| annotation_fault(schema, false, seen)),
        Value::Object(keys) => keys.iter().find_map(|(key, value)| match key.as_str() {
            "x-mcp-header" => own_fault(schema, value, is_reachable, seen),
            "properties" => value.as_object()?.values().find_map(|schema| annotation_fault(schema, is_reachable, seen)),
            // These hold schemas by name, and values that are no schemas.
            "$defs" | "definitions" | "patternProperties" | "dependentSchemas" => {
                value.as_object()?.values().find_map(|schema| annotation_fault(schema, false, seen))
            }
            "const" | "default" | "enum" | "examples" | "required" => None,
            _ => annotation_fault(value, false, seen),
        }),
        _ => None,
    }
}

fn own_fault(schema: &Value, header: &Value, is_reachable: bool, seen: &mut BTreeSet<String>) -> Option<String> {
    let Some(name) = header.as_str() else { return Some("it is no string".to_owned()) };
    if name.is_empty() {
        return Some("it is empty".to_owned());
    }
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)) {
        return Some(format!("{name:?} is no token"));
    }
    if !is_reachable {
        return Some(format!("{name:?} stands where other keys than properties lead"));
    }
    if !["string", "integer", "boolean"].iter().any(|kind| schema["type"] == *kind) {
        return Some(format!("{name:?} is on no string, integer or boolean"));
    }
    (!seen.insert(name.to_ascii_lowercase())).then(|| format!("{name:?} comes twice"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{header_fault, is_plain};

    fn of(properties: &Value) -> Option<String> {
        header_fault(&json!({ "type": "object", "properties": properties }))
    }

    #[test]
    fn header_annotations_are_judged_as_the_protocol_says() {
        let string = |header: Value| json!({ "type": "string", "x-mcp-header": header });
        assert_eq!(
            of(
                &json!({ "a": string(json!("Region")), "b": { "type": "object", "properties": { "c": string(json!("Zone")) } } })
            ),
            None
        );
        // A property of that name is no annotation, nor is what stands in a value.
        assert_eq!(of(&json!({ "x-mcp-header": { "type": "string", "default": { "x-mcp-header": "" } } })), None);
        let faults = [
            (json!({ "a": string(json!("")) }), "it is empty"),
            (json!({ "a": string(json!(7)) }), "it is no string"),
            (json!({ "a": string(json!("a b")) }), "\"a b\" is no token"),
            (json!({ "a": string(json!("A")), "b": string(json!("a")) }), "\"a\" comes twice"),
            (json!({ "a": { "type": "number", "x-mcp-header": "A" } }), "\"A\" is on no string, integer or boolean"),
            (
                json!({ "a": { "type": "array", "items": string(json!("A")) } }),
                "\"A\" stands where other keys than properties lead",
            ),
            (
                json!({ "a": { "anyOf": [{ "properties": { "b": string(json!("A")) } }] } }),
                "\"A\" stands where other keys than properties lead",
            ),
        ];
        for (properties, fault) in faults {
            assert_eq!(of(&properties).as_deref(), Some(fault), "{properties}");
        }
        assert!(header_fault(&json!({ "type": "object", "x-mcp-header": "A" })).is_some());
        assert!(header_fault(&json!({ "$defs": { "d": { "type": "string", "x-mcp-header": "A" } } })).is_some());
    }

    #[test]
    fn plain_names_are_those_of_the_protocol() {
        assert!(is_plain("a") && is_plain("A-b_c.9") && is_plain(&"x".repeat(128)));
        assert!(!is_plain("") && !is_plain("a/b") && !is_plain("ä") && !is_plain(&"x".repeat(129)));
    }
}
