//! The guard of a session's calls (`docs/guard.md`): one event in, one answer out.

use std::io::{IsTerminal as _, Read as _, Write as _};

use super::answer::{self, Answer, say};
use super::guard::Guard;
use crate::environment::Environment;
use crate::event::{Event, Kind};
use crate::exit::Exit;
use crate::settings::{Hook, Reset, Settings};
use crate::text;

/// Answers the event on standard input, or forgets records.
pub(super) fn run(settings: &Settings, environment: &Environment, hook: &Hook) -> Exit {
    if let Some(reset) = &hook.reset {
        return forget(settings, environment, hook, reset);
    }
    let event = match read() {
        Ok(event) => event,
        Err(why) => return answer::give(answer::unable(&format!("{why}; the call is not guarded"), hook), hook),
    };
    match &event.kind {
        // At once: most calls of a session are such.
        Kind::NotMcp => return Exit::Ok,
        Kind::Other(name) => {
            say(&format!(
                "nothing to do for the event {name:?}: a guard is for PreToolUse, PostToolUseFailure, PostToolUse and SessionStart"
            ));
            return Exit::Ok;
        }
        _ => {}
    }
    let guard = Guard::new(settings, environment, hook, event.folder.as_deref());
    let answer = match &event.kind {
        Kind::Before(call) => guard.before(call),
        Kind::Failed { call, error, is_interrupt } => {
            if !is_interrupt {
                guard.after_failure(call, error);
            }
            Answer::Allow
        }
        Kind::Succeeded(call) => {
            guard.after_success(call);
            Answer::Allow
        }
        Kind::SessionStart => {
            guard.warm();
            Answer::Allow
        }
        Kind::NotMcp | Kind::Other(_) => Answer::Allow,
    };
    let hook = Hook { fail_open: hook.fail_open || guard.fails_open(), ..hook.clone() };
    answer::give(answer, &hook)
}

fn read() -> Result<Event, String> {
    let mut input = std::io::stdin().lock();
    if input.is_terminal() {
        return Err(
            "the event of a hook is read from standard input, which is a terminal: see docs/guard.md".to_owned()
        );
    }
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes).map_err(|error| format!("cannot read standard input: {error}"))?;
    Event::parse(&bytes)
}

/// Forgets what is known of servers: the next call of each is probed.
fn forget(settings: &Settings, environment: &Environment, hook: &Hook, reset: &Reset) -> Exit {
    let server = match reset {
        Reset::All => None,
        Reset::Server(name) => Some(name.as_str()),
    };
    let guard = Guard::new(settings, environment, hook, None);
    let forgotten = guard.memory().forget(server);
    let said = match forgotten {
        Err(why) => {
            say(&why);
            return Exit::Io;
        }
        Ok(keys) if keys.is_empty() => match server {
            Some(name) => {
                let known: Vec<String> = guard.memory().known().iter().map(|key| text::escape(key)).collect();
                let known = if known.is_empty() { "no server".to_owned() } else { known.join(", ") };
                format!("nothing was known of {name:?}, only of {known}\n")
            }
            None => "nothing was known of any server\n".to_owned(),
        },
        Ok(keys) => {
            let lines: Vec<String> = keys.iter().map(|key| format!("forgotten: {}", text::escape(key))).collect();
            format!("{}\n", lines.join("\n"))
        }
    };
    // What was done is done, whether somebody reads it or not.
    let _ = std::io::stdout().lock().write_all(said.as_bytes());
    Exit::Ok
}
