//! The shell parts of the GitHub Action, run for real; a server on loopback stands in for the releases.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::harness::{Project, binary, stdio};

/// Serves these files by path, until the test ends; returns the address, and every request line it gets.
fn releases(files: BTreeMap<String, Vec<u8>>) -> (String, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let (sender, asked) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = Vec::new();
            let mut lines = BufReader::new(stream.try_clone().expect("a stream")).lines().map_while(Result::ok);
            head.extend(lines.by_ref().take_while(|line| !line.is_empty()));
            let path = head.first().and_then(|line| line.split(' ').nth(1)).unwrap_or_default().to_owned();
            let _ = sender.send(head.join("\n"));
            let (status, body) = files.get(&path).map_or(("404 No", &b""[..]), |body| ("200 OK", body.as_slice()));
            let _ = write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(body);
        }
    });
    (address, asked)
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/action").join(name)
}

/// Runs a script with nothing but these variables.
fn run(folder: &Path, name: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new("bash");
    command.arg(script(name)).env_clear().envs(variables.iter().copied()).current_dir(folder);
    command.env("PATH", format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").unwrap_or_default()));
    command.env("RUNNER_TEMP", folder).env("GITHUB_OUTPUT", folder.join("output"));
    command.env("GITHUB_ACTION_PATH", env!("CARGO_MANIFEST_DIR"));
    command.output().expect("bash")
}

/// The release for this machine, when it is no Windows.
fn target() -> String {
    let arch = std::env::consts::ARCH;
    if cfg!(target_os = "macos") { format!("{arch}-apple-darwin") } else { format!("{arch}-unknown-linux-musl") }
}

/// An archive as `.github/release.sh` makes it for a runner's system, around a program that says its name, and its checksum's line.
fn archive(folder: &Path, system: &str) -> (String, Vec<u8>, String) {
    std::fs::create_dir_all(folder.join("a")).expect("a folder");
    let exe = if system == "Windows" { ".exe" } else { "" };
    std::fs::write(folder.join(format!("a/mcp-preflight{exe}")), "#!/bin/sh\necho installed\n").expect("a file");
    let shell = |line: &str| {
        let output = Command::new("sh").args(["-c", line]).current_dir(folder).output().expect("a shell");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    let name = match system {
        "Windows" => "mcp-preflight-v1.2.3-x86_64-pc-windows-msvc.zip".to_owned(),
        _ => format!("mcp-preflight-v1.2.3-{}.tar.gz", target()),
    };
    shell(&format!("chmod +x a/* && tar -czf {name} -C a ."));
    let sum = shell(&format!("sha256sum {name} || shasum -a 256 {name}"));
    (name.clone(), std::fs::read(folder.join(name)).expect("the archive"), sum)
}

fn install(folder: &Path, files: BTreeMap<String, Vec<u8>>, version: &str, system: &str) -> (Output, Vec<String>) {
    let (server, asked) = releases(files);
    let variables = [
        ("VERSION", version),
        ("REPOSITORY", "own/er"),
        ("SERVER", server.as_str()),
        ("TOKEN", "t0ken"),
        ("RUNNER_OS", system),
    ];
    let output = run(folder, "install.sh", &variables);
    (output, asked.try_iter().collect())
}

/// What installs the archive of a runner's system from a server that has it.
fn installed(system: &str, equip: impl FnOnce(&Path)) {
    let folder = tempfile::tempdir().expect("a folder");
    let bin = folder.path().join("bin");
    std::fs::create_dir(&bin).expect("a folder");
    equip(&bin);
    let (name, bytes, sum) = archive(folder.path(), system);
    let (output, asked) = install(folder.path(), released(&name, &bytes, &sum), "v1.2.3", system);
    assert!(output.status.success(), "{output:?}");
    assert!(asked.iter().all(|head| head.contains("Authorization: Bearer t0ken")), "{asked:?}");
    let written = std::fs::read_to_string(folder.path().join("output")).expect("outputs");
    let installed = written.trim().strip_prefix("binary=").expect("an output");
    assert_eq!(Command::new(installed).output().expect("the program").stdout, b"installed\n");
}

fn released(name: &str, bytes: &[u8], sums: &str) -> BTreeMap<String, Vec<u8>> {
    let place = "/own/er/releases/download/v1.2.3";
    let sums = (format!("{place}/SHA256SUMS"), sums.as_bytes().to_vec());
    BTreeMap::from([(format!("{place}/{name}"), bytes.to_vec()), sums])
}

/// A runner for Windows, whose shell has `unzip`; one that takes what `tar` has packed stands in for it.
#[test]
fn a_runner_for_windows_gets_a_zip() {
    installed("Windows", |bin| {
        std::fs::write(bin.join("unzip"), "#!/bin/sh\nexec tar -xzf \"$3\" -C \"$5\"\n").expect("a file");
        std::fs::set_permissions(bin.join("unzip"), std::fs::Permissions::from_mode(0o755)).expect("permissions");
    });
}

#[test]
fn the_released_binary_is_installed_when_its_checksum_is_right() {
    installed("Linux", |_| ());
    let folder = tempfile::tempdir().expect("a folder");
    let (name, bytes, sum) = archive(folder.path(), "Linux");

    let wrong = sum.replacen(&sum[..8], "00000000", 1);
    for (sums, reason) in [(wrong.as_str(), "checksum"), ("", "does not name")] {
        let folder = tempfile::tempdir().expect("a folder");
        let (output, _) = install(folder.path(), released(&name, &bytes, sums), "v1.2.3", "Linux");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(70), "{said}");
        assert!(said.starts_with("::error title=MCP preflight::") && said.contains(reason), "{said}");
        assert!(!folder.path().join("output").exists() && !folder.path().join("mcp-preflight/mcp-preflight").exists());
    }
    let (output, _) = install(folder.path(), BTreeMap::new(), "v1.2.3", "Linux");
    assert!(String::from_utf8_lossy(&output.stdout).contains("cannot download"), "{output:?}");
}

#[test]
fn a_version_is_a_tag_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    for version in ["latest", "1.2.3", "v1.2.3/../../x", "v1.2.3; touch forged", "$(touch forged)", "v1.2.3\nforged=1"]
    {
        let (output, asked) = install(folder.path(), BTreeMap::new(), version, "Linux");
        assert_eq!(output.status.code(), Some(70), "{version}: {output:?}");
        assert!(asked.is_empty() && !folder.path().join("forged").exists(), "{version}");
    }
}

#[test]
fn the_gate_ends_the_step_and_leaves_its_outputs() {
    let project = Project::with(&[("s", stdio("healthy"))]).locked(&["alpha", "beta", "gamma"]);
    let folder = project.path("");
    let arguments = "--skip-server\r\n\nnobody's $(touch forged)\n";
    for (args, code) in [("-t\n60", 0), (arguments, 64)] {
        let _ = std::fs::remove_file(folder.join("output"));
        let output = run(&folder, "run.sh", &[("BINARY", binary()), ("ARGS", args), ("HOME", "/nowhere")]);
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        let written = std::fs::read_to_string(folder.join("output")).expect("outputs");
        assert!(written.contains(&format!("exit-code={code}\n")), "{written}");
        let report = written.lines().find_map(|line| line.strip_prefix("report=")).expect("a report");
        // A run without a gate has a report, too.
        assert!(Path::new(report).exists());
    }
    assert!(!folder.join("forged").exists());
}

/// What `action.yml` says: every input goes through a variable, never into a script.
#[test]
fn inputs_are_never_written_into_scripts() {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("action.yml")).expect("action.yml");
    let scripts: Vec<&str> = text.lines().filter(|line| line.trim_start().starts_with("run:")).collect();
    assert_eq!(scripts.len(), 2);
    assert!(scripts.iter().all(|line| !line.contains("${{")), "{scripts:?}");
}
