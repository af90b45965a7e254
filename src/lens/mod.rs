//! What a client would offer its model of an observed table. Pure: tables in, offers out. One client a file.

pub(crate) mod annotation;
mod claude;
mod name;

use std::collections::BTreeSet;

use crate::deviation::Deviation;
use crate::observed::{Era, ToolTable};
use crate::server::ServerName;

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
}

/// What Claude Code would offer of these tables, in their order. Collisions between servers need all of them at once.
/// `names` are all servers of the configuration: one that was not probed takes part in collisions all the same.
pub(crate) fn claude(names: &[&ServerName], tables: &[Listed<'_>]) -> Vec<Offer> {
    claude::offers(names, tables)
}
