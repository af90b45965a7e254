//! The command line of the client that started this process, where the system shows it (Linux): servers that the client was started with stand
//! in no file that could be searched for. The process is believed only when this one descends from it.

use std::collections::BTreeMap;

use crate::environment::Environment;

/// Options of the client that take no value, or one that cannot begin with a dash (2.1.332). A word behind any other option may be its value,
/// whatever it looks like.
const FLAGS: [&str; 39] = [
    "--allow-dangerously-skip-permissions",
    "--ax-screen-reader",
    "--background",
    "--bare",
    "--bg",
    "--brief",
    "--chrome",
    "--cloud",
    "--continue",
    "--dangerously-skip-permissions",
    "--debug",
    "--desktop",
    "--disable-slash-commands",
    "--exclude-dynamic-system-prompt-sections",
    "--fork-session",
    "--forward-subagent-text",
    "--from-pr",
    "--ide",
    "--include-hook-events",
    "--include-partial-messages",
    "--no-chrome",
    "--no-session-persistence",
    "--print",
    "--prompt-suggestions",
    "--remote-control",
    "--replay-user-messages",
    "--restricted",
    "--resume",
    "--safe-mode",
    "--strict-mcp-config",
    "--teleport",
    "--tmux",
    "--verbose",
    "--worktree",
    "-c",
    "-d",
    "-p",
    "-r",
    "-w",
];

/// Options that leave out some of the files in which servers stand.
const NARROWING: [&str; 4] = ["--bare", "--restricted", "--safe-mode", "--setting-sources"];

/// What the client was told of servers when it was started.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CommandLine {
    /// The values of `--mcp-config`: files, or JSON, as they were given.
    pub(super) configurations: Vec<String>,
    /// Whether nothing else is used (`--strict-mcp-config`).
    pub(super) is_strict: bool,
    /// Whether some of the other places may be left out.
    pub(super) is_narrowed: bool,
}

/// The variables that the client was started with, whatever its settings have made of them since; `None` where this system does not tell.
pub(super) fn launched_with(environment: &Environment) -> Option<BTreeMap<String, String>> {
    let variables = of_client("environ", environment)?;
    let pair = |variable: &String| variable.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    Some(variables.iter().filter_map(pair).collect())
}

/// Reads the command line of the client.
pub(super) fn read(environment: &Environment) -> CommandLine {
    understood(&of_client("cmdline", environment).unwrap_or_default())
}

/// `--mcp-config` takes every word up to the next option (`clients.md` 1.3). A prompt, and the value of another option, are no options: what may
/// be one of the two is passed over.
fn understood(words: &[String]) -> CommandLine {
    let mut line = CommandLine::default();
    let (mut is_value, mut may_be_value) = (false, false);
    for word in words.iter().take_while(|word| *word != "--") {
        let is_option = word.starts_with('-') && !may_be_value;
        may_be_value = false;
        if !is_option {
            if is_value {
                line.configurations.push(word.clone());
            }
            continue;
        }
        is_value = word == "--mcp-config";
        if let Some(value) = word.strip_prefix("--mcp-config=") {
            // Written like this it takes one word.
            line.configurations.push(value.to_owned());
        }
        line.is_strict |= word == "--strict-mcp-config";
        line.is_narrowed |= NARROWING.iter().any(|option| word.split('=').next() == Some(option));
        may_be_value = !(is_value || word.contains('=') || FLAGS.contains(&word.as_str()));
    }
    line
}

/// The words of a file that the system keeps of the client.
#[cfg(target_os = "linux")]
fn of_client(file: &str, environment: &Environment) -> Option<Vec<String>> {
    let client = environment.setting("CLAUDE_PID").and_then(|pid| pid.parse::<u32>().ok());
    let client = client.filter(|pid| is_ancestor(*pid))?;
    let words = std::fs::read(format!("/proc/{client}/{file}")).ok()?;
    // Each word ends with a zero, the last one, too.
    let words = words.strip_suffix(&[0]).unwrap_or(&words);
    Some(words.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect())
}

#[cfg(not(target_os = "linux"))]
fn of_client(_: &str, _: &Environment) -> Option<Vec<String>> {
    None
}

#[cfg(target_os = "linux")]
fn is_ancestor(wanted: u32) -> bool {
    /// No chain of processes from a client to its hook is longer.
    const GENERATIONS: usize = 16;
    let parent = |pid: u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse::<u32>().ok())
    };
    let mut pid = std::process::id();
    for _ in 0..GENERATIONS {
        match parent(pid) {
            Some(above) if above == wanted => return true,
            Some(above) if above > 1 => pid = above,
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{FLAGS, understood};

    fn values(line: &str) -> (Vec<String>, bool) {
        let line = understood(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        (line.configurations, line.is_strict)
    }

    #[test]
    fn an_option_takes_words_up_to_the_next() {
        assert!(FLAGS.is_sorted());
        let rows = [
            ("claude -p hi --mcp-config a.json b.json --strict-mcp-config x", &["a.json", "b.json"][..], true),
            ("claude --mcp-config={} c.json -p", &["{}"], false),
            ("claude -p --debug --mcp-config c", &["c"], false),
            ("claude -p --mcp-config", &[], false),
            ("claude --mcp-config a --mcp-config b", &["a", "b"], false),
            ("node cli.js --model x --allowedTools a b --mcp-config c", &["c"], false),
            ("claude --output-format=json --mcp-config c", &["c"], false),
        ];
        for (line, expected, is_strict) in rows {
            assert_eq!(values(line), (expected.iter().map(|&value| value.to_owned()).collect(), is_strict), "{line}");
        }
    }

    /// What somebody else may have written must not start a program.
    #[test]
    fn a_prompt_is_no_option() {
        for line in [
            "claude -p -- --mcp-config={}",
            "claude -p -- --mcp-config a --strict-mcp-config",
            "claude -p --append-system-prompt --mcp-config={}",
            "claude -p --append-system-prompt --mcp-config a",
            "claude --some-later-option --strict-mcp-config",
            "claude -p --mcp-config=a.json {}",
        ] {
            let (values, is_strict) = values(line);
            assert!(!is_strict && !values.iter().any(|value| value == "{}"), "{line}: {values:?}");
        }
    }
}
