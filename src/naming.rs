//! Names: how Claude Code makes a full name of a server's and a tool's, in a leaf that the rules of configurations need too (tried on 2.1.332: `testdata/scenario/unicode-names.json`).

use std::sync::LazyLock;

use regex::Regex;
use unicode_normalization::UnicodeNormalization as _;

/// Characters without a shape of their own, private ones and unassigned ones.
static DROPPED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[\p{Cf}\p{Co}\p{Cn}]").ok());

/// No client uses longer names; normalising one of megabytes would take minutes.
const LONGEST: usize = 4096;

/// One round more than any text needs; the client stops somewhere, too.
const ROUNDS: usize = 10;

/// `mcp__<server>__<tool>`.
pub(crate) fn full(prefix: &str, tool: &str) -> String {
    format!("mcp__{prefix}__{}", of_tool(tool))
}

/// What a server's name becomes: everything but letters, digits, `_` and `-` is replaced by `_`, once for each UTF-16 unit.
pub(crate) fn of_server(name: &str) -> String {
    let mut normalized = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') {
            normalized.push(c);
        } else {
            (0..c.len_utf16()).for_each(|_| normalized.push('_'));
        }
    }
    normalized
}

/// What a tool's name becomes: text from servers is brought into compatibility form, and loses what cannot be seen, first.
pub(crate) fn of_tool(name: &str) -> String {
    if name.is_ascii() {
        return of_server(name);
    }
    // What is longer is dropped for its length, whatever it becomes.
    let mut text: String = name.chars().take(LONGEST).collect();
    for _ in 0..ROUNDS {
        let composed: String = text.nfkc().collect();
        let visible = match DROPPED.as_ref() {
            Some(dropped) => dropped.replace_all(&composed, "").into_owned(),
            None => composed,
        };
        if visible == text {
            break;
        }
        text = visible;
    }
    of_server(&text)
}

/// Whether Codex 0.171.0 accepts a server's name: `[a-zA-Z0-9_:@/.-]+`.
pub(crate) fn is_accepted_by_codex(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_:@/.-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::{DROPPED, of_server, of_tool};

    /// Each pair was seen on the client.
    #[test]
    fn names_are_made_as_the_client_makes_them() {
        assert!(DROPPED.is_some());
        let tools = [
            ("b/c", "b_c"),
            ("a-1_x", "a-1_x"),
            ("emoji\u{1f600}x", "emoji__x"),
            ("\u{ff46}ull", "full"),
            ("\u{fb01}t", "fit"),
            ("e\u{301}t\u{e9}", "_t_"),
            ("in\u{200b}visible", "invisible"),
            ("pri\u{e000}vate", "private"),
            ("un\u{378}assigned", "unassigned"),
            ("x\u{b2}", "x2"),
            ("soft\u{ad}hyphen", "softhyphen"),
            ("tag\u{e0041}s", "tags"),
            ("m\u{2003}space", "m_space"),
            ("\u{2460}one", "1one"),
            ("a\u{a0}nbsp", "a_nbsp"),
            ("bidi\u{202e}evil", "bidievil"),
            ("line\nMCP", "line_MCP"),
        ];
        for (raw, name) in tools {
            assert_eq!(of_tool(raw), name);
        }
        for (raw, name) in [("a\u{1f600}b", "a__b"), ("\u{ff46}x", "_x"), ("n\u{200b}o", "n_o"), ("my.srv", "my_srv")] {
            assert_eq!(of_server(raw), name);
        }
    }
}
