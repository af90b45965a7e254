//! The one place where text from outside is made harmless before it is shown.
//!
//! Tool names, server names, stderr excerpts and error texts come from programs that may be hostile. Shown raw, they could
//! forge a line of a report, recolour a terminal, hide letters, or issue a command to the CI system that reads the log.

use std::fmt::Write as _;

/// Escapes `text` so that it stays on one line and means nothing to a terminal or a CI log.
///
/// Control characters, line breaks, bidirectional controls and invisible characters become `\n`, `\x1b` or `\u{202e}`. Workflow
/// commands are broken up: GitHub's runner trims a line before it looks for `::`, and finds the older `##[` (and Azure's
/// `##vso[`) anywhere in a line (`ActionCommand.cs`, `TryParseV2` and `TryParse`).
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    if text.trim_start().starts_with("::") {
        let colons = text.find("::").unwrap_or(0);
        escape_into(&mut escaped, &text[..colons]);
        escaped.push_str("\\x3a:");
        escape_into(&mut escaped, &text[colons + 2..]);
    } else {
        escape_into(&mut escaped, text);
    }
    escaped
}

fn escape_into(escaped: &mut String, text: &str) {
    for (index, character) in text.char_indices() {
        match character {
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            '#' if opens_command(&text[index..]) => escaped.push_str("\\x23"),
            _ if character.is_ascii_control() => write_code(escaped, "\\x", character, 2, ""),
            _ if is_deceptive(character) => write_code(escaped, "\\u{", character, 0, "}"),
            _ => escaped.push(character),
        }
    }
}

/// Whether the `#` here begins `##[`, `##vso[`, `##teamcity[` or the like.
fn opens_command(rest: &str) -> bool {
    rest.strip_prefix("##")
        .is_some_and(|rest| rest.trim_start_matches(|c: char| c.is_ascii_alphabetic()).starts_with('['))
}

fn write_code(escaped: &mut String, before: &str, character: char, width: usize, after: &str) {
    // Writing to a String cannot fail.
    let _ = write!(escaped, "{before}{:0width$x}{after}", u32::from(character));
}

/// Characters that change how their neighbours look, or cannot be seen: controls of Unicode category Cc above ASCII,
/// bidirectional controls, zero-width characters, line and paragraph separators, tags.
fn is_deceptive(character: char) -> bool {
    character.is_control()
        // No character at all: XML has no place for them.
        || matches!(u32::from(character) & 0xffff, 0xfffe | 0xffff)
        || matches!(character, '\u{fdd0}'..='\u{fdef}')
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e01ef}')
}

/// Escapes already rendered JSON so that it shows no deceptive character and issues no command, and still reads back equal.
///
/// Such characters can only stand inside strings, where `\uXXXX` means the same.
pub(crate) fn escape_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for (index, character) in json.char_indices() {
        let command = character == '#' && opens_command(&json[index..]);
        if command || character == '\u{7f}' || (!character.is_ascii() && is_deceptive(character)) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(character);
        }
    }
    escaped
}

/// An argument as a shell reads it.
pub(crate) fn shell_quoted(text: &str) -> String {
    let plain = if cfg!(windows) { "_-./:@+=,\\" } else { "_-./:@%+=," };
    if !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || plain.contains(c)) {
        return text.to_owned();
    }
    if cfg!(windows) {
        format!("\"{}\"", text.replace('"', "\\\""))
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// Text for Markdown: escaped, and every character that could begin a structure, a link, a mention or a tag is an entity, which
/// can begin none.
pub(crate) fn escape_markdown(text: &str) -> String {
    let escaped = escape(text);
    let mut entities = String::with_capacity(escaped.len());
    for (index, character) in escaped.char_indices() {
        let begins_address = character == '.' && escaped[..index].to_ascii_lowercase().ends_with("www");
        if begins_address || "&<>\"'`*_[]{}\\|~#!@:$^=+".contains(character) {
            let _ = write!(entities, "&#{};", u32::from(character));
        } else {
            entities.push(character);
        }
    }
    entities
}

/// Text of a workflow command of GitHub Actions: escaped, and `%` as the runner wants it.
pub(crate) fn escape_workflow(text: &str) -> String {
    escape(text).replace('%', "%25")
}

/// A property of a workflow command, where `:` and `,` separate.
pub(crate) fn escape_workflow_property(text: &str) -> String {
    escape_workflow(text).replace(':', "%3A").replace(',', "%2C")
}

/// The beginning of `text`, at most `limit` characters, with `…` where something was cut.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// `1 tool`, `2 tools`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// A duration as people say it: `23 ms`, `2.0 s`.
pub(crate) fn duration(duration: std::time::Duration) -> String {
    if duration.as_millis() < 1000 {
        format!("{} ms", duration.as_millis())
    } else {
        format!("{:.1} s", duration.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{escape, escape_json, is_deceptive, shorten};

    #[test]
    fn hostile_text_is_broken_up() {
        assert_eq!(escape("a\u{1b}[31mred"), "a\\x1b[31mred");
        assert_eq!(escape("one\ntwo\r\n"), "one\\ntwo\\r\\n");
        assert_eq!(escape("::set-output name=a::b"), "\\x3a:set-output name=a::b");
        assert_eq!(escape("  ::add-mask::x"), "  \\x3a:add-mask::x");
        assert_eq!(escape("x ##[add-mask]y"), "x \\x23#[add-mask]y");
        assert_eq!(escape("##vso[task.setvariable]"), "\\x23#vso[task.setvariable]");
        assert_eq!(escape("##teamcity[buildStop]"), "\\x23#teamcity[buildStop]");
        assert_eq!(escape("a\u{3164}b"), "a\\u{3164}b");
        assert_eq!(escape("abc\u{202e}def"), "abc\\u{202e}def");
        assert_eq!(escape("a::b # ## c"), "a::b # ## c");
    }

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(shorten("äöü", 2), "äö…");
        assert_eq!(shorten("äöü", 3), "äöü");
    }

    proptest! {
        #[test]
        fn escaped_text_is_one_harmless_line(text in any::<String>()) {
            let escaped = escape(&text);
            prop_assert!(!escaped.chars().any(|c| c.is_control() || is_deceptive(c)));
            prop_assert!(!escaped.trim_start().starts_with("::"));
            prop_assert!(!escaped.contains("##["));
        }

        #[test]
        fn escaped_json_reads_back_equal(text in any::<String>(), tail in "[#\\[vso\u{202e}\u{7f}a]{0,12}") {
            let value = serde_json::json!({ "text": format!("{text}{tail}") });
            let json = escape_json(&serde_json::to_string_pretty(&value).unwrap());
            prop_assert!(!json.contains("##["));
            prop_assert!(!json.chars().any(is_deceptive_outside_layout));
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap(), value);
        }
    }

    fn is_deceptive_outside_layout(character: char) -> bool {
        character != '\n' && is_deceptive(character)
    }
}
