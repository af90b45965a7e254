//! The house: who may know whom. The flow goes one way, and only `command` sees everything.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What each room may use of the others. Whoever is not listed here may use nothing.
const MAY_USE: [(&str, &[&str]); 29] = [
    ("server", &[]),
    ("loose_json", &[]),
    ("text", &[]),
    ("exit", &[]),
    ("values", &[]),
    ("environment", &[]),
    ("files", &[]),
    ("interrupt", &[]),
    ("naming", &[]),
    ("network", &["environment"]),
    ("event", &["loose_json"]),
    ("health", &["environment", "files", "observed", "server", "text"]),
    ("deviation", &[]),
    ("observed", &["deviation", "server"]),
    ("finding", &["server"]),
    ("document", &["loose_json", "server"]),
    ("error", &["exit", "server", "text"]),
    ("cli", &["values"]),
    ("settings", &["cli", "environment", "error", "files", "finding", "network", "values"]),
    ("config", &["document", "environment", "error", "files", "finding", "naming", "server", "values"]),
    ("probe", &["deviation", "error", "interrupt", "loose_json", "network", "observed", "server", "text", "values"]),
    ("progress", &["observed", "probe", "server", "text"]),
    ("redact", &["environment", "observed", "server", "text"]),
    ("wiring", &["document", "environment", "files", "finding", "naming", "server"]),
    ("lens", &["deviation", "naming", "observed", "server", "text", "values"]),
    ("lock", &["document", "error", "files", "server", "text"]),
    ("compare", &["deviation", "finding", "lens", "observed", "server", "text", "values"]),
    ("verdict", &["compare", "exit", "finding", "observed", "server", "settings", "values"]),
    (
        "report",
        &["compare", "error", "files", "finding", "observed", "server", "settings", "text", "values", "verdict"],
    ),
];

#[test]
fn the_flow_goes_one_way() {
    let allowed: BTreeMap<&str, &[&str]> = MAY_USE.into_iter().collect();
    let mut seen = 0;
    for (room, text) in sources() {
        if matches!(room.as_str(), "lib" | "main" | "command") {
            continue;
        }
        let may = allowed.get(room.as_str()).unwrap_or_else(|| panic!("the room {room} has no rule"));
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        for (at, _) in code.match_indices("crate::") {
            let used: String = code[at + 7..].chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
            assert!(used == room || may.contains(&used.as_str()), "{room} must not use {used}");
            seen += 1;
        }
    }
    assert!(seen > 50, "the test no longer reads the code");
}

#[test]
fn every_file_says_its_duty_and_stays_small() {
    for path in files(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        let text = std::fs::read_to_string(&path).expect("a file");
        assert!(text.starts_with("//!"), "{} says no duty", path.display());
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        assert!(code.lines().count() <= 400, "{} is too long", path.display());
    }
}

fn sources() -> Vec<(String, String)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    files(source.clone())
        .into_iter()
        .map(|path| {
            let inside = path.strip_prefix(&source).expect("a path inside");
            let room = inside.components().next().expect("a room").as_os_str().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).expect("a file");
            (room.trim_end_matches(".rs").to_owned(), text)
        })
        .collect()
}

fn files(folder: PathBuf) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(path));
        } else {
            found.push(path);
        }
    }
    found
}
