// A real server on the TypeScript SDK 2: over stdio, or with PORT set over Streamable HTTP at any path of 127.0.0.1.
//   LEGACY=reject   refuses `initialize` (-32022): only the 2026-07-28 revision, which has no handshake, is served
//   JS2_KEY=...     the credential: without it the tool `secret` is silently not there

import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

const { PORT, LEGACY, JS2_KEY } = process.env;
const options = LEGACY ? { legacy: LEGACY } : {};
const text = value => ({ content: [{ type: 'text', text: value }] });

function calculator() {
  const server = new McpServer({ name: 'zoo-js2', version: '0.1.0' });
  server.registerTool(
    'add',
    { description: 'Adds two numbers', inputSchema: z.object({ a: z.number(), b: z.number() }) },
    async ({ a, b }) => text(String(a + b)),
  );
  server.registerTool(
    'echo',
    { description: 'Says it again', inputSchema: z.object({ text: z.string() }) },
    async ({ text: said }) => text(said),
  );
  if (JS2_KEY) server.registerTool('secret', { description: 'Needs the credential' }, async () => text('yes'));
  return server;
}

if (PORT) createServer(toNodeHandler(createMcpHandler(calculator, options))).listen(Number(PORT), '127.0.0.1');
else serveStdio(calculator, options);
