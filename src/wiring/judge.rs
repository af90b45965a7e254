//! (rules, offered names) -> what can never match. Pure.

use regex::Regex;

use super::{Kind, Rule, server_of};
use crate::finding::{Code, Finding, Severity};
use crate::naming;
use crate::server::ServerName;

/// Beginnings of names that come from elsewhere: plugins, connectors, the client itself.
const ELSEWHERE: [&str; 5] = ["plugin_", "claude_ai_", "claude-in-chrome", "ide__", "computer-use"];

/// A server, and what it offers.
#[derive(Debug, Clone)]
pub(crate) struct KnownServer {
    /// Its name.
    pub(crate) name: ServerName,
    /// What that becomes in full names.
    pub(crate) prefix: String,
    /// The full names; `None` where nothing is known of them.
    pub(crate) offered: Option<Vec<String>>,
    /// Whether it listed them; without a probe they are those of the lock.
    pub(crate) is_listed: bool,
}

/// What a text comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Match {
    /// It names nothing of a server.
    NotOurs,
    /// It matches, or nobody can tell.
    Alive,
    /// It cannot match: why, and the server it means, if there is one.
    Dead(String, Option<ServerName>),
}

/// What there is to say of the rules: those that can never match, and needs that are not met. With `as_needs` an exact name that is missing is an error of its own.
pub(crate) fn judge(rules: &[Rule], servers: &[KnownServer], as_needs: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in rules {
        for text in alternatives(rule) {
            let Match::Dead(reason, server) = matches(text, rule.kind, servers) else { continue };
            let is_need = as_needs && rule.kind.is_need() && is_exact(text);
            let is_open = servers.iter().any(|known| Some(&known.name) == server.as_ref() && !known.is_listed);
            let finding = finding(rule, text, &reason, server.as_ref(), is_need && !is_open);
            findings.push(if is_open { finding.severity(Severity::Note) } else { finding });
        }
    }
    findings
}

/// Whether any exact name is needed.
pub(crate) fn has_needs(rules: &[Rule]) -> bool {
    rules.iter().any(|rule| rule.kind.is_need() && is_exact(&rule.text))
}

/// The servers that exact names count on.
pub(crate) fn needed_servers(rules: &[Rule], servers: &[KnownServer]) -> Vec<ServerName> {
    let needs = rules.iter().filter(|rule| rule.kind.is_need() && is_exact(&rule.text));
    let named = needs.filter_map(|rule| server_of(servers, bare(&rule.text).strip_prefix("mcp__")?));
    named.map(|(server, _)| server.name.clone()).collect()
}

fn finding(rule: &Rule, text: &str, reason: &str, server: Option<&ServerName>, is_need: bool) -> Finding {
    let mut finding = if is_need {
        Finding::new(Code::ToolsMissing, format!("{text} is needed ({} it), but {reason}", rule.kind.says()))
            .severity(Severity::Error)
            .help("bring the tool back, or take the name out")
    } else {
        Finding::new(Code::RuleDead, format!("{} {text} can never match: {reason}", rule.kind.says()))
            .help("mend the name, or remove it: the client says nothing of it")
    };
    if let Some(location) = &rule.location {
        finding = finding.at(location);
    } else {
        finding = finding.note("it was given with --allowed-tools");
    }
    match server {
        Some(server) => finding.about(server),
        None => finding,
    }
}

/// A matcher is a list, or a pattern with alternatives; anything else is one text.
fn alternatives(rule: &Rule) -> Vec<&str> {
    if rule.kind != Kind::Matcher {
        return vec![rule.text.as_str()];
    }
    if is_list(&rule.text) {
        return rule.text.split(['|', ',']).map(str::trim).collect();
    }
    let mut parts = Vec::new();
    let (mut depth, mut start, mut is_escaped) = (0_i32, 0, false);
    for (at, c) in rule.text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '|' if depth == 0 => {
                parts.push(&rule.text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&rule.text[start..]);
    parts
}

/// Only of these characters, a matcher is a list of exact names, not a pattern (`clients.md` 1.13).
fn is_list(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ' ' | ',' | '|'))
}

/// The name without what stands in parentheses.
fn bare(text: &str) -> &str {
    text.split_once('(').map_or(text, |(name, _)| name).trim()
}

/// Whether it names one tool of one server.
fn is_exact(text: &str) -> bool {
    let name = bare(text);
    name.strip_prefix("mcp__").is_some_and(|rest| rest.contains("__"))
        && !name.contains(['*', '.', '\\', '[', '^', '$', '+', '?'])
}

fn matches(text: &str, kind: Kind, servers: &[KnownServer]) -> Match {
    if kind == Kind::Matcher && !is_list(text) {
        return matches_pattern(text, servers);
    }
    let name = bare(text);
    let Some(rest) = name.strip_prefix("mcp__") else { return Match::NotOurs };
    if ELSEWHERE.iter().any(|start| rest.starts_with(start)) && server_of(servers, rest).is_none() {
        return Match::Alive;
    }
    if rest.starts_with('*') || rest.is_empty() {
        return match kind {
            Kind::Deny => Match::Alive,
            _ => Match::Dead("only a prohibition may leave the server open".to_owned(), None),
        };
    }
    let Some((server, tool)) = server_of(servers, rest) else { return unknown(name, servers) };
    let about = Some(server.name.clone());
    match tool.as_deref() {
        None if kind == Kind::Matcher => {
            let reason = format!(
                "a matcher of letters alone is a whole name; write mcp__{}__.* for all its tools",
                server.prefix
            );
            Match::Dead(reason, about)
        }
        None | Some("*") => match &server.offered {
            Some(offered) if offered.is_empty() => Match::Dead("the server offers nothing".to_owned(), about),
            _ => Match::Alive,
        },
        Some(tool) => matches_tool(name, tool, server),
    }
}

fn matches_tool(name: &str, tool: &str, server: &KnownServer) -> Match {
    let Some(offered) = &server.offered else { return Match::Alive };
    let is_met = match tool.strip_suffix('*') {
        Some(_) => offered.iter().any(|full| full.starts_with(name.trim_end_matches('*'))),
        None => offered.iter().any(|full| full == name),
    };
    if is_met {
        return Match::Alive;
    }
    let right = format!("mcp__{}__{}", server.prefix, naming::of_server(tool));
    let reason = if right != name && offered.contains(&right) {
        format!("the client writes that name {right}")
    } else {
        let who = if server.is_listed { "the server offers" } else { "the lock has" };
        format!("{who} no such tool")
    };
    Match::Dead(reason, Some(server.name.clone()))
}

/// A name whose server is not there; perhaps it is only not written as the client writes it.
fn unknown(name: &str, servers: &[KnownServer]) -> Match {
    let normalized = naming::of_server(name.trim_end_matches('*'));
    if normalized != name
        && let Some(rest) = normalized.strip_prefix("mcp__")
        && let Some((server, _)) = server_of(servers, rest)
    {
        return Match::Dead(format!("the client writes that name {normalized}"), Some(server.name.clone()));
    }
    Match::Dead("no server of this configuration has that name".to_owned(), None)
}

/// An unanchored pattern. One that this tool cannot read is left to the client.
fn matches_pattern(text: &str, servers: &[KnownServer]) -> Match {
    if !text.contains("mcp__") || ELSEWHERE.iter().any(|start| text.contains(&format!("mcp__{start}"))) {
        return Match::NotOurs;
    }
    let Ok(pattern) = Regex::new(text) else { return Match::Alive };
    let offered = servers.iter().filter_map(|server| server.offered.as_ref()).flatten();
    if offered.into_iter().any(|full| pattern.is_match(full)) {
        return Match::Alive;
    }
    // Of a server that offers an unknown list, the beginning alone may match.
    let literal: String = text
        .split_once("mcp__")
        .map_or("", |(_, rest)| rest)
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
        .collect();
    let is_open = |server: &KnownServer| {
        server.offered.is_none() && (server.prefix.starts_with(&literal) || literal.starts_with(&server.prefix))
    };
    if servers.iter().any(is_open) {
        return Match::Alive;
    }
    let after = text.split_once("mcp__").map_or("", |(_, rest)| rest);
    let name: String = after.chars().take_while(|c| !matches!(c, '*' | '(' | '[' | '+' | '$')).collect();
    match unknown(&format!("mcp__{}", name.trim_end_matches(['.', '_', '\\'])), servers) {
        Match::Dead(reason, Some(server)) => Match::Dead(reason, Some(server)),
        _ => Match::Dead("nothing that is offered fits the pattern".to_owned(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::{KnownServer, Match, alternatives, judge, matches, needed_servers};
    use crate::finding::Code;
    use crate::server::ServerName;
    use crate::wiring::{Kind, Rule};

    fn servers() -> Vec<KnownServer> {
        let of = |name: &str, offered: Option<&[&str]>| {
            KnownServer::new(
                &ServerName::new(name),
                offered.map(|names| names.iter().map(|name| (*name).to_owned()).collect()),
            )
        };
        vec![of("my.srv", Some(&["mcp__my_srv__alpha", "mcp__my_srv__al_x"])), of("down", None), of("empty", Some(&[]))]
    }

    fn rule(text: &str, kind: Kind) -> Rule {
        Rule { text: text.to_owned(), kind, location: None }
    }

    /// `clients.md` 1.12: which rules match was seen with `--allowedTools`.
    #[test]
    fn permissions_match_as_was_seen() {
        let alive = [
            "mcp__my_srv__alpha",
            "mcp__my_srv",
            "mcp__my_srv__*",
            "mcp__my_srv__al*",
            "mcp__my_srv__alpha(x)",
            "mcp__down__anything",
            "mcp__plugin_a_b__c",
            "mcp__claude_ai_x__y",
        ];
        for text in alive {
            assert_eq!(matches(text, Kind::Allow, &servers()), Match::Alive, "{text}");
        }
        for text in ["Bash(git:*)", "Read", "alpha"] {
            assert_eq!(matches(text, Kind::Allow, &servers()), Match::NotOurs, "{text}");
        }
        let dead = [
            ("mcp__*", "only a prohibition"),
            ("mcp__my.srv__alpha", "the client writes that name mcp__my_srv__alpha"),
            ("mcp__my_srv__gone", "no such tool"),
            ("mcp__my_srv__z*", "no such tool"),
            ("mcp__other__alpha", "no server of this configuration"),
            ("mcp__empty", "offers nothing"),
        ];
        for (text, reason) in dead {
            let Match::Dead(found, _) = matches(text, Kind::Allow, &servers()) else { panic!("{text} is alive") };
            assert!(found.contains(reason), "{text}: {found}");
        }
        assert_eq!(matches("mcp__*", Kind::Deny, &servers()), Match::Alive);
    }

    /// `clients.md` 1.13: a matcher of plain characters is a list, anything else an unanchored pattern.
    #[test]
    fn matchers_match_as_was_seen() {
        let alive =
            ["mcp__my_srv__.*", "mcp__my_srv__alpha", "mcp__.*", "^mcp__my_srv", "mcp__down__.*", "mcp__my_srv__*"];
        for text in alive {
            assert_eq!(matches(text, Kind::Matcher, &servers()), Match::Alive, "{text}");
        }
        let dead = [
            ("mcp__my_srv", "write mcp__my_srv__.*"),
            ("mcp__my.srv__.*", "the client writes that name mcp__my_srv"),
            ("mcp__gone__.*", "nothing that is offered"),
            ("mcp__my_srv__gone", "no such tool"),
        ];
        // As a pattern, `.` fits the character the client puts there.
        assert_eq!(matches("mcp__my.srv__.*", Kind::Matcher, &servers()), Match::Alive);
        for (text, reason) in dead.into_iter().filter(|(text, _)| *text != "mcp__my.srv__.*") {
            let Match::Dead(found, _) = matches(text, Kind::Matcher, &servers()) else { panic!("{text} is alive") };
            assert!(found.contains(reason), "{text}: {found}");
        }
    }

    #[test]
    fn a_matcher_is_judged_part_by_part() {
        assert_eq!(alternatives(&rule("Bash|mcp__a__b, Write", Kind::Matcher)), ["Bash", "mcp__a__b", "Write"]);
        assert_eq!(alternatives(&rule("mcp__(a|b)__.*|Bash", Kind::Matcher)), ["mcp__(a|b)__.*", "Bash"]);
        let judged = judge(&[rule("Bash|mcp__gone__.*", Kind::Matcher)], &servers(), false);
        assert_eq!(judged.len(), 1);
    }

    #[test]
    fn exact_names_can_be_needs() {
        let rules = [
            rule("mcp__my_srv__gone", Kind::Agent),
            rule("mcp__my_srv__z*", Kind::Allow),
            rule("mcp__my_srv__gone", Kind::Deny),
            rule("mcp__down__x", Kind::Allow),
        ];
        let codes: Vec<Code> = judge(&rules, &servers(), true).iter().map(|finding| finding.code).collect();
        assert_eq!(codes, [Code::ToolsMissing, Code::RuleDead, Code::RuleDead]);
        assert!(judge(&rules, &servers(), false).iter().all(|finding| finding.code == Code::RuleDead));
        let needed = needed_servers(&rules, &servers());
        assert_eq!(needed, [ServerName::new("my.srv"), ServerName::new("down")]);
    }
}
