//! Text files with places: JSON, JSON with comments and TOML become one tree, so that every message about a file can say line and column.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};

use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, ast, parse_to_ast};
use serde_json::value::RawValue;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::loose_json::as_every_reader_takes_it;
use crate::server::Location;

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// Strict JSON.
    Json,
    /// The same, but of two equal keys the last counts: files in which other programs keep other things.
    LastWins,
    /// JSON with comments, but without trailing commas.
    Commented,
    /// JSON with comments and trailing commas.
    Loose,
    /// TOML.
    Toml,
}

/// What two equal keys in one object are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repeated {
    Fault,
    LastWins,
}

/// A text file, and the name it is shown under.
#[derive(Debug)]
pub(crate) struct Document {
    shown: String,
    text: String,
    /// Where each line begins.
    lines: Vec<usize>,
    has_byte_order_mark: bool,
    /// The last place that was asked for, as byte offset and column: the next one often stands behind it in the same line, and a line may
    /// be the whole file.
    last: Cell<(usize, usize)>,
}

/// A fault in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Where.
    pub(crate) location: Location,
    /// What is wrong.
    pub(crate) message: String,
}

/// A value, and where it begins.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    /// The value.
    pub(crate) value: Value,
    /// Where it begins.
    pub(crate) location: Location,
}

/// A value of a document.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// A number, as written.
    Number(String),
    /// A string.
    Text(String),
    /// Values in order.
    Array(Vec<Node>),
    /// Values by key.
    Object(Object),
}

/// Values by key, in the order of the file, each key once.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Object {
    /// The members.
    pub(crate) members: Vec<Member>,
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Member {
    /// The key.
    pub(crate) key: String,
    /// Where the key begins.
    pub(crate) location: Location,
    /// The value.
    pub(crate) node: Node,
}

impl Object {
    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.member(key).map(|member| &member.node)
    }

    /// A key with its place and value.
    pub(crate) fn member(&self, key: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.key == key)
    }
}

impl Node {
    /// What it is, for "expected ..., found ...".
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "null",
            Value::Boolean(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::Text(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        }
    }

    /// A fault at this value.
    pub(crate) fn fault(&self, message: impl Into<String>) -> Fault {
        Fault { location: self.location.clone(), message: message.into() }
    }

    /// The object it is.
    ///
    /// # Errors
    /// `WHAT: expected an object, found ...`; `what` may be empty.
    pub(crate) fn object(&self, what: &str) -> Result<&Object, Fault> {
        match &self.value {
            Value::Object(object) => Ok(object),
            _ if what.is_empty() => Err(self.fault(format!("expected an object, found {}", self.kind()))),
            _ => Err(self.fault(format!("{what}: expected an object, found {}", self.kind()))),
        }
    }

    /// The text it is, if it is text.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Its elements, if it is an array.
    pub(crate) fn array(&self) -> Option<&[Node]> {
        match &self.value {
            Value::Array(elements) => Some(elements),
            _ => None,
        }
    }
}

impl Node {
    /// This value over another one: of two objects the members of both, down to this depth; anything else wins over what is below it.
    pub(crate) fn over(self, below: Node, depth: usize) -> Node {
        match (self.value, below.value) {
            (Value::Object(mut above), Value::Object(below)) if depth > 0 => {
                for member in below.members {
                    match above.members.iter_mut().find(|known| known.key == member.key) {
                        Some(known) => {
                            let node = std::mem::replace(
                                &mut known.node,
                                Node { value: Value::Null, location: member.location },
                            );
                            known.node = node.over(member.node, depth - 1);
                        }
                        None => above.members.push(member),
                    }
                }
                Node { value: Value::Object(above), location: self.location }
            }
            (value, _) => Node { value, location: self.location },
        }
    }
}

impl Document {
    /// Whether it begins with a byte order mark, which some readers refuse.
    pub(crate) fn has_byte_order_mark(&self) -> bool {
        self.has_byte_order_mark
    }

    /// Takes the bytes of a file. A UTF-8 byte order mark is dropped, and bytes that are no UTF-8 are replaced, as Claude Code
    /// does (`clients.md` 1.2).
    pub(crate) fn new(shown: impl Into<String>, bytes: &[u8]) -> Self {
        let bare = bytes.strip_prefix(b"\xef\xbb\xbf");
        let (has_byte_order_mark, bytes) = (bare.is_some(), bare.unwrap_or(bytes));
        let text = as_every_reader_takes_it(&String::from_utf8_lossy(bytes)).into_owned();
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { shown: shown.into(), text, lines, has_byte_order_mark, last: Cell::new((0, 1)) }
    }

    /// Whether there is nothing but white space.
    pub(crate) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// The tree of one value in a large file of others' things, without building that of the rest: the value under these keys, one below the other;
    /// of equal keys the last. `None` where there is none, or where the file has a fault.
    pub(crate) fn pick(shown: &str, bytes: &[u8], keys: &[&str]) -> Option<Node> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let text = String::from_utf8_lossy(bytes);
        let part = match picked(&text, keys) {
            Ok(part) => part?,
            // Perhaps it is what only JavaScript takes.
            Err(_) => return Self::pick_slowly(shown, bytes, keys),
        };
        let before = &text[..part.as_ptr() as usize - text.as_ptr() as usize];
        let (lines, line) =
            before.rsplit_once('\n').map_or((0, before), |(above, line)| (above.matches('\n').count() + 1, line));
        // So that each place is the one in the file.
        let moved = format!("{}{}{part}", "\n".repeat(lines), " ".repeat(line.chars().count()));
        Self::new(shown, moved.as_bytes()).parse(Syntax::LastWins).ok()
    }

    fn pick_slowly(shown: &str, bytes: &[u8], keys: &[&str]) -> Option<Node> {
        let mut node = Self::new(shown, bytes).parse(Syntax::LastWins).ok()?;
        for key in keys {
            let object = node.object("").ok()?;
            node = object.get(key)?.clone();
        }
        Some(node)
    }

    /// The tree. Two equal keys in one object are refused, unless the syntax says otherwise: a reader would silently keep the last.
    ///
    /// # Errors
    /// The first fault, with its place.
    pub(crate) fn parse(&self, syntax: Syntax) -> Result<Node, Fault> {
        match syntax {
            Syntax::Json => self.strict_json(Repeated::Fault),
            Syntax::LastWins => self.strict_json(Repeated::LastWins),
            Syntax::Commented => self.json(true, false, Repeated::Fault),
            Syntax::Loose => self.json(true, true, Repeated::Fault),
            Syntax::Toml => self.toml(),
        }
    }

    fn strict_json(&self, repeated: Repeated) -> Result<Node, Fault> {
        // serde_json is strict, says what it expected, and bounds the depth; the tree has the places.
        if let Err(error) = serde_json::from_str::<serde_json::Value>(&self.text) {
            let text = error.to_string();
            let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
            let offset = self.offset(error.line(), error.column());
            return Err(self.fault_at(offset, format!("not valid JSON: {message}")));
        }
        self.json(false, false, repeated)
    }

    fn json(&self, comments: bool, trailing_commas: bool, repeated: Repeated) -> Result<Node, Fault> {
        let options = ParseOptions {
            allow_comments: comments,
            allow_loose_object_property_names: false,
            allow_trailing_commas: trailing_commas,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let parsed = parse_to_ast(&self.text, &CollectOptions::default(), &options)
            .map_err(|error| self.fault_at(error.range().start, format!("not valid JSON: {}", error.kind())))?;
        let value = parsed.value.ok_or_else(|| self.fault_at(0, "the file is empty"))?;
        self.json_node(&value, repeated)
    }

    fn json_node(&self, value: &ast::Value<'_>, repeated: Repeated) -> Result<Node, Fault> {
        let location = self.locate(value.range().start);
        let value = match value {
            ast::Value::NullKeyword(_) => Value::Null,
            ast::Value::BooleanLit(literal) => Value::Boolean(literal.value),
            ast::Value::NumberLit(literal) => Value::Number(literal.value.to_owned()),
            ast::Value::StringLit(literal) => Value::Text(literal.value.to_string()),
            ast::Value::Array(array) => Value::Array(
                array.elements.iter().map(|element| self.json_node(element, repeated)).collect::<Result<_, _>>()?,
            ),
            ast::Value::Object(object) => Value::Object(self.json_object(object, repeated)?),
        };
        Ok(Node { value, location })
    }

    fn json_object(&self, object: &ast::Object<'_>, repeated: Repeated) -> Result<Object, Fault> {
        let mut seen: HashMap<&str, usize> = HashMap::new();
        let mut members: Vec<Member> = Vec::with_capacity(object.properties.len());
        for property in &object.properties {
            let (key, start) = (property.name.as_str(), property.name.range().start);
            if let Some(first) = seen.insert(key, start) {
                if repeated == Repeated::LastWins {
                    members.retain(|member| member.key != key);
                } else {
                    let first = self.locate(first).line;
                    return Err(self.fault_at(
                        start,
                        format!("the key {key:?} stands here again; it stood in line {first} already"),
                    ));
                }
            }
            members.push(Member {
                key: key.to_owned(),
                location: self.locate(start),
                node: self.json_node(&property.value, repeated)?,
            });
        }
        Ok(Object { members })
    }

    fn toml(&self) -> Result<Node, Fault> {
        let table = DeTable::parse(&self.text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            self.fault_at(start, format!("not valid TOML: {}", error.message()))
        })?;
        let location = self.locate(0);
        Ok(Node { value: Value::Object(self.toml_object(table.get_ref())), location })
    }

    fn toml_object(&self, table: &DeTable<'_>) -> Object {
        let mut members: Vec<(usize, Member)> = table
            .iter()
            .map(|(key, value)| {
                let start = key.span().start;
                let member = Member {
                    key: key.get_ref().to_string(),
                    location: self.locate(start),
                    node: self.toml_node(value),
                };
                (start, member)
            })
            .collect();
        members.sort_by_key(|(start, _)| *start);
        Object { members: members.into_iter().map(|(_, member)| member).collect() }
    }

    fn toml_node(&self, value: &Spanned<DeValue<'_>>) -> Node {
        let location = self.locate(value.span().start);
        let value = match value.get_ref() {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Integer(number) => Value::Number(number.to_string()),
            DeValue::Float(number) => Value::Number(number.to_string()),
            DeValue::Boolean(value) => Value::Boolean(*value),
            // No key of ours holds a date: as text it is refused where it stands.
            DeValue::Datetime(date) => Value::Text(date.to_string()),
            DeValue::Array(elements) => Value::Array(elements.iter().map(|element| self.toml_node(element)).collect()),
            DeValue::Table(table) => Value::Object(self.toml_object(table)),
        };
        Node { value, location }
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
        let line = self.lines.partition_point(|start| *start <= end);
        let start = self.lines[line - 1];
        let (known, column) = Some(self.last.get()).filter(|(at, _)| (start..=end).contains(at)).unwrap_or((start, 1));
        let column = column + self.text[known..end].chars().count();
        self.last.set((end, column));
        Location { file: self.shown.clone(), line, column }
    }

    /// The byte offset of `serde_json`'s position: it counts the bytes it has read, so that its column is the offending byte's,
    /// or one short of it at the end of a line.
    fn offset(&self, line: usize, column: usize) -> usize {
        let start = self.lines.get(line.saturating_sub(1)).copied().unwrap_or(self.text.len());
        start + column.saturating_sub(1)
    }
}

/// The text of the value under these keys.
fn picked<'a>(text: &'a str, keys: &[&str]) -> Result<Option<&'a str>, serde_json::Error> {
    let mut part = text;
    for key in keys {
        let members: BTreeMap<String, &RawValue> = serde_json::from_str(part)?;
        match members.get(*key) {
            Some(value) => part = value.get(),
            None => return Ok(None),
        }
    }
    Ok(Some(part))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Document, Fault, Syntax, Value};

    fn fault(text: &str, syntax: Syntax) -> String {
        let Fault { location, message } = Document::new("f", text.as_bytes()).parse(syntax).expect_err("a fault");
        format!("{location}: {message}")
    }

    proptest! {
        /// Whatever was asked for before, a place is the number of lines and characters before it.
        #[test]
        fn places_do_not_depend_on_what_was_asked_before(text in "[a-zé\u{1f600}\n]{0,60}", offsets in prop::collection::vec(0_usize..80, 1..12)) {
            let document = Document::new("f", text.as_bytes());
            for offset in offsets {
                let mut end = offset.min(text.len());
                while !text.is_char_boundary(end) {
                    end -= 1;
                }
                let before = &text[..end];
                let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
                let location = document.locate(offset);
                prop_assert_eq!((location.line, location.column), (before.matches('\n').count() + 1, column));
            }
        }
    }

    #[test]
    fn a_value_is_picked_out_of_a_large_file_with_its_places() {
        let text = "{\n  \"a\": {\"x\": [1, {\"é\": 0}]},\n  \"b\": {\"c\": 1},\n  \"é\": 1, \"b\": {\"c\": {\n    \"d\": 7}}\n}";
        let whole = Document::new("f", text.as_bytes()).parse(Syntax::LastWins).expect("a tree");
        let b = whole.object("").expect("an object").get("b").expect("a value").clone();
        assert_eq!(Document::pick("f", text.as_bytes(), &["b"]).expect("a value"), b);
        let c = b.object("").expect("an object").get("c").expect("a value").clone();
        assert_eq!((c.location.line, c.location.column), (4, 22));
        for text in [text.to_owned(), format!("\u{feff}{text}"), text.replace(": 7", ": 7, \"odd\": \"\\ud800\"")] {
            let picked = Document::pick("f", text.as_bytes(), &["b", "c"]).expect("a value");
            assert_eq!(picked.location, c.location);
            assert!(picked.object("").expect("an object").get("d").is_some());
        }
        for keys in [&["nothing"][..], &["b", "nothing"], &["a", "x", "y"]] {
            assert!(Document::pick("f", text.as_bytes(), keys).is_none());
        }
        assert!(Document::pick("f", b"{\"b\": ", &["b"]).is_none());
    }

    #[test]
    fn a_fault_has_its_place() {
        let cases = [
            ("{\"a\": }", Syntax::Json, "f:1:7: not valid JSON: expected value"),
            ("{\"a\": [1,]}", Syntax::Json, "f:1:10: not valid JSON: trailing comma"),
            ("", Syntax::Json, "f:1:1: not valid JSON: EOF while parsing a value"),
            ("", Syntax::Loose, "f:1:1: the file is empty"),
            (
                "{\n  \"ä\": 1,\n  \"ä\": 2\n}",
                Syntax::Json,
                "f:3:3: the key \"ä\" stands here again; it stood in line 2 already",
            ),
            (
                "{\"a\": 1, \"a\": 2}",
                Syntax::Loose,
                "f:1:10: the key \"a\" stands here again; it stood in line 1 already",
            ),
        ];
        for (text, syntax, expected) in cases {
            assert_eq!(fault(text, syntax), expected);
        }
        assert!(fault("// c\n{}", Syntax::Json).starts_with("f:1:1: not valid JSON"));
        assert!(fault("{\"a\": 1,}", Syntax::Commented).contains("not valid JSON"));
        // Nothing but comments and commas is loose.
        for text in [
            "{'a': 1}",
            "{a: 1}",
            "{\"a\": 1 \"b\": 2}",
            "{\"a\": 0x1}",
            "{\"a\": +1}",
            "{\"a\": .5}",
            "{\"a\": NaN}",
            "{\"a\": \"\\x41\"}",
        ] {
            assert!(fault(text, Syntax::Loose).contains("not valid JSON"), "{text}");
        }
        assert!(fault("a = 1\na = 2\n", Syntax::Toml).starts_with("f:2:1: not valid TOML"));
        assert!(fault("a = ", Syntax::Toml).starts_with("f:1:"));
    }

    #[test]
    fn comments_and_commas_are_read_where_the_syntax_has_them() {
        let text = "{ // c\n \"a\": [1, 2,], /* d */ }";
        assert!(Document::new("f", text.as_bytes()).parse(Syntax::Loose).is_ok());
        assert!(Document::new("f", b"{ \"a\": 1 /* c */ }").parse(Syntax::Commented).is_ok());
    }

    #[test]
    fn places_are_those_of_keys_and_values() {
        let json = "{\n  \"a\": {\"b\": \"ü\", \"c\": 1}\n}";
        let toml = "[a]\nb = \"ü\"\n  c = 1\n";
        for (text, syntax, places) in
            [(json, Syntax::Json, ["f:2:9", "f:2:14", "f:2:19"]), (toml, Syntax::Toml, ["f:2:1", "f:2:5", "f:3:3"])]
        {
            let root = Document::new("f", text.as_bytes()).parse(syntax).expect("a tree");
            let a = root.object("").expect("an object").get("a").expect("a").object("a").expect("an object");
            let (b, c) = (a.member("b").expect("b"), a.member("c").expect("c"));
            assert_eq!([&b.location, &b.node.location, &c.location].map(ToString::to_string), places);
            assert_eq!((b.node.text(), &c.node.value), (Some("ü"), &Value::Number("1".to_owned())));
        }
    }

    #[test]
    fn strict_json_is_strict() {
        let cases = [
            ("{\n  \"a\": 1,\n}", "f:3:1: not valid JSON: trailing comma"),
            ("{\n  // hm\n}", "f:2:3: not valid JSON: key must be a string"),
            ("{\"ä\": 1 \"b\": 2}", "f:1:9: not valid JSON: expected `,` or `}`"),
            ("{\"a\": [1,\r\n 2", "f:2:2: not valid JSON: EOF while parsing a list"),
            ("[01]", "f:1:3: not valid JSON: invalid number"),
        ];
        for (text, expected) in cases {
            assert_eq!(fault(text, Syntax::Json), expected);
        }
        // A byte order mark and broken bytes are accepted.
        assert!(Document::new("f", b"\xef\xbb\xbf{}").parse(Syntax::Json).is_ok());
        assert!(Document::new("f", b"{\"a\": \"\xff\"}").parse(Syntax::Json).is_ok());
    }

    #[test]
    fn equal_keys_are_refused_at_any_depth() {
        let message = "f:3:2: the key \"a\" stands here again; it stood in line 2 already";
        assert_eq!(fault("{\"o\": [{\n \"a\": 1,\n \"a\": 2}]}", Syntax::Json), message);
        assert_eq!(fault("{\n \"a\": 1,\n \"\\u0061\": 2}", Syntax::Loose), message);
    }

    #[test]
    fn layers_are_laid_over_each_other_down_to_a_depth() {
        let of = |text: &str| Document::new("f", text.as_bytes()).parse(Syntax::Json).expect("a tree");
        let (above, below) = (r#"{"a": {"x": 1}, "b": 2}"#, r#"{"a": {"x": 3, "y": 4}, "b": {"z": 5}, "c": 6}"#);
        let keys = |node: &super::Node| {
            node.object("").expect("an object").members.iter().map(|member| member.key.clone()).collect::<Vec<_>>()
        };
        let deep = of(above).over(of(below), 9);
        assert_eq!(keys(&deep), ["a", "b", "c"]);
        let a = deep.object("").expect("an object").get("a").expect("a");
        assert_eq!(keys(a), ["x", "y"]);
        assert_eq!(a.object("").expect("an object").get("x").expect("x").value, Value::Number("1".to_owned()));
        let flat = of(above).over(of(below), 1);
        assert_eq!(keys(flat.object("").expect("an object").get("a").expect("a")), ["x"]);
    }

    #[test]
    fn deep_documents_are_refused_not_suffered() {
        let text = "[".repeat(5000);
        assert!(fault(&text, Syntax::Json).contains("recursion"));
        assert!(Document::new("f", text.as_bytes()).parse(Syntax::Loose).is_err());
    }
}
