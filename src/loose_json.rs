//! JSON as JavaScript's `JSON.parse` takes it, where stricter readers stop: half of a surrogate pair, a number beyond any range.

use std::borrow::Cow;

/// What [`mended`] found.
#[derive(Debug)]
pub(crate) struct Mended<'a> {
    /// What every reader takes; borrowed where nothing had to be replaced.
    pub(crate) text: Cow<'a, str>,
    /// Whether there was half of a pair.
    pub(crate) has_half_character: bool,
    /// Whether there was a number without bounds.
    pub(crate) has_boundless_number: bool,
}

/// See [`mended`].
pub(crate) fn as_every_reader_takes_it(text: &str) -> Cow<'_, str> {
    mended(text).text
}

/// The text with what only JavaScript takes replaced by what every reader takes, each at its place: U+FFFD for the half of a pair, the
/// largest power of ten for a number without bounds.
pub(crate) fn mended(text: &str) -> Mended<'_> {
    let (mut has_half_character, mut has_boundless_number) = (false, false);
    let bytes = text.as_bytes();
    let mut mended: Option<Vec<u8>> = None;
    let mut put = |at: usize, replacement: &[u8]| {
        let all = mended.get_or_insert_with(|| bytes.to_vec());
        all[at..at + replacement.len()].copy_from_slice(replacement);
    };
    let (mut at, mut in_string) = (0, false);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => in_string = !in_string,
            b'\\' if in_string => match escape_at(bytes, at) {
                Some(0xd800..=0xdbff) if matches!(escape_at(bytes, at + 6), Some(0xdc00..=0xdfff)) => at += 11,
                Some(0xd800..=0xdfff) => {
                    has_half_character = true;
                    put(at + 2, b"fffd");
                }
                _ => at += 1,
            },
            b'-' | b'0'..=b'9' if !in_string => {
                let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                let length = bytes[at..].iter().take_while(|byte| is_part(byte)).count();
                let number = &text[at..at + length];
                if number.parse::<f64>().is_ok_and(f64::is_infinite) {
                    has_boundless_number = true;
                    let largest = if number.starts_with('-') { "-1e308" } else { "1e308" };
                    put(at, format!("{largest:length$}").as_bytes());
                }
                at += length - 1;
            }
            _ => {}
        }
        at += 1;
    }
    let text = mended.and_then(|mended| String::from_utf8(mended).ok()).map_or(Cow::Borrowed(text), Cow::Owned);
    Mended { text, has_half_character, has_boundless_number }
}

/// The code of `\uXXXX` at a place.
fn escape_at(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    let digits =
        std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use proptest::prelude::*;
    use serde_json::Value;

    use super::as_every_reader_takes_it;

    #[test]
    fn what_javascript_takes_is_taken() {
        for (text, value) in [
            (r#"["cut \ud83d"]"#, serde_json::json!(["cut \u{fffd}"])),
            (r#"["\ude00 \ud83d\ude00 \ud83d\ud83d"]"#, serde_json::json!(["\u{fffd} \u{1f600} \u{fffd}\u{fffd}"])),
            (r#"["\\ud83d"]"#, serde_json::json!(["\\ud83d"])),
            (r#"[1e999, -1E+999, 1e308, "1e999"]"#, serde_json::json!([1e308, -1e308, 1e308, "1e999"])),
        ] {
            let read: Value = serde_json::from_str(&as_every_reader_takes_it(text)).expect(text);
            assert_eq!(read, value, "{text}");
        }
    }

    proptest! {
        /// Places stay what they were, and what every reader takes is left alone.
        #[test]
        fn nothing_moves(text in "([\\[\\],\"\\\\ude80-9 -]|\\\\u(d83d|de00|0041)|é){0,40}") {
            let mended = as_every_reader_takes_it(&text);
            prop_assert_eq!(mended.len(), text.len());
            if serde_json::from_str::<Value>(&text).is_ok() {
                prop_assert!(matches!(mended, Cow::Borrowed(_)), "{}", text);
            }
        }
    }
}
