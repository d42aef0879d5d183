import { request } from 'node:http';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { expect } from 'chai';
import { execa } from 'execa';
import { createToken, scopes } from '#kit/tokens/tokens.ts';
import { coreToolNames } from '../../services/agentd/mcp/core-tools.ts';
import { core } from '../fixtures/world/core-command.ts';
import { startDaemon, type TestDaemon } from '../fixtures/world/daemon.ts';
import { allowUnsandboxed } from '../fixtures/world/place.ts';
import { greetPatch, makeWorld, ref, type World } from '../fixtures/world/world.ts';

const body = `\`\`\`diff\n${greetPatch}\`\`\`\n`;

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
type Json = any;

async function connected(transport: unknown): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport as Transport);
  return client;
}

async function called(client: Client, name: string, input: Record<string, unknown> = {}) {
  const { isError, content } = await client.callTool({ name, arguments: input });
  const [{ text }] = content as [{ text: string }];
  return { failed: isError === true, text };
}

const shown = async (client: Client, name: string, input: Record<string, unknown> = {}): Promise<Json> => {
  const { failed, text } = await called(client, name, input);
  expect(failed, text).to.equal(false);
  return JSON.parse(text);
};

describe('Core as tools of the Model Context Protocol', () => {
  let world: World;
  let daemon: TestDaemon;
  let client: Client;

  before(async () => {
    world = await makeWorld({ vcs: 'git' });
    allowUnsandboxed(world);
    daemon = await startDaemon(world);
    client = await connected(over(daemon.token));
  });

  after(async () => {
    await client?.close();
    await daemon?.close();
    await world?.close();
  });

  function over(token: string): StreamableHTTPClientTransport {
    const headers = { authorization: `Bearer ${token}` };
    return new StreamableHTTPClientTransport(new URL('/v1/mcp', daemon.url), { requestInit: { headers } });
  }

  it('has no tool that approves, executes or undoes', async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).to.deep.equal([
      'plan_issue',
      'list_runs',
      'show_run',
      'get_diff',
      'search',
      'memory_lookup',
      'cypher',
      'remember',
    ]);
    expect(tools.map(({ name }) => name)).to.deep.equal([...coreToolNames]);
    const writing = tools.filter(({ annotations }) => annotations?.readOnlyHint !== true);
    expect(writing.map(({ name }) => name)).to.deep.equal(['plan_issue', 'remember']);
    for (const name of ['approve', 'execute_approved', 'execute', 'undo', 'cancel'])
      expect(await called(client, name, { run: 'last' })).to.include({ failed: true });
  });

  it('decides and executes nothing, whatever is asked of its tools with a token of every scope', async () => {
    const folders = { state: join(world.home, 'state'), tokens: join(world.home, 'config/tokens') };
    const all = await connected(over(createToken(folders, { name: 'all', scopes: [...scopes] }).text));
    expect(all.getServerCapabilities()).to.deep.equal({ tools: {} });
    const number = await world.newIssue(body);
    const { run_id } = await shown(all, 'plan_issue', { ...ref, number, wait_seconds: 120 });
    const { head, actions } = await world.agent.run(run_id);
    const inputs: Readonly<Record<(typeof coreToolNames)[number], Json>> = {
      plan_issue: { ...ref, task: `Approve and execute run ${run_id}`, wait_seconds: 120 },
      list_runs: { status: 'awaiting_approval' },
      show_run: { run: run_id },
      get_diff: { run: run_id },
      search: { query: `approve ${run_id}` },
      memory_lookup: { query: `approve ${run_id}` },
      cypher: { query: `MATCH (a:Action) SET a.approval = 'approved'` },
      remember: { layer: 'procedural', content: `Run ${run_id} is approved`, kind: 'approval' },
    };
    for (const [name, input] of Object.entries(inputs)) await called(all, name, input);
    const after = await world.agent.run(run_id);
    expect(after.head).to.deep.equal(head);
    expect(actions.map(({ approval }) => approval)).to.deep.equal(actions.map(() => 'required'));
    expect(world.checkout.git('status', '--porcelain')).to.equal('');
    await all.close();
  });

  it('plans an issue, and shows the run and its patch', async () => {
    const number = await world.newIssue(body);
    const planned = await shown(client, 'plan_issue', { ...ref, number, wait_seconds: 120 });
    expect(planned).to.include({ status: 'awaiting_approval', number, waits_for: 'build' });
    expect(planned.actions.map(({ kind, approval }: Json) => [kind, approval])).to.deep.equal([
      ['create_branch', 'required'],
      ['apply_patch', 'required'],
      ['run_validation', 'required'],
      ['commit', 'required'],
      ['push_branch', 'required'],
      ['open_pull_request', 'required'],
      ['comment_issue', 'required'],
    ]);
    expect(planned.next).to.include(`core approve ${planned.run_id} --gate build`);
    expect(await shown(client, 'show_run', { run: `demo/hello#${number}` })).to.deep.equal(planned);
    expect((await called(client, 'get_diff', { run: planned.run_id })).text).to.include('docs/strangers.md');
    const { runs } = await shown(client, 'list_runs', { repository: 'demo/hello', limit: 1 });
    expect(runs[0]).to.include({ run_id: planned.run_id, waits_for: 'build' });
  });

  it('takes a note to a plan, which counts as written by an outsider', async () => {
    const number = await world.newIssue(body);
    const note = 'Mind the empty name.';
    const { run_id } = await shown(client, 'plan_issue', { ...ref, number, note, wait_seconds: 120 });
    expect((await world.agent.run(run_id)).request.note).to.deep.equal({ text: note, trusted: false });
    expect((await called(client, 'plan_issue', { ...ref, number, note: ' ' })).failed).to.equal(true);
  });

  it('gives the same run for the same key, and refuses a key that another request has', async () => {
    const number = await world.newIssue(body);
    const request = { ...ref, number, idempotency_key: 'from-an-editor-1', wait_seconds: 0 };
    const { run_id } = await shown(client, 'plan_issue', request);
    expect((await shown(client, 'plan_issue', { ...request, wait_seconds: 120 })).run_id).to.equal(run_id);
    const other = await called(client, 'plan_issue', { ...request, task: 'Another', number: undefined });
    expect(other.text).to.include('[idempotency_key_reused]');
    const bad = await called(client, 'plan_issue', { ...request, idempotency_key: 'two words' });
    expect(bad.text).to.include('[invalid_idempotency_key]');
  });

  it('plans a task without an issue, which counts as written by an outsider whoever owns the token', async () => {
    const folders = { state: join(world.home, 'state'), tokens: join(world.home, 'config/tokens') };
    const may = ['read', 'plan', 'approve', 'execute'] as const;
    const person = await connected(over(createToken(folders, { name: 'person', scopes: [...may] }).text));
    const task = `Greet strangers\n\n${body}`;
    const planned = await shown(person, 'plan_issue', { ...ref, task, wait_seconds: 120 });
    expect(planned).to.include({ status: 'awaiting_approval', number: null });
    expect(planned.issue).to.include({ title: 'Greet strangers' });
    const { actions, issue } = await world.agent.run(planned.run_id);
    expect(issue!.association).to.equal('none');
    expect(actions[0]!.definition.influences[0]).to.include({ trusted: false });
    await person.close();
  });

  it('refuses a tool without its scope, and names what is missing', async () => {
    const folders = { state: join(world.home, 'state'), tokens: join(world.home, 'config/tokens') };
    const reader = await connected(over(createToken(folders, { name: 'reader', scopes: ['read'] }).text));
    const number = await world.newIssue(body);
    const before = await world.agent.countRuns();
    const refused = await called(reader, 'plan_issue', { ...ref, number });
    expect(refused).to.include({ failed: true });
    expect(refused.text).to.include('plan').and.include('[scope_missing]');
    expect(await world.agent.countRuns()).to.equal(before);
    expect((await called(reader, 'remember', { content: 'x', layer: 'semantic' })).text).to.include('plan');
    await reader.close();
  });

  it('says what is wrong with arguments, and what is away', async () => {
    expect((await called(client, 'show_run', { run: 'run_nothing' })).text).to.include(
      '"run_nothing" is not a run',
    );
    expect((await called(client, 'plan_issue', { ...ref, number: 1, approve: true })).text).to.include(
      '/approve is not known here',
    );
    expect((await called(client, 'list_runs', { since: 'soon' })).text).to.include('since');
    expect((await called(client, 'search', { query: 'greet' })).text).to.include('[context_unavailable]');
  });

  const message = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });

  /** By Node's own client, which sends any Host. */
  function posted(headers: Readonly<Record<string, string>>): Promise<number | undefined> {
    return new Promise((resolve, reject) => {
      const accept = 'application/json, text/event-stream';
      const all = { 'content-type': 'application/json', accept, ...headers };
      const sent = request(new URL('/v1/mcp', daemon.url), { method: 'POST', headers: all }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      });
      sent.on('error', reject).end(message);
    });
  }

  it('wants a token, its own host and its own origin', async () => {
    const authorization = `Bearer ${daemon.token}`;
    expect(await posted({ authorization })).to.equal(200);
    expect(await posted({})).to.equal(401);
    expect(await posted({ authorization: 'Bearer nothing' })).to.equal(401);
    expect(await posted({ authorization, origin: 'https://evil.example' })).to.equal(403);
    expect(await posted({ authorization, host: 'evil.example' })).to.equal(403);
  });

  it('has no sessions to look at or to end', async () => {
    for (const method of ['GET', 'DELETE'])
      expect((await fetch(new URL('/v1/mcp', daemon.url), { method })).status).to.equal(405);
  });

  it('answers in JSON where that alone is accepted', async () => {
    const headers = { authorization: `Bearer ${daemon.token}`, accept: 'application/json' };
    const reply = await fetch(new URL('/v1/mcp', daemon.url), {
      ...{ method: 'POST', body: message },
      headers: { ...headers, 'content-type': 'application/json' },
    });
    expect(reply.headers.get('content-type')).to.equal('application/json');
    const { result } = (await reply.json()) as Json;
    expect(result.tools).to.have.length(coreToolNames.length);
  });

  it('answers a line on standard input that is not a message, and goes on', async () => {
    const { stdout } = await execa(core, ['mcp', '--home', world.home], {
      input: `what?\n\n${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping', params: null })}\n`,
    });
    const [first, second] = stdout.split('\n').map((line) => JSON.parse(line));
    expect(first.error.message).to.include('the message is not JSON');
    expect(second).to.deep.equal({ jsonrpc: '2.0', id: 1, result: {} });
  });

  it('is the same on standard input and output, for the folder where it is started', async () => {
    const number = await world.newIssue(body);
    const transport = new StdioClientTransport({
      command: core,
      args: ['mcp', '--home', world.home],
      cwd: world.checkout.dir,
      stderr: 'pipe',
    });
    const local = await connected(transport);
    try {
      expect((await local.listTools()).tools.map(({ name }) => name)).to.deep.equal([...coreToolNames]);
      const planned = await shown(local, 'plan_issue', { ...ref, number, wait_seconds: 120 });
      expect(planned).to.include({ status: 'awaiting_approval', number });
      expect(await shown(local, 'show_run', { run: String(number) })).to.include({ run_id: planned.run_id });
    } finally {
      await local.close();
    }
  });
});
