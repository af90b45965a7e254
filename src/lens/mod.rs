//! What a client would offer its model of an observed table. Pure: tables in, offers out. Rules are data, one client a file; the engine
//! applies them.

pub(crate) mod annotation;
mod claude;
mod codex;
mod codex_names;
mod codex_schema;
mod engine;
mod gemini;
mod rules;
mod schema;

use std::collections::BTreeSet;

use crate::deviation::Deviation;
use crate::observed::{Era, ToolTable};
use crate::server::{ServerName, ToolFilter};
use crate::values::Client;

use rules::Rules;

/// What the client makes of one server's table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Offer {
    /// The full names the client's model would see, sorted.
    pub(crate) offered: Vec<String>,
    /// Listed, but not offered, in the server's order.
    pub(crate) unusable: Vec<Unusable>,
    /// The protocol version that the client turns down, where it does.
    pub(crate) refused_version: Option<String>,
}

/// A tool that is listed, but that the client would not offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unusable {
    /// Its raw name.
    pub(crate) tool: String,
    /// Why.
    pub(crate) reason: String,
    /// What to do next.
    pub(crate) help: &'static str,
    /// Whether the configuration itself leaves it out.
    pub(crate) is_meant: bool,
}

/// A table as the lens wants it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listed<'a> {
    /// The server.
    pub(crate) server: &'a ServerName,
    /// Its table.
    pub(crate) table: &'a ToolTable,
    /// The era it was spoken to in.
    pub(crate) era: Era,
    /// The protocol version it answered with.
    pub(crate) version: &'a str,
    /// Whether it was reached over Streamable HTTP.
    pub(crate) is_streamable_http: bool,
    /// What was odd about its messages.
    pub(crate) deviations: &'a BTreeSet<Deviation>,
    /// Which tools the configuration lets through.
    pub(crate) filter: &'a ToolFilter,
}

/// What a client would offer of these tables, in their order. Collisions between servers need all of them at once.
/// `names` are all servers of the configuration that the client starts: one that was not probed takes part in collisions all the same.
pub(crate) fn offers(client: Client, names: &[&ServerName], tables: &[Listed<'_>]) -> Vec<Offer> {
    engine::offers(rules(client), names, tables)
}

fn rules(client: Client) -> &'static Rules {
    match client {
        Client::Claude => &claude::RULES,
        Client::Codex => &codex::RULES,
        Client::Gemini => &gemini::RULES,
        // What these do with a list is not known here: the list is shown as the server gives it.
        Client::ClaudeDesktop | Client::VsCode | Client::Cursor | Client::Copilot | Client::OpenCode | Client::Raw => {
            &rules::NONE
        }
    }
}
