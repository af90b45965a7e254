//! What Codex 0.171.0 wants of a tool. Measured, and held against `testdata/clients/codex-schemas.json`.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// What loses the whole list: these may be absent or null, but not of another type.
pub(super) fn list_fault(definition: &Value) -> Option<&'static str> {
    let of = |value: &Value, key: &str, fits: fn(&Value) -> bool| {
        value.get(key).is_none_or(|value| value.is_null() || fits(value))
    };
    let checks = [
        (definition["inputSchema"].is_object(), "inputSchema is no object"),
        (of(definition, "title", Value::is_string), "title is no string"),
        (of(definition, "description", Value::is_string), "description is no string"),
        (of(definition, "annotations", is_annotations), "annotations is no object of hints"),
        (of(definition, "outputSchema", Value::is_object), "outputSchema is no object"),
        (of(definition, "_meta", Value::is_object), "_meta is no object"),
        (of(definition, "icons", is_icons), "icons is no array of icons"),
    ];
    checks.into_iter().find(|(is_fine, _)| !is_fine).map(|(_, fault)| fault)
}

fn is_annotations(annotations: &Value) -> bool {
    let hints = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];
    let is_null_or =
        |key: &str, fits: fn(&Value) -> bool| annotations.get(key).is_none_or(|value| value.is_null() || fits(value));
    annotations.is_object()
        && is_null_or("title", Value::is_string)
        && hints.iter().all(|hint| is_null_or(hint, Value::is_boolean))
}

fn is_icons(icons: &Value) -> bool {
    icons.as_array().is_some_and(|icons| icons.iter().all(|icon| icon["src"].is_string()))
}

/// What loses this one tool.
pub(super) fn tool_fault(definition: &Value) -> Option<&'static str> {
    let visibility = &definition["_meta"]["ui"]["visibility"];
    let is_hidden = match visibility {
        Value::Array(names) => !names.iter().any(|name| name == "model"),
        Value::String(name) => name != "model",
        _ => false,
    };
    if is_hidden {
        return Some("_meta.ui.visibility does not name the model");
    }
    let schema = &definition["inputSchema"];
    let mut walk = Walk { root: schema, seen: BTreeSet::new() };
    let is_null = schema["type"] == "null" || schema["type"] == serde_json::json!(["null"]);
    (is_null || !walk.fits(schema, true)).then_some("its inputSchema is one that the client cannot read")
}

struct Walk<'a> {
    root: &'a Value,
    seen: BTreeSet<&'a str>,
}

impl<'a> Walk<'a> {
    fn fits(&mut self, schema: &'a Value, is_root: bool) -> bool {
        let Value::Object(keywords) = schema else { return schema.is_boolean() && !is_root };
        keywords.iter().all(|(keyword, value)| value.is_null() || self.keyword_fits(keyword, value))
            && has_plain_type(keywords)
    }

    fn keyword_fits(&mut self, keyword: &str, value: &'a Value) -> bool {
        match keyword {
            "description" => value.is_string(),
            "$ref" => value.as_str().is_some_and(|reference| self.definition_fits(reference)),
            "enum" => value.is_array(),
            "required" => value.as_array().is_some_and(|names| names.iter().all(Value::is_string)),
            "properties" => {
                value.as_object().is_some_and(|schemas| schemas.values().all(|schema| self.fits(schema, false)))
            }
            "items" | "additionalProperties" => self.fits(value, false),
            "anyOf" | "oneOf" | "allOf" => {
                value.as_array().is_some_and(|schemas| schemas.iter().all(|schema| self.fits(schema, false)))
            }
            _ => true,
        }
    }

    /// A definition counts where a reference leads to it; one that leads nowhere is left alone.
    fn definition_fits(&mut self, reference: &'a str) -> bool {
        let Some(pointer) = reference.strip_prefix('#') else { return true };
        if !self.seen.insert(pointer) {
            return true;
        }
        match self.root.pointer(pointer) {
            Some(definition) => self.fits(definition, false),
            None => true,
        }
    }
}

/// Beside `$ref`, and beside `anyOf`, `oneOf` or `allOf`, a `type` is a string or an array of strings.
fn has_plain_type(keywords: &Map<String, Value>) -> bool {
    let is_looked_at = ["$ref", "anyOf", "oneOf", "allOf"]
        .iter()
        .any(|keyword| keywords.get(*keyword).is_some_and(|value| !value.is_null()));
    match keywords.get("type") {
        Some(kind) if is_looked_at => {
            kind.is_null()
                || kind.is_string()
                || kind.as_array().is_some_and(|kinds| kinds.iter().all(Value::is_string))
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{list_fault, tool_fault};

    /// Each schema was given to Codex, which offered the tool, or did not.
    #[test]
    fn schemas_are_judged_as_was_seen() {
        let seen: Value =
            serde_json::from_str(include_str!("../../testdata/clients/codex-schemas.json")).expect("JSON");
        for (key, is_dropped) in [("kept", false), ("dropped", true)] {
            let schemas = seen[key].as_array().expect("schemas");
            assert!(schemas.len() > 10);
            for schema in schemas {
                let definition = json!({ "name": "t", "inputSchema": schema });
                assert_eq!(tool_fault(&definition).is_some(), is_dropped, "{key}: {schema}");
            }
        }
    }

    #[test]
    fn nulls_are_fine_and_other_types_lose_the_list() {
        let with = |key: &str, value: Value| {
            let mut definition = json!({ "name": "t", "inputSchema": {} });
            definition[key] = value;
            list_fault(&definition).is_some()
        };
        for key in ["title", "description", "annotations", "outputSchema", "_meta", "icons", "execution"] {
            assert!(!with(key, Value::Null), "{key}");
            assert_eq!(with(key, json!(7)), key != "execution", "{key}");
        }
        assert!(list_fault(&json!({ "name": "t" })).is_some());
        let hidden = json!({ "inputSchema": {}, "_meta": { "ui": { "visibility": ["app"] } } });
        assert!(tool_fault(&hidden).is_some());
    }
}
