//! Codex's eyes: rules as seen on 0.171.0 (`clients.md` section 2).

use super::rules::{Bound, Collisions, LongNames, Naming, Rules, Schema};

pub(super) const RULES: Rules = Rules {
    naming: Naming::Codex,
    // "pagination limit of 100 pages": the whole server is lost.
    pages: Some(Bound::Loses(100)),
    // "exceeded the catalog limit of 2048 items"; 2,048 pass.
    most_tools: Some(2_048),
    // One tool without an `inputSchema` object loses the server.
    schema: Schema::Input,
    needs_capability: false,
    // A reply of 1999-01-01 was accepted.
    versions: None,
    checks_handshake: false,
    // rmcp, on which it is built, reads no array over pipes (`protocol.md` 3.5).
    reads_plain_messages_only: true,
    null_cursor_loses: false,
    empty_cursor_ends: false,
    // "returned a repeated pagination cursor".
    repeated_cursor_loses: true,
    checks_annotations: false,
    // Cut, with a hash, to 128 in all: never dropped.
    long_names: LongNames::Hashed(128),
    // Twelve hexadecimal digits.
    collisions: Collisions::Suffixed,
};
