//! The command line joined with the environment: what this run was asked to do.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ColorChoice;

use crate::cli::{Cli, Command, CommonArgs, HookArgs};
use crate::environment::Environment;
use crate::error::Error;
use crate::files;
use crate::finding::{Code, Severity};
use crate::network::Network;
use crate::values::{Client, Format, FormatSpec, Protocol, parse_duration};

/// The name of the lock, beside the nearest configuration.
pub(crate) const LOCK_NAME: &str = "mcp-tools.lock.json";

/// What this run was asked to do.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The job.
    pub(crate) job: Job,
    /// Configurations that were named; empty: discover them.
    pub(crate) configs: Vec<PathBuf>,
    /// Whose rules hold, where that was said.
    pub(crate) client: Option<Client>,
    /// The lock that was named.
    pub(crate) lock: Option<PathBuf>,
    /// One budget per server; `None`: by the kind of its command.
    pub(crate) timeout: Option<Duration>,
    /// One budget for the run.
    pub(crate) run_timeout: Option<Duration>,
    /// Only these servers; empty: all.
    pub(crate) only: Vec<String>,
    /// Not these servers.
    pub(crate) skipped: Vec<String>,
    /// Servers the run may go on without.
    pub(crate) optional: Vec<String>,
    /// How remote servers are reached.
    pub(crate) network: Network,
    /// How findings weigh.
    pub(crate) weights: Weights,
    /// Which era of the protocol is spoken.
    pub(crate) protocol: Protocol,
    /// Probes at once, when given.
    pub(crate) jobs: Option<usize>,
    /// Whether transient failures have an exit code of their own.
    pub(crate) tempfail: bool,
    /// How reports look, and where they go.
    pub(crate) output: Output,
}

/// How findings weigh, where that was said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Weights {
    /// By code, each once: a severity, or `None` to leave it out.
    pub(crate) by_code: Vec<(Code, Option<Severity>)>,
    /// Whether warnings are errors.
    pub(crate) strict: bool,
}

impl Weights {
    fn new(deny: &[String], warn: &[String], allow: &[String], strict: bool) -> Result<Self, Error> {
        let mut by_code = Vec::new();
        let given =
            [("deny", deny, Some(Severity::Error)), ("warn", warn, Some(Severity::Warning)), ("allow", allow, None)];
        for (option, codes, severity) in given {
            for word in codes {
                let code = Code::ALL.into_iter().find(|code| code.as_str() == word);
                let code = code.ok_or_else(|| {
                    let all: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
                    Error::Usage(format!("--{option} {word}: no such code; they are {}", all.join(", ")))
                })?;
                if severity != Some(Severity::Error) && !code.may_be_lowered() {
                    let message = format!(
                        "--{option} {word}: this cannot be lowered by its code; --optional NAME softens one server"
                    );
                    return Err(Error::Usage(message));
                }
                if by_code.iter().any(|(other, _)| *other == code) {
                    return Err(Error::Usage(format!(
                        "--{option} {word}: something else was said of this code already"
                    )));
                }
                by_code.push((code, severity));
            }
        }
        Ok(Self { by_code, strict })
    }
}

/// The job of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Job {
    /// Compare with the lock, judge.
    Check(Check),
    /// Write the lock.
    UpdateLock {
        /// Only show the difference.
        dry_run: bool,
        /// Servers that may list nothing.
        allow_empty: Vec<String>,
    },
    /// Print the tables.
    Tools,
    /// Guard the calls of a session.
    Hook(Hook),
    /// Print completions for a shell.
    Completions(clap_complete::Shell),
    /// Print the manual page.
    Man,
}

/// What belongs to the guard alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Hook {
    /// Whether the answer is JSON on standard output.
    pub(crate) json: bool,
    /// Whether nothing is blocked.
    pub(crate) fail_open: bool,
    /// Whether a guard that cannot work blocks.
    pub(crate) fail_closed: bool,
    /// Whose records are to be forgotten, in place of guarding.
    pub(crate) reset: Option<Reset>,
    /// Where records are kept, where that was said.
    pub(crate) file: Option<PathBuf>,
}

/// Whose records are to be forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reset {
    /// Everybody's.
    All,
    /// This server's, wherever it is configured.
    Server(String),
}

impl Hook {
    /// # Errors
    /// [`Error::Usage`] for options that mean nothing to a guard.
    fn new(args: HookArgs, common: &CommonArgs) -> Result<Self, Error> {
        let strangers = [
            (common.client.is_some(), "--client"),
            (common.lock.is_some(), "--lock"),
            (common.run_timeout.is_some(), "--run-timeout"),
            (!common.servers.is_empty(), "--server"),
            (!common.optional.is_empty(), "--optional"),
            (!(common.deny.is_empty() && common.warn.is_empty() && common.allow.is_empty()), "--deny, --warn, --allow"),
            (common.strict, "--strict"),
            (common.jobs.is_some(), "--jobs"),
            (!common.formats.is_empty(), "--format"),
            (common.quiet, "--quiet"),
        ];
        if let Some((_, option)) = strangers.iter().find(|(is_given, _)| *is_given) {
            return Err(Error::Usage(format!("{option} does not go with hook")));
        }
        let reset = args.reset.map(|server| server.map_or(Reset::All, Reset::Server));
        Ok(Self {
            json: args.json,
            fail_open: args.fail_open,
            fail_closed: args.fail_closed,
            reset,
            file: args.health_file,
        })
    }
}

/// What belongs to the check alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Check {
    /// Whether nothing is probed.
    pub(crate) is_static: bool,
    /// Names the agent is given on its command line.
    pub(crate) allowed_tools: Vec<String>,
    /// Whether exact names in rules are needed, lock or no lock.
    pub(crate) needs_from_rules: bool,
}

/// How reports look, and where they go.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    /// Where each report goes; at most one has no path (standard output).
    pub(crate) formats: Vec<FormatSpec>,
    /// 0, 1: every server, 2: the messages too.
    pub(crate) verbose: u8,
    /// Nothing when all is well.
    pub(crate) quiet: bool,
    /// Where the summary of a step goes, on GitHub Actions.
    pub(crate) summary: Option<PathBuf>,
    /// The way from the repository's root to this folder, with a slash at its end: what annotations count from.
    pub(crate) from_root: String,
    /// Colours.
    pub(crate) color: ColorChoice,
    /// Whether a CI system started this: no live lines then.
    pub(crate) ci: bool,
}

impl Output {
    /// What the command line says of reports, before it is known to be right: a fault in it is reported, too.
    pub(crate) fn asked_for(cli: &Cli, environment: &Environment) -> Self {
        let mut formats = cli.common.formats.clone();
        // A fault must not cost what it is about.
        formats.retain(|spec| spec.path.as_ref().is_none_or(|path| !is_input(path, cli, environment)));
        Self {
            verbose: cli.common.verbose,
            quiet: cli.common.quiet,
            summary: summary(&formats, environment),
            from_root: from_root(environment),
            color: cli.common.color,
            ci: environment.setting("CI").is_some_and(|value| value != "false"),
            formats,
        }
    }
}

impl Settings {
    /// Joins the command line with the environment.
    ///
    /// # Errors
    /// [`Error::Usage`] when a variable has no usable value, or two reports want standard output.
    pub(crate) fn new(cli: Cli, environment: &Environment) -> Result<Self, Error> {
        let output = Output::asked_for(&cli, environment);
        check_options(&cli, environment)?;
        let command = match cli.command {
            Some(Command::Hook(args)) => return Self::of_hook(args, cli.common, output, environment),
            command => command,
        };
        let CommonArgs {
            config, client, lock, timeout, run_timeout, servers, skipped, optional, protocol, jobs, ..
        } = cli.common;
        let timeout = match timeout {
            Some(timeout) => Some(timeout),
            None => timeout_from(environment)?,
        };
        let configs =
            if config.is_empty() { path_from(environment, "MCP_CONFIG").into_iter().collect() } else { config };
        let is_weighing = cli.common.strict
            || !(cli.common.deny.is_empty() && cli.common.warn.is_empty() && cli.common.allow.is_empty());
        if cli.lock.update_lock && is_weighing {
            let message = "--deny, --warn, --allow and --strict weigh the findings of a check: what must not become the expectation is never written";
            return Err(Error::Usage(message.to_owned()));
        }
        let update = Job::UpdateLock { dry_run: cli.lock.dry_run, allow_empty: cli.lock.allow_empty };
        let job = match command {
            Some(Command::Tools) => Job::Tools,
            Some(Command::Completions { shell }) => Job::Completions(shell),
            Some(Command::Man) => Job::Man,
            Some(Command::Hook(_)) => return Err(Error::Internal("hook is settled above".to_owned())),
            None if cli.lock.update_lock => update,
            None => Job::Check(Check {
                is_static: cli.lock.is_static,
                allowed_tools: cli.lock.allowed_tools,
                needs_from_rules: cli.lock.needs_from_rules,
            }),
        };
        let formats = formats(cli.common.formats, environment)?;
        let output = Output { summary: summary(&formats, environment), ..output };
        Ok(Self {
            job,
            configs,
            client,
            lock: lock.or_else(|| path_from(environment, "MCP_TOOL_LOCK")),
            timeout,
            run_timeout,
            only: servers,
            skipped,
            optional,
            weights: Weights::new(&cli.common.deny, &cli.common.warn, &cli.common.allow, cli.common.strict)?,
            network: Network::new(environment),
            protocol,
            jobs: jobs.map(usize::from),
            tempfail: cli.lock.tempfail,
            output: Output { formats, ..output },
        })
    }
}

/// Refuses what contradicts itself.
fn check_options(cli: &Cli, environment: &Environment) -> Result<(), Error> {
    let paths = cli.common.formats.iter().filter_map(|spec| spec.path.as_ref());
    if let Some(path) = paths.into_iter().find(|path| is_input(path, cli, environment)) {
        let message = format!("a report must not take the place of {}, which is read", path.display());
        return Err(Error::Usage(message));
    }
    let is_of_lock = cli.lock.update_lock || cli.lock.dry_run || cli.lock.tempfail || !cli.lock.allow_empty.is_empty();
    let is_of_check = cli.lock.is_static || cli.lock.needs_from_rules || !cli.lock.allowed_tools.is_empty();
    if cli.command.is_some() && (is_of_lock || is_of_check) {
        let message = "--update-lock, --dry-run, --allow-empty, --tempfail, --static, --allowed-tools and --needs-from-rules do not go with a subcommand";
        return Err(Error::Usage(message.to_owned()));
    }
    Ok(())
}

impl Settings {
    /// Those of a guard: few options mean something to it, and the variables of the gate mean nothing.
    fn of_hook(args: HookArgs, common: CommonArgs, output: Output, environment: &Environment) -> Result<Self, Error> {
        Ok(Self {
            job: Job::Hook(Hook::new(args, &common)?),
            configs: common.config,
            client: Some(Client::Claude),
            lock: None,
            timeout: common.timeout,
            run_timeout: None,
            only: Vec::new(),
            skipped: common.skipped,
            optional: Vec::new(),
            weights: Weights::default(),
            network: Network::new(environment),
            protocol: common.protocol,
            jobs: None,
            tempfail: false,
            output: Output { formats: Vec::new(), summary: None, ..output },
        })
    }
}

/// Adds the human report on standard output unless something else wants that place.
/// On GitHub Actions a person's report has annotations beside it.
fn formats(mut formats: Vec<FormatSpec>, environment: &Environment) -> Result<Vec<FormatSpec>, Error> {
    let is_github = environment.get("GITHUB_ACTIONS").is_some_and(|value| value == "true");
    let on_stdout = |format| FormatSpec { format, path: None };
    match formats.iter().filter(|spec| spec.path.is_none()).count() {
        0 => {
            formats.push(on_stdout(Format::Human));
            formats.extend(is_github.then(|| on_stdout(Format::Github)));
        }
        1 => {}
        _ => {
            let message =
                "two formats want standard output: give all but one of them a file, --format json=report.json";
            return Err(Error::Usage(message.to_owned()));
        }
    }
    let paths: Vec<PathBuf> =
        formats.iter().filter_map(|spec| Some(environment.folder.join(spec.path.as_ref()?))).collect();
    for (index, path) in paths.iter().enumerate() {
        if paths[..index].contains(path) {
            return Err(Error::Usage(format!("two formats want the file {}", path.display())));
        }
    }
    Ok(formats)
}

/// Whether a file is one that this run reads: a configuration or the lock.
fn is_input(path: &Path, cli: &Cli, environment: &Environment) -> bool {
    let usual = path.file_name().is_some_and(|name| name == ".mcp.json" || name == LOCK_NAME);
    let named = ["MCP_CONFIG", "MCP_TOOL_LOCK"].into_iter().filter_map(|name| path_from(environment, name));
    let mut read = cli.common.config.iter().chain(&cli.common.lock).cloned().chain(named);
    let path = environment.folder.join(path);
    usual || read.any(|read| files::is_same(&environment.folder.join(read), &path))
}

/// The root is the workspace of GitHub Actions, or the folder that holds `.git`.
fn from_root(environment: &Environment) -> String {
    let folder = &environment.folder;
    let workspace = path_from(environment, "GITHUB_WORKSPACE").filter(|root| folder.starts_with(root));
    let root = workspace.or_else(|| folder.ancestors().find(|folder| folder.join(".git").exists()).map(PathBuf::from));
    let way = root.as_ref().and_then(|root| folder.strip_prefix(root).ok());
    way.into_iter().flatten().flat_map(|part| [part.to_string_lossy(), "/".into()]).collect()
}

/// The summary of a step goes with the annotations.
fn summary(formats: &[FormatSpec], environment: &Environment) -> Option<PathBuf> {
    let is_wanted = formats.iter().any(|spec| spec.format == Format::Github);
    path_from(environment, "GITHUB_STEP_SUMMARY").filter(|_| is_wanted)
}

fn path_from(environment: &Environment, name: &str) -> Option<PathBuf> {
    environment.setting(name).map(PathBuf::from)
}

fn timeout_from(environment: &Environment) -> Result<Option<Duration>, Error> {
    let Some(value) = environment.setting("MCP_PROBE_TIMEOUT_S") else { return Ok(None) };
    match parse_duration(&value) {
        Ok(timeout) => Ok(Some(timeout)),
        Err(reason) => Err(Error::Usage(format!("MCP_PROBE_TIMEOUT_S={value}: {reason}"))),
    }
}
