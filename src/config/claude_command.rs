//! The command line of the client that started this process, where the system shows it (Linux): servers that the client was started with stand
//! in no file that could be searched for. The process is believed only when this one descends from it.

use crate::environment::Environment;

/// No chain of processes from a client to its hook is longer.
#[cfg(target_os = "linux")]
const GENERATIONS: usize = 16;

/// The values of `--mcp-config`, files or JSON, as they were given.
pub(super) fn configurations(environment: &Environment) -> Vec<String> {
    values(&words(environment))
}

/// Whether the client was told to use nothing else.
pub(super) fn is_strict(environment: &Environment) -> bool {
    words(environment).iter().any(|word| word == "--strict-mcp-config")
}

/// The option takes every word up to the next option (`clients.md` 1.3).
fn values(words: &[String]) -> Vec<String> {
    let mut values = Vec::new();
    let mut is_value = false;
    for word in words {
        if let Some(value) = word.strip_prefix("--mcp-config=") {
            values.push(value.to_owned());
            is_value = true;
        } else if word.starts_with('-') {
            is_value = word == "--mcp-config";
        } else if is_value {
            values.push(word.clone());
        }
    }
    values
}

#[cfg(target_os = "linux")]
fn words(environment: &Environment) -> Vec<String> {
    let client = environment.setting("CLAUDE_PID").and_then(|pid| pid.parse::<u32>().ok());
    let Some(client) = client.filter(|pid| is_ancestor(*pid)) else { return Vec::new() };
    let line = std::fs::read(format!("/proc/{client}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

#[cfg(not(target_os = "linux"))]
fn words(_: &Environment) -> Vec<String> {
    Vec::new()
}

#[cfg(target_os = "linux")]
fn is_ancestor(wanted: u32) -> bool {
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
    use super::values;

    #[test]
    fn an_option_takes_words_up_to_the_next() {
        let words = |line: &str| values(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(words("claude -p hi --mcp-config a.json b.json --strict-mcp-config x"), ["a.json", "b.json"]);
        assert_eq!(words("claude --mcp-config={} c.json -p"), ["{}", "c.json"]);
        assert_eq!(words("claude -p --mcp-config"), Vec::<String>::new());
        assert_eq!(words("claude --mcp-config a --mcp-config b"), ["a", "b"]);
    }
}
