//! The demo: a small MCP server over stdio that loses its tools without a word when its credential is missing.
//!
//! It stands for the real servers that do so. `testdata/demo/demo.sh` shows the gate passing and failing on it.

use std::io::{self, BufRead as _, Write as _};

use serde_json::{Value, json};

fn main() -> io::Result<()> {
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line?) else { continue };
        if let Some(answer) = answer(&message) {
            writeln!(output, "{answer}")?;
            output.flush()?;
        }
    }
    Ok(())
}

fn answer(message: &Value) -> Option<Value> {
    let id = message.get("id")?;
    let result = match message["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "demo", "version": "1.0.0" },
        }),
        "tools/list" => json!({ "tools": tools() }),
        "ping" => json!({}),
        _ => {
            let error = json!({ "code": -32601, "message": "Method not found" });
            return Some(json!({ "jsonrpc": "2.0", "id": id, "error": error }));
        }
    };
    Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

/// The whole point: without the credential the list is empty, and nothing says why.
#[expect(clippy::disallowed_methods, reason = "a server reads its own environment")]
fn tools() -> Vec<Value> {
    let has_token = std::env::var("REPORT_API_TOKEN").is_ok_and(|token| !token.is_empty());
    let names: &[&str] = if has_token { &["fetch_daily_report", "list_report_dates"] } else { &[] };
    names.iter().map(|name| json!({ "name": name, "inputSchema": { "type": "object" } })).collect()
}
