//! Commands that run whatever version is newest: a laptop and CI may then run two different servers (`zoo.md` section 3: `npx` chooses by the
//! version of Node).

use crate::server::StdioServer;

/// The package that a launcher is given without a version, if that is what the command does.
pub(super) fn unpinned(stdio: &StdioServer) -> Option<String> {
    let (program, words) = stdio.launched();
    let words: Vec<&str> = words.into_iter().map(|word| word.written.as_str()).collect();
    let (words, is_python) = match (program, words.as_slice()) {
        ("npx" | "bunx" | "pnpx", rest) => (rest, false),
        ("pnpm" | "yarn", ["dlx", rest @ ..]) | ("npm", ["exec" | "x", rest @ ..]) | ("bun", ["x", rest @ ..]) => {
            (rest, false)
        }
        ("uvx", rest) | ("uv", ["tool", "run", rest @ ..]) | ("pipx", ["run", rest @ ..]) => (rest, true),
        _ => return None,
    };
    let package = package(words)?;
    let is_pinned = if is_python { is_pinned_python(package) } else { is_pinned_node(package) };
    (!is_pinned).then(|| package.to_owned())
}

/// The package: what an option names, or the first word that is none.
fn package<'a>(words: &[&'a str]) -> Option<&'a str> {
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        match word {
            "-p" | "--package" | "--from" | "--spec" => return words.next(),
            // Options of uvx with a value of their own.
            "--with" | "--python" | "--index" | "--index-url" | "--registry" | "-c" | "--call" => drop(words.next()),
            _ => match word.split_once('=') {
                Some(("--package" | "--from" | "--spec", package)) => return Some(package),
                _ if word.starts_with('-') => {}
                _ => return Some(word),
            },
        }
    }
    None
}

/// `name@1.2.3` or `@scope/name@1.2.3`; a tag such as `latest` moves. Paths, addresses and variables are somebody's own business.
fn is_pinned_node(package: &str) -> bool {
    if package.starts_with(['.', '/', '$', '~']) || package.contains(':') {
        return true;
    }
    let version = package.get(1..).and_then(|rest| rest.rsplit_once('@')).map(|(_, version)| version);
    version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit() || c == '$'))
}

/// `name==1.2.3`, `name@1.2.3` or `name @ address`.
fn is_pinned_python(package: &str) -> bool {
    if package.starts_with(['.', '/', '$', '~']) || package.contains(':') {
        return true;
    }
    let is_version = |version: &str| version.trim().starts_with(|c: char| c.is_ascii_digit() || c == '$');
    package.split_once("==").or_else(|| package.split_once('@')).is_some_and(|(_, version)| is_version(version))
}

#[cfg(test)]
mod tests {
    use super::unpinned;
    use crate::server::{Expanded, Secret, StdioServer};

    fn of(line: &str) -> Option<String> {
        let mut words = line.split(' ').map(|word| Expanded { written: word.to_owned(), value: Secret::new(word) });
        let command = words.next().expect("a command");
        unpinned(&StdioServer { command, arguments: words.collect(), ..StdioServer::default() })
    }

    #[test]
    fn packages_without_a_version_are_found() {
        let rows = [
            ("npx -y @scope/pkg", "@scope/pkg"),
            ("npx pkg@latest --flag", "pkg@latest"),
            ("npx --package=pkg cmd", "pkg"),
            ("/usr/bin/npx.cmd -p pkg cmd", "pkg"),
            ("cmd /c npx -y pkg", "pkg"),
            ("pnpm dlx pkg", "pkg"),
            ("uvx pkg", "pkg"),
            ("uvx --with x --from pkg cmd", "pkg"),
            ("uv tool run pkg", "pkg"),
            ("uvx pkg@latest", "pkg@latest"),
        ];
        for (line, package) in rows {
            assert_eq!(of(line).as_deref(), Some(package), "{line}");
        }
        let pinned = [
            "npx -y @scope/pkg@1.2.3",
            "npx pkg@1",
            "npx ./local",
            "npx github:a/b",
            "npx pkg@${VERSION}",
            "uvx pkg==1.0",
            "uvx pkg@1.0",
            "uvx --from git+https://h/x cmd",
            "node server.js",
            "npm start",
            "npx",
        ];
        for line in pinned {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
