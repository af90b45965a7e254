//! What a guard says to its client: two exit codes, one line each on standard error, or JSON (`clients.md` 1.13). Exit 2 is never an accident.

use std::ffi::OsString;
use std::io::Write as _;

use clap::CommandFactory as _;
use serde_json::json;

use crate::cli::Cli;
use crate::exit::Exit;
use crate::settings::Hook;
use crate::text;

/// Whether a call goes through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// It does.
    Allow,
    /// It does not, for this reason.
    Block(String),
}

/// Whether these arguments of the process are those of a guard that answers an event: the first word that is no option, and no option's value,
/// is `hook`.
pub(crate) fn guards(arguments: &[OsString]) -> bool {
    let cli = Cli::command();
    let takes_value = |word: &str| {
        let is = |argument: &&clap::Arg| match word.strip_prefix("--") {
            Some(long) => argument.get_long() == Some(long),
            // Of `-vt` the last letter counts.
            None => argument.get_short().is_some() && argument.get_short() == word.chars().last(),
        };
        cli.get_arguments().find(is).is_some_and(|argument| argument.get_action().takes_values())
    };
    let mut words = arguments.iter().map(|argument| argument.to_string_lossy());
    let mut command = None;
    while let Some(word) = words.next() {
        if !word.starts_with('-') {
            command = Some(word);
            break;
        }
        if takes_value(&word) {
            words.next();
        }
    }
    let is_reset = |argument: &OsString| argument.to_string_lossy().starts_with("--reset");
    command.is_some_and(|command| command == "hook") && !arguments.iter().any(is_reset)
}

/// The exit code of a guard: what is no answer lets the call through, or blocks it where that was asked for.
pub(crate) fn as_answer(exit: Exit, arguments: &[OsString]) -> Exit {
    let fails_closed = arguments.iter().any(|argument| argument == "--fail-closed");
    match exit {
        Exit::Ok | Exit::Blocked => exit,
        _ if fails_closed => {
            say(
                "the guard could not do its work, and --fail-closed was given: the call is blocked; do not retry before its command in the client's settings is mended",
            );
            Exit::Blocked
        }
        _ => {
            say(
                "the guard could not do its work: the call is let through, unguarded; mend the hook's command in the client's settings",
            );
            Exit::Ok
        }
    }
}

/// A line on standard error. Where nobody reads it, the exit code has to do.
pub(super) fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "mcp-preflight hook: {}", text::escape(text));
}

/// Several of them.
pub(super) fn say_all(texts: &[String]) {
    for text in texts {
        say(text);
    }
}

/// Says why the guard cannot work; the call is blocked only where that was asked for.
pub(super) fn unable(why: &str, hook: &Hook) -> Answer {
    if hook.fail_closed {
        return Answer::Block(format!("{why} (--fail-closed); do not retry before that is mended"));
    }
    say(why);
    Answer::Allow
}

/// Gives the answer to a call that is about to be made.
pub(super) fn give(answer: Answer, hook: &Hook) -> Exit {
    let reason = match answer {
        Answer::Allow => return Exit::Ok,
        Answer::Block(reason) => text::escape(&reason),
    };
    if hook.fail_open {
        say(&format!("nothing is blocked (fail open); else: {reason}"));
        return Exit::Ok;
    }
    if !hook.json {
        // The client hands it to its model as it is.
        let _ = writeln!(std::io::stderr().lock(), "mcp-preflight: {reason}");
        return Exit::Blocked;
    }
    let answer = json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": format!("mcp-preflight: {reason}"),
    } });
    let mut out = std::io::stdout().lock();
    if writeln!(out, "{}", text::escape_json(&answer.to_string())).and_then(|()| out.flush()).is_ok() {
        return Exit::Ok;
    }
    // Nobody reads the answer: the number says it, and the line.
    let _ = writeln!(std::io::stderr().lock(), "mcp-preflight: {reason}");
    Exit::Blocked
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::{as_answer, guards};
    use crate::exit::Exit;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn whatever_happens_to_a_guard_is_one_of_two_answers() {
        assert!(guards(&words("hook --json")) && guards(&words("hook")));
        // A gate keeps its numbers, and so does a person who resets.
        for line in ["-v hook --nonsense", "--timeout 2 hook", "--timeout=2 hook", "-vt 2 hook", "--nonsense hook"] {
            assert!(guards(&words(line)), "{line}");
        }
        for line in ["--lock hook --nonsense", "-l hook", "hook --reset s", "tools hook", ""] {
            assert!(!guards(&words(line)), "{line}");
        }
        for exit in [Exit::Usage, Exit::Software, Exit::Io, Exit::Config, Exit::TempFail, Exit::Interrupted(15)] {
            assert_eq!(as_answer(exit, &words("hook")), Exit::Ok);
            assert_eq!(as_answer(exit, &words("hook --fail-closed")), Exit::Blocked);
        }
        for exit in [Exit::Ok, Exit::Blocked] {
            assert_eq!(as_answer(exit, &words("hook --fail-closed")), exit);
        }
    }
}
