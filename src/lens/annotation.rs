//! The `x-mcp-header` annotations of a tool's schema, by which arguments become headers (2026-07-28, `server/tools.mdx`). A client on
//! Streamable HTTP leaves out a tool whose annotations are not valid.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

/// Keywords whose schema, or array of them, does not stand for an argument of its own: an annotation below one of them can become no
/// header. This list and the next are those of the TypeScript SDK 2.4.0; below other keywords nobody looks.
const ASIDE: [&str; 14] = [
    "items",
    "prefixItems",
    "contains",
    "additionalProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
    "propertyNames",
    "oneOf",
    "anyOf",
    "allOf",
    "not",
    "if",
    "then",
    "else",
];

/// The same, of schemas by name.
const ASIDE_BY_NAME: [&str; 4] = ["patternProperties", "dependentSchemas", "$defs", "definitions"];

/// What is wrong with an annotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is on a `number`, which the protocol does not allow, and Claude Code 2.1.332 does.
    Number(String),
    /// Anything else, in words.
    Other(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(name) => write!(formatter, "{name:?} is on no string, integer or boolean"),
            Self::Other(fault) => formatter.write_str(fault),
        }
    }
}

/// Everything that is wrong with the annotations of a schema: each is a token of RFC 9110, unique but for case, on a string, an integer
/// or a boolean that only `properties` lead to.
pub(crate) fn faults(schema: &Value) -> Vec<Fault> {
    let mut scan = Scan::default();
    scan.schema(schema, true);
    scan.faults
}

#[derive(Default)]
struct Scan {
    seen: BTreeSet<String>,
    faults: Vec<Fault>,
}

impl Scan {
    fn schema(&mut self, schema: &Value, is_reachable: bool) {
        let Some(keywords) = schema.as_object() else { return };
        if let Some(header) = keywords.get("x-mcp-header") {
            let fault = self.fault(schema, header, is_reachable);
            self.faults.extend(fault);
        }
        for (keyword, value) in keywords {
            match keyword.as_str() {
                "properties" => self.each(value, is_reachable),
                keyword if ASIDE_BY_NAME.contains(&keyword) => self.each(value, false),
                keyword if ASIDE.contains(&keyword) && value.is_array() => self.each(value, false),
                keyword if ASIDE.contains(&keyword) => self.schema(value, false),
                _ => {}
            }
        }
    }

    fn each(&mut self, schemas: &Value, is_reachable: bool) {
        match schemas {
            Value::Array(schemas) => schemas.iter().for_each(|schema| self.schema(schema, is_reachable)),
            Value::Object(schemas) => schemas.values().for_each(|schema| self.schema(schema, is_reachable)),
            _ => {}
        }
    }

    fn fault(&mut self, schema: &Value, header: &Value, is_reachable: bool) -> Option<Fault> {
        let other = |fault: String| Some(Fault::Other(fault));
        let Some(name) = header.as_str() else { return other("it is no string".to_owned()) };
        if name.is_empty() {
            return other("it is empty".to_owned());
        }
        if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)) {
            return other(format!("{name:?} is no token"));
        }
        if !is_reachable {
            return other(format!("{name:?} stands where other keywords than properties lead"));
        }
        if !self.seen.insert(name.to_ascii_lowercase()) {
            return other(format!("{name:?} comes twice"));
        }
        match schema["type"].as_str() {
            Some("string" | "integer" | "boolean") => None,
            Some("number") => Some(Fault::Number(name.to_owned())),
            _ => other(format!("{name:?} is on no string, integer or boolean")),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Fault, faults};

    fn of(properties: &Value) -> Vec<String> {
        faults(&json!({ "type": "object", "properties": properties })).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn annotations_are_judged_as_the_protocol_says() {
        let string = |header: Value| json!({ "type": "string", "x-mcp-header": header });
        let nested = json!({ "type": "object", "properties": { "c": string(json!("Zone")) } });
        assert!(of(&json!({ "a": string(json!("Region")), "b": nested })).is_empty());
        // A property of that name is no annotation, nor is what stands in a value, or below a keyword that nobody knows.
        let mut value = json!({ "type": "string", "default": { "x-mcp-header": "" } });
        value["foo"] = string(json!(""));
        value["items"] = json!({ "properties": { "x-mcp-header": { "type": "string" } } });
        assert!(of(&json!({ "x-mcp-header": value })).is_empty());
        let aside = "\"A\" stands where other keywords than properties lead";
        let wrong = [
            (json!({ "a": string(json!("")) }), "it is empty"),
            (json!({ "a": string(json!(null)) }), "it is no string"),
            (json!({ "a": string(json!("a b")) }), "\"a b\" is no token"),
            (json!({ "a": string(json!("A")), "b": string(json!("a")) }), "\"a\" comes twice"),
            (json!({ "a": { "x-mcp-header": "A" } }), "\"A\" is on no string, integer or boolean"),
            (json!({ "a": { "type": ["string"], "x-mcp-header": "A" } }), "\"A\" is on no string, integer or boolean"),
            (json!({ "a": { "type": "array", "items": string(json!("A")) } }), aside),
            (json!({ "a": { "anyOf": [{ "properties": { "b": string(json!("A")) } }] } }), aside),
            (json!({ "a": { "patternProperties": { "b": string(json!("A")) } } }), aside),
        ];
        for (properties, fault) in wrong {
            assert_eq!(of(&properties), [fault], "{properties}");
        }
        assert!(!faults(&json!({ "type": "object", "x-mcp-header": "A" })).is_empty());
        assert!(!faults(&json!({ "definitions": { "d": { "type": "string", "x-mcp-header": "A" } } })).is_empty());
    }

    #[test]
    fn a_number_is_a_fault_of_its_own() {
        let number = json!({ "type": "number", "x-mcp-header": "A" });
        let schema = json!({ "properties": { "a": number.clone() } });
        assert_eq!(faults(&schema), [Fault::Number("A".to_owned())]);
        let twice = faults(&json!({ "properties": { "a": number.clone(), "b": number } }));
        assert_eq!(twice, [Fault::Number("A".to_owned()), Fault::Other("\"A\" comes twice".to_owned())]);
    }
}
