//! A conversation without IO: how it is opened ([`super::opening`]), then the list, page by page.
//!
//! A transport is a [`Channel`]. What belongs to pipes or to HTTP stays there; what belongs to the protocol stays here.

use std::collections::BTreeSet;
use std::time::Instant;

use serde_json::Value;

use super::channel::{Call, Channel, malformed, params, rejected};
use super::opening::{self, Opened};
use crate::observed::{Era, FailureClass, Identity, Phases, ProbeFailure, Step, Tool, ToolTable};
use crate::values::Protocol;

/// More pages are not read.
const MOST_PAGES: usize = 128;
/// More tools are not read.
const MOST_TOOLS: usize = 50_000;

/// One conversation with a server. What it has learnt stays readable when it fails.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) identity: Option<Identity>,
    pub(super) phases: Phases,
}

impl Session {
    /// Opens the session and reads the whole list.
    ///
    /// # Errors
    /// The first thing that went wrong; a part of a list is never returned.
    pub(super) fn list(&mut self, channel: &mut dyn Channel, protocol: Protocol) -> Result<ToolTable, ProbeFailure> {
        match self.list_once(channel, protocol) {
            // A session belongs to the older era (2025-11-25, section Session Management, item 4).
            Err(_) if channel.forgets() => self.list_once(channel, Protocol::Legacy),
            listed => listed,
        }
    }

    fn list_once(&mut self, channel: &mut dyn Channel, protocol: Protocol) -> Result<ToolTable, ProbeFailure> {
        let began = Instant::now();
        let opened = opening::open(channel, protocol);
        self.phases.initialize = Some(began.elapsed());
        let Opened { identity, declares_tools, faults } = opened?;
        let era = identity.era;
        self.identity = Some(identity);
        let began = Instant::now();
        let table = pages(channel, era, declares_tools);
        self.phases.tools_list = Some(began.elapsed());
        table.map(|table| ToolTable { handshake_faults: faults, ..table })
    }
}

/// Reads all pages.
fn pages(channel: &mut dyn Channel, era: Era, declares_tools: bool) -> Result<ToolTable, ProbeFailure> {
    let mut table = ToolTable { declares_tools, ..ToolTable::default() };
    let mut seen = BTreeSet::new();
    let mut cursor: Option<String> = None;
    loop {
        let call = Call { step: Step::ToolsList, era, params: params(era, cursor.as_deref()) };
        let result = match channel.request(&call)? {
            Ok(result) => result,
            // Without the capability this is how a server says that it has no tools (`protocol.md` 7.3).
            Err(error) if error.code == -32601 && !declares_tools && table.pages == 0 => return Ok(table),
            Err(error) => return Err(rejected(Step::ToolsList, &error)),
        };
        read_page(&mut table, &result)?;
        cursor = match result.get("nextCursor") {
            None => return Ok(table),
            Some(Value::Null) => {
                table.null_cursor = true;
                return Ok(table);
            }
            Some(Value::String(next)) => Some(next.clone()),
            Some(_) => return Err(malformed(Step::ToolsList, "nextCursor is no string", &result["nextCursor"])),
        };
        // A cursor that was followed before leads to the same page again. Clients stop there and keep what they have.
        if cursor.as_ref().is_some_and(|next| !seen.insert(next.clone())) {
            table.repeated_cursor = true;
            return Ok(table);
        }
        if cursor.as_deref() == Some("") && table.empty_cursor_after.is_none() {
            table.empty_cursor_after = Some(table.pages);
        }
        if table.pages >= MOST_PAGES {
            let message = format!("the list has more than {MOST_PAGES} pages; the server may never end it");
            return Err(ProbeFailure::new(FailureClass::Limit, Step::ToolsList, message));
        }
    }
}

/// Adds a page to the table.
fn read_page(table: &mut ToolTable, result: &Value) -> Result<(), ProbeFailure> {
    // In the modern era an unknown kind of result must not be read as a list (`protocol.md` 2.3).
    if result.get("resultType").is_some_and(|kind| kind != "complete") {
        return Err(malformed(Step::ToolsList, "its resultType is not \"complete\"", result));
    }
    let Some(items) = result.get("tools").and_then(Value::as_array) else {
        return Err(malformed(Step::ToolsList, "the result has no array \"tools\"", result));
    };
    for (index, item) in items.iter().enumerate() {
        let Some(name) = item.get("name").and_then(Value::as_str) else {
            let message = format!("tools[{index}] on page {} has no name", table.pages + 1);
            return Err(malformed(Step::ToolsList, &message, item));
        };
        table.tools.push(Tool { name: name.to_owned(), page: table.pages, definition: item.clone() });
    }
    table.pages += 1;
    if table.tools.len() > MOST_TOOLS {
        let message = format!("the list has more than {MOST_TOOLS} tools");
        return Err(ProbeFailure::new(FailureClass::Limit, Step::ToolsList, message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use serde_json::{Value, json};

    use super::Session;
    use crate::observed::{FailureClass, ProbeFailure, Step, ToolTable};
    use crate::probe::channel::{Call, Channel};
    use crate::probe::jsonrpc::{Reply, RpcError};
    use crate::values::Protocol;

    /// Answers `tools/list` from a list, `initialize` with a fixed result, and remembers what was asked.
    struct Scripted {
        initialize: Reply,
        lists: VecDeque<Reply>,
        asked: Vec<String>,
    }

    impl Channel for Scripted {
        fn request(&mut self, call: &Call) -> Result<Reply, ProbeFailure> {
            let method = call.step.as_str();
            let cursor = call.params.as_ref().and_then(|params| params.get("cursor")).map(Value::to_string);
            self.asked.push(format!("{method}{}", cursor.map(|cursor| format!(" {cursor}")).unwrap_or_default()));
            let list = || Ok(json!({ "tools": [], "nextCursor": format!("{}", self.asked.len()) }));
            Ok(if method == "initialize" {
                self.initialize.clone()
            } else {
                self.lists.pop_front().unwrap_or_else(list)
            })
        }

        fn notify(&mut self, step: Step) -> Result<(), ProbeFailure> {
            self.asked.push(step.as_str().to_owned());
            Ok(())
        }

        fn agreed(&mut self, version: &str) {
            self.asked.push(format!("agreed {version}"));
        }
    }

    fn run(capabilities: &Value, lists: Vec<Reply>) -> (Result<ToolTable, ProbeFailure>, Vec<String>) {
        let result = json!({ "protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": {} });
        let mut channel = Scripted { initialize: Ok(result), lists: lists.into(), asked: Vec::new() };
        let outcome = Session::default().list(&mut channel, Protocol::Auto);
        (outcome, channel.asked)
    }

    fn page(names: &[&str], cursor: &Value) -> Value {
        let tools: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
        let mut page = json!({ "tools": tools });
        if cursor != &json!("none") {
            page["nextCursor"] = cursor.clone();
        }
        page
    }

    #[test]
    fn pages_are_followed_to_the_end_the_empty_cursor_too() {
        let lists =
            vec![Ok(page(&["c"], &json!("p2"))), Ok(page(&["a"], &json!(""))), Ok(page(&["b", "a"], &json!("none")))];
        let (table, asked) = run(&json!({ "tools": {} }), lists);
        let table = table.expect("a table");
        assert_eq!(table.names(), ["a", "b", "c"]);
        assert_eq!((table.pages, table.empty_cursor_after), (3, Some(2)));
        let expected = [
            "initialize",
            "agreed 2025-06-18",
            "notifications/initialized",
            "tools/list",
            "tools/list \"p2\"",
            "tools/list \"\"",
        ];
        assert_eq!(asked, expected);
    }

    #[test]
    fn a_null_cursor_ends_the_list_and_a_repeated_one_too() {
        let (table, _) = run(&json!({ "tools": {} }), vec![Ok(page(&["a"], &Value::Null))]);
        assert!(table.expect("a table").null_cursor);
        let lists = vec![Ok(page(&["a"], &json!("x"))), Ok(page(&["b"], &json!("x")))];
        let (table, asked) = run(&json!({ "tools": {} }), lists);
        assert!(table.expect("a table").repeated_cursor);
        assert_eq!(asked.len(), 5);
    }

    #[test]
    fn an_endless_list_is_a_limit_failure() {
        let (table, asked) = run(&json!({ "tools": {} }), Vec::new());
        assert_eq!(table.expect_err("a failure").class, FailureClass::Limit);
        assert_eq!(asked.len(), 3 + super::MOST_PAGES);
    }

    #[test]
    fn a_list_of_too_many_tools_is_a_limit_failure() {
        let names: Vec<String> = (0..=super::MOST_TOOLS).map(|at| format!("t{at}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let most = page(&names[..super::MOST_TOOLS], &json!("none"));
        assert_eq!(run(&json!({ "tools": {} }), vec![Ok(most)]).0.expect("a table").tools.len(), super::MOST_TOOLS);
        let failure = run(&json!({ "tools": {} }), vec![Ok(page(&names, &json!("none")))]).0.expect_err("a failure");
        assert_eq!(
            (failure.class, failure.text().as_str()),
            (FailureClass::Limit, "the list has more than 50000 tools")
        );
    }

    #[test]
    fn a_failing_page_fails_the_whole_list() {
        let error = RpcError { code: -32603, message: "fetch failed".to_owned(), data: Value::Null };
        let (table, _) = run(&json!({ "tools": {} }), vec![Ok(page(&["a"], &json!("2"))), Err(error)]);
        let failure = table.expect_err("a failure");
        assert_eq!(failure.class, FailureClass::RpcError);
        assert_eq!(failure.text(), "the server answered tools/list with error -32603: fetch failed");
    }

    #[test]
    fn an_unknown_method_is_an_empty_list_only_without_the_capability() {
        let error = || Err(RpcError { code: -32601, message: "Method not found".to_owned(), data: Value::Null });
        assert_eq!(run(&json!({}), vec![error()]).0.expect("a table").tools, []);
        assert!(run(&json!({ "tools": {} }), vec![error()]).0.is_err());
    }

    #[test]
    fn malformed_answers_are_protocol_failures() {
        for bad in [
            json!([]),
            json!({}),
            json!({ "tools": {} }),
            json!({ "tools": [1] }),
            json!({ "tools": [{ "name": 1 }] }),
            json!({ "tools": [], "nextCursor": 1 }),
        ] {
            let (table, _) = run(&json!({ "tools": {} }), vec![Ok(bad.clone())]);
            assert_eq!(table.expect_err("a failure").class, FailureClass::Protocol, "{bad}");
        }
    }
}
