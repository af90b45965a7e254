//! The command line as types. No logic: `settings.rs` joins it with the environment.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, ColorChoice, Parser, Subcommand};

use crate::values::{Client, FormatSpec, Protocol, parse_client, parse_duration, parse_format, parse_protocol};

/// Before an unattended agent starts, prove that every MCP tool the run counts on is really there.
///
/// Without a subcommand this is the gate: every server of the client's configuration is probed, its tool names are compared
/// with the lock, and the process exits 0, or 78 with a reason a person can act on.
#[derive(Debug, Parser)]
#[command(name = "mcp-preflight", version, max_term_width = 100, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) lock: LockArgs,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

const AFTER_HELP: &str = "\
Exit codes: 0 every locked tool was seen; 64 the command line is wrong; 70 a bug; 74 the lock or a report could not be written; \
75 only with --tempfail: everything that failed may pass on a retry; 78 the gate says no; 128+n interrupted by signal n.

mcp-preflight runs the commands of the configuration: use it only where you would let the agent run.";

const AFTER_HOOK: &str = "\
Of the options above only these go with hook: --config (in place of a search; a server that stands nowhere in it is searched for all the \
same), --timeout (default 5s), --skip-server (lets calls through unasked), --protocol and --verbose.";

/// What to do instead of the check.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the observed tool table; no lock needed.
    Tools,
    /// Guard the calls of a session: reads one event of a Claude Code hook from standard input. Exit 0 lets the call through, 2 blocks it
    /// (docs/guard.md).
    #[command(after_help = AFTER_HOOK)]
    Hook(HookArgs),
    /// Print completions for a shell, to be put where it looks for them.
    Completions {
        /// The shell.
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page (roff).
    Man,
}

/// Options of the guard.
#[derive(Debug, Args)]
#[expect(clippy::option_option, reason = "an option whose value is optional")]
pub(crate) struct HookArgs {
    /// Answer with JSON on standard output and exit 0, rather than with exit 2 and a line on standard error. A call that is let through gets no
    /// answer: `allow` would spare it the client's own question of permission.
    #[arg(long, help_heading = "Guard")]
    pub(crate) json: bool,
    /// Block nothing, only say what would have been blocked [env: `MCP_PREFLIGHT_HEALTH_FAIL_OPEN`]
    #[arg(long, conflicts_with = "fail_closed", help_heading = "Guard")]
    pub(crate) fail_open: bool,
    /// Block, too, where the guard itself cannot do its work: bad input, an unreadable configuration, a wrong option, a bug.
    #[arg(long, help_heading = "Guard")]
    pub(crate) fail_closed: bool,
    /// Forget what is known of SERVER, or of all servers, and end; reads no event.
    #[arg(long, value_name = "SERVER", num_args = 0..=1, conflicts_with_all = ["json", "fail_open", "fail_closed"], help_heading = "Guard")]
    pub(crate) reset: Option<Option<String>>,
    /// Where health is kept. Default: mcp-health-cache.json in `~/.claude`, or in `CLAUDE_CONFIG_DIR`
    /// [env: `MCP_PREFLIGHT_HEALTH_STATE_PATH`]
    #[arg(long, value_name = "PATH", help_heading = "Guard")]
    pub(crate) health_file: Option<PathBuf>,
}

/// Options of the check and of writing the lock.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct LockArgs {
    /// Probe, show the difference, write the lock; never from a failed probe.
    #[arg(long, conflicts_with = "optional", help_heading = "Lock")]
    pub(crate) update_lock: bool,
    /// With --update-lock: show the difference, write nothing.
    #[arg(long, requires = "update_lock", help_heading = "Lock")]
    pub(crate) dry_run: bool,
    /// With --update-lock: server NAME may list no tool at all (repeatable).
    #[arg(long, value_name = "NAME", requires = "update_lock", help_heading = "Lock")]
    pub(crate) allow_empty: Vec<String>,
    /// No probe, nothing executed, nothing sent: the configuration, the lock, the rules, and their agreement only (pull requests from
    /// forks, pre-commit).
    #[arg(long = "static", conflicts_with_all = ["update_lock", "tempfail"], help_heading = "Judging")]
    pub(crate) is_static: bool,
    /// Names of tools the run is allowed to use, as given to the agent (repeatable): each that nothing offers is `rule-dead`.
    #[arg(long, value_name = "TEXT", conflicts_with = "update_lock", help_heading = "Judging")]
    pub(crate) allowed_tools: Vec<String>,
    /// The exact names in permission rules, agents, commands, skills and --allowed-tools are needed: one that is missing is an error,
    /// lock or no lock.
    #[arg(long, conflicts_with = "update_lock", help_heading = "Judging")]
    pub(crate) needs_from_rules: bool,
    /// Exit 75 instead of 78 when everything that failed is transient (429, 503, refused, unresolved, timeout).
    #[arg(long, conflicts_with = "update_lock", help_heading = "Judging")]
    pub(crate) tempfail: bool,
}

/// Options of every command.
#[derive(Debug, Args)]
pub(crate) struct CommonArgs {
    /// The client's configuration (repeatable). Default: `.mcp.json` here and in every folder above; the nearest wins by
    /// server name [env: `MCP_CONFIG`]
    #[arg(short, long, value_name = "PATH", global = true, help_heading = "Files")]
    pub(crate) config: Vec<PathBuf>,
    /// Whose rules hold for the configuration and the lists: claude, claude-desktop, codex, vscode, cursor, gemini, copilot, opencode or
    /// raw (none). Default: by the file's name.
    #[arg(long, value_name = "CLIENT", value_parser = parse_client, global = true, help_heading = "Files")]
    pub(crate) client: Option<Client>,
    /// The lock. Default: mcp-tools.lock.json beside the nearest configuration [env: `MCP_TOOL_LOCK`]
    #[arg(short, long, value_name = "PATH", global = true, help_heading = "Files")]
    pub(crate) lock: Option<PathBuf>,
    /// One budget for everything a server's probe does: 2, 2.5, 1500ms, 10s, 1m. Default: 10s; 60s for a command that may
    /// download first (npx, uvx, bunx, pnpm dlx, yarn dlx, docker run ...) [env: `MCP_PROBE_TIMEOUT_S`]
    #[arg(short, long, value_name = "DURATION", value_parser = parse_duration, global = true, help_heading = "Probing")]
    pub(crate) timeout: Option<Duration>,
    /// One budget for the whole run. What it cuts off is a timeout, never a missing tool.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, global = true, help_heading = "Probing")]
    pub(crate) run_timeout: Option<Duration>,
    /// Probe only server NAME; the others are reported as skipped (repeatable).
    #[arg(short, long = "server", value_name = "NAME", global = true, help_heading = "Probing")]
    pub(crate) servers: Vec<String>,
    /// Leave server NAME out, and say so (repeatable).
    #[arg(long = "skip-server", value_name = "NAME", global = true, help_heading = "Probing")]
    pub(crate) skipped: Vec<String>,
    /// The run may go on without server NAME: its findings become warnings (repeatable).
    #[arg(long = "optional", value_name = "NAME", global = true, help_heading = "Judging")]
    pub(crate) optional: Vec<String>,
    /// Make findings of this code errors (repeatable).
    #[arg(long, value_name = "CODE", global = true, help_heading = "Judging")]
    pub(crate) deny: Vec<String>,
    /// Make findings of this code warnings (repeatable).
    #[arg(long, value_name = "CODE", global = true, help_heading = "Judging")]
    pub(crate) warn: Vec<String>,
    /// Leave findings of this code out (repeatable).
    #[arg(long, value_name = "CODE", global = true, help_heading = "Judging")]
    pub(crate) allow: Vec<String>,
    /// Make every warning an error.
    #[arg(long, global = true, help_heading = "Judging")]
    pub(crate) strict: bool,
    /// The protocol's era: auto (whichever the server speaks), legacy (the handshake of 2025-11-25 and older) or modern
    /// (2026-07-28).
    #[arg(long, value_name = "ERA", value_parser = parse_protocol, default_value = "auto", global = true, help_heading = "Probing")]
    pub(crate) protocol: Protocol,
    /// Probes at once. Default: 2 x processors for stdio servers, 64 for remote ones.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), global = true, help_heading = "Probing")]
    pub(crate) jobs: Option<u16>,
    /// human, json, github, markdown, junit or sarif; with =PATH into a file (repeatable). Standard output gets human unless a format
    /// without PATH is given; on GitHub Actions annotations and the summary of the step, too.
    #[arg(long = "format", value_name = "FORMAT[=PATH]", value_parser = parse_format, global = true, help_heading = "Output")]
    pub(crate) formats: Vec<FormatSpec>,
    /// Show every server; twice: the messages too, secrets masked.
    #[arg(short, long, action = ArgAction::Count, global = true, conflicts_with = "quiet", help_heading = "Output")]
    pub(crate) verbose: u8,
    /// Print nothing when all is well.
    #[arg(short, long, global = true, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Colours: auto (a terminal, and no `NO_COLOR`), always or never.
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true, help_heading = "Output")]
    pub(crate) color: ColorChoice,
}
