//! Gemini CLI's eyes: rules as read in the source of August 2026 (`clients.md` section 3); not seen running here.

use super::rules::{Annotations, Bound, Collisions, Handshake, LongNames, Naming, Rules, Schema};
use crate::deviation::{Carrier, Deviation};

pub(super) const RULES: Rules = Rules {
    naming: Naming::Gemini,
    // `tools/list` is called once.
    pages: Some(Bound::Reads(1)),
    most_tools: None,
    schema: Schema::Strict,
    needs_capability: true,
    versions: Some(&["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"]),
    handshake: Handshake::Strict,
    unreadable: &[Deviation::Batch(Carrier::Stream), Deviation::ByteOrderMark(Carrier::Stream)],
    null_cursor_loses: true,
    empty_cursor_ends: true,
    repeated_cursor_loses: false,
    annotations: Annotations::Ignored,
    // Above 63 characters: the first and the last thirty.
    long_names: LongNames::Middled(63),
    collisions: Collisions::One,
};
