// Two tools on any release of the TypeScript SDK 1.x (and 0.6): SDK=1.13.3 node server.mjs
//   without PORT        stdio
//   PORT, MODE=http     Streamable HTTP at any path: a server for each request, without sessions
//   PORT, MODE=session  the same with a session id; JSON=1 answers with JSON instead of an event stream
//   PORT, MODE=sse      HTTP+SSE, the transport of 2024-11-05: GET /sse, POST /messages

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

const { SDK, PORT, MODE, JSON: json } = process.env;
const sdk = path => import(`sdk-${SDK}/${path}.js`);
const { Server } = await sdk('server/index');
const { ListToolsRequestSchema } = await sdk('types');

// The low-level server, since it has hardly changed in all these releases.
function calculator() {
  const server = new Server({ name: `zoo-ts-${SDK}`, version: '0.1.0' }, { capabilities: { tools: {} } });
  const tool = (name, type, ...parameters) => ({
    name,
    description: name,
    inputSchema: { type: 'object', properties: Object.fromEntries(parameters.map(parameter => [parameter, { type }])) },
  });
  server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: [tool('add', 'number', 'a', 'b'), tool('echo', 'string', 'text')] }));
  return server;
}

const listen = handler =>
  createServer((request, response) => {
    Promise.resolve(handler(request, response)).catch(error => {
      console.error(error);
      response.writeHead(500).end();
    });
  }).listen(Number(PORT), '127.0.0.1');

if (!PORT) {
  const { StdioServerTransport } = await sdk('server/stdio');
  await calculator().connect(new StdioServerTransport());
} else if (MODE === 'sse') {
  const { SSEServerTransport } = await sdk('server/sse');
  const streams = new Map();
  listen(async (request, response) => {
    const url = new URL(request.url, 'http://localhost');
    if (request.method === 'GET' && url.pathname === '/sse') {
      const transport = new SSEServerTransport('/messages', response);
      streams.set(transport.sessionId, transport);
      response.on('close', () => streams.delete(transport.sessionId));
      return calculator().connect(transport);
    }
    const stream = streams.get(url.searchParams.get('sessionId'));
    return stream ? stream.handlePostMessage(request, response) : response.writeHead(404).end();
  });
} else {
  const { StreamableHTTPServerTransport } = await sdk('server/streamableHttp');
  const sessions = new Map();
  listen(async (request, response) => {
    const id = request.headers['mcp-session-id'];
    let transport = sessions.get(id);
    if (id && !transport) return response.writeHead(404).end();
    if (!transport) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: MODE === 'session' ? randomUUID : undefined,
        enableJsonResponse: Boolean(json),
        onsessioninitialized: fresh => sessions.set(fresh, transport),
      });
      await calculator().connect(transport);
      if (MODE !== 'session') response.on('close', () => transport.close());
    }
    return transport.handleRequest(request, response);
  });
}
