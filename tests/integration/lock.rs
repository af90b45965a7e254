//! The lock: what is written, what is refused, what is left alone.

use serde_json::json;

use crate::harness::{Project, snapshot, stdio};

pub(crate) const HEALTHY: &str = "{\n  \"s\": [\n    \"alpha\",\n    \"beta\",\n    \"gamma\"\n  ]\n}\n";

#[test]
fn there_is_no_check_without_a_lock() {
    let project = Project::of("healthy");
    snapshot("lock-none", &project.run(&[]).expect(78));
    let run = project.run(&["--config", ".mcp.json", "--lock", "other.json"]).expect(78);
    assert!(run.stderr.contains("`mcp-preflight --update-lock --config .mcp.json --lock other.json`"), "{run}");
}

#[test]
fn a_lock_of_an_unknown_shape_is_refused_with_its_place() {
    for text in [
        "[]",
        "{\"s\": {\"alpha\": {}}}",
        "{\"s\": [1]}",
        "{\"s\": [\"a\", \"a\"]}",
        "{\"s\": []",
        "{\"s\": [], \"s\": []}",
    ] {
        for arguments in [&[][..], &["--update-lock"]] {
            let project = Project::of("healthy");
            project.write("mcp-tools.lock.json", text);
            let run = project.run(arguments).expect(78);
            assert!(run.stderr.starts_with("error: mcp-tools.lock.json:1:"), "{run}");
            assert_eq!(project.read("mcp-tools.lock.json"), text);
        }
    }
}

#[test]
fn the_difference_is_shown_and_the_bytes_are_stable() {
    let project = Project::of("healthy").locked(&["alpha", "delta"]);
    snapshot("lock-dry-run", &project.run(&["--update-lock", "--dry-run", "-t", "60"]).expect(0));
    assert_eq!(project.read("mcp-tools.lock.json"), r#"{"s":["alpha","delta"]}"#);
    snapshot("lock-update", &project.run(&["--update-lock", "-t", "60"]).expect(0));
    assert_eq!(project.read("mcp-tools.lock.json"), HEALTHY);
    snapshot("lock-unchanged", &project.run(&["--update-lock", "-t", "60"]).expect(0));
}

/// Same table: not a byte, not the file itself is touched, however it was written.
#[test]
fn an_unchanged_lock_is_not_touched() {
    for text in [
        HEALTHY.to_owned(),
        HEALTHY.trim_end().to_owned(),
        HEALTHY.replace('\n', "\r\n"),
        r#"{"s":["gamma","beta","alpha"]}"#.to_owned(),
    ] {
        let project = Project::of("healthy");
        project.write("mcp-tools.lock.json", &text);
        let before = std::fs::metadata(project.path("mcp-tools.lock.json")).expect("metadata");
        project.run(&["--update-lock", "-t", "60"]).expect(0);
        let after = std::fs::metadata(project.path("mcp-tools.lock.json")).expect("metadata");
        assert_eq!(before.modified().ok(), after.modified().ok());
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::MetadataExt::ino(&before), std::os::unix::fs::MetadataExt::ino(&after));
        assert_eq!(project.read("mcp-tools.lock.json"), text);
        project.run(&["-t", "60"]).expect(0);
    }
}

#[test]
fn one_entry_can_be_updated_alone() {
    let project = Project::with(&[("a", stdio("healthy")), ("b", stdio("exit-at-start"))]);
    project.write("mcp-tools.lock.json", r#"{"a": ["old"], "b": ["kept"], "gone": ["kept too"]}"#);
    project.run(&["--update-lock", "--server", "a", "-t", "60"]).expect(0);
    let lock: serde_json::Value = serde_json::from_str(&project.read("mcp-tools.lock.json")).expect("JSON");
    assert_eq!(lock, json!({ "a": ["alpha", "beta", "gamma"], "b": ["kept"], "gone": ["kept too"] }));
    project.run(&["--update-lock", "--skip-server", "b", "-t", "60"]).expect(0);
    let lock: serde_json::Value = serde_json::from_str(&project.read("mcp-tools.lock.json")).expect("JSON");
    assert_eq!(lock, json!({ "a": ["alpha", "beta", "gamma"], "b": ["kept"] }), "what is configured nowhere goes");
}

/// Whatever a probe says that is not a whole, usable list: the old lock stays, byte for byte.
#[test]
fn nothing_is_locked_from_a_bad_probe() {
    for scenario in [
        "empty",
        "exit-at-start",
        "exit-mid-list",
        "error-list",
        "pages-error-on-2",
        "endless-cursor",
        "bad-schema",
        "null-cursor",
        "no-tools-capability",
        "pages-21",
        "nameless-tool",
    ] {
        let project = Project::with(&[("good", stdio("healthy")), ("s", stdio(scenario))]);
        project.write("mcp-tools.lock.json", r#"{"s": ["alpha"]}"#);
        let run = project.run(&["--update-lock", "-t", "60"]).expect(78);
        assert!(run.stdout.starts_with("mcp-tools.lock.json was NOT written"), "{scenario}: {run}");
        assert!(run.stdout.contains("] s: "), "the server is not named: {run}");
        assert_eq!(project.read("mcp-tools.lock.json"), r#"{"s": ["alpha"]}"#);
    }
}

#[test]
fn nothing_to_lock_is_no_lock() {
    for (project, arguments) in [
        (Project::with(&[]), &["--update-lock"][..]),
        (Project::with(&[]).locked(&["old"]), &["--update-lock"]),
        (Project::of("healthy"), &["--update-lock", "--skip-server", "s"]),
    ] {
        let before = std::fs::read(project.path("mcp-tools.lock.json")).ok();
        let run = project.run(arguments).expect(78);
        assert!(run.stderr.contains("a lock of nothing would be satisfied by everything"), "{run}");
        assert_eq!(std::fs::read(project.path("mcp-tools.lock.json")).ok(), before);
    }
}

/// A server that is not probed in this run takes part in collisions all the same.
#[test]
fn a_collision_cannot_be_hidden_by_leaving_a_server_out() {
    let project = Project::with(&[("a b", stdio("healthy")), ("a_b", stdio("healthy"))]);
    project.run(&["--update-lock", "--server", "a b", "-t", "60"]).expect(78);
    project.write("mcp-tools.lock.json", r#"{"a b": ["alpha"], "a_b": ["alpha"]}"#);
    let run = project.run(&["--skip-server", "a_b", "-t", "60"]).expect(78);
    assert!(
        run.stdout.contains("its tools are named mcp__a_b__") && run.stdout.contains("rename one of them"),
        "{run}"
    );
}

#[test]
fn a_place_that_cannot_be_written_is_74() {
    let project = Project::of("healthy");
    let run = project.run(&["--update-lock", "--lock", "no/such/folder/lock.json", "-t", "60"]).expect(74);
    assert!(run.stderr.contains("cannot write the lock no/such/folder/lock.json"), "{run}");
    assert!(run.stdout.contains("+    \"alpha\""), "what could not be written was shown: {run}");
    assert!(!run.stdout.contains("wrote"), "{run}");
}

/// Several runs at once that come to the same table: each ends well, and what is left is whole.
#[test]
fn two_writers_never_tear_the_lock() {
    let project = Project::of("healthy");
    let children: Vec<_> =
        (0..6).map(|_| project.command(&["--update-lock", "-q", "-t", "60"]).spawn().expect("the binary")).collect();
    for mut child in children {
        assert_eq!(child.wait().expect("an end").code(), Some(0), "they agree, so that each has done its work");
    }
    assert_eq!(project.read("mcp-tools.lock.json"), HEALTHY);
}

#[test]
fn a_likely_rename_is_suggested() {
    let project = Project::of("healthy").locked(&["alpha", "betta", "gamma_rays_of_the_sun"]);
    snapshot("lock-rename", &project.run(&["-t", "60"]).expect(78));
}
