//! `${VAR}` and `${VAR:-default}`, by the client's own pattern. Pure: the environment is passed in.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::environment::Environment;
use crate::server::{Secret, VariableState};

/// Claude Code's pattern (`clients.md` 1.4): a default ends at the first `}`, and nothing else is expanded.
static PATTERN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}").ok());

/// A variable met while expanding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Met {
    pub(super) name: String,
    pub(super) state: VariableState,
    pub(super) value: Option<Secret>,
}

/// `text` with its variables replaced, and what was met on the way.
///
/// A default is used only when the variable is unset; one that is set but empty stays empty, unlike a shell's `:-`. Unset and
/// without default gives nothing, never the literal text (the client passes the placeholder on; a server must not get it).
pub(super) fn expand(text: &str, environment: &Environment) -> (String, Vec<Met>) {
    let mut met = Vec::new();
    let Some(pattern) = PATTERN.as_ref().filter(|_| text.contains("${")) else {
        return (text.to_owned(), met);
    };
    let expanded = pattern.replace_all(text, |captures: &Captures<'_>| {
        let name = &captures[1];
        let value = environment.get(name);
        let (state, result) = match (&value, captures.get(2)) {
            (Some(value), _) if value.is_empty() => (VariableState::Empty, String::new()),
            (Some(value), _) => (VariableState::Set, value.clone()),
            (None, Some(default)) => (VariableState::Defaulted, default.as_str().to_owned()),
            (None, None) => (VariableState::Unset, String::new()),
        };
        met.push(Met { name: name.to_owned(), state, value: value.map(Secret::new) });
        result
    });
    (expanded.into_owned(), met)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{PATTERN, expand};
    use crate::environment::Environment;
    use crate::server::VariableState;

    fn of(text: &str) -> String {
        let environment = Environment::of(&[("A", "1"), ("EMPTY", ""), ("_x9", "two")]);
        expand(text, &environment).0
    }

    /// Each row was seen on Claude Code (`clients.md` 1.4).
    #[test]
    fn the_clients_rules_hold() {
        let rows = [
            ("Bearer ${A}", "Bearer 1"),
            ("${A}${_x9}", "1two"),
            ("${B:-d}", "d"),
            ("${A:-d}", "1"),
            ("${EMPTY:-d}", ""),
            ("${B:-}", ""),
            ("${B}", ""),
            ("$A", "$A"),
            ("%A%", "%A%"),
            ("${env:A}", "${env:A}"),
            ("${A-x}", "${A-x}"),
            ("${1X}", "${1X}"),
            ("$(A)", "$(A)"),
            ("$${A}", "$1"),
            ("\\${A}", "\\1"),
            ("${A:-a}b}", "1b}"),
            ("${B:-${A}}", "${A}"),
        ];
        for (text, expected) in rows {
            assert_eq!(of(text), expected, "{text}");
        }
    }

    #[test]
    fn what_was_met_is_told() {
        let environment = Environment::of(&[("A", "1"), ("E", "")]);
        let (_, met) = expand("${A} ${E} ${D:-x} ${U}", &environment);
        let states: Vec<VariableState> = met.iter().map(|met| met.state).collect();
        assert_eq!(states, [VariableState::Set, VariableState::Empty, VariableState::Defaulted, VariableState::Unset]);
    }

    proptest! {
        #[test]
        fn text_without_a_placeholder_is_untouched(text in "[^$]*") {
            prop_assert_eq!(of(&text), text);
        }

        #[test]
        fn no_placeholder_of_an_unset_variable_is_left(before in "[a-z ]*", name in "[B-Z][A-Z_]{0,8}", after in "[a-z ]*") {
            let text = format!("{before}${{{name}}}{after}");
            let expanded = expand(&text, &Environment::of(&[])).0;
            prop_assert_eq!(&expanded, &format!("{before}{after}"));
            prop_assert!(!PATTERN.as_ref().unwrap().is_match(&expanded));
        }
    }
}
