//! What a client does with a list, as data. The engine knows no client, and a client's file knows no code.

use super::codex_names;
use crate::deviation::Deviation;
use crate::naming;

/// The rules of one client.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact about a client, seen or not")]
pub(super) struct Rules {
    /// How it makes full names.
    pub(super) naming: Naming,
    /// How many pages it reads, and what becomes of longer lists.
    pub(super) pages: Option<Bound>,
    /// A list of more tools is lost as a whole.
    pub(super) most_tools: Option<usize>,
    /// What it wants of a tool's definition; one bad tool loses the whole list.
    pub(super) schema: Schema,
    /// Whether it asks only servers that declare the capability `tools`.
    pub(super) needs_capability: bool,
    /// The versions it accepts in answer to `initialize`; `None`: any.
    pub(super) versions: Option<&'static [&'static str]>,
    /// What it refuses in an answer to `initialize`.
    pub(super) handshake: Handshake,
    /// What makes an answer one that it does not read.
    pub(super) unreadable: &'static [Deviation],
    /// Whether `"nextCursor": null` loses the whole list.
    pub(super) null_cursor_loses: bool,
    /// Whether an empty cursor ends the list.
    pub(super) empty_cursor_ends: bool,
    /// Whether a cursor that repeats loses the whole list.
    pub(super) repeated_cursor_loses: bool,
    /// Which invalid `x-mcp-header` annotations make it leave out a tool over Streamable HTTP.
    pub(super) annotations: Annotations,
    /// What becomes of names that are too long.
    pub(super) long_names: LongNames,
    /// What becomes of tools, or servers, whose names become one.
    pub(super) collisions: Collisions,
}

/// How many pages a client reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    /// So many; what stands behind them is lost.
    Reads(usize),
    /// A list of more is lost as a whole.
    Loses(usize),
}

/// How a client makes full names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Naming {
    /// `mcp__<server>__<tool>`, both normalised as Claude Code does.
    Claude,
    /// As Codex does, over all servers at once.
    Codex,
    /// `mcp_<server>_<tool>`.
    Gemini,
    /// The tool's own name.
    Raw,
}

impl Naming {
    /// The full name.
    pub(super) fn full(self, server: &str, tool: &str) -> String {
        let server = self.server(server);
        match self {
            Self::Claude => naming::full(&server, tool),
            // The whole of it is made in `codex_names.rs`.
            Self::Codex => format!("mcp__{server}__{}", codex_names::clean(tool)),
            Self::Gemini => format!("mcp_{server}_{}", naming::of_server(tool)),
            Self::Raw => tool.to_owned(),
        }
    }

    /// What becomes of a server's name.
    pub(super) fn server(self, server: &str) -> String {
        match self {
            Self::Raw => server.to_owned(),
            Self::Codex => codex_names::clean(server),
            Self::Claude | Self::Gemini => naming::of_server(server),
        }
    }
}

/// What a client wants of a tool's definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Schema {
    /// Nothing.
    Any,
    /// What Codex 0.171.0 wants.
    Codex,
    /// What the TypeScript SDK 1.32.2 wants.
    Strict,
}

/// What a client refuses in an answer to `initialize`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Handshake {
    /// Nothing.
    Any,
    /// What does not fit the TypeScript SDK's schema.
    Strict,
    /// The same, but it accepts null where something may be absent.
    Lenient,
}

/// Which annotations a client looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Annotations {
    /// None.
    Ignored,
    /// Those of servers it speaks to in the modern era; one on a `number` will do.
    Modern,
    /// Those of servers that answer `initialize` with a version at or above 2026-07-28, as text.
    Answered,
}

/// What becomes of full names that are too long, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LongNames {
    /// Nothing.
    Kept,
    /// The tool is left out above this.
    Dropped(usize),
    /// Above this they become their first and last 30 characters, with `...` between them.
    Middled(usize),
}

/// What becomes of names that become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Collisions {
    /// Nothing that is known.
    Kept,
    /// Only one of them is offered.
    One,
}

/// No client: the list as the server gives it.
pub(super) const NONE: Rules = Rules {
    naming: Naming::Raw,
    pages: None,
    most_tools: None,
    schema: Schema::Any,
    needs_capability: false,
    versions: None,
    handshake: Handshake::Any,
    unreadable: &[],
    null_cursor_loses: false,
    empty_cursor_ends: false,
    repeated_cursor_loses: false,
    annotations: Annotations::Ignored,
    long_names: LongNames::Kept,
    collisions: Collisions::Kept,
};
