import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { execa } from 'execa';
import type { EventList, IngressReply } from '#kit/contracts/bridge/events.ts';
import type { CatchUpReply, SyncRepositories } from '#kit/contracts/bridge/sync.ts';
import type { Problem } from '#kit/contracts/problem.ts';
import { Unavailable } from '#kit/errors.ts';
import { resolveFolders } from '#kit/folders.ts';
import { changedIssues } from '../../services/agentd/planning/issues.ts';
import type { Forge } from '../../services/agentd/ports/forge.ts';
import type { DatabaseRunStore } from '../../services/agentd/runs/database-run-store.ts';
import type { ChangeQuery } from '../../services/bridge/daemon.ts';
import { giteaBench, githubBench, type RemoteBench } from '../contract/forge.benches.ts';
import { type RunningBridge, secrets, startBridge } from '../fixtures/bridge/bridge-service.ts';
import { ToyDaemon } from '../fixtures/bridge/toy-daemon.ts';
import type { ServedIssue } from '../fixtures/forges/forge-state.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { runStoreIn } from '../fixtures/runs/run-store-in.ts';

const program = fileURLToPath(new URL('../../services/bridge/main.ts', import.meta.url));
const minute = 60_000;

/** Asks a real forge adapter, over HTTP, as core-agentd does. */
class AskingDaemon extends ToyDaemon {
  readonly #store: DatabaseRunStore;
  readonly #forge: Forge;
  limits: Parameters<typeof changedIssues>[3];
  /** Where it is set, each answer says that there is more, from so much later. */
  stepMs: number | null = null;

  constructor(store: DatabaseRunStore, forge: Forge) {
    super();
    this.#store = store;
    this.#forge = forge;
  }

  override async changedIssues({ forge: _, ...query }: ChangeQuery) {
    this.asked.push(query);
    if (this.problem !== null) throw this.problem;
    if (this.stepMs !== null) {
      const until = new Date(Date.parse(query.since) + this.stepMs).toISOString();
      return { forge: 'work', owner: query.owner, repo: query.repo, until, more: true, issues: [] };
    }
    const ports = { store: this.#store, forge: this.#forge };
    return changedIssues(ports, query, AbortSignal.timeout(10_000), this.limits);
  }
}

for (const [kind, open] of [
  ['github', githubBench],
  ['gitea', giteaBench],
] as const) {
  describe(`what ${kind} did not deliver`, () => {
    let bench: RemoteBench;
    let store: DatabaseRunStore;
    let bridge: RunningBridge;
    let daemon: AskingDaemon;
    let delivered = 0;
    /** Begins before everything, to the second. */
    let start: number;

    beforeEach(async () => {
      bench = await open();
      store = runStoreIn(temporaryFolder());
      daemon = new AskingDaemon(store, bench.again({ name: 'work' }));
      const base_url = `https://${kind}.test`;
      // A sync cannot name who changed an issue; the right of actors has tests of its own.
      const config = { ingress: { [kind]: { by: 'anyone' } } };
      bridge = await startBridge({ daemon, config, forges: { forges: [{ name: 'work', kind, base_url }] } });
      start = Math.floor(Date.now() / 1000) * 1000 - 600 * minute;
    });

    afterEach(async () => {
      await bridge.close();
      store.close();
      await bench.close();
    });

    const at = (minutes: number) => new Date(start + minutes * minute).toISOString();

    function issue(minutes: number, more: Partial<ServedIssue> = {}): ServedIssue {
      const { state } = bench.server;
      const times = { created_at: at(minutes), updated_at: at(minutes) };
      return state.addIssue(bench.served, {
        title: 'Greeting',
        body: 'It is wrong.',
        author: 'mira',
        ...times,
        ...more,
      });
    }

    /** Somebody changes it. */
    function change(one: ServedIssue, minutes: number, how: Partial<ServedIssue>): void {
      Object.assign(one, how, { updated_at: at(minutes) });
    }

    async function deliver(one: ServedIssue, action = 'opened', times = 1): Promise<IngressReply> {
      const { number, title, body, state, labels, updated_at } = one;
      const html_url = `https://${kind}.test/demo/hello/issues/${number}`;
      const text = JSON.stringify({
        action,
        issue: { number, title, body, state, html_url, updated_at, labels: labels.map((name) => ({ name })) },
        repository: { name: 'hello', owner: { login: 'demo' } },
      });
      const hex = createHmac('sha256', secrets[`${kind}-webhook`]).update(text).digest('hex');
      const headers: Record<string, string> =
        kind === 'github'
          ? {
              'x-github-event': 'issues',
              'x-hub-signature-256': `sha256=${hex}`,
              'x-github-delivery': `d${delivered++}`,
            }
          : { 'x-gitea-event': 'issues', 'x-gitea-signature': hex, 'x-gitea-delivery': `d${delivered++}` };
      let reply: unknown;
      for (let time = 0; time < times; time++)
        reply = (await bridge.post(`/v1/ingress/${kind}`, text, headers)).body;
      return reply as IngressReply;
    }

    const sync = async (more: object = {}) =>
      (await bridge.post('/v1/sync/forge-to-agent', { forge: 'work', owner: 'demo', repo: 'hello', ...more }))
        .body as CatchUpReply;
    const counts = async (more: object = {}) => {
      const { asked, new: fresh, known, refused } = await sync(more);
      return { asked, new: fresh, known, refused: refused.map(({ number, code }) => `#${number} ${code}`) };
    };
    const sinceNow = async () =>
      ((await bridge.get('/v1/sync/repositories')).body as SyncRepositories).repositories.map(({ since }) =>
        Date.parse(since),
      );

    /** The forge says so of its clock, until its faults are taken back. */
    async function clockOf(time: number): Promise<void> {
      const url = `${bench.server.url}${kind === 'github' ? '/api/v3' : '/api/v1'}/repos/demo/hello`;
      const body = await (await fetch(url)).json();
      const headers = { date: new Date(time).toUTCString() };
      const answer = { status: 200, headers, body };
      bench.server.faults.push({ method: 'GET', path: /\/repos\/demo\/hello$/, times: 1_000, answer });
    }

    const processNext = () => bridge.post('/v1/events/process-next', {});
    const pending = async () =>
      ((await bridge.get('/v1/events/pending')).body as EventList).events.map(({ target }) => target?.number);

    it('is taken up once, and what came is known', async () => {
      const first = issue(1);
      await deliver(first);
      const missed = issue(2);
      const changed = issue(3);
      await deliver(changed);
      change(changed, 10, { body: 'It is very wrong.' });
      await deliver(issue(11));
      const { repositories } = (await bridge.get('/v1/sync/repositories')).body as SyncRepositories;
      expect(repositories).to.have.length(1);
      expect(repositories[0]).to.include({ forge: 'work', owner: 'demo', repo: 'hello' });
      // Before the first delivery, not the last: the ones between are missing.
      expect(Date.parse(repositories[0]!.since)).to.be.at.most(Date.parse(first.created_at));
      expect(await counts()).to.deep.equal({ asked: 4, new: 2, known: 2, refused: [] });
      expect(await pending()).to.deep.equal(
        [first, changed, { number: 4 }, missed, changed].map(({ number }) => number),
      );
      expect(await counts({ since: at(0) })).to.deep.equal({ asked: 4, new: 0, known: 4, refused: [] });
      expect(await counts()).to.deep.equal({ asked: 0, new: 0, known: 0, refused: [] });
      for (let event = 0; event < 5; event++) await processNext();
      expect(await counts({ since: at(0) })).to.deep.equal({ asked: 4, new: 0, known: 4, refused: [] });
    });

    it('does nothing twice when a delivery comes later after all', async () => {
      await deliver(issue(0));
      const missed = issue(1);
      const early = { ...missed };
      change(missed, 2, { body: 'Edited.' });
      const edited = { ...missed };
      change(missed, 3, { labels: ['bug'] });
      expect(await counts()).to.include({ new: 1 });
      for (const _ of [1, 2]) await processNext();
      const label = kind === 'github' ? 'labeled' : 'label_updated';
      for (const [old, action] of [
        [early, 'opened'],
        [edited, 'edited'],
        [missed, label],
      ] as const) {
        const reply = await deliver(old, action, 2);
        expect(`${reply.state} ${reply.reason?.code}`).to.equal('skipped taken_up');
      }
      expect(await pending()).to.deep.equal([]);
      change(missed, 20, { body: 'Edited once more.' });
      expect((await deliver(missed, 'edited')).state).to.equal('pending');
    });

    it('is planned again where it was opened again, once, and not for a comment', async () => {
      const one = issue(1);
      await deliver(one);
      await processNext();
      change(one, 5, {});
      expect(await counts()).to.deep.equal({ asked: 1, new: 0, known: 1, refused: [] });
      const later = at(602);
      Object.assign(one, { updated_at: later, reopened_at: later });
      expect(await counts()).to.deep.equal({ asked: 1, new: 1, known: 0, refused: [] });
      expect(await counts()).to.deep.equal({ asked: 1, new: 0, known: 1, refused: [] });
      expect((await deliver(one, 'reopened')).reason?.code).to.equal('taken_up');
      one.updated_at = at(603);
      expect(await counts()).to.deep.equal({ asked: 1, new: 0, known: 1, refused: [] });
    });

    it('is refused by the rules of a delivery: actions, labels, roles', async () => {
      await bridge.close();
      const config = { ingress: { [kind]: { label: 'core' } } };
      const forges = { forges: [{ name: 'work', kind, base_url: `https://${kind}.test` }] };
      bridge = await startBridge({ daemon, forges, config });
      issue(1);
      const closed = issue(2, { labels: ['core'], state: 'closed' });
      const role = issue(3, { labels: ['core', 'core:executor'] });
      issue(4, { labels: ['core', 'bug'] });
      const expected = [
        '#1 label_missing',
        `#${closed.number} action_not_used`,
        `#${role.number} role_does_not_plan`,
      ];
      expect(await counts({ since: at(0) })).to.deep.equal({ asked: 4, new: 1, known: 0, refused: expected });
      expect(await pending()).to.deep.equal([4]);
    });

    it('stays to be asked for while the forge does not answer', async () => {
      await deliver(issue(1));
      issue(2);
      const { server } = bench;
      daemon.problem = new Error('away');
      const away = await bridge.post('/v1/sync/forge-to-agent', { owner: 'demo', repo: 'hello' });
      expect(away.status).to.equal(500);
      daemon.problem = null;
      expect(server.state.requests.some((one) => one.includes('since='))).to.equal(false);
      expect(await counts()).to.deep.equal({ asked: 2, new: 1, known: 1, refused: [] });
    });

    it('is asked for after a forge whose clock was years ahead once', async () => {
      await deliver(issue(1));
      await clockOf(Date.parse('2099-01-01T00:00:00Z'));
      expect(Date.parse((await sync()).until)).to.be.at.most(Date.now());
      expect((await sinceNow())[0]).to.be.at.most(Date.now());
      bench.server.faults.length = 0;
      issue(601);
      expect(await counts()).to.deep.equal({ asked: 1, new: 1, known: 0, refused: [] });
    });

    for (const minutes of [10, -10]) {
      it(`is asked for where the clock of the forge is always ${minutes} minutes from ours`, async () => {
        await deliver(issue(1));
        await clockOf(Date.now() + minutes * minute);
        await sync();
        issue(600 + minutes);
        expect((await counts()).new).to.equal(1);
        issue(600 + minutes);
        expect((await counts()).new).to.equal(1);
      });
    }

    it('is asked for from now on where an earlier version kept a time to come', async () => {
      await deliver(issue(1));
      await sync();
      await bridge.close();
      const folders = resolveFolders({ home: bridge.home }, {} as never);
      const db = new DatabaseSync(join(folders.state, 'bridge', 'queue.sqlite'));
      db.prepare('UPDATE bridge_catch_ups SET until = ?').run(Date.parse('2099-01-01T00:00:00Z'));
      db.close();
      const base_url = `https://${kind}.test`;
      const forges = { forges: [{ name: 'work', kind, base_url }] };
      bridge = await startBridge({ daemon, forges, home: bridge.home });
      expect((await sinceNow())[0]).to.be.at.most(Date.now());
      issue(600);
      expect((await counts()).new).to.equal(1);
      issue(601);
      expect((await counts()).new).to.equal(1);
    });

    it('is taken up whole where more changed within one second than are listed at once', async () => {
      await deliver(issue(1));
      for (let count = 0; count < 23; count++) issue(100, { title: `Imported ${count}` });
      issue(200, { title: 'Later' });
      daemon.limits = { first: 5, max: 40 };
      expect(await counts()).to.include({ new: 24 });
      expect(await counts()).to.include({ asked: 0 });
    });

    it('stays to be asked for, with a clear refusal, where more changed within one second than can be listed', async () => {
      await deliver(issue(1));
      for (let count = 0; count < 21; count++) issue(100, { title: `Imported ${count}` });
      issue(200, { title: 'Later' });
      daemon.limits = { first: 5, max: 20 };
      const before = await sinceNow();
      const { status, body } = await bridge.post('/v1/sync/forge-to-agent', { owner: 'demo', repo: 'hello' });
      expect([status, (body as Problem).code]).to.deep.equal([422, 'too_many_changes']);
      expect((body as Problem).detail)
        .to.contain('20 issues or more of demo/hello')
        .and.contain(at(100));
      expect(await sinceNow()).to.deep.equal(before);
      const next = new Date(start + 100 * minute + 1_000).toISOString();
      expect((body as Problem).hint).to.contain(`--since ${next}`);
      expect(await counts({ since: next })).to.include({ asked: 1, new: 1 });
    });

    it('is not asked for without end where the answers have none, and stays to be asked for', async () => {
      await deliver(issue(1));
      const before = await sinceNow();
      const { length } = daemon.asked;
      for (const stepMs of [0, 1_000]) {
        daemon.stepMs = stepMs;
        const { status, body } = await bridge.post('/v1/sync/forge-to-agent', {
          owner: 'demo',
          repo: 'hello',
        });
        expect([status, (body as Problem).code]).to.deep.equal([422, 'forge_reply_endless']);
        expect(await sinceNow()).to.deep.equal(before);
      }
      expect(daemon.asked).to.have.length(length + 1 + 1_000);
    });

    it('is reported by the command, which says what it asked and exits 5 while a forge does not answer', async () => {
      const run = async () => {
        const args = ['--disable-warning=ExperimentalWarning', program, '--home', bridge.home, 'sync'];
        const env = { CORE_BRIDGE_URL: bridge.url };
        const { exitCode, stdout, stderr } = await execa(process.execPath, args, { env, reject: false });
        return `${exitCode}\n${stderr}\n${stdout}`;
      };
      expect(await run())
        .to.match(/^0\n/)
        .and.contain('No webhook of a forge ever came');
      await deliver(issue(1));
      issue(2);
      daemon.problem = new Unavailable('forge_unavailable', 'the forge is away');
      expect(await run())
        .to.match(/^5\n/)
        .and.contain('work demo/hello  the forge is away');
      daemon.problem = null;
      expect(await run())
        .to.match(/^0\n/)
        .and.contain('asking work what changed in demo/hello')
        .and.contain('2 issues asked about, 1 new, 1 already known, 0 refused');
      expect(await run()).to.contain(' 0 new,');
    });

    it('is not asked for without a time where nothing ever came', async () => {
      const { status, body } = await bridge.post('/v1/sync/forge-to-agent', { owner: 'demo', repo: 'hello' });
      expect([status, (body as Problem).code]).to.deep.equal([400, 'since_missing']);
      expect((await bridge.get('/v1/sync/repositories')).body as SyncRepositories).to.deep.equal({
        repositories: [],
      });
    });
  });
}
