//! Variables in a configuration, each client's way. Pure: the environment is passed in.
//!
//! A variable that is unset and has no default gives nothing, whatever the client does with the placeholder: a server must not get it.

use std::path::Path;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::entry::{Dialect, Field, Met};
use super::withheld::{is_withheld, is_withheld_from_programs};
use crate::environment::Environment;
use crate::files;
use crate::server::{Secret, VariableState};

/// Claude Code's pattern (`clients.md` 1.4): a default ends at the first `}`, and nothing else is expanded.
static BRACES: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}").ok());

/// Gemini CLI's and Copilot's (`clients.md` section 3): `$X`, `${X}`, `${X:-default}`.
static SHELL: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|([A-Za-z_][A-Za-z0-9_]*))").ok());

/// VS Code's and Cursor's (`clients.md` section 3): `${env:X}`, `${workspaceFolder}`, `${input:id}`.
static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\$\{([A-Za-z/]+)(?::([^}]*))?\}").ok());

/// opencode's (`clients.md` section 3): `{env:X}`, `{file:path}`.
static CURLY: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\{(env|file):([^}]+)\}").ok());

/// Nothing is expanded: Codex, Claude Desktop.
pub(super) struct Literal;

impl Dialect for Literal {
    fn expand(&self, text: &str, _: Field) -> Result<(String, Vec<Met>), String> {
        Ok((text.to_owned(), Vec::new()))
    }
}

/// Claude Code.
pub(super) struct Claude<'a> {
    pub(super) environment: &'a Environment,
}

impl Claude<'_> {
    /// A default is used only when the variable is unset; one that is set but empty stays empty, unlike a shell's `:-`.
    fn once(&self, text: &str, field: Field, met: &mut Vec<Met>) -> String {
        // Building the pattern costs more than reading the whole file.
        if !text.contains("${") {
            return text.to_owned();
        }
        replaced(BRACES.as_ref(), text, |captures| {
            let name = &captures[1];
            let is_remote = matches!(field, Field::Url | Field::Header);
            let is_kept_back = if is_remote { is_withheld(name) } else { is_withheld_from_programs(name) };
            if let Some(value) = self.environment.setting(name).filter(|_| is_kept_back) {
                met.push(Met {
                    name: name.to_owned(),
                    state: VariableState::Withheld,
                    value: Some(Secret::new(value)),
                });
                return String::new();
            }
            look_up(self.environment, name, captures.get(2).map(|default| default.as_str()), met)
        })
    }
}

impl Dialect for Claude<'_> {
    /// Header values are expanded twice: the client does so, and a variable in a default, or in the value of another variable,
    /// is replaced there. The folder is no field of this client.
    fn expand(&self, text: &str, field: Field) -> Result<(String, Vec<Met>), String> {
        let mut met = Vec::new();
        let mut expanded = self.once(text, field, &mut met);
        if field == Field::Header {
            expanded = self.once(&expanded, field, &mut met);
        }
        Ok((expanded, met))
    }
}

/// Gemini CLI and Copilot: as a shell writes them.
pub(super) struct Shell<'a> {
    pub(super) environment: &'a Environment,
    /// Only names with this beginning can be used; others stay as they are.
    pub(super) prefix: &'static str,
}

impl Dialect for Shell<'_> {
    fn expand(&self, text: &str, _: Field) -> Result<(String, Vec<Met>), String> {
        let mut met = Vec::new();
        let expanded = replaced(SHELL.as_ref(), text, |captures| {
            let name = captures.get(1).or_else(|| captures.get(3)).map_or("", |name| name.as_str());
            if !name.starts_with(self.prefix) {
                return captures[0].to_owned();
            }
            look_up(self.environment, name, captures.get(2).map(|default| default.as_str()), &mut met)
        });
        Ok((expanded, met))
    }
}

/// VS Code and Cursor: variables by kind.
pub(super) struct Named<'a> {
    pub(super) environment: &'a Environment,
    /// What `${workspaceFolder}` is.
    pub(super) workspace: &'a Path,
}

impl Dialect for Named<'_> {
    fn expand(&self, text: &str, _: Field) -> Result<(String, Vec<Met>), String> {
        let mut met = Vec::new();
        let mut fault = None;
        let expanded = replaced(NAMED.as_ref(), text, |captures| {
            let argument = captures.get(2).map(|argument| argument.as_str());
            match (&captures[1], argument) {
                ("env", Some(name)) => look_up(self.environment, name, None, &mut met),
                ("workspaceFolder", _) => self.workspace.display().to_string(),
                ("workspaceFolderBasename", None) => {
                    self.workspace.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
                }
                ("userHome", None) => self.environment.home().unwrap_or_default().display().to_string(),
                ("pathSeparator" | "/", None) => std::path::MAIN_SEPARATOR.to_string(),
                ("cwd", None) => self.environment.folder.display().to_string(),
                ("input" | "command", Some(id)) => {
                    let what = if &captures[1] == "input" { "a person to type it in" } else { "its editor" };
                    fault =
                        Some(format!("{} ({id:?}) needs {what}, and there is none in an unattended run", &captures[0]));
                    String::new()
                }
                _ => captures[0].to_owned(),
            }
        });
        match fault {
            Some(fault) => Err(fault),
            None => Ok((expanded, met)),
        }
    }
}

/// opencode.
pub(super) struct Curly<'a> {
    pub(super) environment: &'a Environment,
    /// From where `{file:...}` is found.
    pub(super) folder: &'a Path,
}

impl Dialect for Curly<'_> {
    fn expand(&self, text: &str, _: Field) -> Result<(String, Vec<Met>), String> {
        let mut met = Vec::new();
        let mut fault = None;
        let expanded = replaced(CURLY.as_ref(), text, |captures| {
            let argument = captures[2].trim();
            if &captures[1] == "env" {
                return look_up(self.environment, argument, None, &mut met);
            }
            let path = match argument.strip_prefix("~/") {
                Some(rest) => self.environment.home().unwrap_or_default().join(rest),
                None => self.folder.join(argument),
            };
            match files::read_text(&path) {
                // What a file holds for a server is a secret, as a variable's value is.
                Ok(text) => {
                    let value = text.trim().to_owned();
                    let name = captures[0].to_owned();
                    met.push(Met { name, state: VariableState::Set, value: Some(Secret::new(value.clone())) });
                    value
                }
                Err(error) => {
                    fault = Some(format!("{}: {error}", &captures[0]));
                    String::new()
                }
            }
        });
        match fault {
            Some(fault) => Err(fault),
            None => Ok((expanded, met)),
        }
    }
}

/// The text with every match replaced.
fn replaced(pattern: Option<&Regex>, text: &str, mut with: impl FnMut(&Captures<'_>) -> String) -> String {
    match pattern {
        Some(pattern) => pattern.replace_all(text, |captures: &Captures<'_>| with(captures)).into_owned(),
        None => text.to_owned(),
    }
}

/// A variable's value, or its default when it is unset.
fn look_up(environment: &Environment, name: &str, default: Option<&str>, met: &mut Vec<Met>) -> String {
    let value = environment.get(name);
    let (state, result) = match (&value, default) {
        (Some(value), _) if value.is_empty() => (VariableState::Empty, String::new()),
        (Some(value), _) => (VariableState::Set, value.clone()),
        (None, Some(default)) => (VariableState::Defaulted, default.to_owned()),
        (None, None) => (VariableState::Unset, String::new()),
    };
    met.push(Met { name: name.to_owned(), state, value: value.map(Secret::new) });
    result
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::{BRACES, CURLY, Claude, Curly, Dialect, Field, NAMED, Named, SHELL, Shell};
    use crate::environment::{Environment, HOME};
    use crate::server::VariableState;

    fn environment() -> Environment {
        Environment::of(&[
            ("A", "1"),
            ("EMPTY", ""),
            ("_x9", "two"),
            (HOME, "/home/me"),
            ("OTEL_X", "t"),
            ("N", "${A}"),
        ])
    }

    fn of(text: &str) -> String {
        Claude { environment: &environment() }.expand(text, Field::Argument).expect("text").0
    }

    #[test]
    fn every_pattern_is_one() {
        assert!([&BRACES, &SHELL, &NAMED, &CURLY].iter().all(|pattern| pattern.is_some()));
    }

    /// Each row was seen on Claude Code (`clients.md` 1.4).
    #[test]
    fn claudes_rules_hold() {
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
            ("${N}", "${A}"),
            ("${OTEL_X}", ""),
        ];
        for (text, expected) in rows {
            assert_eq!(of(text), expected, "{text}");
        }
    }

    #[test]
    fn headers_are_expanded_twice_and_some_variables_are_kept_from_them() {
        let environment = environment();
        let claude = Claude { environment: &environment };
        for (text, expected) in [("${B:-${A}}", "1"), ("${N}", "1"), ("${OTEL_X:-d}", "")] {
            assert_eq!(claude.expand(text, Field::Header).expect("text").0, expected, "{text}");
        }
        let (_, met) = claude.expand("${OTEL_X}", Field::Url).expect("text");
        assert_eq!(met[0].state, VariableState::Withheld);
    }

    #[test]
    fn what_was_met_is_told() {
        let environment = Environment::of(&[("A", "1"), ("E", "")]);
        let (_, met) =
            Claude { environment: &environment }.expand("${A} ${E} ${D:-x} ${U}", Field::Command).expect("text");
        let states: Vec<VariableState> = met.iter().map(|met| met.state).collect();
        assert_eq!(states, [VariableState::Set, VariableState::Empty, VariableState::Defaulted, VariableState::Unset]);
    }

    /// `clients.md` section 3: Gemini CLI, Copilot.
    #[test]
    fn a_shells_forms_are_known_to_two_clients() {
        let environment = environment();
        let gemini = Shell { environment: &environment, prefix: "" };
        for (text, expected) in [("$A-${A}", "1-1"), ("${B:-d}", "d"), ("$B", ""), ("%A%", "%A%"), ("$$", "$$")] {
            assert_eq!(gemini.expand(text, Field::Argument).expect("text").0, expected, "{text}");
        }
        let prefixed = Shell { environment: &environment, prefix: "COPILOT_MCP_" };
        assert_eq!(prefixed.expand("$A", Field::Argument).expect("text").0, "$A");
    }

    /// `clients.md` section 3: VS Code, Cursor.
    #[test]
    fn an_editors_forms_are_known_to_two_clients() {
        let environment = environment();
        let named = Named { environment: &environment, workspace: Path::new("/w/project") };
        let rows = [
            ("${env:A}", "1"),
            ("${env:B}", ""),
            ("${workspaceFolder}/x", "/w/project/x"),
            ("${workspaceFolderBasename}", "project"),
            ("${userHome}", "/home/me"),
            ("${A}", "${A}"),
        ];
        for (text, expected) in rows {
            assert_eq!(named.expand(text, Field::Argument).expect("text").0, expected, "{text}");
        }
        assert!(named.expand("${input:token}", Field::Header).expect_err("a reason").contains("unattended"));
    }

    /// `clients.md` section 3: opencode.
    #[test]
    fn opencodes_forms() {
        let environment = environment();
        let curly = Curly { environment: &environment, folder: Path::new("/nowhere") };
        assert_eq!(curly.expand("Bearer {env:A}", Field::Header).expect("text").0, "Bearer 1");
        assert_eq!(curly.expand("{\"a\": 1}", Field::Argument).expect("text").0, "{\"a\": 1}");
        assert!(curly.expand("{file:key.txt}", Field::Header).expect_err("a reason").contains("{file:key.txt}: "));
    }

    proptest! {
        #[test]
        fn text_without_a_placeholder_is_untouched(text in "[^$]*") {
            prop_assert_eq!(of(&text), text);
        }

        #[test]
        fn no_placeholder_of_an_unset_variable_is_left(before in "[a-z ]*", name in "[B-Z][A-Z_]{0,8}", after in "[a-z ]*") {
            let text = format!("{before}${{{name}}}{after}");
            let empty = Environment::of(&[]);
            let expanded = Claude { environment: &empty }.expand(&text, Field::Argument).expect("text").0;
            prop_assert_eq!(&expanded, &format!("{before}{after}"));
        }
    }
}
