//! What Codex does not start with: one wrong key ends the whole program, so that it is a fault of the file (seen on 0.171.0).

use super::entry;
use crate::document::{Node, Object};

/// Keys that only a remote server may have.
const OF_REMOTE: [&str; 8] = [
    "http_headers",
    "env_http_headers",
    "http_headers_helper",
    "bearer_token",
    "bearer_token_env_var",
    "auth",
    "oauth",
    "oauth_resource",
];
/// Keys that only a program may have.
const OF_PROGRAM: [&str; 4] = ["args", "env", "env_vars", "cwd"];
/// Ways to approve of calls.
const APPROVALS: [&str; 4] = ["auto", "prompt", "writes", "approve"];

/// Keys whose values are words.
const WORDS: [(&str, &[&str]); 3] = [
    ("default_tools_approval_mode", &APPROVALS),
    ("startup_readiness", &["connection", "catalog"]),
    ("auth", &["oauth", "chatgpt"]),
];

/// What ends the whole program, in disabled entries, too: wrong types and values of known keys, keys of the other kind of server.
pub(super) fn check(object: &Object) -> Result<(), String> {
    misplaced(object)?;
    for key in ["enabled", "required", "supports_parallel_tool_calls"] {
        entry::flag(object, key, false)?;
    }
    for (key, words) in WORDS {
        one_of(object, key, key, words)?;
    }
    if entry::number(object, "startup_timeout_ms")?.is_some_and(|number| number.fract() != 0.0) {
        return Err("startup_timeout_ms: expected a whole number".to_owned());
    }
    if entry::number(object, "tool_timeout_sec")?.is_some_and(|number| number < 0.0) {
        return Err("tool_timeout_sec: expected a time".to_owned());
    }
    for key in ["name", "oauth_resource", "http_headers_helper", "environment_id"] {
        if let Some(node) = object.get(key).filter(|node| node.text().is_none()) {
            return Err(format!("{key}: expected a string, found {}", node.kind()));
        }
    }
    entry::names(object, "scopes")?;
    object.get("oauth").map_or(Ok(()), |node| node.object("oauth").map(drop).map_err(|fault| fault.message))?;
    tools(object)?;
    let sources = object.get("env_vars").and_then(Node::array).unwrap_or_default();
    for source in sources.iter().filter_map(|node| node.object("").ok()) {
        one_of(source, "source", "env_vars: source", &["local", "remote"])?;
    }
    Ok(())
}

fn misplaced(object: &Object) -> Result<(), String> {
    let (keys, beside) = match (object.get("command").is_some(), object.get("url").is_some()) {
        (true, false) => (&OF_REMOTE[..], "command"),
        (false, true) => (&OF_PROGRAM[..], "url"),
        _ => return Ok(()),
    };
    match keys.iter().find(|key| object.get(key).is_some()) {
        Some(key) => Err(format!("{key} does not go with {beside}")),
        None => Ok(()),
    }
}

fn tools(object: &Object) -> Result<(), String> {
    let Some(node) = object.get("tools") else { return Ok(()) };
    for tool in &node.object("tools").map_err(|fault| fault.message)?.members {
        let path = format!("tools.{}", tool.key);
        let settings = tool.node.object(&path).map_err(|fault| fault.message)?;
        one_of(settings, "approval_mode", &format!("{path}.approval_mode"), &APPROVALS)?;
    }
    Ok(())
}

/// Whether what stands at `key`, if anything does, is one of some words.
fn one_of(object: &Object, key: &str, path: &str, words: &[&str]) -> Result<(), String> {
    match object.get(key).filter(|node| node.text().is_none_or(|text| !words.contains(&text))) {
        Some(node) => {
            Err(format!("{path}: expected {}, found {}", words.join(" or "), node.text().unwrap_or(node.kind())))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::document::{Document, Syntax};

    /// As Codex 0.171.0 itself took and refused them (`codex mcp list`).
    #[test]
    fn entries_are_refused_as_the_program_refuses_them() {
        let (program, remote) = ("command = \"true\"", "url = \"http://h/mcp\"");
        let rows = [
            (program, "startup_readiness = \"x\"", false),
            (program, "startup_readiness = \"catalog\"", true),
            (program, "name = 1", false),
            (program, "environment_id = 1", false),
            (program, "experimental_environment = 1", true),
            (remote, "http_headers_helper = 1", false),
            (remote, "http_headers_helper = \"true\"", true),
            (program, "http_headers_helper = \"true\"", false),
            (remote, "args = []", false),
            (remote, "auth = \"x\"", false),
            (remote, "auth = \"chatgpt\"", true),
            (remote, "scopes = \"x\"", false),
            (remote, "oauth = \"x\"", false),
            (remote, "oauth = {}", true),
            (program, "tools = \"x\"", false),
            (program, "tools = {t = \"x\"}", false),
            (program, "tools = {t = {approval_mode = \"x\"}}", false),
            (program, "tools = {t = {approval_mode = \"writes\"}}", true),
            (program, "default_tools_approval_mode = \"x\"", false),
            (program, "env_vars = [{name = \"A\", source = \"x\"}]", false),
            (program, "env_vars = [{name = \"A\", source = \"local\"}]", true),
            (program, "enabled = \"x\"", false),
            (program, "tool_timeout_sec = -1", false),
            (program, "startup_timeout_ms = 1.5", false),
        ];
        for (kind, line, is_taken) in rows {
            let text = format!("{kind}\n{line}\n");
            let root = Document::new("c", text.as_bytes()).parse(Syntax::Toml).expect("TOML");
            let checked = super::check(root.object("").expect("a table"));
            assert_eq!(checked.is_ok(), is_taken, "{text}{checked:?}");
        }
    }
}
