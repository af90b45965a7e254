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

/// A file as the root of the repository sees it: `sub/` and `../.mcp.json` -> `.mcp.json`.
pub(super) fn from_root(way: &str, file: &str) -> String {
    let has_drive = file.as_bytes().get(1) == Some(&b':') && cfg!(windows);
    if file.starts_with('/') || has_drive {
        return file.to_owned();
    }
    let mut parts: Vec<&str> = way.split('/').filter(|part| !part.is_empty()).collect();
    for part in file.split('/').filter(|part| !matches!(*part, "" | ".")) {
        if part == ".." && parts.last().is_some_and(|last| *last != "..") {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::from_root;

    #[test]
    fn files_are_named_from_the_root() {
        let rows = [
            ("", ".mcp.json", ".mcp.json"),
            ("sub/", ".mcp.json", "sub/.mcp.json"),
            ("sub/deep/", "../.mcp.json", "sub/.mcp.json"),
            ("sub/", "../.mcp.json", ".mcp.json"),
            ("", "../x", "../x"),
            ("sub/", "/etc/x", "/etc/x"),
        ];
        for (way, file, expected) in rows {
            assert_eq!(from_root(way, file), expected);
        }
    }
}
