//! Which servers settings allow and deny: `allowedMcpServers`, `deniedMcpServers`. Rules as seen on Claude Code 2.1.332: the lists of all
//! settings count together; who is denied is denied; an allow-list that names commands goes by commands for programs, one that names
//! addresses by addresses for remote servers, and by names otherwise.

use crate::document::{Node, Object, Value};
use crate::server::{Disabled, Location, Server, Transport};

/// The lists of all settings.
#[derive(Debug, Default)]
pub(super) struct Policy {
    denied: Vec<(Entry, Location)>,
    /// `None` where no settings have such a list; an empty one allows nothing.
    allowed: Option<(Vec<Entry>, Location)>,
}

/// What an entry of a list matches; one that says nothing, or two things, is passed over.
#[derive(Debug)]
enum Entry {
    Name(String),
    Command(Vec<String>),
    Address(String),
}

impl Policy {
    /// Adds the lists of one file. Those of the machine's keeper, which come last, may say that no other list allows anything.
    pub(super) fn add(&mut self, settings: &Object, is_managed: bool) {
        let is_sole = settings.get("allowManagedMcpServersOnly").is_some_and(|node| node.value == Value::Boolean(true));
        if is_managed && is_sole {
            self.allowed = None;
        }
        let entries = |node: &Node| node.array().unwrap_or_default().iter().filter_map(Entry::of).collect::<Vec<_>>();
        if let Some(node) = settings.get("deniedMcpServers") {
            self.denied.extend(entries(node).into_iter().map(|entry| (entry, node.location.clone())));
        }
        if let Some(node) = settings.get("allowedMcpServers").filter(|node| node.array().is_some()) {
            let (allowed, _) = self.allowed.get_or_insert_with(|| (Vec::new(), node.location.clone()));
            allowed.extend(entries(node));
        }
    }

    /// Why the client does not start it.
    pub(super) fn rejects(&self, server: &Server) -> Option<Disabled> {
        if let Some((_, location)) = self.denied.iter().find(|(entry, _)| entry.denies(server)) {
            return Some(Disabled { reason: "deniedMcpServers names it".to_owned(), location: location.clone() });
        }
        let (allowed, location) = self.allowed.as_ref()?;
        let is_allowed = match &server.transport {
            Ok(Transport::Stdio(_)) if allowed.iter().any(|entry| matches!(entry, Entry::Command(_))) => {
                allowed.iter().any(|entry| matches!(entry, Entry::Command(_)) && entry.matches(server))
            }
            Ok(Transport::Http(_) | Transport::Sse(_) | Transport::WebSocket(_))
                if allowed.iter().any(|entry| matches!(entry, Entry::Address(_))) =>
            {
                allowed.iter().any(|entry| matches!(entry, Entry::Address(_)) && entry.matches(server))
            }
            _ => allowed.iter().any(|entry| matches!(entry, Entry::Name(_)) && entry.matches(server)),
        };
        let reason = "allowedMcpServers does not name it".to_owned();
        (!is_allowed).then(|| Disabled { reason, location: location.clone() })
    }
}

impl Entry {
    fn of(node: &Node) -> Option<Self> {
        let object = node.object("").ok()?;
        match (object.get("serverName"), object.get("serverCommand"), object.get("serverUrl")) {
            (Some(name), None, None) => Some(Self::Name(name.text()?.to_owned())),
            (None, Some(command), None) => {
                let words = command.array()?.iter().map(|word| word.text().map(str::to_owned));
                words.collect::<Option<Vec<_>>>().filter(|words| !words.is_empty()).map(Self::Command)
            }
            (None, None, Some(Node { value: Value::Text(address), .. })) => Some(Self::Address(address.clone())),
            _ => None,
        }
    }

    /// Whether it is this server, as the client starts it.
    fn matches(&self, server: &Server) -> bool {
        match (self, &server.transport) {
            (Self::Name(name), _) => *name == server.name.as_str(),
            (Self::Command(words), Ok(Transport::Stdio(stdio))) => {
                let started = std::iter::once(&stdio.command).chain(&stdio.arguments).map(|word| word.value.reveal());
                started.eq(words.iter().map(String::as_str))
            }
            (Self::Address(pattern), Ok(_)) => server.url().is_some_and(|url| matches_address(pattern, url.reveal())),
            _ => false,
        }
    }

    /// A denial holds for what is written, too.
    fn denies(&self, server: &Server) -> bool {
        let written = match (self, &server.transport) {
            (Self::Command(words), Ok(Transport::Stdio(stdio))) => {
                let written = std::iter::once(&stdio.command).chain(&stdio.arguments).map(|word| word.written.as_str());
                written.eq(words.iter().map(String::as_str))
            }
            (
                Self::Address(pattern),
                Ok(Transport::Http(remote) | Transport::Sse(remote) | Transport::WebSocket(remote)),
            ) => *pattern == remote.url.written || matches_address(pattern, &remote.url.written),
            _ => false,
        };
        written || self.matches(server)
    }
}

/// Part by part: a pattern without a path means every path, and a slash at the end means nothing.
fn matches_address(pattern: &str, url: &str) -> bool {
    let parts = |address: &str| {
        let (scheme, rest) = address.split_once("://")?;
        let (authority, path) = rest.split_once('/').map_or((rest, None), |(authority, path)| (authority, Some(path)));
        let path = path.map(|path| path.trim_end_matches('/').to_owned());
        Some((scheme.to_lowercase(), authority.to_lowercase(), path))
    };
    if pattern == "*" {
        return true;
    }
    let (Some(pattern), Some(url)) = (parts(pattern), parts(url)) else { return false };
    matches_glob(&pattern.0, &url.0)
        && matches_glob(&pattern.1, &url.1)
        && pattern.2.is_none_or(|path| matches_glob(&path, &url.2.unwrap_or_default()))
}

/// `*` stands for any characters, nothing else for anything but itself.
fn matches_glob(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        let Some(at) = text.find(piece) else { return false };
        text = &text[at + piece.len()..];
    }
    text.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::{matches_address, matches_glob};

    /// As Claude Code 2.1.332 itself denied them.
    #[test]
    fn addresses_match_as_the_program_matches_them() {
        let url = "http://127.0.0.1:8080/mcp";
        for pattern in [url, "http://127.0.0.1:*", "*", "http://127.0.0.1:8080", "HTTP://127.0.0.1:8080/mcp"] {
            assert!(matches_address(pattern, url), "{pattern}");
        }
        assert!(matches_address("http://127.0.0.1:8080/mcp/", url) && matches_address("*://*/*", url));
        let others = [
            "*/mcp",
            "http://127.0.0.1",
            "http://127.0.0.1:8080/MCP",
            "http://127.0.0.1:8080/mc?",
            "http://127.0.0.1:8080/[m]cp",
        ];
        for pattern in others {
            assert!(!matches_address(pattern, url), "{pattern}");
        }
    }

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, text, expected) in [
            ("a*c", "abc", true),
            ("a*c", "ac", true),
            ("a*c*", "abcd", true),
            ("a*b*c", "abbc", true),
            ("a*bc*c", "abc", false),
            ("*", "", true),
            ("", "a", false),
            ("é*", "éa", true),
        ] {
            assert_eq!(matches_glob(pattern, text), expected, "{pattern} {text}");
        }
    }
}
