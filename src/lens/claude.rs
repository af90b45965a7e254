//! Claude Code's eyes: rules as seen on 2.1.332 (`clients.md` 1.6 to 1.8), and on the program itself by
//! `testdata/clients/compare_claude.py`.

use super::rules::{Annotations, Bound, Collisions, Handshake, LongNames, Naming, Rules, Schema};
use crate::deviation::{Carrier, Deviation};

pub(super) const RULES: Rules = Rules {
    naming: Naming::Claude,
    // Later pages are lost without a word (1.7).
    pages: Some(Bound::Reads(20)),
    // 12,000 tools in one answer pass (1.7).
    most_tools: None,
    schema: Schema::Strict,
    needs_capability: true,
    // Any other answer to `initialize` makes the connection fail (1.6).
    versions: Some(&["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"]),
    handshake: Handshake::Strict,
    // Scenarios `batch` and `bom`; a body over HTTP is read by other means.
    // A number becomes infinite there, and its schema allows none (seen with a `maximum` of 1e999).
    unreadable: &[
        Deviation::Batch(Carrier::Stream),
        Deviation::ByteOrderMark(Carrier::Stream),
        Deviation::BoundlessNumber,
    ],
    null_cursor_loses: true,
    empty_cursor_ends: true,
    // It stops there, and keeps what it has (1.7).
    repeated_cursor_loses: false,
    // Scenario `http-modern-headers`; `number` is let through.
    annotations: Annotations::Modern,
    // A longer name is dropped, with a line in the debug log only (1.8).
    long_names: LongNames::Dropped(128),
    collisions: Collisions::One,
};
