//! Codex's eyes: rules as seen on 0.171.0 (`docs/clients.md`, by `testdata/clients/compare_codex.py`).

use super::rules::{Annotations, Bound, Collisions, Handshake, LongNames, Naming, Rules, Schema};
use crate::deviation::{Carrier, Deviation};

pub(super) const RULES: Rules = Rules {
    naming: Naming::Codex,
    // "pagination limit of 100 pages": the whole server is lost.
    pages: Some(Bound::Loses(100)),
    // "exceeded the catalog limit of 2048 items"; 2,048 pass.
    most_tools: Some(2_048),
    schema: Schema::Codex,
    needs_capability: false,
    // A reply of 1999-01-01 was accepted.
    versions: None,
    handshake: Handshake::Lenient,
    unreadable: &[
        Deviation::Batch(Carrier::Stream),
        Deviation::Batch(Carrier::Body),
        Deviation::ByteOrderMark(Carrier::Body),
        Deviation::NotUtf8,
        Deviation::HalfCharacter,
        Deviation::StrayError(Carrier::Body),
    ],
    null_cursor_loses: false,
    empty_cursor_ends: false,
    // "returned a repeated pagination cursor".
    repeated_cursor_loses: true,
    annotations: Annotations::Answered,
    // Both are part of how it makes names: nothing is dropped.
    long_names: LongNames::Kept,
    collisions: Collisions::Kept,
};
