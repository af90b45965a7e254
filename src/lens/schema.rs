//! The schema of a tool as the TypeScript SDK 1.32.2 has it, on which clients are built.

use serde_json::Value;

/// What makes a client refuse a tool (tried field by field): these keys may be absent, but not null or of another type.
pub(super) fn fault(definition: &Value) -> Option<&'static str> {
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
