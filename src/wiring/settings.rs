//! Permission rules and hook matchers in the settings of a project.

use super::{Kind, Rule};
use crate::document::{Document, Node, Object, Syntax};
use crate::environment::Environment;
use crate::files;

/// Settings that belong to the project.
const FILES: [&str; 2] = [".claude/settings.json", ".claude/settings.local.json"];

/// Every rule and matcher. A file with a fault has none: the configuration's reader has said so.
pub(super) fn rules(environment: &Environment) -> Vec<Rule> {
    let mut rules = Vec::new();
    for name in FILES {
        let Ok(bytes) = files::read(&environment.folder.join(name)) else { continue };
        let Ok(root) = Document::new(name, &bytes).parse(Syntax::LastWins) else { continue };
        let Ok(root) = root.object("") else { continue };
        if let Some(permissions) = root.get("permissions").and_then(|node| node.object("").ok()) {
            for (key, kind) in [("allow", Kind::Allow), ("ask", Kind::Ask), ("deny", Kind::Deny)] {
                rules.extend(texts(permissions, key).map(|node| rule(node, kind)));
            }
        }
        if let Some(hooks) = root.get("hooks").and_then(|node| node.object("").ok()) {
            let groups = hooks.members.iter().filter(|event| is_of_tools(&event.key));
            let groups = groups.flat_map(|event| event.node.array().unwrap_or_default());
            let matchers = groups.filter_map(|group| group.object("").ok()?.get("matcher"));
            rules.extend(matchers.filter(|node| node.text().is_some()).map(|node| rule(node, Kind::Matcher)));
        }
    }
    rules
}

/// Events whose matcher is held against a tool's name.
fn is_of_tools(event: &str) -> bool {
    matches!(event, "PreToolUse" | "PostToolUse" | "PostToolUseFailure" | "PermissionRequest")
}

fn texts<'a>(object: &'a Object, key: &str) -> impl Iterator<Item = &'a Node> {
    let elements = object.get(key).and_then(Node::array).unwrap_or_default();
    elements.iter().filter(|element| element.text().is_some())
}

fn rule(node: &Node, kind: Kind) -> Rule {
    Rule { text: node.text().unwrap_or_default().to_owned(), kind, location: Some(node.location.clone()) }
}
