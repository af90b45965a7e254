"""What is known of these servers: the cause that must be named where nothing can be listed, and why another client may differ."""


def fails(failure, step, says, why):
    """`says`: what both reports must say, the one for people too. `why`: the truth, for the document."""
    return {"class": failure, "step": step, "says": says, "why": why}


EXIT = ("exited", "initialize")

# In mcp-broken.json and mcp-http.json.
FAILS = {
    "supabase": fails("rpc-error", "tools/list", "fetch failed", "asks its API before it answers tools/list, and the API cannot be reached"),
    "stripe": fails("timeout", "initialize", r"EAI_AGAIN mcp\.stripe\.com", "passes everything on to a host that cannot be reached, and says nothing to the client"),
    "heroku": fails(*EXIT, "Cannot find module .*sdk/dist/esm/server/mcp", "imports a module path that the SDK no longer has"),
    "slack-go": fails("timeout", "initialize", "no answer to initialize", "stays silent for ever with demo credentials"),
    "apify": fails("timeout", "initialize", r"EAI_AGAIN api\.apify\.com", "retries its API, which cannot be reached, before it answers"),
    "mysql-js": fails("exited", "tools/list", "exited with status 1", "no database: answers initialize, then ends with nothing on standard error"),
    "svelte": fails(*EXIT, "EAI_AGAIN", "fetches its documentation first, and cannot"),
    "sqlite": fails(*EXIT, "no attribute 'list_resources'", "written for mcp 1, and mcp 2 is what is installed for it today"),
    "duckdb": fails(*EXIT, "no attribute 'list_resources'", "written for mcp 1, and mcp 2 is what is installed for it today"),
    "figma-without-stdio-flag": fails("timeout", "initialize", "HTTP server listening", "serves HTTP unless it is told --stdio"),
    "filesystem-missing-dir": fails(*EXIT, "None of the specified directories are accessible", "its folder does not exist"),
    "command-not-found": fails("spawn", "start", '"mcp-server-that-is-not-installed": no such file', "there is no such program"),
    "npx-package-not-found": fails(*EXIT, "code E404", "there is no such package"),
    "mcp-remote-dead-upstream": fails(*EXIT, "ECONNREFUSED", "a bridge, and nothing listens behind it"),
    "http-playwright-127-is-403": fails("auth", "initialize", "Access is only allowed at localhost", "insists on being called localhost"),
    "http-notion-401": fails("auth", "initialize", "401: .*Missing bearer token", "wants a bearer token"),
    "http-wrong-path-404": fails("http-status", "initialize", "404", "wrong path"),
    "http-type-of-sse-server": fails("http-status", "initialize", 'set "type": "sse"', "speaks HTTP+SSE, and the entry says http"),
    "http-connection-refused": fails("connect", "connect", "refused", "nothing listens there"),
}

# Without the credential or the flag, in mcp-nocred.json.
MISSING = "the credential is missing"
BARE_FAILS = {
    "gitlab-ref": fails(*EXIT, "GITLAB_PERSONAL_ACCESS_TOKEN .*is not set", MISSING),
    "slack-ref": fails(*EXIT, "Please set SLACK_BOT_TOKEN", MISSING),
    "postgres-ref": fails(*EXIT, "Please provide a database URL", "the argument is missing"),
    "brave-ref": fails(*EXIT, "BRAVE_API_KEY .*is required", MISSING),
    "supabase": fails(*EXIT, "set the SUPABASE_ACCESS_TOKEN", MISSING),
    "sentry": fails(*EXIT, "No access token was provided", MISSING),
    "stripe": fails(*EXIT, "Stripe API key not provided", MISSING),
    "figma": fails(*EXIT, "FIGMA_API_KEY or FIGMA_OAUTH_TOKEN is required", MISSING),
    "brave": fails(*EXIT, "A Brave API key is required", MISSING),
    "heroku": FAILS["heroku"],
    "linear": fails(*EXIT, "Linear credentials not found", MISSING),
    "kubernetes-go": fails(*EXIT, "no current-context is set", "there is no kubeconfig"),
    "slack-go": fails(*EXIT, "Authentication required: Either SLACK_MCP_XOXP_TOKEN", MISSING),
    "apify": fails(*EXIT, "APIFY_TOKEN is required", MISSING),
    "perplexity": fails(*EXIT, "PERPLEXITY_API_KEY .*is required", MISSING),
    "mysql-js": FAILS["mysql-js"],
    "airtable": fails(*EXIT, "No API key provided", MISSING),
    "elastic": fails(*EXIT, "Elasticsearch URL", MISSING),
    "mcp-obsidian-js": fails(*EXIT, "Usage: mcp-obsidian <vault-directory>", "the argument is missing"),
    "motherduck": fails(*EXIT, "In-memory databases require the --read-write flag", "the flag is missing"),
    "aws-openapi": fails(*EXIT, "Either api_spec_url or api_spec_path must be provided", "the arguments are missing"),
    "obsidian": fails(*EXIT, "OBSIDIAN_API_KEY environment variable required", MISSING),
}

# Listed, and of no use: the client would drop the whole list. compare.py shows that other clients do too.
SCHEMA = "an `inputSchema` without `\"type\": \"object\"`, made by an old package with a newer zod: no client takes the list, and the report says `tools-unusable`"
UNUSABLE = {"gitlab-ref": SCHEMA, "mcp-obsidian-js": SCHEMA}

# (client, configuration, entry) -> why this client sees something else than mcp-preflight, or needs its legacy mode. "*" is any.
MODERN_ONLY = "knows nothing newer than 2025-11-25, and the server refuses that"
FIRST = "its auto mode asks `server/discover` first, and this server ends, or never answers, when anything comes before `initialize`"
DELETED = "this release answers nothing but 500 once a client has ended its session with DELETE, as the Python client had just done"
OLD = ["mcp-1.1.3", "mcp-1.6.0", "mcp-1.6.0-sse", "rmcp-0.8.5", "rmcp-2.0.0", "echo-mcp", "rust-mcp-filesystem"]
ROOTS = "this client declares the capability `roots`, and the server has one more tool for it"
DIFFERENCES = {
    **{("", "*", name): why for name, why in UNUSABLE.items()},
    **{("Inspector", "*", name): ROOTS for name in ("everything", "http-everything", "sse-everything")},
    **{("SDK 1.32.2", "*", f"{sdk}{http}-modern-only"): MODERN_ONLY for sdk in ("ts-2.4.0", "rmcp-3.11.0") for http in ("", "-http")},
    **{(client, "*", name): FIRST for client in ("TypeScript client", "Python client", "Inspector") for name in OLD},
    ("Inspector", "sdk-http", "mcp-1.9.4-http"): DELETED,
}


def difference(client, config, name):
    return next((why for (who, where, what), why in DIFFERENCES.items() if who in client and where in (config, "*") and what in (name, "*")), None)
