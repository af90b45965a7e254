// The tools of one server as the official TypeScript client sees them: node list.mjs auto|legacy|v1 '{"command": ...}'
// auto and legacy: `@modelcontextprotocol/client`; v1: `@modelcontextprotocol/sdk`. Prints {"names": [...]}, all pages.

const [mode, entry] = [process.argv[2], JSON.parse(process.argv[3])];
const v1 = mode === 'v1';
const info = { name: 'zoo-compare', version: '0.1.0' };

const sdk = path => import(`@modelcontextprotocol/sdk/client/${path}.js`);
const { Client, SSEClientTransport, StreamableHTTPClientTransport } = v1
  ? { ...(await sdk('index')), ...(await sdk('sse')), ...(await sdk('streamableHttp')) }
  : await import('@modelcontextprotocol/client');
const { StdioClientTransport } = v1 ? await sdk('stdio') : await import('@modelcontextprotocol/client/stdio');

function transport() {
  const init = { requestInit: { headers: entry.headers ?? {} } };
  if (entry.type === 'sse') return new SSEClientTransport(new URL(entry.url), init);
  if (entry.url) return new StreamableHTTPClientTransport(new URL(entry.url), init);
  return new StdioClientTransport({ command: entry.command, args: entry.args, env: { ...process.env, ...entry.env }, stderr: 'inherit' });
}

const client = new Client(info, v1 ? { capabilities: {} } : { capabilities: {}, versionNegotiation: { mode } });
await client.connect(transport());
const names = [];
if (v1) {
  let cursor;
  do {
    const page = await client.listTools(cursor === undefined ? undefined : { cursor });
    names.push(...page.tools.map(tool => tool.name));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
} else names.push(...(await client.listTools()).tools.map(tool => tool.name));
// Written in full before the end: a pipe takes 64 KiB at once.
await new Promise(done => process.stdout.write(`${JSON.stringify({ names })}\n`, done));
await client.close();
process.exit(0);
