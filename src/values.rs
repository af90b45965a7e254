//! The values that options take: durations and report formats. A leaf.

use std::path::PathBuf;
use std::time::Duration;

/// One report to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FormatSpec {
    /// Its format.
    pub(crate) format: Format,
    /// Its file; `None`: standard output.
    pub(crate) path: Option<PathBuf>,
}

/// A report's format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// For people.
    Human,
    /// For programs: version 1 of `docs/outputs.md`.
    Json,
    /// Annotations of GitHub Actions, and the summary of the step.
    Github,
    /// For a comment on a pull request.
    Markdown,
    /// A test case a server.
    Junit,
    /// SARIF 2.1.0.
    Sarif,
}

impl Format {
    /// Every format.
    pub(crate) const ALL: [Self; 6] = [Self::Human, Self::Json, Self::Github, Self::Markdown, Self::Junit, Self::Sarif];

    /// The word in options.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Json => "json",
            Self::Github => "github",
            Self::Markdown => "markdown",
            Self::Junit => "junit",
            Self::Sarif => "sarif",
        }
    }
}

/// Whose rules decide what a configuration means, and what of a list is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Client {
    /// Claude Code.
    Claude,
    /// Claude Desktop.
    ClaudeDesktop,
    /// Codex CLI.
    Codex,
    /// VS Code.
    VsCode,
    /// Cursor.
    Cursor,
    /// Gemini CLI.
    Gemini,
    /// GitHub Copilot's CLI.
    Copilot,
    /// opencode.
    OpenCode,
    /// None: the list as the server gives it.
    Raw,
}

impl Client {
    /// Every client.
    pub(crate) const ALL: [Self; 9] = [
        Self::Claude,
        Self::ClaudeDesktop,
        Self::Codex,
        Self::VsCode,
        Self::Cursor,
        Self::Gemini,
        Self::Copilot,
        Self::OpenCode,
        Self::Raw,
    ];

    /// The word in options and reports.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::ClaudeDesktop => "claude-desktop",
            Self::Codex => "codex",
            Self::VsCode => "vscode",
            Self::Cursor => "cursor",
            Self::Gemini => "gemini",
            Self::Copilot => "copilot",
            Self::OpenCode => "opencode",
            Self::Raw => "raw",
        }
    }

    /// Its name in sentences.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Codex => "Codex",
            Self::VsCode => "VS Code",
            Self::Cursor => "Cursor",
            Self::Gemini => "Gemini CLI",
            Self::Copilot => "Copilot CLI",
            Self::OpenCode => "opencode",
            Self::Raw => "no client",
        }
    }
}

/// Reads a client's word.
///
/// # Errors
/// A sentence, when it is none.
pub(crate) fn parse_client(text: &str) -> Result<Client, String> {
    Client::ALL.into_iter().find(|client| client.as_str() == text).ok_or_else(|| {
        let all: Vec<&str> = Client::ALL.iter().map(|client| client.as_str()).collect();
        format!("expected {}", all.join(", "))
    })
}

/// Which era of the protocol is spoken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// Whichever the server speaks.
    #[default]
    Auto,
    /// Only the handshake of 2025-11-25 and older.
    Legacy,
    /// Only 2026-07-28.
    Modern,
}

/// Reads `auto`, `legacy` or `modern`.
///
/// # Errors
/// A sentence, when it is none of them.
pub(crate) fn parse_protocol(text: &str) -> Result<Protocol, String> {
    match text {
        "auto" => Ok(Protocol::Auto),
        "legacy" => Ok(Protocol::Legacy),
        "modern" => Ok(Protocol::Modern),
        _ => Err("expected auto, legacy or modern".to_owned()),
    }
}

/// Reads `2`, `2.5`, `1500ms`, `10s` or `1m`; a bare number means seconds.
///
/// # Errors
/// A sentence, when the text is no such duration, not above zero, or longer than a day.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let unit_at = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let unit = match unit.trim() {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "m" => 60.0,
        _ => return Err("expected a duration such as 2, 2.5, 1500ms, 10s or 1m".to_owned()),
    };
    let number: f64 = number.parse().map_err(|_| "expected a duration such as 2, 2.5, 1500ms, 10s or 1m".to_owned())?;
    let duration = Duration::try_from_secs_f64(number * unit).unwrap_or(Duration::MAX);
    if duration < Duration::from_millis(1) {
        return Err("a duration must be at least 1ms".to_owned());
    }
    if duration > Duration::from_hours(24) {
        return Err("a duration must be at most a day (1440m)".to_owned());
    }
    Ok(duration)
}

/// Reads `FORMAT` or `FORMAT=PATH`.
///
/// # Errors
/// A sentence, when the format is unknown or the path empty.
pub(crate) fn parse_format(text: &str) -> Result<FormatSpec, String> {
    let (name, path) = match text.split_once('=') {
        Some((_, "")) => return Err("a path must follow the =".to_owned()),
        Some((name, path)) => (name, Some(PathBuf::from(path))),
        None => (text, None),
    };
    let format = Format::ALL.into_iter().find(|format| format.as_str() == name);
    let format = format.ok_or_else(|| {
        let all: Vec<&str> = Format::ALL.iter().map(|format| format.as_str()).collect();
        format!("expected {}", all.join(", "))
    })?;
    Ok(FormatSpec { format, path })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::parse_duration;

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, milliseconds) in [
            ("2", 2000),
            ("2.5", 2500),
            ("1500ms", 1500),
            ("10s", 10_000),
            ("0.05", 50),
            ("1m", 60_000),
            (" 3 s", 3000),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["", "0", "-1", "ten", "1h", "NaN", "inf", "1e9", "1.2.3", "999999m", "0.0001ms", "s", "."] {
            assert!(parse_duration(text).is_err(), "{text:?} was accepted");
        }
    }
}
