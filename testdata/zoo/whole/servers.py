"""What the whole zoo is made of: real servers, written by others, each with its pins, its command and its modes.

`env` is the working configuration, with dummy credentials; `bare` is the same entry without them (or without the flag), as somebody
would write it by mistake: other variables, or other arguments. What must come out of either is in expected.json and
expected-nocred.json; entries that cannot list anything here, and the cause that must be named, are in known.py.
{zoo} and {work} stand for the folder that setup.sh has filled, and its folder `work`.
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
SERVERS = {}


def npm(name, package, version, program, *args, env=None, bare=None):
    command = ["node", f"{{zoo}}/npm/{name}/node_modules/{package}/{program}"]
    SERVERS[name] = dict(kind="npm", package=package, version=version, command=command, args=list(args), env=env or {}, bare=bare)


def pypi(name, package, program, *args, env=None, bare=None, python="3.11"):
    """The version is the one that the lock file has."""
    SERVERS[name] = dict(kind="pypi", package=package, version=locked(name, package), command=[f"{{zoo}}/py/{name}/bin/{program}"],
                         args=list(args), env=env or {}, bare=bare, python=python)


def crate(name, package, version, *args):
    SERVERS[name] = dict(kind="crate", package=package, version=version, command=[f"{{zoo}}/cargo/bin/{package}"], args=list(args),
                         env={}, bare=None)


def lock_file(name):
    """The small zoo's pins where it has the same server."""
    own = HERE / "py" / f"{name}.txt"
    return own if own.exists() else HERE.parent / "py" / f"{name}.txt"


def locked(name, package):
    return re.search(rf"^{re.escape(package.replace('.', '-'))}==(\S+)$", lock_file(name).read_text(), re.M)[1]


REFERENCE = "@modelcontextprotocol/server-"
AWS = {"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "AKIAX", "AWS_SECRET_ACCESS_KEY": "x", "AWS_EC2_METADATA_DISABLED": "true"}
JIRA = {"JIRA_URL": "https://x.atlassian.net", "JIRA_USERNAME": "a@b.c", "JIRA_API_TOKEN": "x"}
CONFLUENCE = {"CONFLUENCE_URL": "https://x.atlassian.net/wiki", "CONFLUENCE_USERNAME": "a@b.c", "CONFLUENCE_API_TOKEN": "x"}

npm("everything", REFERENCE + "everything", "2026.8.31", "dist/index.js")
npm("filesystem", REFERENCE + "filesystem", "2026.8.31", "dist/index.js", "{work}")
npm("memory", REFERENCE + "memory", "2026.8.31", "dist/index.js")
npm("sequential-thinking", REFERENCE + "sequential-thinking", "2026.8.31", "dist/index.js")
npm("github-ref", REFERENCE + "github", "2025.4.8", "dist/index.js", env={"GITHUB_PERSONAL_ACCESS_TOKEN": "x"}, bare={})
npm("gitlab-ref", REFERENCE + "gitlab", "2025.4.25", "dist/index.js", env={"GITLAB_PERSONAL_ACCESS_TOKEN": "x"}, bare={})
npm("slack-ref", REFERENCE + "slack", "2025.4.25", "dist/index.js", env={"SLACK_BOT_TOKEN": "xoxb-x", "SLACK_TEAM_ID": "T1"}, bare={})
npm("postgres-ref", REFERENCE + "postgres", "0.6.2", "dist/index.js", "postgresql://x:y@127.0.0.1:1/db", bare=[])
npm("brave-ref", REFERENCE + "brave-search", "0.6.2", "dist/index.js", env={"BRAVE_API_KEY": "x"}, bare={})
npm("puppeteer", REFERENCE + "puppeteer", "2025.5.12", "dist/index.js")
npm("playwright", "@playwright/mcp", "0.0.83", "cli.js", "--caps=vision,pdf", bare=[])
npm("context7", "@upstash/context7-mcp", "4.1.1", "dist/index.js", env={"CONTEXT7_API_KEY": "ctx7sk-x"}, bare={})
npm("notion", "@notionhq/notion-mcp-server", "2.5.2", "bin/cli.mjs", env={"NOTION_TOKEN": "ntn_x"}, bare={})
npm("firecrawl", "firecrawl-mcp", "3.22.2", "dist/index.js", env={"FIRECRAWL_API_KEY": "fc-x"}, bare={})
npm("supabase", "@supabase/mcp-server-supabase", "0.13.0", "dist/cli.js", env={"SUPABASE_ACCESS_TOKEN": "sbp_x"}, bare={})
npm("chrome-devtools", "chrome-devtools-mcp", "1.11.0", "build/src/bin/chrome-devtools-mcp.js")
npm("sentry", "@sentry/mcp-server", "0.36.0", "dist/index.js",
    env={"SENTRY_ACCESS_TOKEN": "x", "OPENAI_API_KEY": "y", "EMBEDDED_AGENT_PROVIDER": "openai"}, bare={})
npm("stripe", "@stripe/mcp", "0.3.3", "dist/index.js", env={"STRIPE_SECRET_KEY": "rk_test_x"}, bare={})
npm("figma", "figma-developer-mcp", "0.13.2", "dist/bin.js", "--stdio", env={"FIGMA_API_KEY": "x"}, bare={})
npm("mongodb", "mongodb-mcp-server", "3.0.4", "dist/esm/index.js",
    env={"MDB_MCP_API_CLIENT_ID": "x", "MDB_MCP_API_CLIENT_SECRET": "y"}, bare={})
npm("desktop-commander", "@wonderwhy-er/desktop-commander", "0.2.52", "dist/index.js")
npm("tavily", "tavily-mcp", "0.2.22", "build/index.js", env={"TAVILY_API_KEY": "tvly-x"}, bare={})
npm("exa", "exa-mcp-server", "3.4.1", "dist/stdio.cjs", env={"EXA_API_KEY": "x"}, bare={})
npm("brave", "@brave/brave-search-mcp-server", "2.1.4", "dist/index.js", env={"BRAVE_API_KEY": "x"}, bare={})
npm("heroku", "@heroku/mcp-server", "1.2.8", "bin/heroku-mcp-server.mjs", env={"HEROKU_API_KEY": "x"}, bare={})
npm("linear", "@tacticlaunch/mcp-linear", "1.4.3", "dist/index.js", env={"LINEAR_API_TOKEN": "lin_api_x"}, bare={})
npm("azure", "@azure/mcp", "2.0.5", "index.js", "server", "start")
npm("ea-playwright", "@executeautomation/playwright-mcp-server", "1.0.12", "dist/index.js")
npm("kubernetes-go", "kubernetes-mcp-server", "0.0.67", "bin/index.js", env={"KUBECONFIG": "{work}/kubeconfig.yaml"}, bare={})
npm("kubernetes-js", "mcp-server-kubernetes", "4.1.7", "dist/index.js", bare={"ALLOW_ONLY_READONLY_TOOLS": "true"})
npm("terraform", "terraform-mcp-server", "0.13.0", "dist/index.js")
npm("slack-go", "slack-mcp-server", "1.3.0", "bin/index.js", "--transport", "stdio", env={"SLACK_MCP_XOXP_TOKEN": "demo"}, bare={})
npm("n8n", "n8n-mcp", "2.87.0", "dist/mcp/stdio-wrapper.js", env={"N8N_API_URL": "http://127.0.0.1:1", "N8N_API_KEY": "x"}, bare={})
npm("apify", "@apify/actors-mcp-server", "0.10.6", "dist/stdio.js", env={"APIFY_TOKEN": "x"}, bare={})
npm("perplexity", "@perplexity-ai/mcp-server", "1.2.1", "dist/index.js", env={"PERPLEXITY_API_KEY": "x"}, bare={})
npm("shadcn", "shadcn", "4.23.1", "dist/index.js", "mcp")
npm("mysql-js", "@benborla29/mcp-server-mysql", "2.0.9", "dist/index.js",
    env={"MYSQL_HOST": "127.0.0.1", "MYSQL_PORT": "1", "MYSQL_USER": "u", "MYSQL_PASS": "p", "MYSQL_DB": "d"}, bare={})
npm("circleci", "@circleci/mcp-server-circleci", "0.20.0", "dist/index.js", env={"CIRCLECI_TOKEN": "x"}, bare={})
npm("taskmaster", "task-master-ai", "0.43.1", "dist/mcp-server.js", env={"TASK_MASTER_TOOLS": "all"}, bare={})
npm("nx", "nx-mcp", "0.25.0", "main.js")
npm("eslint", "@eslint/mcp", "0.3.13", "src/mcp-cli.js")
npm("airtable", "airtable-mcp-server", "1.14.0", "dist/main.js", env={"AIRTABLE_API_KEY": "pat.x"}, bare={})
npm("antv-chart", "@antv/mcp-server-chart", "0.9.10", "build/index.js")
npm("jira-aashari", "@aashari/mcp-server-atlassian-jira", "3.3.0", "dist/index.js",
    env={"ATLASSIAN_SITE_NAME": "x", "ATLASSIAN_USER_EMAIL": "a@b", "ATLASSIAN_API_TOKEN": "t"}, bare={})
npm("elastic", "@elastic/mcp-server-elasticsearch", "0.3.1", "dist/index.js",
    env={"ES_URL": "http://127.0.0.1:1", "ES_API_KEY": "x"}, bare={})
npm("mcp-obsidian-js", "mcp-obsidian", "1.0.0", "dist/index.js", "{work}", bare=[])
npm("svelte", "@sveltejs/mcp", "0.1.26", "dist/index.mjs")
npm("mobile", "@mobilenext/mobile-mcp", "1.0.4", "lib/index.js")

pypi("git", "mcp-server-git", "mcp-server-git", "--repository", "{work}/repo")
pypi("fetch", "mcp-server-fetch", "mcp-server-fetch")
pypi("time", "mcp-server-time", "mcp-server-time")
pypi("sqlite", "mcp-server-sqlite", "mcp-server-sqlite", "--db-path", "{work}/t.db")
pypi("sqlite-mcp1", "mcp-server-sqlite", "mcp-server-sqlite", "--db-path", "{work}/t.db")
pypi("duckdb", "mcp-server-duckdb", "mcp-server-duckdb", "--db-path", "{work}/t.duckdb")
pypi("duckdb-mcp1", "mcp-server-duckdb", "mcp-server-duckdb", "--db-path", "{work}/t.duckdb")
pypi("motherduck", "mcp-server-motherduck", "mcp-server-motherduck", "--db-path", ":memory:", "--read-write",
     bare=["--db-path", ":memory:"])
pypi("aws-docs", "awslabs.aws-documentation-mcp-server", "awslabs.aws-documentation-mcp-server",
     bare={"AWS_DOCUMENTATION_PARTITION": "aws-cn"})
pypi("aws-dynamodb", "awslabs.dynamodb-mcp-server", "awslabs.dynamodb-mcp-server", env=AWS, bare={})
pypi("aws-s3tables", "awslabs.s3-tables-mcp-server", "awslabs.s3-tables-mcp-server", env=AWS, bare={})
pypi("aws-iam", "awslabs.iam-mcp-server", "awslabs.iam-mcp-server", env=AWS, bare={})
pypi("aws-openapi", "awslabs.openapi-mcp-server", "awslabs.openapi-mcp-server", "--api-name", "pets", "--api-url", "http://127.0.0.1:1",
     "--spec-path", "{work}/openapi.json", bare=[])
pypi("aws-valkey", "awslabs.valkey-mcp-server", "awslabs.valkey-mcp-server")
pypi("atlassian", "mcp-atlassian", "mcp-atlassian", env=JIRA | CONFLUENCE,
     bare={name: value for name, value in (JIRA | CONFLUENCE).items() if name.endswith("URL")})
pypi("grafana", "mcp-grafana", "mcp-grafana", env={"GRAFANA_URL": "http://127.0.0.1:1", "GRAFANA_SERVICE_ACCOUNT_TOKEN": "x"}, bare={})
pypi("clickhouse", "mcp-clickhouse", "mcp-clickhouse", env={"CLICKHOUSE_HOST": "127.0.0.1", "CLICKHOUSE_USER": "u",
     "CLICKHOUSE_PASSWORD": "p"}, bare={"CLICKHOUSE_ENABLED": "false", "CHDB_ENABLED": "true"})
pypi("redis", "redis-mcp-server", "redis-mcp-server", env={"REDIS_HOST": "127.0.0.1", "REDIS_PORT": "1"}, bare={})
pypi("obsidian", "mcp-obsidian", "mcp-obsidian", env={"OBSIDIAN_API_KEY": "x"}, bare={})
pypi("basic-memory", "basic-memory", "basic-memory", "mcp", python="3.12")
pypi("markitdown", "markitdown-mcp", "markitdown-mcp")
pypi("mysql", "mysql-mcp-server", "mysql_mcp_server", env={"MYSQL_HOST": "127.0.0.1", "MYSQL_USER": "u", "MYSQL_PASSWORD": "p",
     "MYSQL_DATABASE": "d"}, bare={})
pypi("serena", "serena-agent", "serena", "start-mcp-server", "--enable-web-dashboard", "false")

crate("echo-mcp", "echo-mcp", "0.1.1", "stdio")
crate("rust-mcp-filesystem", "rust-mcp-filesystem", "0.4.5", "{work}")

# Bridges from one transport to another; no entries of their own.
BRIDGES = {"mcp-remote": ("mcp-remote", "0.15.1"), "supergateway": ("supergateway", "4.0.0")}


# Entries that somebody really writes by mistake, or that meet a dead upstream. The broken servers themselves are above.
MISTAKES = {
    "figma-without-stdio-flag": (["node", SERVERS["figma"]["command"][1]], {"FIGMA_API_KEY": "x", "PORT": "38199"}),
    "filesystem-missing-dir": (["node", SERVERS["filesystem"]["command"][1], "/nonexistent/dir"], {}),
    "command-not-found": (["mcp-server-that-is-not-installed"], {}),
    "npx-package-not-found": (["npx", "-y", "@modelcontextprotocol/server-that-does-not-exist"], {}),
    "mcp-remote-dead-upstream": (["node", "{zoo}/npm/mcp-remote/node_modules/mcp-remote/dist/proxy.js", "http://127.0.0.1:38198/mcp"], {}),
    "atlassian-typo-env": (SERVERS["atlassian"]["command"], {"JIRA_URL": JIRA["JIRA_URL"], "JIRA_USERNAME": "a@b.c", "JIRA_TOKEN": "x"}),
}
# Needs the npm registry; everything else runs in a network namespace that has nothing but loopback.
ONLINE = {"npx-package-not-found"}

# Small servers on SDK releases: name -> package, version, command, environment, transport.
SDK = {}
RELEASES = {"ts": ["0.6.1", "1.0.4", "1.10.2", "1.13.3", "1.32.2"], "mcp": ["1.1.3", "1.6.0", "1.9.4", "1.12.4", "1.30.0", "2.3.0"],
            "fastmcp": ["2.14.7", "3.4.11", "4.2.3"]}
TOOLS = ["add", "echo"]


def sdk(name, package, version, command, transport="stdio", like=None, **env):
    SDK[name] = dict(package=package, version=version, command=command, transport=transport, like=like or TOOLS, env=env)


for version in RELEASES["ts"]:
    ts = ("@modelcontextprotocol/sdk", version, ["node", "{zoo}/sdk/ts/server.mjs"])
    sdk(f"ts-{version}", *ts, SDK=version)
    if version >= "1.1":
        sdk(f"ts-{version}-http", *ts, "http", SDK=version, MODE="http")
    if version == "1.32.2":
        sdk(f"ts-{version}-http-json", *ts, "http", SDK=version, MODE="http", JSON="1")
        sdk(f"ts-{version}-session", *ts, "http", SDK=version, MODE="session")
        sdk(f"ts-{version}-session-json", *ts, "http", SDK=version, MODE="session", JSON="1")
        sdk(f"ts-{version}-sse", *ts, "sse", SDK=version, MODE="sse")
for suffix, env in {"": {}, "-modern-only": {"LEGACY": "reject"}}.items():
    ts = ("@modelcontextprotocol/server", "2.4.0", ["node", "{zoo}/sdk/js2/server.mjs"])
    sdk("ts-2.4.0" + suffix, *ts, **env)
    sdk(f"ts-2.4.0-http{suffix}", *ts, "http", **env)
for package in ("mcp", "fastmcp"):
    for version in RELEASES[package]:
        number = tuple(map(int, version.split(".")))
        python = (package, version, [f"{{zoo}}/sdk/python/{package}-{version}/bin/python", str(HERE / "sdk/python/server.py")])
        name = f"{package}-{version}"
        sdk(name, *python)
        if number >= (1, 9):
            sdk(f"{name}-http", *python, "http", MODE="http")
        if number >= (1, 30):
            sdk(f"{name}-http-json", *python, "http", MODE="json")
        if version in ("1.30.0", "2.3.0", "4.2.3"):
            sdk(f"{name}-http-stateless", *python, "http", MODE="stateless")
        if number >= (1, 6):
            sdk(f"{name}-sse", *python, "sse", MODE="sse")
        if package == "fastmcp" and number >= (3, 0):
            sdk(f"{name}-paged", *python, PAGE="1")
for version, program in {"0.8.5": "zoo-rmcp-0", "2.0.0": "zoo-rmcp-2", "3.11.0": "zoo-rmcp-server"}.items():
    sdk(f"rmcp-{version}", "rmcp", version, [f"{{zoo}}/cargo/bin/{program}"])
for suffix, env in {"": {}, "-modern-only": {"MODERN_ONLY": "1"}}.items():
    rust = ("rmcp", "3.11.0", ["{zoo}/cargo/bin/zoo-rmcp-server"])
    if suffix:
        sdk("rmcp-3.11.0" + suffix, *rust, **env)
    sdk(f"rmcp-3.11.0-http{suffix}", *rust, "http", **env)

# Real servers over HTTP. {port} is a free one.
SERVICES = {}
REMOTE = {}


def service(name, of, *args, **env):
    """Another run of the server `of`, with these arguments in place of its own."""
    SERVICES[name] = dict(of=of, command=[*SERVERS[of]["command"], *args], env=env)


def remote(name, service, like, path="/mcp", host="127.0.0.1", type="http", headers=None):
    """`like`: the entry whose tools it lists, in the bare mode with a leading `bare:`; None when it must fail."""
    REMOTE[name] = dict(service=service, like=like, path=path, host=host, type=type, headers=headers)


service("everything", "everything", "streamableHttp", PORT="{port}")
service("everything-sse", "everything", "sse", PORT="{port}")
service("grafana", "grafana", "-t", "streamable-http", "-address", "127.0.0.1:{port}")
service("kubernetes-go", "kubernetes-go", "--port", "{port}", KUBECONFIG="{work}/kubeconfig.yaml")
service("playwright", "playwright", "--port", "{port}")
service("notion", "notion", "--transport", "http", "--port", "{port}", "--auth-token", "tok")
service("context7", "context7", "--transport", "http", "--port", "{port}")
service("figma", "figma", "--figma-api-key", "x", "--port", "{port}")
service("mongodb", "mongodb", "--transport", "http", "--httpPort", "{port}")
service("echo-mcp", "echo-mcp", "http", "--bind", "127.0.0.1:{port}")
SERVICES["supergateway"] = dict(
    of="memory", env={},
    command=["node", "{zoo}/npm/supergateway/node_modules/supergateway/dist/index.js", "--outputTransport", "streamableHttp", "--port", "{port}",
             "--stdio", " ".join(SERVERS["memory"]["command"])])

remote("http-everything", "everything", "everything")
remote("sse-everything", "everything-sse", "everything", path="/sse", type="sse")
remote("http-grafana", "grafana", "grafana")
remote("http-kubernetes-go", "kubernetes-go", "kubernetes-go")
remote("http-playwright-localhost", "playwright", "bare:playwright", host="localhost")
remote("http-playwright-127-is-403", "playwright", None)
remote("http-notion-bearer", "notion", "notion", headers={"Authorization": "Bearer tok"})
remote("http-notion-401", "notion", None)
remote("http-context7", "context7", "context7")
remote("http-figma", "figma", "figma")
remote("http-supergateway-memory", "supergateway", "memory")
remote("http-mongodb", "mongodb", "bare:mongodb")
remote("http-echo-mcp", "echo-mcp", "echo-mcp")
remote("http-wrong-path-404", "everything", None, path="/nope")
remote("http-type-of-sse-server", "everything-sse", None, path="/sse")
remote("http-connection-refused", None, None)


def installs(kind, only):
    """What setup.sh reads: a line for each installation."""
    for name, server in SERVERS.items():
        if server["kind"] != kind or only and name not in only:
            continue
        if kind == "npm":
            yield name, f"{server['package']}@{server['version']}"
        elif kind == "pypi":
            yield name, server["python"], lock_file(name)
        else:
            yield server["package"], server["version"]
    if kind == "npm":
        for name, (package, version) in BRIDGES.items():
            if not only or name in only:
                yield name, f"{package}@{version}"


if __name__ == "__main__":
    for words in installs(sys.argv[1], sys.argv[2:]):
        print(*words)
