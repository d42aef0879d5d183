import { join } from 'node:path';
import { Writable } from 'node:stream';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { readSettings } from '#kit/config/settings.ts';
import { createHttpClient, type HttpClient } from '#kit/http/client.ts';
import type { HttpServer } from '#kit/http/server.ts';
import { createLogger } from '#kit/log.ts';
import { Redactor } from '#kit/redaction/redactor.ts';
import { createToken, openTokens, type Scope } from '#kit/tokens/tokens.ts';
import { createStatusCommand } from '../../services/agentd/http/status-command.ts';
import { signDecisions } from '../../services/agentd/signatures/sign-decisions.ts';
import { asSqliteClient, tamper } from '../fixtures/runs/tamper.ts';
import { allowSigners, newSigner } from '../fixtures/signing/signer.ts';
import { httpDaemon } from '../fixtures/world/daemon.ts';
import { allowUnsandboxed } from '../fixtures/world/place.ts';
import { greetPatch, makeWorld, type World } from '../fixtures/world/world.ts';
import { itWith } from '../needs.ts';

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly json: any;
}

const noEnvironment = {
  CORE_AGENTD_HOST: undefined,
  CORE_AGENTD_PORT: undefined,
  CORE_LOG_LEVEL: undefined,
  CORE_LOG_FORMAT: undefined,
  CORE_CONTEXT_URL: undefined,
};

describe('The daemon over HTTP', () => {
  let world: World;
  let daemon: HttpServer;
  let url: string;
  let client: HttpClient;
  let token: string;
  const log: string[] = [];
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  // biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document
  let document: any;
  const asked = new Set<string>();

  before(async () => {
    world = await makeWorld({ vcs: 'git' });
    allowUnsandboxed(world);
    const folders = {
      state: join(world.home, 'state'),
      config: join(world.home, 'config'),
      tokens: join(world.home, 'config/tokens'),
    };
    const newToken = (name: string, scopes: Scope[]) => createToken(folders, { name, scopes }).text;
    token = newToken('tester', ['read', 'plan', 'approve', 'execute']);
    const redactor = new Redactor();
    redactor.addSecret(token);
    const stream = new Writable({
      write(chunk, _encoding, done) {
        log.push(String(chunk));
        done();
      },
    });
    const settings = readSettings({ folders, environment: noEnvironment });
    daemon = httpDaemon({
      agent: world.agent,
      tokens: openTokens(folders),
      folders,
      home: undefined,
      settings: {
        ...settings,
        agentd: { ...settings.agentd, port: 0, checkouts: { hello: world.checkout.dir } },
      },
      logger: createLogger({ service: 'core-agentd', level: 'debug', format: 'json', redactor, stream }),
      redactor,
      version: '0.0.0',
      status: createStatusCommand(folders),
    });
    ({ url } = await daemon.start());
    client = createHttpClient({ baseUrl: url, token });
    document = await (await fetch(`${url}/v1/openapi.json`)).json();
    ajv.addSchema(document, 'api');
  });

  after(async () => {
    await client?.close();
    await daemon?.close();
    await world?.close();
  });

  /** Every answer that a test gets is checked against the daemon's own description. */
  async function ask(
    method: string,
    path: string,
    options: { body?: unknown; token?: string; headers?: Record<string, string> } = {},
  ): Promise<Answer> {
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
        ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
    });
    const text = await response.text();
    const type = response.headers.get('content-type') ?? '';
    const json = type.includes('json') ? JSON.parse(text) : null;
    checkAgainstDescription(method, path.split('?')[0]!, response.status, type.split(';')[0]!, json);
    return { status: response.status, headers: response.headers, text, json };
  }

  function checkAgainstDescription(
    method: string,
    path: string,
    status: number,
    type: string,
    json: unknown,
  ): void {
    const pattern = Object.keys(document.paths).find((known) =>
      new RegExp(`^${known.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
    );
    if (pattern === undefined) return;
    const operation = document.paths[pattern][method.toLowerCase()];
    if (operation === undefined) return;
    asked.add(`${method} ${pattern}`);
    const answer = operation.responses[status] ?? operation.responses.default;
    const content = answer.content?.[type];
    expect(content, `${method} ${pattern} ${status} ${type} is described`).not.to.equal(undefined);
    if (json === null) return;
    const place = `#/paths/${pattern.replaceAll('~', '~0').replaceAll('/', '~1')}/${method.toLowerCase()}/responses/${operation.responses[status] === undefined ? 'default' : status}/content/${type.replaceAll('/', '~1')}/schema`;
    const validate =
      ajv.getSchema(`api${encodeURI(place).replaceAll('%7B', '{').replaceAll('%7D', '}')}`) ??
      ajv.compile({ ...content.schema, components: document.components });
    expect(validate(json), `${method} ${pattern}: ${JSON.stringify(validate.errors)}`).to.equal(true);
  }

  const get = (path: string) => ask('GET', path);
  const post = (path: string, body: unknown = {}, headers: Record<string, string> = {}) =>
    ask('POST', path, { body, token, headers });

  /** Follows the live events until one of a type comes. */
  async function follow(runId: string, type: string, lastEventId?: string): Promise<string[]> {
    const seen: string[] = [];
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), 120_000);
    try {
      for await (const event of client.events(`/v1/runs/${runId}/events`, {
        signal: stop.signal,
        ...(lastEventId === undefined ? {} : { lastEventId }),
      })) {
        seen.push(event.event);
        if (event.event === type) return seen;
      }
    } finally {
      clearTimeout(timer);
    }
    throw new Error(`${type} never came, only ${seen.join(', ')}`);
  }

  async function planned(): Promise<string> {
    const number = await world.newIssue(`Greet strangers.\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`);
    const { json, status } = await post('/v1/runs', { owner: 'demo', repo: 'hello', number });
    expect(status, JSON.stringify(json)).to.equal(202);
    await follow(json.run_id, 'plan_sealed');
    return json.run_id;
  }

  it('goes the whole way from an issue to a pull request and back', async () => {
    const runId = await planned();
    const { actions } = (await get(`/v1/runs/${runId}/actions`)).json;
    expect(actions.map(({ kind }: { kind: string }) => kind)).to.include.members([
      'create_branch',
      'push_branch',
      'open_pull_request',
    ]);
    expect(await get(`/v1/runs/${runId}/draft`)).to.deep.include({ status: 404 });
    const diff = await get(`/v1/runs/${runId}/diff`);
    expect(diff.headers.get('content-type')).to.equal('text/x-diff');
    expect(diff.text).to.contain("+  return 'Hello ' + (name || 'stranger');");
    for (const { action_id, digest } of actions) {
      const answer = await post(`/v1/runs/${runId}/actions/${action_id}/approval`, {
        decision: 'approve',
        digest,
      });
      expect(answer.json.action).to.include({ action_id, approval: 'approved' });
      expect(answer.json.action.decision.approver).to.equal('tester');
    }

    const started = await post(`/v1/runs/${runId}/execute`, { checkout: 'hello' });
    expect(started.status, started.text).to.equal(202);
    expect(started.headers.get('location')).to.equal(`/v1/runs/${runId}`);
    const events = await follow(runId, 'execution_finished');
    expect(events).to.include.members(['run_created', 'approval_recorded', 'action_intent', 'progress']);
    const run = (await get(`/v1/runs/${runId}`)).json;
    expect(run.status).to.equal('completed');
    expect((await get(`/v1/runs/${runId}/branch-recovery`)).json).to.include({ run_id: runId, vcs: 'git' });

    const late = await post(`/v1/runs/${runId}/actions/${actions[0].action_id}/approval`, {
      decision: 'reject',
      digest: actions[0].digest,
      reason: 'too late',
    });
    expect([late.status, late.json.code]).to.deep.equal([409, 'action_started']);

    expect((await get(`/v1/runs/${runId}/undo`)).json.steps.length).to.be.greaterThan(0);
    expect((await post(`/v1/runs/${runId}/undo`)).status).to.equal(202);
    await follow(runId, 'undo_finished');
    expect((await get(`/v1/runs/${runId}`)).json.status).to.equal('undone');
  });

  it('lists what changed on a forge since a time', async () => {
    const number = await world.newIssue('Changed.');
    const path = `/v1/issues/changed?owner=demo&repo=hello&since=${new Date(Date.now() - 60_000).toISOString()}`;
    const open = await get(path);
    expect([open.status, open.json.code]).to.deep.equal([401, 'token_required']);
    const { status, json } = await ask('GET', path, { token });
    expect(status).to.equal(200);
    expect(json.issues.map((issue: { number: number }) => issue.number)).to.include(number);
    const wrong = await ask('GET', '/v1/issues/changed?owner=demo&repo=hello&since=today', { token });
    expect([wrong.status, wrong.json.code]).to.deep.equal([400, 'invalid_query']);
  });

  it('lists issues of a repository', async () => {
    const number = await world.newIssue('Listed.');
    const path = '/v1/issues?owner=demo&repo=hello&limit=1';
    const open = await get(path);
    expect([open.status, open.json.code]).to.deep.equal([401, 'token_required']);
    const { status, json } = await ask('GET', path, { token });
    expect(status).to.equal(200);
    expect(json.issues.map((issue: { number: number }) => issue.number)).to.deep.equal([number]);
  });

  it('names the same run for the same idempotency key, also when asked twice at once', async () => {
    const number = await world.newIssue(`\`\`\`diff\n${greetPatch}\`\`\`\n`);
    const ask = () =>
      post('/v1/runs', { owner: 'demo', repo: 'hello', number }, { 'idempotency-key': 'k-1' });
    const [one, two] = await Promise.all([ask(), ask()]);
    expect([one.status, two.status]).to.deep.equal([202, 202]);
    expect(one.json.run_id).to.equal(two.json.run_id);
    expect(one.headers.get('location')).to.equal(`/v1/runs/${one.json.run_id}`);
    await follow(one.json.run_id, 'plan_sealed');
    expect((await ask()).json).to.include({ run_id: one.json.run_id, status: 'awaiting_approval' });
    const bad = await post(
      '/v1/runs',
      { owner: 'demo', repo: 'hello', number },
      { 'idempotency-key': 'a b' },
    );
    expect([bad.status, bad.json.code]).to.deep.equal([400, 'invalid_idempotency_key']);
  });

  it('refuses an idempotency key that holds a secret, which could not be stored to find its run again', async () => {
    const key = `ghp_${'aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hL3nR6'}`;
    const body = { owner: 'demo', repo: 'hello', number: 1 };
    const answer = await post('/v1/runs', body, { 'idempotency-key': key });
    expect([answer.status, answer.json.code]).to.deep.equal([400, 'idempotency_key_holds_secret']);
    expect(JSON.stringify(answer.json)).not.to.include(key);
  });

  it('refuses decisions about anything but what was seen', async () => {
    const runId = await planned();
    const [action] = (await get(`/v1/runs/${runId}/actions`)).json.actions;
    const path = `/v1/runs/${runId}/actions/${action.action_id}/approval`;
    const cases: [unknown, number, string][] = [
      [{ decision: 'approve', digest: '0'.repeat(64) }, 409, 'digest_mismatch'],
      [{ decision: 'approve', digest: 'short' }, 400, 'invalid_input'],
      [{ decision: 'approve' }, 400, 'invalid_input'],
      [{ decision: 'maybe', digest: action.digest }, 400, 'invalid_input'],
      [{ decision: 'approve', digest: action.digest, force: true }, 400, 'invalid_input'],
      [{ decision: 'reject', digest: action.digest }, 400, 'reason_required'],
    ];
    for (const [body, status, code] of cases) {
      const answer = await post(path, body);
      expect([answer.status, answer.json.code], JSON.stringify(body)).to.deep.equal([status, code]);
    }
    const other = await post(`/v1/runs/${runId}/actions/act_9_none/approval`, {
      decision: 'approve',
      digest: action.digest,
    });
    expect([other.status, other.json.code]).to.deep.equal([404, 'action_not_found']);
    const rejected = await post(path, {
      decision: 'reject',
      digest: action.digest,
      reason: 'not so',
      approver: 'mira',
    });
    expect(rejected.json.action.decision).to.include({
      decision: 'reject',
      approver: 'tester',
      claimed_approver: 'mira',
    });
  });

  it('executes only into configured checkouts, and says at once why it does not begin', async () => {
    const runId = await planned();
    const cases: [unknown, number, string][] = [
      [{ checkout: world.checkout.dir }, 422, 'checkout_unknown'],
      [{ checkout: '__proto__' }, 422, 'checkout_unknown'],
      [{}, 422, 'checkout_required'],
      [{ repo_dir: '/tmp' }, 400, 'invalid_input'],
      [{ checkout: 'hello', actions: ['act_9_none'] }, 404, 'action_not_found'],
    ];
    for (const [body, status, code] of cases) {
      const answer = await post(`/v1/runs/${runId}/execute`, body);
      expect([answer.status, answer.json.code], JSON.stringify(body)).to.deep.equal([status, code]);
    }
  });

  it('cancels a run that waits, once', async () => {
    const runId = await planned();
    expect((await post(`/v1/runs/${runId}/cancel`, { reason: 'changed my mind' })).status).to.equal(202);
    expect((await get(`/v1/runs/${runId}`)).json.status).to.equal('cancelled');
    expect((await post(`/v1/runs/${runId}/cancel`)).status).to.equal(409);
    expect((await post(`/v1/runs/${runId}/resume`)).status).to.equal(409);
  });

  it('lists runs page by page, by status and by repository', async () => {
    const all = (await get('/v1/runs?limit=100')).json.runs;
    const ids: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Answer = await get(`/v1/runs?limit=2${cursor === null ? '' : `&cursor=${cursor}`}`);
      ids.push(...page.json.runs.map(({ run_id }: { run_id: string }) => run_id));
      cursor = page.json.next_cursor;
    } while (cursor !== null);
    expect(ids).to.deep.equal(all.map(({ run_id }: { run_id: string }) => run_id));
    expect(ids).to.deep.equal(ids.toSorted().reverse());
    const cancelled = (await get('/v1/runs?status=cancelled&repository=demo/hello')).json.runs;
    expect(cancelled.map(({ status }: { status: string }) => status)).to.deep.equal(['cancelled']);
    expect((await get('/v1/runs?repository=demo/other')).json.runs).to.deep.equal([]);
  });

  it('refuses every limit but 1 to 100, and parameters that it does not know', async () => {
    for (const query of [
      'limit=0',
      'limit=101',
      'limit=1.5',
      'limit=1e1',
      'limit=',
      'limit=-1',
      'limit=1&limit=2',
      'limit=0x10',
      'limits=3',
      'status=new',
      'repository=hello',
      'cursor=%00',
      'number=0',
    ]) {
      expect((await get(`/v1/runs?${query}`)).status, query).to.equal(400);
    }
  });

  it('says 404 for what is unknown and 400 for a prefix of several', async () => {
    await planned();
    await planned();
    for (const part of ['', '/actions', '/diff', '/branch-recovery', '/events', '/undo']) {
      expect((await get(`/v1/runs/run_00000000${part}`)).json.code, part).to.equal('run_not_found');
      expect((await get(`/v1/runs/run_0${part}`)).json.code, part).to.equal('run_ambiguous');
    }
    for (const id of ['..%2f..%2fetc', '%00', 'run_..', '%E0%A4%A']) {
      expect((await get(`/v1/runs/${id}`)).status, id).to.be.oneOf([400, 404]);
    }
  });

  it('streams live events from where the client left off', async () => {
    const runId = await planned();
    const all = await follow(runId, 'plan_sealed');
    const rest = await follow(runId, 'plan_sealed', '2');
    expect(rest).to.deep.equal(all.slice(2));
    const live = follow(runId, 'cancel_requested', String(all.length));
    await post(`/v1/runs/${runId}/cancel`);
    expect(await live).to.deep.equal(['cancel_requested']);
    const bad = await ask('GET', `/v1/runs/${runId}/events`, { headers: { 'last-event-id': 'x' } });
    expect([bad.status, bad.json.code]).to.deep.equal([400, 'invalid_last_event_id']);
  });

  it('streams which rows of the list have changed', async () => {
    const stop = new AbortController();
    const rows: unknown[] = [];
    let runId: string | null = null;
    for await (const { event, data } of client.events('/v1/events', { signal: stop.signal })) {
      if (event === 'listening') runId = await planned();
      const row = JSON.parse(data);
      if (event !== 'run' || row.run_id !== runId) continue;
      rows.push(row);
      if (row.status === 'awaiting_approval') await post(`/v1/runs/${runId}/cancel`);
      if (row.status === 'cancelled') break;
    }
    stop.abort();
    const { runs } = (await get('/v1/runs')).json;
    expect(rows.at(-1)).to.deep.equal(runs.find((run: { run_id: string }) => run.run_id === runId));
    expect((await get('/v1/events?since=1')).status).to.equal(400);
  });

  it('gives the artifacts that a run names, to a token only', async () => {
    const runId = await planned();
    const { plan, issue } = (await get(`/v1/runs/${runId}`)).json;
    const path = (digest: string) => `/v1/runs/${runId}/artifacts/${digest}`;
    const { text } = await ask('GET', path(issue.content), { token });
    expect(JSON.parse(text).issue.title).to.equal(issue.title);
    expect((await ask('GET', path(plan.explanation), { token })).status).to.equal(200);
    expect((await get(path(plan.explanation))).json.code).to.equal('token_required');
    const unknown = await ask('GET', path('0'.repeat(64)), { token });
    expect([unknown.status, unknown.json.code]).to.deep.equal([404, 'artifact_not_found']);
    expect((await ask('GET', path('..%2fevents.jsonl'), { token })).status).to.be.oneOf([400, 404]);
  });

  it('lets the second of two people see who was first', async () => {
    const runId = await planned();
    const [action] = (await get(`/v1/runs/${runId}/actions`)).json.actions;
    const body = { decision: 'approve', digest: action.digest, seen_approval: 'required' };
    const path = `/v1/runs/${runId}/actions/${action.action_id}/approval`;
    expect((await ask('POST', path, { body, token })).status).to.equal(200);
    const late = await ask('POST', path, { body, token });
    expect([late.status, late.json.code]).to.deep.equal([409, 'decision_changed']);
    expect(late.json.detail).to.contain('approved by tester');
    const changed = { ...body, decision: 'reject', reason: 'no', seen_approval: 'approved' };
    expect((await ask('POST', path, { body: changed, token })).status).to.equal(200);
  });

  itWith(
    ['ssh'],
    'records a signed decision, whose signature is one of the token and over this action',
    async () => {
      const runId = await planned();
      const { actions } = (await get(`/v1/runs/${runId}/actions`)).json;
      const signer = newSigner();
      allowSigners(join(world.home, 'config/allowed_signers'), [{ principal: 'tester', signer }]);
      const signed = (approver: string) => {
        const request = { run_id: runId, decision: 'approve', actions, approver, days: 1 } as const;
        return signDecisions({ ...request, key: signer.key }).map(({ signature }) => signature);
      };
      const send = (signature: unknown, { action_id, digest } = actions[0]) =>
        ask('POST', `/v1/runs/${runId}/actions/${action_id}/approval`, {
          body: { decision: 'approve', digest, signature },
          token,
        });
      const [first, second] = signed('tester');
      const cases: [unknown, number, string][] = [
        [{ ...first, value: 'yes' }, 400, 'invalid_input'],
        [{ ...first, signed_at: 'now' }, 400, 'invalid_input'],
        [{ ...first, signed_at: '2026-01-02T03:04:05.000Z' }, 400, 'signature_time'],
        [second, 422, 'signature_invalid'],
        [signed('mallory')[0], 422, 'signature_invalid'],
      ];
      for (const [signature, status, code] of cases) {
        const answer = await send(signature);
        expect([answer.status, answer.json.code], JSON.stringify(answer.json)).to.deep.equal([status, code]);
      }
      const { status, json } = await send(first);
      expect(status, JSON.stringify(json)).to.equal(200);
      expect(json.action.decision).to.include({ approver: 'tester', expires_at: first!.expires_at });
      expect(json.action.decision.signature).to.include({ principal: 'tester', signed_at: first!.signed_at });
    },
  );

  it('lets nobody change anything without the scope for it', async () => {
    const folders = { tokens: join(world.home, 'config/tokens') };
    const reader = createToken(folders, { name: 'reader', scopes: ['read'] }).text;
    const bridge = createToken(folders, { name: 'planner', scopes: ['read', 'plan'] }).text;
    const runId = await planned();
    const changes = [
      '/v1/runs',
      ...['actions/x/approval', 'execute', 'resume', 'undo', 'cancel'].map(
        (part) => `/v1/runs/${runId}/${part}`,
      ),
    ];
    for (const path of changes) {
      expect((await ask('POST', path, { body: {} })).status, path).to.equal(401);
      expect((await ask('POST', path, { body: {}, token: reader })).status, path).to.equal(403);
    }
    for (const part of ['actions/x/approval', 'execute', 'undo']) {
      expect(
        (await ask('POST', `/v1/runs/${runId}/${part}`, { body: {}, token: bridge })).status,
        part,
      ).to.equal(403);
    }
  });

  it('refuses a run whose record lost its tail, says what is missing, and lets an admin alone go on', async () => {
    const folders = { tokens: join(world.home, 'config/tokens') };
    const admin = createToken(folders, { name: 'keeper', scopes: ['admin'] }).text;
    // Another process plans it, so that this daemon reads the run only after the cut.
    const number = await world.newIssue(`Greet strangers.\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`);
    const issue = ['--owner', 'demo', '--repo', 'hello', '--number', String(number)];
    const { stdout } = await world.command(['plan-issue', ...issue, '--json']);
    const { run_id: runId, actions } = JSON.parse(stdout) as {
      run_id: string;
      actions: { action_id: string; digest: string }[];
    };
    const path = `/v1/runs/${runId}`;
    const { action_id, digest } = actions[0]!;
    for (const args of [['approve'], ['reject', '--reason', 'no']]) {
      const { code, stderr } = await world.command([args[0]!, runId, action_id, ...args.slice(1)]);
      expect(code, stderr).to.equal(0);
    }
    const state = join(world.home, 'state');
    const count = asSqliteClient(state, (client) =>
      Number(client.prepare('SELECT seq FROM runs WHERE run_id = ?').get(runId)!.seq),
    );
    tamper(state, 'DELETE FROM run_events WHERE run_id = ? AND seq = ?', runId, count);
    const decide = (decision: string) =>
      ask('POST', `${path}/actions/${action_id}/approval`, {
        body: { decision, digest, reason: 'no' },
        token,
      });
    for (const answer of [
      await get(path),
      await get(`${path}/actions`),
      await decide('approve'),
      await ask('POST', `${path}/execute`, { body: { checkout: 'hello' }, token }),
      await ask('POST', `${path}/resume`, { body: {}, token }),
      await ask('POST', `${path}/undo`, { body: {}, token }),
      await ask('POST', `${path}/cancel`, { body: {}, token }),
    ]) {
      expect(answer).to.include({ status: 409 });
      expect(answer.json.code).to.equal('record_cut');
    }
    const { json: record } = await get(`${path}/recover`);
    expect(record.acknowledged.seq).to.equal(count);
    expect(record.kept.seq).to.equal(count - 1);
    expect(record).to.include({ last_type: 'approval_recorded' });
    const body = { accept_loss: true, reason: 'the disk lost it' };
    expect((await ask('POST', `${path}/recover`, { body, token })).status).to.equal(403);
    expect((await ask('POST', `${path}/recover`, { body: { reason: 'x' }, token: admin })).status).to.equal(
      400,
    );
    const recovered = await ask('POST', `${path}/recover`, { body, token: admin });
    expect(recovered.status, recovered.text).to.equal(200);
    expect(recovered.json.recoveries[0]).to.include({ by: 'keeper', reason: 'the disk lost it' });
    expect((await get(`${path}/actions`)).json.actions[0].approval).to.equal('required');
    const { problems } = await world.agent.verify(runId);
    expect(problems.map(({ what }) => what).join()).to.contain('the record was cut');
    const { json: after } = await get(`${path}/recover`);
    expect([after.problem, after.recovered.by, after.recovered.seq]).to.deep.equal([null, 'keeper', count]);
  });

  it('says what it can do', async () => {
    expect((await get('/healthz')).json).to.include({
      status: 'ok',
      service: 'core-agentd',
      version: '0.0.0',
    });
    const { json } = await get('/v1/capabilities');
    expect(json.checkouts).to.deep.equal(['hello']);
    expect(json).to.include.keys('version', 'action_kinds', 'forges', 'vcs', 'sandbox', 'planners', 'agents');
    expect((await get('/v1/tools')).json.tools.map(({ name }: { name: string }) => name)).not.to.deep.equal(
      [],
    );
    expect((await get('/v1/metrics')).status).to.equal(200);
    expect((await get('/v1/openapi.json')).status).to.equal(200);
  });

  it('lists the tools of the Model Context Protocol to a token only', async () => {
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    expect(await ask('POST', '/v1/mcp', { body })).to.deep.include({ status: 401 });
    const { status, text } = await ask('POST', '/v1/mcp', { body, token });
    expect(status).to.equal(200);
    expect(text).to.contain('"plan_issue"');
  });

  it('gives the status report to a token only, once for all who ask at the same time', async () => {
    expect(await get('/v1/status')).to.deep.include({ status: 401 });
    const answers = await Promise.all([1, 2, 3].map(() => ask('GET', '/v1/status', { token })));
    for (const { status, json } of answers) {
      expect(status).to.equal(200);
      expect(json).to.deep.equal(answers[0]!.json);
    }
    expect(Object.keys(answers[0]!.json)).to.include.members(['ok', 'services', 'http', 'iii', 'storage']);
    expect(await get('/v1/token')).to.deep.include({ status: 401 });
    expect((await ask('GET', '/v1/token', { token })).json.scopes).to.include('plan');
    expect((await get('/v1/inbox')).json.items).to.be.an('array');
    const { json } = await get('/v1/storage');
    expect(json.runs_count).to.equal((await world.agent.runs({ limit: 100 })).runs.length);
  });

  it('makes links to the review page, and ends its sessions, for a token only', async () => {
    const runId = await planned();
    expect(await ask('POST', '/v1/review/links', { body: {} })).to.deep.include({ status: 401 });
    const { status, json } = await post('/v1/review/links', { run: runId });
    expect(status).to.equal(201);
    expect(json.path).to.match(new RegExp(`^/sign-in\\?code=[\\w-]{43}&run=${runId}$`));
    expect(Date.parse(json.expires_at)).to.be.closeTo(Date.now() + 300_000, 60_000);
    expect((await post('/v1/review/links', { run: 'run_00000000' })).json.code).to.equal('run_not_found');
    expect(await ask('DELETE', '/v1/review/sessions')).to.deep.include({ status: 401 });
    expect((await ask('DELETE', '/v1/review/sessions', { token })).json).to.deep.equal({ ended: 0 });
    expect(await ask('GET', '/v1/review/sessions')).to.deep.include({ status: 401 });
    expect((await ask('GET', '/v1/review/sessions', { token })).json).to.deep.equal({ sessions: [] });
    const none = await ask('DELETE', '/v1/review/sessions/none', { token });
    expect([none.status, none.json.code]).to.deep.equal([404, 'session_not_found']);
  });

  it('has described every route, and every described route was asked here', () => {
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods as object).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect([...asked].sort()).to.deep.equal(described.sort());
  });

  it('never wrote a token into its log', () => {
    expect(log.length).to.be.greaterThan(10);
    expect(log.join('')).not.to.contain(token);
  });
});
