//! Strict JSON with places: every message about a file can say line and column. A leaf, used for the configuration and the lock.

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::{Range, Ranged};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use crate::server::Location;

/// A text file that holds JSON, and the name it is shown under.
#[derive(Debug)]
pub(crate) struct Document {
    shown: String,
    text: String,
}

/// A fault in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Where.
    pub(crate) location: Location,
    /// What is wrong.
    pub(crate) message: String,
}

impl Document {
    /// Takes the bytes of a file. A UTF-8 byte order mark is dropped, and bytes that are no UTF-8 are replaced, as the client
    /// does (`clients.md` 1.2).
    pub(crate) fn new(shown: impl Into<String>, bytes: &[u8]) -> Self {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        Self { shown: shown.into(), text: String::from_utf8_lossy(bytes).into_owned() }
    }

    /// Whether there is nothing but white space.
    pub(crate) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// The syntax tree. Comments and trailing commas are refused, and so are two equal keys in one object, of which a
    /// reader would silently keep the last.
    ///
    /// # Errors
    /// The first fault, with its place.
    pub(crate) fn parse(&self) -> Result<Value<'_>, Fault> {
        // serde_json is strict, says what it expected, and bounds the depth; the tree has the places.
        if let Err(error) = serde_json::from_str::<serde_json::Value>(&self.text) {
            let text = error.to_string();
            let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
            let offset = self.offset(error.line(), error.column());
            return Err(Fault { location: self.locate(offset), message: format!("not valid JSON: {message}") });
        }
        let options = ParseOptions {
            allow_comments: false,
            allow_loose_object_property_names: false,
            allow_trailing_commas: false,
            ..ParseOptions::default()
        };
        let parsed = parse_to_ast(&self.text, &CollectOptions::default(), &options).map_err(|error| Fault {
            location: self.locate(error.range().start),
            message: format!("not valid JSON: {}", error.kind()),
        })?;
        let value = parsed.value.ok_or_else(|| self.fault_at(0, "the file is empty"))?;
        match repeated_key(&value) {
            Some((name, first, second)) => {
                let first = self.locate(first.start);
                let message = format!("the key {name:?} stands here again; it stood in line {} already", first.line);
                Err(self.fault_at(second.start, message))
            }
            None => Ok(value),
        }
    }

    /// A fault at the start of this node.
    pub(crate) fn fault(&self, node: &impl Ranged, message: impl Into<String>) -> Fault {
        self.fault_at(node.range().start, message)
    }

    /// The place where this node begins.
    pub(crate) fn place(&self, node: &impl Ranged) -> Location {
        self.locate(node.range().start)
    }

    fn fault_at(&self, offset: usize, message: impl Into<String>) -> Fault {
        Fault { location: self.locate(offset), message: message.into() }
    }

    /// Line and column (in characters, from 1) of a byte offset.
    fn locate(&self, offset: usize) -> Location {
        let mut end = offset.min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &self.text[..end];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Location {
            file: self.shown.clone(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }

    /// The byte offset of `serde_json`'s position: it counts the bytes it has read, so that its column is the offending byte's,
    /// or one short of it at the end of a line.
    fn offset(&self, line: usize, column: usize) -> usize {
        let start = self.text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum::<usize>();
        start + column.saturating_sub(1)
    }
}

/// The first key that stands twice in one object, depth first.
fn repeated_key<'a>(value: &'a Value<'a>) -> Option<(&'a str, Range, Range)> {
    match value {
        Value::Object(object) => repeated_key_of(object),
        Value::Array(array) => array.elements.iter().find_map(repeated_key),
        _ => None,
    }
}

fn repeated_key_of<'a>(object: &'a Object<'a>) -> Option<(&'a str, Range, Range)> {
    let mut seen = std::collections::HashMap::new();
    for property in &object.properties {
        let range = property.name.range();
        if let Some(first) = seen.insert(property.name.as_str(), range) {
            return Some((property.name.as_str(), first, range));
        }
        if let Some(found) = repeated_key(&property.value) {
            return Some(found);
        }
    }
    None
}

/// What a value is, for "expected ..., found ...".
pub(crate) fn kind(value: &Value<'_>) -> &'static str {
    match value {
        Value::StringLit(_) => "a string",
        Value::NumberLit(_) => "a number",
        Value::BooleanLit(_) => "a boolean",
        Value::Object(_) => "an object",
        Value::Array(_) => "an array",
        Value::NullKeyword(_) => "null",
    }
}

#[cfg(test)]
mod tests {
    use super::Document;

    fn fault(text: &str) -> String {
        let document = Document::new("f.json", text.as_bytes());
        let fault = document.parse().map(|_| ()).expect_err("the text was accepted");
        format!("{}: {}", fault.location, fault.message)
    }

    #[test]
    fn faults_have_their_place() {
        assert_eq!(fault("{\n  \"a\": 1,\n}"), "f.json:3:1: not valid JSON: trailing comma");
        assert_eq!(fault("{\n  // hm\n}"), "f.json:2:3: not valid JSON: key must be a string");
        assert_eq!(fault("{\"ä\": 1 \"b\": 2}"), "f.json:1:9: not valid JSON: expected `,` or `}`");
        assert_eq!(fault("{\"a\": [1,\r\n 2"), "f.json:2:2: not valid JSON: EOF while parsing a list");
        assert_eq!(fault(""), "f.json:1:1: not valid JSON: EOF while parsing a value");
        assert_eq!(fault("[01]"), "f.json:1:3: not valid JSON: invalid number");
    }

    #[test]
    fn equal_keys_are_refused_at_any_depth() {
        let message = "f.json:3:2: the key \"a\" stands here again; it stood in line 2 already";
        assert_eq!(fault("{\"o\": [{\n \"a\": 1,\n \"a\": 2}]}"), message);
        assert_eq!(fault("{\n \"a\": 1,\n \"\\u0061\": 2}"), message);
    }

    #[test]
    fn depth_is_bounded() {
        let text = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(fault(&text).contains("recursion limit exceeded"));
    }

    #[test]
    fn a_byte_order_mark_and_broken_bytes_are_accepted() {
        assert!(Document::new("f", b"\xef\xbb\xbf{}").parse().is_ok());
        assert!(Document::new("f", b"{\"a\": \"\xff\"}").parse().is_ok());
    }
}
