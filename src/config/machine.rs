//! Where the keeper of a machine puts Claude Code's files, by system (`clients.md` 1.3).

/// Settings of everybody on the machine.
pub(super) const MANAGED_SETTINGS: &str = named::SETTINGS;
/// Servers of everybody on the machine; where this is, nothing else is.
pub(super) const MANAGED_SERVERS: &str = named::SERVERS;

#[cfg(windows)]
mod named {
    pub(super) const SETTINGS: &str = r"C:\Program Files\ClaudeCode\managed-settings.json";
    pub(super) const SERVERS: &str = r"C:\Program Files\ClaudeCode\managed-mcp.json";
}

#[cfg(target_os = "macos")]
mod named {
    pub(super) const SETTINGS: &str = "/Library/Application Support/ClaudeCode/managed-settings.json";
    pub(super) const SERVERS: &str = "/Library/Application Support/ClaudeCode/managed-mcp.json";
}

#[cfg(not(any(windows, target_os = "macos")))]
mod named {
    pub(super) const SETTINGS: &str = "/etc/claude-code/managed-settings.json";
    pub(super) const SERVERS: &str = "/etc/claude-code/managed-mcp.json";
}
