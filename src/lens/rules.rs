//! What a client does with a list, as data. The engine knows no client, and a client's file knows no code.

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
    /// Whether it refuses answers to `initialize` that do not fit the TypeScript SDK's schema.
    pub(super) checks_handshake: bool,
    /// Whether arrays and byte order marks are lost on it, where messages come one by one.
    pub(super) reads_plain_messages_only: bool,
    /// Whether `"nextCursor": null` loses the whole list.
    pub(super) null_cursor_loses: bool,
    /// Whether an empty cursor ends the list.
    pub(super) empty_cursor_ends: bool,
    /// Whether a cursor that repeats loses the whole list.
    pub(super) repeated_cursor_loses: bool,
    /// Whether it leaves out tools with invalid `x-mcp-header` annotations over Streamable HTTP.
    pub(super) checks_annotations: bool,
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
    /// `mcp__<server>__<tool>`, everything but letters, digits, `_` and `-` replaced by `_`.
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
            Self::Codex => format!("mcp__{server}__{}", naming::of_server(tool)),
            Self::Gemini => format!("mcp_{server}_{}", naming::of_server(tool)),
            Self::Raw => tool.to_owned(),
        }
    }

    /// What becomes of a server's name.
    pub(super) fn server(self, server: &str) -> String {
        match self {
            Self::Raw => server.to_owned(),
            Self::Claude | Self::Codex | Self::Gemini => naming::of_server(server),
        }
    }
}

/// What a client wants of a tool's definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Schema {
    /// Nothing.
    Any,
    /// An `inputSchema` that is an object, whatever stands in it.
    Input,
    /// What the TypeScript SDK 1.32.2 wants.
    Strict,
}

/// What becomes of full names that are too long, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LongNames {
    /// Nothing.
    Kept,
    /// The tool is left out above this.
    Dropped(usize),
    /// They are cut to this, with a hash of the rest at their end, which is written as `...` here.
    Hashed(usize),
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
    /// Each gets a suffix of its own.
    Suffixed,
}

/// No client: the list as the server gives it.
pub(super) const NONE: Rules = Rules {
    naming: Naming::Raw,
    pages: None,
    most_tools: None,
    schema: Schema::Any,
    needs_capability: false,
    versions: None,
    checks_handshake: false,
    reads_plain_messages_only: false,
    null_cursor_loses: false,
    empty_cursor_ends: false,
    repeated_cursor_loses: false,
    checks_annotations: false,
    long_names: LongNames::Kept,
    collisions: Collisions::Kept,
};
