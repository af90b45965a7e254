//! Applies a client's rules to tables.

use std::collections::{BTreeMap, BTreeSet};

use super::annotation::{self, Fault};
use super::rules::{Annotations, Bound, Collisions, Handshake, LongNames, Naming, Rules, Schema};
use super::{Listed, Offer, Unusable, codex_names, codex_schema, schema};
use crate::observed::{Era, HandshakeFault, Tool};
use crate::server::ServerName;
use crate::text;

/// Versions at or above this one, as text, are of the modern era.
const MODERN: &str = "2026-07-28";
/// How many names a reason names.
const NAMED: usize = 4;
/// How much of a long name is kept at either end.
const KEPT_END: usize = 30;

/// What the client would offer, server by server. `names` are all servers of the configuration, probed or not.
pub(super) fn offers(rules: &Rules, names: &[&ServerName], tables: &[Listed<'_>]) -> Vec<Offer> {
    // Which servers list what becomes a full name.
    let mut owners: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for listed in tables.iter().filter(|listed| whole_list_reason(rules, listed, &[]).is_none()) {
        let offered = |tool: &&Tool| reason(rules, listed, tool, &full(rules, listed, tool)).is_none();
        for tool in listed.table.tools.iter().filter(offered) {
            owners.entry(full(rules, listed, tool)).or_default().insert(listed.server.as_str());
        }
    }
    let mut offers: Vec<Offer> = tables
        .iter()
        .map(|listed| {
            let prefix = rules.naming.server(listed.server.as_str());
            let shares = |name: &&&ServerName| rules.naming.server(name.as_str()) == prefix && **name != listed.server;
            let is_listed = |name: &ServerName| tables.iter().any(|listed| listed.server == name);
            let unknown: Vec<&str> =
                names.iter().filter(shares).filter(|name| !is_listed(name)).map(|name| name.as_str()).collect();
            offer(rules, listed, &unknown, &owners)
        })
        .collect();
    if rules.naming == Naming::Codex {
        rename(tables, &mut offers);
    }
    offers
}

/// Names that are made over all servers at once, of the tools that are left.
fn rename(tables: &[Listed<'_>], offers: &mut [Offer]) {
    let mut left = Vec::new();
    for (index, (listed, offer)) in tables.iter().zip(offers.iter_mut()).enumerate() {
        offer.offered.clear();
        let lost: BTreeSet<&str> = offer.unusable.iter().map(|unusable| unusable.tool.as_str()).collect();
        let names = listed.table.tools.iter().map(|tool| tool.name.as_str()).filter(|name| !lost.contains(name));
        left.extend(names.map(|name| (index, listed.server.as_str(), name)));
    }
    let tools: Vec<(&str, &str)> = left.iter().map(|(_, server, tool)| (*server, *tool)).collect();
    for ((index, ..), name) in left.iter().zip(codex_names::assign(&tools)) {
        offers[*index].offered.extend(name);
    }
    for offer in offers {
        offer.offered.sort_unstable();
    }
}

fn full(rules: &Rules, listed: &Listed<'_>, tool: &Tool) -> String {
    rules.naming.full(listed.server.as_str(), &tool.name)
}

/// `unknown` are servers of the same prefix whose lists nobody has seen.
fn offer(rules: &Rules, listed: &Listed<'_>, unknown: &[&str], owners: &BTreeMap<String, BTreeSet<&str>>) -> Offer {
    let is_known = rules.versions.is_none_or(|versions| versions.contains(&listed.version));
    let refused_version = (listed.era == Era::Legacy && !is_known).then(|| listed.version.to_owned());
    let refused = refused_version.as_ref().map(|version| {
        (format!("the server answers with protocol version {version:?}, which the client turns down"), UPDATE)
    });
    if let Some((reason, help)) = refused.or_else(|| whole_list_reason(rules, listed, unknown)) {
        let drop_all =
            |tool: &Tool| Unusable { tool: tool.name.clone(), reason: reason.clone(), help, is_meant: false };
        let unusable = listed.table.tools.iter().map(drop_all).collect();
        return Offer { unusable, refused_version, ..Offer::default() };
    }
    let mut offer = Offer::default();
    // Who had a full name first.
    let mut taken: BTreeMap<String, &str> = BTreeMap::new();
    for tool in &listed.table.tools {
        let full = full(rules, listed, tool);
        if let Some((reason, help)) = reason(rules, listed, tool, &full) {
            let is_meant = help == ENTRY;
            offer.unusable.push(Unusable { tool: tool.name.clone(), reason, help, is_meant });
            continue;
        }
        let first = *taken.entry(full.clone()).or_insert(&tool.name);
        if let Some((reason, help)) = collision(rules, tool, &full, first, owners.get(&full)) {
            offer.unusable.push(Unusable { tool: tool.name.clone(), reason, help, is_meant: false });
        }
        // One of those that collide has the name.
        offer.offered.push(shortened(rules, full));
    }
    offer.offered.sort_unstable();
    offer.offered.dedup();
    offer
}

/// Why something is not offered, and what to do next.
type Reason = (String, &'static str);

/// What to do about a server's own fault.
const MAKERS: &str = "report it to the server's makers, or use a version without this fault";
/// What to do about a version that the client does not speak.
const UPDATE: &str = "update the server, or the client";
/// What to do about servers whose names become one.
const RENAME: &str = "rename one of them in the configuration";
/// What to do about what the entry leaves out.
const ENTRY: &str = "change the entry, or, when it is meant, run `mcp-preflight --update-lock` and commit the lock";

/// `"a", "b" and 7 more`.
fn quoted<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let more = names.len().saturating_sub(NAMED);
    let shown: Vec<String> = names.take(NAMED).map(|name| format!("{name:?}")).collect();
    let shown = shown.join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

/// Why the client would offer nothing of this table.
fn whole_list_reason(rules: &Rules, listed: &Listed<'_>, unknown: &[&str]) -> Option<Reason> {
    let table = listed.table;
    if let Some(deviation) = listed.deviations.iter().find(|deviation| rules.unreadable.contains(deviation)) {
        return Some((format!("the server {}, which the client does not read", deviation.what()), MAKERS));
    }
    if rules.needs_capability && !table.declares_tools {
        return Some((
            "the server does not declare the capability \"tools\", so that the client does not ask".to_owned(),
            MAKERS,
        ));
    }
    if rules.null_cursor_loses && table.null_cursor {
        return Some((
            "the last page says \"nextCursor\": null, for which the client drops the whole list".to_owned(),
            MAKERS,
        ));
    }
    if rules.repeated_cursor_loses && table.repeated_cursor {
        return Some(("a cursor comes a second time, for which the client drops the whole list".to_owned(), MAKERS));
    }
    let is_refused = |fault: &&HandshakeFault| match rules.handshake {
        Handshake::Any => false,
        Handshake::Strict => true,
        Handshake::Lenient => !fault.is_null,
    };
    if let Some(fault) = table.handshake_faults.iter().find(is_refused) {
        return Some((format!("the answer to initialize is one that the client refuses: {}", fault.what), MAKERS));
    }
    if let Some(Bound::Loses(most)) =
        rules.pages.filter(|bound| matches!(bound, Bound::Loses(most) if table.pages > *most))
    {
        return Some((
            format!("the list has {} pages, and the client drops one of more than {most}", table.pages),
            MAKERS,
        ));
    }
    if let Some(most) = rules.most_tools.filter(|most| table.tools.len() > *most) {
        let count = text::count(table.tools.len(), "tool");
        return Some((format!("the list has {count}, and the client drops one of more than {most}"), MAKERS));
    }
    if rules.collisions == Collisions::One && !unknown.is_empty() {
        let names = quoted(unknown.iter().copied());
        let full = rules.naming.full(listed.server.as_str(), "");
        return Some((
            format!(
                "its tools are named {full}..., and so are those of {names}, whose list is not known: of equal names the client keeps one"
            ),
            RENAME,
        ));
    }
    let (index, tool, fault) = table
        .tools
        .iter()
        .enumerate()
        .find_map(|(index, tool)| Some((index, tool, schema_fault(rules.schema, tool)?)))?;
    Some((
        format!("tools[{index}] ({}): {fault}; for one such tool the client drops the whole list", tool.name),
        MAKERS,
    ))
}

fn schema_fault(schema: Schema, tool: &Tool) -> Option<&'static str> {
    match schema {
        Schema::Any => None,
        Schema::Codex => codex_schema::list_fault(&tool.definition),
        Schema::Strict => schema::fault(&tool.definition),
    }
}

/// Why the client would not offer this one tool.
fn reason(rules: &Rules, listed: &Listed<'_>, tool: &Tool, full: &str) -> Option<Reason> {
    if let Some(Bound::Reads(most)) =
        rules.pages.filter(|bound| matches!(bound, Bound::Reads(most) if tool.page >= *most))
    {
        return Some((format!("stands on page {}, and the client stops after page {most}", tool.page + 1), MAKERS));
    }
    if rules.empty_cursor_ends && listed.table.empty_cursor_after.is_some_and(|pages| tool.page >= pages) {
        return Some(("stands behind an empty nextCursor, at which the client stops".to_owned(), MAKERS));
    }
    if let Some(key) = listed.filter.keeps_out(&tool.name) {
        return Some((format!("{key} of its entry leaves it out"), ENTRY));
    }
    let length = full.chars().count();
    if let LongNames::Dropped(longest) = rules.long_names
        && length > longest
    {
        return Some((
            format!("its full name has {length} characters, and the client drops it above {longest}"),
            MAKERS,
        ));
    }
    if rules.schema == Schema::Codex
        && let Some(fault) = codex_schema::tool_fault(&tool.definition)
    {
        return Some((format!("{fault}, so that it leaves it out"), MAKERS));
    }
    let fault = annotation_fault(rules.annotations, listed, tool)?;
    Some((format!("its x-mcp-header annotations are not valid ({fault})"), MAKERS))
}

fn annotation_fault(annotations: Annotations, listed: &Listed<'_>, tool: &Tool) -> Option<Fault> {
    let is_looked_at = match annotations {
        Annotations::Ignored => false,
        Annotations::Modern => listed.era == Era::Modern,
        Annotations::Answered => listed.version >= MODERN,
    };
    if !is_looked_at || !listed.is_streamable_http {
        return None;
    }
    let is_fault = |fault: &Fault| annotations == Annotations::Answered || !matches!(fault, Fault::Number(_));
    annotation::faults(&tool.definition["inputSchema"]).into_iter().find(is_fault)
}

/// Why a name is lost to another tool: within a server the first keeps it, between servers whichever connects first (both seen on Claude
/// Code 2.1.332, with a stand-in for its model that looked at descriptions).
fn collision(rules: &Rules, tool: &Tool, full: &str, first: &str, owners: Option<&BTreeSet<&str>>) -> Option<Reason> {
    if rules.collisions != Collisions::One {
        return None;
    }
    if first != tool.name {
        return Some((format!("it becomes {full}, which the client gives to {first:?} before it"), MAKERS));
    }
    let owners = owners.filter(|owners| owners.len() > 1)?;
    let names = quoted(owners.iter().copied());
    Some((
        format!(
            "the servers {names} all list what becomes {full}, and the client keeps that of whichever connects first"
        ),
        RENAME,
    ))
}

/// The name as the client writes it when it is too long.
fn shortened(rules: &Rules, full: String) -> String {
    let length = full.chars().count();
    let (start, end) = match rules.long_names {
        LongNames::Middled(longest) if length > longest => (KEPT_END, KEPT_END),
        _ => return full,
    };
    let head: String = full.chars().take(start).collect();
    let tail: String = full.chars().skip(length - end).collect();
    format!("{head}...{tail}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use crate::deviation::{Carrier, Deviation};
    use crate::lens::{Listed, Offer, offers};
    use crate::observed::{Era, Tool, ToolTable};
    use crate::server::{ServerName, ToolFilter};
    use crate::values::Client;

    fn tool(name: &str) -> Tool {
        let definition = json!({ "name": name, "inputSchema": { "type": "object" } });
        Tool { name: name.to_owned(), page: 0, definition }
    }

    fn table(tools: Vec<Tool>) -> ToolTable {
        ToolTable { tools, pages: 1, declares_tools: true, ..ToolTable::default() }
    }

    fn listed<'a>(server: &'a ServerName, table: &'a ToolTable) -> Listed<'a> {
        static NONE: BTreeSet<Deviation> = BTreeSet::new();
        static ALL: ToolFilter = ToolFilter { only: None, without: None };
        Listed {
            server,
            table,
            era: Era::Legacy,
            version: "2025-11-25",
            is_streamable_http: false,
            deviations: &NONE,
            filter: &ALL,
        }
    }

    fn offer(server: &str, table: &ToolTable) -> Offer {
        let server = ServerName::new(server);
        offers(Client::Claude, &[&server], &[listed(&server, table)]).remove(0)
    }

    #[test]
    fn names_are_made_as_the_client_makes_them() {
        let offer = offer("my.srv", &table(vec![tool("b/c"), tool("a-1_x")]));
        assert_eq!(offer.offered, ["mcp__my_srv__a-1_x", "mcp__my_srv__b_c"]);
        assert!(offer.unusable.is_empty());
    }

    /// Each fault was seen to lose the whole list while the server stays "connected".
    #[test]
    fn one_bad_tool_loses_all() {
        let bad: [(&str, Value); 13] = [
            ("title is no string", json!({ "inputSchema": { "type": "object" }, "title": null })),
            ("annotations is", json!({ "inputSchema": { "type": "object" }, "annotations": null })),
            (
                "annotations is",
                json!({ "inputSchema": { "type": "object" }, "annotations": { "readOnlyHint": "yes" } }),
            ),
            ("outputSchema.type", json!({ "inputSchema": { "type": "object" }, "outputSchema": null })),
            ("_meta is no object", json!({ "inputSchema": { "type": "object" }, "_meta": null })),
            ("icons is no array", json!({ "inputSchema": { "type": "object" }, "icons": null })),
            ("inputSchema is no object", json!({})),
            ("inputSchema.type is not", json!({ "inputSchema": { "anyOf": [] } })),
            ("inputSchema.type is not", json!({ "inputSchema": { "type": "string" } })),
            ("properties is no object of schemas", json!({ "inputSchema": { "type": "object", "properties": null } })),
            ("required is no array of names", json!({ "inputSchema": { "type": "object", "required": [1] } })),
            ("description is no string", json!({ "inputSchema": { "type": "object" }, "description": null })),
            ("inputSchema is no object", json!({ "inputSchema": null })),
        ];
        for (fault, definition) in bad {
            let offer = offer("s", &table(vec![tool("good"), Tool { definition, ..tool("bad") }]));
            assert!(offer.offered.is_empty());
            assert_eq!(offer.unusable.len(), 2);
            assert!(offer.unusable[0].reason.contains(fault), "{}", offer.unusable[0].reason);
            assert!(offer.unusable[0].reason.starts_with("tools[1] (bad)"));
        }
    }

    #[test]
    fn a_root_any_of_beside_the_type_is_fine() {
        let definition = json!({ "inputSchema": { "type": "object", "anyOf": [] }, "description": "" });
        assert_eq!(offer("s", &table(vec![Tool { definition, ..tool("a") }])).offered, ["mcp__s__a"]);
    }

    #[test]
    fn limits_and_collisions_lose_single_tools() {
        let late = Tool { page: 20, ..tool("late") };
        let long = tool(&"x".repeat(121));
        let found = offer("s", &table(vec![tool("a.b"), tool("a/b"), tool("fine"), tool("fine"), late, long]));
        assert_eq!(found.offered, ["mcp__s__a_b", "mcp__s__fine"]);
        let reasons: Vec<&str> = found.unusable.iter().map(|unusable| unusable.reason.as_str()).collect();
        assert_eq!(reasons[0], "it becomes mcp__s__a_b, which the client gives to \"a.b\" before it");
        assert_eq!(reasons[1], "stands on page 21, and the client stops after page 20");
        assert_eq!(reasons[2], "its full name has 129 characters, and the client drops it above 128");
        let behind = ToolTable { empty_cursor_after: Some(1), ..table(vec![tool("a"), Tool { page: 1, ..tool("b") }]) };
        assert_eq!(offer("s", &behind).offered, ["mcp__s__a"]);
    }

    #[test]
    fn a_list_can_be_lost_as_a_whole() {
        for lost in [
            ToolTable { declares_tools: false, ..table(vec![tool("a")]) },
            ToolTable { null_cursor: true, ..table(vec![tool("a")]) },
        ] {
            assert!(offer("s", &lost).offered.is_empty());
            assert_eq!(offer("s", &lost).unusable.len(), 1);
        }
    }

    #[test]
    fn servers_that_share_a_prefix_lose_equal_names_to_each_other() {
        let (a, b) = (ServerName::new("a b"), ServerName::new("a_b"));
        let (first, second) = (table(vec![tool("t"), tool("u")]), table(vec![tool("t"), tool("v")]));
        let found = offers(Client::Claude, &[&a, &b], &[listed(&a, &first), listed(&b, &second)]);
        assert_eq!(found[0].offered, ["mcp__a_b__t", "mcp__a_b__u"]);
        for offer in found {
            assert_eq!(offer.unusable.len(), 1);
            assert!(offer.unusable[0].reason.contains("\"a b\", \"a_b\""));
        }
        // One whose list nobody has seen may have any of them.
        let alone = offers(Client::Claude, &[&a, &b], &[listed(&a, &first)]).remove(0);
        assert_eq!((alone.offered.len(), alone.unusable.len()), (0, 2));
    }

    #[test]
    fn another_version_is_turned_down() {
        let (server, table) = (ServerName::new("s"), table(vec![tool("a")]));
        let listed = |era| Listed { era, version: "2026-07-28", ..listed(&server, &table) };
        let offer = offers(Client::Claude, &[&server], &[listed(Era::Legacy)]).remove(0);
        assert_eq!(offer.refused_version.as_deref(), Some("2026-07-28"));
        assert_eq!((offer.offered.len(), offer.unusable.len()), (0, 1));
        assert_eq!(offers(Client::Claude, &[&server], &[listed(Era::Modern)])[0].offered, ["mcp__s__a"]);
    }

    #[test]
    fn answers_that_the_client_cannot_read_lose_the_list() {
        let (server, table) = (ServerName::new("s"), table(vec![tool("a")]));
        for (deviation, is_lost) in [
            (Deviation::Batch(Carrier::Stream), true),
            (Deviation::ByteOrderMark(Carrier::Stream), true),
            (Deviation::Batch(Carrier::Body), false),
            (Deviation::NotUtf8, false),
            (Deviation::IdOfAnotherType, false),
        ] {
            let deviations = BTreeSet::from([deviation]);
            let offer =
                offers(Client::Claude, &[&server], &[Listed { deviations: &deviations, ..listed(&server, &table) }])
                    .remove(0);
            assert_eq!(offer.offered.is_empty(), is_lost, "{deviations:?}");
        }
    }

    #[test]
    fn annotations_matter_over_modern_http_only() {
        let server = ServerName::new("s");
        let with = |name: &str, kind: &str, header: &str| {
            let property = json!({ "type": kind, "x-mcp-header": header });
            let definition =
                json!({ "name": name, "inputSchema": { "type": "object", "properties": { "p": property } } });
            Tool { definition, ..tool(name) }
        };
        let table =
            table(vec![with("bad", "string", "a b"), with("fine", "string", "A"), with("number", "number", "A")]);
        for (is_streamable_http, era, count) in
            [(true, Era::Modern, 2), (true, Era::Legacy, 3), (false, Era::Modern, 3)]
        {
            let listed = Listed { era, is_streamable_http, ..listed(&server, &table) };
            assert_eq!(offers(Client::Claude, &[&server], &[listed]).remove(0).offered.len(), count);
        }
    }

    #[test]
    fn what_the_configuration_keeps_out_is_not_offered() {
        let (server, table) = (ServerName::new("s"), table(vec![tool("a"), tool("b"), tool("c")]));
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let filter = ToolFilter {
            only: Some(("enabled_tools", names(&["a", "b"]))),
            without: Some(("disabled_tools", names(&["b"]))),
        };
        let offer =
            offers(Client::Codex, &[&server], &[Listed { filter: &filter, ..listed(&server, &table) }]).remove(0);
        assert_eq!(offer.offered, ["mcp__s__a"]);
        let reasons: Vec<&str> = offer.unusable.iter().map(|unusable| unusable.reason.as_str()).collect();
        assert_eq!(reasons, ["disabled_tools of its entry leaves it out", "enabled_tools of its entry leaves it out"]);
    }

    fn of(client: Client, table: &ToolTable) -> Offer {
        let server = ServerName::new("s");
        offers(client, &[&server], &[listed(&server, table)]).remove(0)
    }

    /// `clients.md` section 2, limits: each loses the whole server.
    #[test]
    fn codex_loses_whole_servers() {
        let many = |count: usize| table((0..count).map(|at| tool(&format!("t{at}"))).collect());
        assert_eq!(of(Client::Codex, &many(2_048)).offered.len(), 2_048);
        assert!(of(Client::Codex, &many(2_049)).offered.is_empty());
        let pages = |pages| ToolTable { pages, ..table(vec![tool("a")]) };
        assert_eq!(of(Client::Codex, &pages(100)).offered.len(), 1);
        assert!(of(Client::Codex, &pages(101)).offered.is_empty());
        assert!(of(Client::Codex, &ToolTable { repeated_cursor: true, ..table(vec![tool("a")]) }).offered.is_empty());
        let without = Tool { definition: json!({ "name": "bad" }), ..tool("bad") };
        assert!(of(Client::Codex, &table(vec![tool("a"), without])).offered.is_empty());
    }

    /// `clients.md` section 2, accepted.
    #[test]
    fn codex_accepts_what_claude_does_not() {
        let odd = Tool {
            definition: json!({ "inputSchema": { "anyOf": [], "properties": null }, "description": null }),
            ..tool("odd")
        };
        let odd = ToolTable { declares_tools: false, null_cursor: true, ..table(vec![odd]) };
        assert_eq!(of(Client::Codex, &odd).offered, ["mcp__s__odd"]);
        assert!(of(Client::Claude, &odd).offered.is_empty());
        let long = of(Client::Codex, &table(vec![tool(&"x".repeat(200))]));
        assert_eq!((long.offered[0].chars().count(), long.unusable.len()), (128, 0));
        let two = of(Client::Codex, &table(vec![tool("a.b"), tool("a/b")]));
        assert!(two.unusable.is_empty(), "{two:?}");
    }

    /// `clients.md` section 3.
    #[test]
    fn gemini_reads_one_page_and_shortens_names() {
        let late = Tool { page: 1, ..tool("late") };
        let found = of(Client::Gemini, &ToolTable { pages: 2, ..table(vec![tool("a"), late, tool(&"x".repeat(70))]) });
        let middle = format!("mcp_s_{}...{}", "x".repeat(24), "x".repeat(30));
        assert_eq!(found.offered, ["mcp_s_a".to_owned(), middle]);
        assert_eq!(found.unusable[0].tool, "late");
    }

    #[test]
    fn without_a_client_everything_is_offered_as_it_is() {
        let odd = ToolTable { null_cursor: true, declares_tools: false, ..table(vec![tool("a b"), tool("c")]) };
        assert_eq!(of(Client::Raw, &odd).offered, ["a b", "c"]);
    }
}
