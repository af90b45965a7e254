//! The rest of an agent's wiring: every name of a tool that permission rules, hook matchers, agents, commands and skills of Claude Code
//! count on, with its place (`clients.md` 1.12, 1.13). It judges names; it reads files, starts nothing and sends nothing.

mod judge;
mod markdown;
mod settings;

use crate::environment::Environment;
use crate::server::{Location, ServerName};

pub(crate) use judge::{KnownServer, has_needs, judge, needed_servers};

/// One text that names tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rule {
    /// As written.
    pub(crate) text: String,
    /// What kind of text it is.
    pub(crate) kind: Kind,
    /// Where it stands; `None` on the command line.
    pub(crate) location: Option<Location>,
}

/// The kind of a text that names tools: clients read each in another way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `permissions.allow`, or `--allowed-tools`.
    Allow,
    /// `permissions.ask`.
    Ask,
    /// `permissions.deny`.
    Deny,
    /// The `matcher` of a hook.
    Matcher,
    /// `tools` of an agent.
    Agent,
    /// `allowed-tools` of a command or a skill.
    Command,
}

impl Kind {
    /// How a sentence begins.
    fn says(self) -> &'static str {
        match self {
            Self::Allow => "the permission to use",
            Self::Ask => "the permission to be asked for",
            Self::Deny => "the prohibition of",
            Self::Matcher => "the hook matcher",
            Self::Agent => "the agent's tool",
            Self::Command => "the allowed tool",
        }
    }

    /// Whether the run needs what it names.
    fn is_need(self) -> bool {
        matches!(self, Self::Allow | Self::Agent | Self::Command)
    }
}

/// Everything that names tools: the texts given on the command line, then what stands below `.claude` where the agent is started.
pub(crate) fn collect(allowed: &[String], environment: &Environment) -> Vec<Rule> {
    let given = allowed.iter().flat_map(|text| markdown::items(text));
    let rule = |(_, text): (usize, &str)| Rule { text: text.to_owned(), kind: Kind::Allow, location: None };
    let mut rules: Vec<Rule> = given.map(rule).collect();
    rules.extend(settings::rules(environment));
    rules.extend(markdown::rules(environment));
    rules
}

/// Whether a server is named by a rule's beginning.
fn server_of<'a>(servers: &'a [KnownServer], rest: &str) -> Option<(&'a KnownServer, Option<String>)> {
    let of = |server: &'a KnownServer| match rest.strip_prefix(&server.prefix)? {
        "" => Some((server, None)),
        tool => Some((server, Some(tool.strip_prefix("__")?.to_owned()))),
    };
    // Of `a` and `a__b` the longer is meant.
    servers.iter().filter_map(of).max_by_key(|(server, _)| server.prefix.len())
}

impl KnownServer {
    /// A server with the full names it offers; `None` where nothing is known of them.
    pub(crate) fn new(name: &ServerName, offered: Option<Vec<String>>) -> Self {
        Self { name: name.clone(), prefix: crate::naming::of_server(name.as_str()), offered, is_listed: true }
    }
}
