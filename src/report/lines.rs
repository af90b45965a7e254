//! What formats of one line a finding have in common: its texts, each made harmless by the format.

use crate::finding::Finding;

/// The message, its notes, the last lines of stderr, and what to do next, one text each, not yet escaped.
pub(super) fn texts(finding: &Finding) -> Vec<String> {
    let mut texts = vec![finding.message.clone()];
    texts.extend(finding.notes.iter().cloned());
    texts.extend(finding.excerpt.iter().map(|line| format!("| {line}")));
    texts.extend(finding.help.iter().map(|help| format!("help: {help}")));
    texts
}
