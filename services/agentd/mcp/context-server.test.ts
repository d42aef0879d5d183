import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect } from 'chai';
import type { LookupRequest } from '#kit/contracts/context/memory.ts';
import { Unavailable } from '#kit/errors.ts';
import type { ContextPassage } from '../planning/passage.ts';
import { readOnlyContextServer } from './context-server.ts';
import type { RepositoryContext } from './context-tools.ts';
import { mcpListener } from './over-http.ts';

const passage = (id: string, about: string[], score: number): ContextPassage => ({
  ...{ id, about, score, kind: 'fact', source: id, path: null, title: id, text: `about ${id}` },
  ...{ layer: 'semantic', why: '', run_id: null, unvouched: false },
});

const memories = [
  passage('ours', ['repo:local/demo/hello'], 0.5),
  passage('our-issue', ['issue:local/demo/hello#1'], 0.9),
  passage('everywhere', [], 0.7),
  passage('theirs', ['repo:local/demo/hello-too'], 0.99),
  passage('their-issue', ['issue:local/other/secret#1'], 0.98),
  passage('a-run', ['run:run_1'], 0.97),
];

describe('The server of the context of one repository', () => {
  const searches: unknown[] = [];
  const read: string[] = [];
  const errors: unknown[] = [];
  const context: RepositoryContext = {
    repository: 'local/demo/hello',
    onRead: (passages) => read.push(...passages.map(({ id }) => id)),
    async search(request) {
      searches.push(request);
      if (request.query === 'down') throw new Unavailable('context_unavailable', 'core-context is not there');
      if (request.query === 'bug') throw new Error('of a bug that holds a secret');
      return [passage('file:src/greet.js', [], 1)];
    },
    lookup: async ({ about, limit = 10 }: LookupRequest) =>
      memories
        .filter((one) => about?.length === 0 || one.about.some((entity) => about?.includes(entity)))
        .slice(0, limit),
  };
  let server: Server;
  let client: Client;
  let url: URL;

  before(async () => {
    const listener = mcpListener(() =>
      readOnlyContextServer(context, { version: '1.2.3', onError: (error) => errors.push(error) }),
    );
    server = createServer((request, response) => void listener(request, response)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
    client = new Client({ name: 'test', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(url) as Parameters<Client['connect']>[0]);
  });

  after(async () => {
    await client.close();
    server.close();
    server.closeAllConnections();
  });

  async function called(name: string, input: Record<string, unknown>) {
    const { isError, content } = await client.callTool({ name, arguments: input });
    const [{ text }] = content as [{ text: string }];
    return { isError: isError === true, text };
  }

  it('has two tools, which read alone, and says what they take', async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint])).to.deep.equal([
      ['search', true],
      ['memory_lookup', true],
    ]);
    expect(tools[0]!.inputSchema).to.deep.include({ required: ['query'], additionalProperties: false });
    expect(tools[0]!.inputSchema.properties).to.have.keys('query', 'limit', 'kinds');
    expect(client.getServerVersion()).to.include({ name: 'core-context', version: '1.2.3' });
  });

  it('searches in its repository alone', async () => {
    const { text } = await called('search', { query: 'greet', limit: 3 });
    expect(JSON.parse(text).results[0]).to.include({ id: 'file:src/greet.js' });
    expect(read).to.deep.equal(['file:src/greet.js']);
    expect(searches.at(-1)).to.deep.equal({
      query: 'greet',
      limit: 3,
      kinds: undefined,
      repository: 'local/demo/hello',
    });
    const other = await called('search', { query: 'greet', repository: 'local/other/secret' });
    expect(other).to.deep.include({ isError: true });
    expect(other.text).to.include('/repository is not known here: must be one of kinds, limit, query');
  });

  it('shows memories of its repository and of none, best first', async () => {
    const { text } = await called('memory_lookup', { query: 'greeting' });
    const ids = JSON.parse(text).results.map(({ id }: { id: string }) => id);
    expect(ids).to.deep.equal(['our-issue', 'everywhere', 'ours']);
    expect(read.slice(-3)).to.deep.equal(ids);
  });

  it('says what failed to the model, and nothing of what nobody foresaw', async () => {
    expect(await called('search', { query: 'down' })).to.deep.equal({
      isError: true,
      text: 'core-context is not there [context_unavailable]',
    });
    const bug = await called('search', { query: 'bug' });
    expect(bug.text).to.equal('Something failed that was not foreseen; the log says what. [internal]');
    expect(String(errors.at(-1))).to.include('holds a secret');
    expect((await called('search', {})).text).to.include('/query is missing');
    expect((await called('write', {})).text).to.include('must be one of search, memory_lookup');
  });

  it('takes one way of HTTP and bodies up to its limit', async () => {
    expect((await fetch(url)).status).to.equal(405);
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const post = (body: string) => fetch(url, { method: 'POST', headers, body });
    expect((await post('{')).status).to.equal(400);
    expect((await post(' '.repeat(1024 * 1024 + 1))).status).to.equal(413);
  });

  it('answers in JSON a client that takes nothing else, and in events every other', async () => {
    const listing = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/list' });
    const ask = (accept: string | null, body = listing, type = 'application/json') =>
      fetch(url, {
        ...{ method: 'POST', body },
        headers: { 'content-type': type, ...(accept === null ? {} : { accept }) },
      });
    const json = ['application/json', 'Application/JSON; q=0.5', 'application/*'];
    for (const accept of [...json, 'application/json, text/event-stream;q=0']) {
      const reply = await ask(accept);
      expect(reply.headers.get('content-type'), accept).to.equal('application/json');
      const { id, result } = (await reply.json()) as { id: number; result: { tools: unknown[] } };
      expect([id, result.tools.length]).to.deep.equal([7, 2]);
    }
    for (const accept of [
      null,
      '*/*',
      'text/event-stream',
      'application/json, text/event-stream',
      'text/html',
    ])
      expect((await ask(accept)).headers.get('content-type'), String(accept)).to.equal('text/event-stream');
  });

  it('says in its own words what is wrong with a message', async () => {
    const ask = async (body: string, headers: Readonly<Record<string, string>> = {}) => {
      const all = { 'content-type': 'application/json', ...headers };
      const reply = await fetch(url, { method: 'POST', headers: all, body });
      const { error } = (await reply.json()) as { error: { message: string } };
      return `${reply.status} ${error.message}`;
    };
    const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
    expect(await ask('{')).to.match(/^400 the message is not JSON: .*send one message of JSON-RPC 2.0$/);
    expect(await ask(ping.replace('ping', 'pong'))).to.equal(
      '200 method "pong" is not known here: must be one of initialize, ping, tools/list, tools/call',
    );
    expect(await ask(ping, { 'content-type': 'text/plain' })).to.equal(
      '415 content-type is "text/plain": must be application/json',
    );
    expect(await ask(ping, { 'mcp-protocol-version': '1' })).to.match(
      /^400 mcp-protocol-version is "1": must be one of \d{4}-/,
    );
  });

  it('takes one message a request, so that none asks thousands of things at once', async () => {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const call = (id: number) => ({
      ...{ jsonrpc: '2.0', id, method: 'tools/call' },
      params: { name: 'search', arguments: { query: 'batch' } },
    });
    const body = JSON.stringify([call(1), call(2)]);
    const reply = await fetch(url, { method: 'POST', headers, body });
    expect(reply.status).to.equal(400);
    expect(await reply.json()).to.deep.equal({
      jsonrpc: '2.0',
      error: { code: -32600, message: 'a request has one message: batches are not taken' },
      id: null,
    });
    expect(JSON.stringify(searches)).not.to.include('batch');
  });
});
