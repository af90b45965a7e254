// What a hook on a cached verdict has to do at least, in Node.js: read the event, the configuration and the records, and decide.
// `whole_process.rs` measures `mcp-preflight hook` against it.
const fs = require("fs");
const path = require("path");

const event = JSON.parse(fs.readFileSync(0, "utf8"));
if (!event.tool_name.startsWith("mcp__")) process.exit(0);
const folder = process.env.CLAUDE_PROJECT_DIR;
const config = JSON.parse(fs.readFileSync(path.join(folder, ".mcp.json"), "utf8"));
if (!config.mcpServers[event.mcp_server.name]) process.exit(0);
const records = JSON.parse(fs.readFileSync(path.join(process.env.HOME, ".claude", "mcp-health-cache.json"), "utf8"));
const record = Object.values(records.servers).find((record) => record.server === event.mcp_server.name);
const now = Date.now();
if (record.status === "unhealthy" && now < record.nextRetryAt) {
  console.error(`${record.server} is down: ${record.lastError}`);
  process.exit(2);
}
process.exit(record.status === "healthy" && now < record.expiresAt ? 0 : 1);
