//! Every format: a golden file, hostile text, a run without a gate, several at once.

use serde_json::{Value, json};

use crate::harness::{Project, Run, snapshot, stdio};

/// A run with something of every weight: a tool missing, a server down, one skipped, one unlocked, and a rule that is dead.
fn project() -> Project {
    let servers = [
        (
            "report",
            json!({ "command": stdio("credential")["command"], "args": stdio("credential")["args"], "env": { "REPORT_API_TOKEN": "${REPORT_API_TOKEN}" } }),
        ),
        ("down", stdio("exit-at-start")),
        ("left-out", stdio("healthy")),
        ("new", stdio("healthy")),
    ];
    let project = Project::with(&servers);
    let lock = r#"{"report": ["fetch_daily_report", "list_report_dates"], "down": ["a"], "left-out": ["alpha"]}"#;
    project.write("mcp-tools.lock.json", lock);
    project.write(".claude/settings.json", r#"{"permissions": {"allow": ["mcp__new__gone"]}}"#);
    project
}

const OPTIONS: [&str; 4] = ["--skip-server", "left-out", "-t", "60"];

fn run(project: &Project, format: &str) -> Run {
    project.run(&[&OPTIONS[..], &["--format", format]].concat())
}

const FORMATS: [&str; 4] = ["github", "markdown", "junit", "sarif"];

#[test]
fn every_format_has_its_golden_file() {
    for format in FORMATS {
        snapshot(&format!("format-{format}"), &run(&project(), format).expect(78));
        let healthy = Project::of("healthy").locked(&["alpha", "beta", "gamma"]);
        snapshot(&format!("format-{format}-pass"), &healthy.run(&["--format", format]).expect(0));
    }
}

#[test]
fn every_format_says_why_no_gate_was_performed() {
    for format in FORMATS {
        let project = Project::of("healthy");
        project.write("mcp-tools.lock.json", "{\"s\": [1]}");
        snapshot(&format!("format-{format}-error"), &project.run(&["--format", format]).expect(78));
    }
}

#[test]
fn json_reports_are_those_of_the_schema() {
    let schema: Value = serde_json::from_str(include_str!("../../docs/report.schema.json")).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let check = |run: &Run| {
        let report = run.json();
        let faults: Vec<String> =
            validator.iter_errors(&report).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(faults.is_empty(), "{faults:?}\n{run}");
    };
    check(&run(&project(), "json"));
    check(&project().run(&["tools", "-vv", "--format", "json"]));
    check(&project().run(&["--static", "--format", "json"]));
    check(&Project::of("healthy").run(&["--update-lock", "--format", "json"]));
    check(&Project::of("healthy").run(&["--format", "json"]));
    check(&Project::of("http-401").run(&["tools", "--format", "json"]));
    // A schema that accepts everything would say nothing.
    assert!(
        !validator
            .is_valid(&json!({ "version": 1, "verdict": "pass", "exit_code": 0, "servers": [{}], "findings": [] }))
    );
}

/// Names, messages and places that try to be something else.
fn hostile(scenario: &str) -> Project {
    let name = "s\n::error::forged\r\n| a | b |<script>@me [x](http://evil) `code` %0A%25";
    let project = Project::with(&[(name, stdio(scenario))]);
    project.write(
        "mcp-tools.lock.json",
        json!({ name: ["a\n::set-output name=x::y", "]]><x/>", "| evil |", "\u{1b}[31m"] }).to_string(),
    );
    project
}

#[test]
fn hostile_text_forges_nothing_in_any_format() {
    for scenario in ["hostile-names", "hostile-error", "hostile-stderr"] {
        for line in hostile(scenario).run(&["--format", "github"]).expect(78).stdout.lines() {
            assert!(
                line.starts_with("::error ") || line.starts_with("::warning ") || line.starts_with("::notice "),
                "{line}"
            );
            // Behind the one command there is no other, and its properties hold no separator of their own.
            let (properties, _) = line[2..].split_once("::").expect("a command");
            assert!(properties.split(',').all(|property| property.matches('=').count() <= 2), "{line}");
            assert!(!line.contains('\u{1b}') && !line.contains('\r'), "{line}");
        }
        let markdown = hostile(scenario).run(&["--format", "markdown"]).expect(78).stdout;
        for forged in ["<script", "@me", "](", "| evil", "<x", "\u{1b}", "::set-output"] {
            assert!(!markdown.contains(forged), "{forged}: {markdown}");
        }
        let rows = markdown.lines().filter(|line| line.starts_with('|')).count();
        assert_eq!(rows, 3, "{markdown}");
        let junit = hostile(scenario).run(&["--format", "junit"]).expect(78).stdout;
        let report = quick_junit::Report::deserialize_from_str(&junit).expect("XML");
        assert_eq!(report.test_suites[0].test_cases.len(), 1);
        assert!(!junit.contains("<x/>") && !junit.contains("<script"), "{junit}");
        let sarif: Value =
            serde_json::from_str(&hostile(scenario).run(&["--format", "sarif"]).expect(78).stdout).expect("JSON");
        let results = sarif["runs"][0]["results"].as_array().expect("results");
        assert!(!results.is_empty());
        for result in results {
            let message = result["message"]["text"].as_str().expect("text");
            assert!(
                !message.contains('\u{1b}') && !message.contains('\u{202e}') && !message.contains("\n::"),
                "{message}"
            );
        }
    }
}

#[test]
fn fingerprints_are_of_the_thing_not_of_its_place() {
    let prints = |project: &Project| {
        let sarif: Value = serde_json::from_str(&run(project, "sarif").stdout).expect("JSON");
        let results = sarif["runs"][0]["results"].as_array().expect("results").clone();
        let mut prints: Vec<String> = results
            .iter()
            .map(|result| format!("{} {}", result["ruleId"], result["partialFingerprints"]["mcpPreflight/v1"]))
            .collect();
        prints.sort_unstable();
        prints
    };
    let (here, moved) = (project(), project());
    moved.write(".mcp.json", format!("\n\n\n{}", moved.read(".mcp.json")));
    assert_eq!(prints(&here), prints(&moved));
    let mut distinct = prints(&here);
    distinct.dedup();
    assert_eq!(distinct.len(), prints(&here).len());
}

#[test]
fn github_actions_get_annotations_and_a_summary_by_themselves() {
    let project = project().env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", "summary.md");
    project.write("summary.md", "before\n");
    let run = project.run(&OPTIONS).expect(78);
    assert!(
        run.stdout.starts_with("MCP preflight FAILED") && run.stdout.contains("\n::error file=.mcp.json,line="),
        "{run}"
    );
    let summary = project.read("summary.md");
    assert!(summary.starts_with("before\n### ❌ MCP preflight failed"), "{summary}");
    // Who asks for something else on standard output gets that alone.
    let run = project.run(&[&OPTIONS[..], &["--format", "json"]].concat()).expect(78);
    assert_eq!(run.json()["exit_code"], 78);
    assert_eq!(project.read("summary.md"), summary);
    // A gate that could not be performed is said there, too.
    project.write("mcp-tools.lock.json", "[]");
    let run = project.run(&[]).expect(78);
    assert!(run.stdout.starts_with("::error file=mcp-tools.lock.json,line=1,col=1,title=MCP preflight::"), "{run}");
    assert!(project.read("summary.md").contains("could not be performed"), "{run}");
}

#[test]
fn several_reports_are_written_at_once() {
    let project = project();
    let wanted = [
        "--format",
        "json=r.json",
        "--format",
        "junit=r.xml",
        "--format",
        "sarif=r.sarif",
        "--format",
        "markdown=r.md",
    ];
    let run = project.run(&[&OPTIONS[..], &wanted[..]].concat()).expect(78);
    assert!(run.stdout.starts_with("MCP preflight FAILED"), "{run}");
    for name in ["r.json", "r.xml", "r.sarif", "r.md"] {
        assert!(project.read(name).contains("tools-missing"), "{name}");
    }
}

#[test]
fn the_command_line_describes_itself() {
    for shell in ["bash", "zsh", "fish"] {
        let run = Project::new().run(&["completions", shell]).expect(0);
        assert!(run.stdout.contains("--update-lock") || run.stdout.contains("update-lock"), "{run}");
    }
    let run = Project::new().run(&["man"]).expect(0);
    assert!(
        run.stdout.contains(".TH mcp-preflight") && run.stdout.contains("EX_CONFIG") || run.stdout.contains("78"),
        "{run}"
    );
    Project::new().run(&["completions", "csh"]).expect(64);
}
