import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { expect } from 'chai';
import { readSettings } from '#kit/config/settings.ts';
import type { PostgresSettings } from '#kit/config/storage.ts';
import { environment } from '#kit/environment.ts';
import { resolveFolders } from '#kit/folders.ts';
import { createLogger, silentLogger } from '#kit/log.ts';
import { maskedText } from '#kit/redaction/masked-text.ts';
import { Redactor } from '#kit/redaction/redactor.ts';
import { createToken, openTokens } from '#kit/tokens/tokens.ts';
import { openNotifications } from '../../services/agentd/notifications/compose.ts';
import { readPolicy } from '../../services/agentd/policy.ts';
import { unsigned } from '../fixtures/approved/unsigned.ts';
import { secrets, startBridge } from '../fixtures/bridge/bridge-service.ts';
import { type RunningContext, startContext } from '../fixtures/context/context-service.ts';
import { startReceiver } from '../fixtures/notifications/receiver.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { secretSamples } from '../fixtures/redaction/secret-samples.ts';
import { makeReviewWorld, type ReviewWorld } from '../fixtures/review/review-world.ts';
import { SignedIn } from '../fixtures/review/signed-in.ts';
import { runStoreIn } from '../fixtures/runs/run-store-in.ts';
import { TmuxTerminal } from '../fixtures/terminal/tmux.ts';
import { startDaemon, type TestDaemon } from '../fixtures/world/daemon.ts';
import { type ForgeWorld, forgeWorlds } from '../fixtures/world/forge-worlds.ts';
import { storedIn } from '../fixtures/world/stored-texts.ts';
import { greetPatch, ref } from '../fixtures/world/world.ts';
import { describeWith, itWith } from '../needs.ts';

interface Canary {
  readonly text: string;
  /** The part that must not come out. */
  readonly secret: string;
}

/** One of each kind that the detector knows. */
const canaries: readonly Canary[] = Object.values(secretSamples).map(([sample]) =>
  typeof sample === 'string' ? { text: sample, secret: sample } : { text: sample![0], secret: sample![1] },
);
const onOneLine = canaries.filter(({ text }) => !text.includes('\n'));
/** All of them, where a text may be long. */
const long = onOneLine.map(({ text }) => text).join(' ');
const longest = canaries.map(({ text }) => text).join('\n\n');

let next = 0;
/** Some of them, other ones at each call, where it must be short. */
function short(): string {
  const chosen = Array.from({ length: 2 }, () => onOneLine[next++ % onOneLine.length]!.text);
  return `Greet ${chosen.join(' ')}`;
}

/** One of them, where only 200 characters have room. A part of one could look like no secret. */
function tiny(): string {
  const fitting = onOneLine.filter(({ text }) => text.length < 150);
  return `Greet ${fitting[next++ % fitting.length]!.text}`;
}

function task(): string {
  return `${short()}\n\n${longest}\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`;
}

/** Everything that came out, by where. */
class Output {
  readonly #texts: [where: string, text: string][] = [];

  add(where: string, text: string): string {
    this.#texts.push([where, text]);
    return text;
  }

  has(text: string): boolean {
    return this.#texts.some(([, said]) => said.includes(text));
  }

  requireNone(): void {
    const found = this.#texts.flatMap(([where, text]) => {
      const leaked = canaries.find(({ secret }) => text.includes(secret) || text.includes(escaped(secret)));
      if (leaked === undefined) return [];
      const at = Math.max(text.indexOf(leaked.secret), text.indexOf(escaped(leaked.secret)));
      return [`${where}: …${text.slice(Math.max(0, at - 300), at + 40)}`];
    });
    expect(found).to.deep.equal([]);
  }
}

function escaped(secret: string): string {
  return JSON.stringify(secret).slice(1, -1);
}

describe('Canaries of every kind', () => {
  it('are all masked in one text', () => {
    for (const { secret, text } of canaries) {
      expect(maskedText(longest)).not.to.contain(secret);
      expect(maskedText(text)).to.contain('[redacted ');
    }
  });
});

function describeRuns(name: string, needs: readonly ('postgres' | 'git')[]): void {
  describeWith(['git', ...needs.filter((need) => need !== 'git')], name, () => {
    let postgres: PostgresServer | undefined;
    let storage: PostgresSettings | undefined;
    let review: ReviewWorld;
    let context: RunningContext | undefined;
    let daemon: TestDaemon;
    let output: Output;

    beforeEach(async () => {
      next = 0;
      if (needs.includes('postgres')) {
        postgres = await startPostgres();
        storage = await postgres.database();
      }
      review = await makeReviewWorld(undefined, { storage });
      const { world } = review;
      if (storage === undefined) {
        context = await startContext(world.home);
        const settings = { context: { url: context.url }, vcs: 'git' };
        writeFileSync(join(world.home, 'config/core.json'), JSON.stringify(settings));
      }
      output = new Output();
      const logger = createLogger({
        ...{ service: 'core-agentd', level: 'debug', format: 'text', redactor: new Redactor() },
        stream: new Writable({
          write(chunk, _encoding, done) {
            output.add('the log of core-agentd', String(chunk));
            done();
          },
        }),
      });
      daemon = await startDaemon(world, ['read', 'plan', 'approve', 'execute', 'admin'], logger);
    });
    afterEach(async () => {
      await daemon?.close();
      await review?.close();
      await context?.close();
      await postgres?.stop();
    });

    async function typed(...args: readonly string[]): Promise<string> {
      const { stdout, stderr } = await review.world.command(args);
      output.add(`core ${args[0]} ${args[1]}`, stdout + stderr);
      return stdout;
    }

    async function asked(url: string, path: string, body?: unknown): Promise<string> {
      const answer = await fetch(`${url}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return output.add(`${path} (${answer.status})`, await answer.text());
    }

    async function tellingIssue(): Promise<string> {
      const issue = await review.world.forgeAdmin.newIssue({
        ...{ ...ref, title: short(), labels: [short()], author: 'mira', association: 'contributor' },
        body: `${longest}\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`,
      });
      const by = { author: 'otto', association: 'contributor' } as const;
      await review.world.forgeAdmin.comment({ ...ref, number: issue.number, body: longest, ...by });
      return String(issue.number);
    }

    async function stored(): Promise<void> {
      output.add('the state folder', storedIn(review.world.home));
      if (postgres === undefined || storage === undefined) return;
      const tables = await postgres.ask<{ schema: string; name: string }>(
        storage,
        `SELECT table_schema AS schema, table_name AS name FROM information_schema.tables
          WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')`,
      );
      expect(tables).to.have.length.above(3);
      for (const { schema, name } of tables) {
        const rows = await postgres.ask<{ row: string }>(
          storage,
          `SELECT row_to_json(whole_row)::text AS row FROM "${schema}"."${name}" AS whole_row`,
        );
        output.add(`the table ${name}`, rows.map(({ row }) => unhex(row)).join('\n'));
      }
    }

    async function planned(): Promise<string> {
      const where = ['--owner', ref.owner, '--repo', ref.repo];
      const number = await tellingIssue();
      await typed('plan-issue', ...where, '--number', number, '--note', long);
      expect(output.has('[note_holds_secret]'), 'a note was refused').to.equal(true);
      const text = await typed('plan-issue', ...where, '--number', number, '--json');
      expect(JSON.parse(text).actions, text).to.have.length(7);
      return JSON.parse(text).run_id;
    }

    it('come out of no command, from plan to undo', async () => {
      const { world } = review;
      const where = ['--owner', ref.owner, '--repo', ref.repo];
      for (const more of [[], ['--json']]) {
        await typed('forge', 'issue', 'new', ...where, '--title', short(), '--body', longest, ...more);
        await typed('forge', 'comment', ...where, '--number', '1', '--body', longest, ...more);
        await typed('forge', 'issue', 'list', ...where, ...more);
      }
      const run = await planned();
      for (const more of [[], ['--json']]) {
        await typed('show', run, '--verbose', ...more);
        await typed('show', run, '--prompt', ...more);
        for (const command of ['actions', 'diff', 'verify', 'mirror']) await typed(command, run, ...more);
        await typed('runs', '--text', long, ...more);
        await typed('inbox', '--all', ...more);
        await typed('reject', run, '7', '--reason', long, ...more);
      }
      await typed('approve', run, '1', '2', '3', '4', '5', '6', '--reason', long);
      await typed('execute-approved', run, '--repo-dir', world.checkout.dir);
      expect((await world.agent.run(run)).status).to.equal('partially_completed');
      await typed('undo', run, '--yes');
      const other = await planned();
      await typed('recover', other, '--accept-loss', '--reason', long);
      await typed('cancel', other, '--reason', long);
      await typed('plan', '--repository', `${ref.owner}/${ref.repo}`, '--task', task());
      if (context !== undefined) {
        const told = ['--layer', 'procedural', '--step', short(), '--kind', short(), '--json'];
        const text = await typed('context', 'remember', long, ...told);
        const { id } = JSON.parse(text);
        for (const more of [[], ['--json']]) {
          await typed('context', 'lookup', `Greet ${long}`, ...more);
          await typed('context', 'search', `Greet ${long}`, ...more);
          await typed('context', 'cypher', 'MATCH (n) RETURN n', ...more);
        }
        await typed('context', 'forget', id, '--reason', short(), '--yes');
        await typed('context', 'export');
        output.add('the log of core-context', context.log.join('\n'));
      }
      expect(output.has('[redacted '), 'texts were shown').to.equal(true);
      await stored();
      output.requireNone();
    });

    it('come out of no request, page, form or tool', async () => {
      const run = await planned();
      const { actions } = JSON.parse(await asked(daemon.url, `/v1/runs/${run}`));
      const [first, second] = actions as { action_id: string; digest: string }[];
      const of = `/v1/runs/${run}`;
      const said = { decision: 'reject', digest: first!.digest, reason: long, approver: short() };
      await asked(daemon.url, `${of}/actions/${first!.action_id}/approval`, said);
      await asked(daemon.url, '/v1/runs', { ...ref, task: task(), note: long });
      await asked(daemon.url, '/v1/runs', { ...ref, number: 1, forge: short(), role: short() });
      for (const path of ['', '/actions', '/diff', '/verify'])
        for (const id of [run, long]) await asked(daemon.url, `/v1/runs/${encodeURIComponent(id)}${path}`);
      const query = `owner=${ref.owner}&repo=${ref.repo}`;
      for (const path of [
        ...['/v1/runs', `/v1/runs?text=${encodeURIComponent(long)}`, '/v1/inbox', '/v1/status', '/healthz'],
        ...['/v1/metrics', `/v1/issues?${query}`, `/v1/issues/changed?${query}&since=2020-01-01T00:00:00Z`],
      ])
        await asked(daemon.url, path);

      const browser = await SignedIn.by(await review.link('mira'));
      const csrf = await browser.csrf();
      const shown = async (path: string) => output.add(path, await (await browser.get(path)).text());
      const sent = async (path: string, fields: Record<string, string>) =>
        output.add(`form ${path}`, await (await browser.post(path, { csrf, ...fields })).text());
      const seen = `${second!.action_id} ${second!.digest} required`;
      await sent(`/runs/${run}/decisions`, { decision: 'reject', seen, reason: long });
      await sent(`/runs/${run}/decisions`, { decision: 'reject', seen: long, reason: long });
      await sent('/batch', { decision: 'reject', gate: 'publish', seen: `${run} ${seen}`, reason: long });
      await sent('/plan', { repository: `${ref.owner}/${ref.repo}`, task: task() });
      await sent('/plan', { repository: short(), task: task() });
      await sent('/plan', { repository: `${ref.owner}/${ref.repo}`, number: short() });
      await sent(`/runs/${run}/plan`, { note: long });
      await sent(`/runs/${run}/cancel`, { reason: long });
      for (const path of ['/', '/inbox', `/runs/${run}`, `/runs/${run}/diff`, '/plan', '/?text=Greet'])
        await shown(path);
      for (const { run_id } of JSON.parse(await asked(daemon.url, '/v1/runs')).runs)
        await shown(`/runs/${run_id}`);

      const client = new Client({ name: 'test', version: '1' });
      const headers = { authorization: `Bearer ${daemon.token}` };
      const transport = new StreamableHTTPClientTransport(new URL('/v1/mcp', daemon.url), {
        requestInit: { headers },
      });
      await client.connect(transport as unknown as Transport);
      const called = async (name: string, input: Record<string, unknown>) =>
        output.add(`tool ${name}`, JSON.stringify(await client.callTool({ name, arguments: input })));
      await called('plan_issue', { ...ref, task: task(), note: long, wait_seconds: 20 });
      await called('plan_issue', { ...ref, number: 1, role: short(), idempotency_key: short() });
      await called('show_run', { run });
      await called('show_run', { run: short() });
      await called('list_runs', { text: long });
      await called('get_diff', { run });
      for (const name of ['search', 'memory_lookup']) await called(name, { query: long });
      const memory = {
        content: longest,
        layer: 'semantic',
        kind: short(),
        subject: short(),
        predicate: 'is',
      };
      await called('remember', memory);
      await called('remember', { ...memory, key: short() });
      await client.close();
      if (context !== undefined) {
        await asked(context.url, '/v1/memory/record', { ...memory, speaker: short(), source: short() });
        await asked(context.url, '/v1/memory/record', { ...memory, session: short(), about: [short()] });
        for (const path of ['/v1/memory/lookup', '/v1/graphrag/search'])
          await asked(context.url, path, { query: long });
        await asked(context.url, '/v1/memory/forget', { source: short(), reason: 'Greet' });
        output.add('the log of core-context', context.log.join('\n'));
      }
      expect(output.has('[redacted '), 'texts were shown').to.equal(true);
      await stored();
      output.requireNone();
    });

    itWith(['tmux'], 'come on no terminal', async () => {
      const run = await planned();
      await typed('reject', run, '7', '--reason', long);
      for (const args of [[], [run], ['--plain']]) {
        const screen = new TmuxTerminal({
          args: ['tui', '--home', review.world.home, ...args],
          env: { CORE_AGENTD_URL: daemon.url },
          columns: 200,
          rows: 100,
        });
        try {
          output.add('the terminal', await screen.shows('redacted'));
        } finally {
          screen.close();
        }
      }
      output.requireNone();
    });

    if (!needs.includes('postgres'))
      it('are in no notification', async () => {
        const { world } = review;
        const receiver = await startReceiver();
        const folders = resolveFolders({ home: world.home }, {} as never);
        createToken(folders, { name: 'jo', scopes: ['approve', 'execute'] });
        writeFileSync(join(folders.secrets, 'hook'), 'a-secret-for-signatures-of-webhooks');
        const webhook = { url: `${receiver.url}/hook`, secret_file: 'hook' };
        const people = { jo: { channels: { webhook } } };
        writeFileSync(join(folders.config, 'notifications.json'), JSON.stringify({ people }));
        const store = runStoreIn(folders.state);
        const notifier = openNotifications({
          ...{ folders, postgres: null, store, now: Date.now, redactor: new Redactor() },
          settings: readSettings({ folders, environment }),
          approvals: async () => ({
            ...{ forges: ['local'], policy: readPolicy(folders) },
            tokens: openTokens(folders).list(),
            signatures: unsigned,
          }),
        }).notifier(silentLogger);
        try {
          await notifier.tick();
          const run = await planned();
          await notifier.tick();
          await notifier.settled();
          await typed('approve', run, '--all', '--reason', long);
          await typed('execute-approved', run, '--repo-dir', world.checkout.dir);
          await notifier.tick();
          await notifier.settled();
          for (const { body } of receiver.received) output.add('a notification', body);
          expect(receiver.received).to.have.length.above(0);
          expect(receiver.received[0]!.body).to.contain('[redacted ');
        } finally {
          await notifier.close();
          store.close();
          await receiver.close();
        }
        await stored();
        output.requireNone();
      });

    it('are in no event of the bridge', async () => {
      const bridge = await startBridge(storage === undefined ? {} : { postgres: storage });
      try {
        const issue = {
          ...{ id: 'board-1', title: short(), status: tiny(), role: 'Depute' },
          ...{ labels: [tiny()], url: `https://example.org/?q=${short()}` },
          forge: { owner: ref.owner, repo: ref.repo, number: 1, name: 'local' },
        };
        const facts = { kind: 'issue.created', occurred_at: '2026-01-01T00:00:00Z', actor: short() };
        const post = async (
          path: string,
          body: unknown,
          headers: Record<string, string> = { authorization: `Bearer ${bridge.token}` },
        ) => output.add(path, JSON.stringify(await bridge.post(path, body, headers)));
        await post('/v1/ingress/dashboard-issue', { event_id: 'one', ...facts, issue });
        await post('/v1/ingress/dashboard-issue', { event_id: short(), ...facts, issue });
        const opened = {
          action: 'opened',
          issue: {
            ...{ number: 2, title: short(), body: longest, state: 'open', html_url: 'https://example.org/2' },
            ...{
              updated_at: '2026-01-01T00:00:00Z',
              labels: [{ name: short() }],
              milestone: { title: short() },
            },
          },
          repository: { name: ref.repo, full_name: `${ref.owner}/${ref.repo}`, owner: { login: ref.owner } },
          sender: { login: short() },
        };
        await post('/v1/ingress/github', opened, {
          ...{ 'x-github-event': 'issues', 'x-github-delivery': 'd1' },
          'x-hub-signature-256': `sha256=${createHmac('sha256', secrets['github-webhook'])
            .update(JSON.stringify(opened))
            .digest('hex')}`,
        });
        await post('/v1/events/process-next', { event_id: short() });
        await post('/v1/events/process-next', {});
        for (const path of ['/v1/events', '/v1/events/pending', '/v1/events/one', '/healthz'])
          output.add(path, JSON.stringify(await bridge.get(path)));
        if (storage === undefined) output.add('the state of the bridge', storedIn(bridge.home));
      } finally {
        await bridge.close();
      }
      expect(output.has('[redacted '), 'texts were shown').to.equal(true);
      await stored();
      output.requireNone();
    });
  });
}

/** Bytes of PostgreSQL as text, as artifacts are kept. */
function unhex(row: string): string {
  return row.replace(/\\\\x([0-9a-f]{8,})/g, (_, hex: string) => Buffer.from(hex, 'hex').toString('latin1'));
}

describeRuns('Canaries in what people and forges say, with files', []);
describeRuns('Canaries in what people and forges say, on PostgreSQL', ['postgres']);

/** Members of a forge's answer that hold what people wrote. */
const written = /^(?:title|body|description|bio|message|context|summary|text|name)$/;
/** Members whose `name` is a name that requests use. */
const named = /^(?:repository|owner|head|base|repo|commit|branch)$/;

function planted(value: unknown, within = ''): unknown {
  if (Array.isArray(value)) return value.map((item) => planted(item, within));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([member, inside]) => {
    const isText = typeof inside === 'string' && written.test(member);
    if (!isText || (member === 'name' && within !== 'labels')) return [member, planted(inside, member)];
    if (named.test(within)) return [member, inside];
    return [member, member === 'body' ? `${longest}\n\n${inside}` : `${inside} ${short()}`];
  });
  return Object.fromEntries(entries);
}

for (const kind of ['github', 'gitea'] as const) {
  describeWith(['git'], `Canaries in the answers of ${kind}`, () => {
    let forge: ForgeWorld;

    before(async () => {
      forge = await forgeWorlds[kind]!();
    });
    after(() => forge?.close());

    it('come out nowhere, from plan to undo', async () => {
      const { world } = forge;
      const output = new Output();
      async function typed(...args: readonly string[]): Promise<string> {
        const { stdout, stderr } = await world.command(args);
        output.add(`core ${args[0]}`, stdout + stderr);
        return stdout;
      }
      const number = await forge.newIssue(`\`\`\`diff\n${greetPatch}\`\`\`\n`);
      forge.change((body) => planted(body));
      const of = ['--owner', ref.owner, '--repo', ref.repo, '--number', String(number)];
      const text = await typed('plan-issue', ...of, '--json');
      const { run_id: run, actions } = JSON.parse(text);
      expect(actions, text).to.have.length(7);
      await typed('show', run, '--verbose');
      await typed('approve', run, '--all');
      await typed('execute-approved', run, '--repo-dir', world.checkout.dir);
      expect((await world.agent.run(run)).status).to.equal('completed');
      await typed('sync');
      await typed('show', run, '--verbose', '--json');
      await typed('undo', run, '--yes');
      await typed('runs');
      expect(output.has('[redacted '), 'texts were shown').to.equal(true);
      output.add('the state folder', storedIn(world.home));
      output.requireNone();
    });
  });
}
