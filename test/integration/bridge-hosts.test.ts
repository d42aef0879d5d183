import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { PostgresSettings } from '#kit/config/storage.ts';
import { openPostgres } from '#kit/database/postgres.ts';
import type { BridgeStorage } from '../../services/bridge/bridge-storage.ts';
import { EventQueue } from '../../services/bridge/queue/event-queue.ts';
import { failure as codeOfFailure, eventOf } from '../contract/bridge-queue.contract.ts';
import { type RunningBridge, startBridge } from '../fixtures/bridge/bridge-service.ts';
import { queueConfig } from '../fixtures/bridge/queue-config.ts';
import { databaseIn, storageIn } from '../fixtures/bridge/storage-place.ts';
import { toyPlanning } from '../fixtures/bridge/toy-planning.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { until } from '../fixtures/until.ts';
import { describeWith } from '../needs.ts';
import type { ToParent } from './bridge.messages.ts';

const program = fileURLToPath(new URL('./bridge.processor.ts', import.meta.url));

interface Host {
  readonly storage: BridgeStorage;
  readonly queue: EventQueue;
}

function contract(name: string, makePlace: () => Promise<string | PostgresSettings>): void {
  describe(`bridges on one ${name}`, () => {
    let place: string | PostgresSettings;
    let hosts: Host[];
    let children: ChildProcess[];

    beforeEach(async () => {
      place = await makePlace();
      hosts = [];
      children = [];
    });
    afterEach(async () => {
      for (const child of children) child.kill('SIGKILL');
      await Promise.all(hosts.map(({ storage }) => storage.close()));
    });

    function host(leaseMs = 30_000): Host {
      const storage = storageIn(place, { leaseMs });
      const made = { storage, queue: new EventQueue(storage, queueConfig) };
      hosts.push(made);
      return made;
    }

    /** A bridge that is a process of its own, whose clock is off by so many minutes on a host of its own; its claims last a second. */
    function child(
      [mode, ...ids]: readonly string[],
      minutesOff: number,
      heard: (message: ToParent) => void,
    ): ChildProcess {
      const off = typeof place === 'string' ? 0 : minutesOff * 60_000;
      const clock = `const now = Date.now; Date.now = () => now() + ${off};`;
      const where = typeof place === 'string' ? [place, 'null'] : [temporaryFolder(), JSON.stringify(place)];
      const started = fork(program, [...where, mode!, ...ids], {
        execArgv: [
          '--disable-warning=ExperimentalWarning',
          '--import',
          `data:text/javascript,${encodeURIComponent(clock)}`,
        ],
      });
      children.push(started);
      started.on('message', heard);
      return started;
    }

    it('store what arrives at all of them at once as one event each', async () => {
      const all = [host(), host(), host()];
      const accepted = await Promise.all(
        all.flatMap(({ queue }) => Array.from({ length: 100 }, (_, nth) => queue.accept(eventOf(nth)))),
      );
      expect(accepted.filter(({ duplicate }) => !duplicate)).to.have.length(100);
      expect(await all[0]!.queue.counts()).to.include({ pending: 100 });
    });

    it('plan an issue once where several of them get what says the same of it', async () => {
      const all = [host(), host(), host()];
      for (let issue = 1; issue <= 20; issue++) {
        const sent = all.map(({ queue }, nth) =>
          queue.accept(
            eventOf(issue, {
              ...{ event_id: `${issue}-${nth}`, body_sha256: `${issue}-${nth}`, source: 'github' },
              issue_sha256: 'same',
            }),
          ),
        );
        const states = (await Promise.all(sent)).map(({ event }) => event.reason?.code ?? event.state);
        expect(states.sort()).to.deep.equal(['pending', 'same_content', 'same_content']);
      }
    });

    it('give each event to one of many takers, one of an issue at a time, in their order', async () => {
      const all = [host(), host(), host(), host()];
      const count = 200;
      const events = Array.from({ length: count }, (_, nth) =>
        eventOf(nth % 20, { event_id: `e${nth}`, body_sha256: `${nth}` }),
      );
      for (const event of events) await all[0]!.queue.accept(event);
      const taken: string[] = [];
      const busy = new Set<number>();
      const order = new Map<number, number[]>();
      async function takeAll({ queue }: Host): Promise<void> {
        while (taken.length < count) {
          const claim = await queue.claim(60_000);
          if (claim === null) continue;
          const { number } = claim.event.target!;
          expect(busy.has(number!), `issue ${number} twice at once`).to.equal(false);
          busy.add(number!);
          taken.push(claim.event.event_id);
          order.set(number!, [...(order.get(number!) ?? []), claim.seq]);
          await new Promise(setImmediate);
          busy.delete(number!);
          expect(await queue.done(claim, `run_${claim.seq}`)).to.equal(true);
        }
      }
      await Promise.all([...all, ...all].map(takeAll));
      expect(new Set(taken).size).to.equal(count);
      for (const seqs of order.values()) expect(seqs).to.deep.equal([...seqs].sort((a, b) => a - b));
      expect(await all[0]!.queue.counts()).to.include({ done: count, pending: 0, processing: 0 });
    });

    it('hold what they plan for as long as they live, and leave it to others soon after', async () => {
      const [one, two] = [host(900), host(900)];
      await one.queue.accept(eventOf(1));
      const claim = (await one.queue.claim(60_000))!;
      const end = performance.now() + 2_700;
      while (performance.now() < end) expect(await two.queue.claim(60_000)).to.equal(null);
      expect(await one.queue.done(claim, 'run_1')).to.equal(true);
      await one.queue.accept(eventOf(2));
      const left = (await one.queue.claim(60_000))!;
      await one.storage.close();
      hosts.splice(hosts.indexOf(one), 1);
      const again = await until('the event', () => two.queue.claim(60_000));
      expect([again.seq, again.event.attempts]).to.deep.equal([left.seq, 0]);
      expect(again.token).to.not.equal(left.token);
    });

    it('that were paused past their claim end nothing: not with a plan, and not with a failure', async () => {
      const heard: ToParent[] = [];
      const paused = child(['process', 'a'], 0, (message) => heard.push(message));
      await until('the planning', () => heard.some(({ plan }) => plan === 'a'));
      paused.kill('SIGSTOP');
      const { queue } = host();
      const claim = await until('the claim', () => queue.claim(60_000));
      paused.send({ for: 'a', run_id: 'run_of_the_paused' });
      paused.kill('SIGCONT');
      await until('its end', () => heard.some(({ ended }) => ended === 'a'));
      expect(await queue.get('a')).to.deep.include({ state: 'processing', run_id: null, attempts: 0 });
      expect(await queue.done(claim, 'run_of_the_other')).to.equal(true);
      expect(await queue.get('a')).to.include({ state: 'done', run_id: 'run_of_the_other' });
    });

    it('that are killed leave their events to the others, which plan them', async () => {
      const runs = new Map<string, string>();
      const heard: ToParent[] = [];
      const answering = (to: () => ChildProcess) => (message: ToParent) => {
        heard.push(message);
        const { plan } = message;
        if (plan === undefined) return;
        if (!runs.has(plan)) runs.set(plan, `run_${runs.size + 1}`);
        to().send({ for: plan, run_id: runs.get(plan) }, () => {});
      };
      const ids = Array.from({ length: 10 }, (_, nth) => `e${nth}`);
      const first = child(['process', ...ids], 0, (message) => heard.push(message));
      await until('all events', () => heard.filter(({ accepted }) => accepted !== undefined).length === 10);
      await until('the planning', () => heard.some(({ plan }) => plan !== undefined));
      first.kill('SIGKILL');
      const second: ChildProcess = child(
        ['process'],
        5,
        answering(() => second),
      );
      const { queue } = host();
      await until('the end', async () => (await queue.counts()).done === 10);
      for (const id of ids) expect(await queue.get(id)).to.include({ run_id: runs.get(id), attempts: 0 });
    });

    it('have one tick of a schedule over all of them, also where their clocks are five minutes off', async () => {
      const { storage, queue } = host();
      await storage.schedules.begin(['always']);
      for (let round = 0; round < 5; round++) {
        await storage.schedules.alone('always', (held) => held.passed(held.now - 120_000));
        const said = await Promise.all(
          [-5, 0, 5].map(async (minutes) => {
            const heard: ToParent[] = [];
            const ticking = child(['tick', `${round}`], minutes, (message) => heard.push(message));
            await until('the tick', () => heard.length > 0);
            ticking.kill('SIGKILL');
            return heard[0]!;
          }),
        );
        expect(said.map(({ due }) => due).sort()).to.deep.equal([0, 0, 1]);
        const { rows, now } = await storage.schedules.read();
        expect(now - rows.get('always')!.evaluated_until).to.be.within(-100, 60_000);
      }
      // The issue is the same one each time.
      expect(await queue.counts()).to.include({ pending: 1 });
    });

    it('do not evaluate a schedule that another one holds, nor write what they found after they lost it', async () => {
      const [one, two] = [host(600), host(600)];
      await one.storage.schedules.begin(['nightly']);
      const before = (await one.storage.schedules.read()).rows.get('nightly')!;
      const wrote = await one.storage.schedules.alone('nightly', async (held) => {
        expect(await two.storage.schedules.alone('nightly', async () => expect.fail('held'))).to.equal(false);
        const database = databaseIn(place);
        await database.write("UPDATE bridge_schedules SET claim = 'of another' WHERE name = 'nightly'");
        await database.close();
        await held.passed(held.now + 1_000_000);
        expect.fail('it was lost');
      });
      expect(wrote).to.equal(false);
      expect((await one.storage.schedules.read()).rows.get('nightly')).to.deep.equal(before);
    });
  });
}

contract('file', async () => temporaryFolder());

describeWith(['postgres'], 'bridges of several hosts on one database', () => {
  let server: PostgresServer;
  let settings: PostgresSettings;
  let hosts: Host[];
  let bridges: RunningBridge[];

  before(async () => {
    server = await startPostgres();
  });
  after(() => server.stop());

  contract('database', () => server.database());

  beforeEach(async () => {
    settings = await server.database();
    hosts = [];
    bridges = [];
  });
  afterEach(async () => {
    await Promise.all(bridges.map((bridge) => bridge.close()));
    await Promise.all(hosts.map(({ storage }) => storage.close()));
  });

  function host(leaseMs = 30_000): Host {
    const storage = storageIn(settings, { leaseMs });
    const made = { storage, queue: new EventQueue(storage, queueConfig) };
    hosts.push(made);
    return made;
  }

  it('go on after the database lost their connections, and after it was killed and came back', async () => {
    const all = [host(2_000), host(2_000)];
    const stored = new Map<string, number>();
    const planned = new Map<string, string[]>();
    let over = false;
    let nth = 0;
    const accepting = all.map(async ({ queue }) => {
      while (!over) {
        const id = `e${nth++}`;
        const event = eventOf(1_000 + nth, { event_id: id, body_sha256: id });
        // The sender sends again what was not acknowledged.
        while ((await codeOfFailure(() => queue.accept(event))) !== 'none')
          await new Promise((resolve) => setTimeout(resolve, 50));
        stored.set(id, 1);
      }
    });
    const processing = [...all, ...all].map(async ({ queue }) => {
      for (;;) {
        try {
          const claim = await queue.claim(60_000);
          if (claim === null) {
            if (over && (await queue.counts()).pending + (await queue.counts()).processing === 0) return;
            await new Promise((resolve) => setTimeout(resolve, 20));
            continue;
          }
          const id = claim.event.event_id;
          if (await queue.done(claim, `run_${id}`)) planned.set(id, [...(planned.get(id) ?? []), 'done']);
        } catch {
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
      }
    });
    for (let round = 0; round < 5; round++) {
      const soFar = stored.size;
      await until('some events', () => stored.size >= soFar + 20);
      if (process.env.CORE_TEST_POSTGRES_URL === undefined && round % 2 === 1) {
        await server.crash();
        await server.restart();
      } else
        await server.ask(
          settings,
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'core-bridge'",
        );
    }
    over = true;
    await Promise.all([...accepting, ...processing]);
    const { queue } = all[0]!;
    expect(await queue.counts()).to.deep.equal({
      ...{ pending: 0, processing: 0, skipped: 0, dead: 0 },
      done: stored.size,
    });
    for (const [id, ends] of planned) expect(ends, id).to.deep.equal(['done']);
  });

  it('answer webhooks that reach two of them at once with one event, which is planned once', async () => {
    const planning = toyPlanning();
    const config = { processing: { automatic: true } };
    for (let nth = 0; nth < 2; nth++)
      bridges.push(await startBridge({ planning, config, postgres: settings }));
    const body = (nth: number) => ({
      ...{ event_id: `task-${nth}`, kind: 'issue.status_changed', occurred_at: '2026-01-01T00:00:00Z' },
      issue: {
        ...{ id: `T-${nth}`, title: 'Greeting is wrong', status: 'todo' },
        forge: { owner: 'demo', repo: 'hello', number: nth + 1, name: 'local' },
      },
      actor: 'mira',
    });
    for (let nth = 0; nth < 20; nth++) {
      const answers = await Promise.all(
        bridges.map((bridge) => bridge.post('/v1/ingress/dashboard-issue', body(nth))),
      );
      expect(answers.map(({ status }) => status)).to.deep.equal([202, 202]);
      const duplicates = answers.map(({ body: reply }) => (reply as { duplicate: boolean }).duplicate);
      expect(duplicates.sort()).to.deep.equal([false, true]);
    }
    const { queue } = host();
    await until('all plans', async () => (await queue.counts()).done === 20);
    expect(planning.calls.map(({ event_id }) => event_id).sort()).to.deep.equal(
      Array.from({ length: 20 }, (_, nth) => `task-${nth}`).sort(),
    );
  });

  it('answer a webhook in time while the database hangs, and say so in their health', async () => {
    const bridge = await startBridge({ postgres: settings });
    bridges.push(bridge);
    const event = (id: string) => ({
      ...{ event_id: id, kind: 'issue.created', occurred_at: '2026-01-01T00:00:00Z', actor: 'mira' },
      issue: {
        ...{ id: 'T-1', title: 'Greeting is wrong', status: 'todo' },
        forge: { owner: 'demo', repo: 'hello', number: 1, name: 'local' },
      },
    });
    const post = (id: string) => bridge.post('/v1/ingress/dashboard-issue', event(id));
    expect((await post('one')).status).to.equal(202);
    const other = openPostgres(settings, 'core-test');
    const locked = Promise.withResolvers<void>();
    const free = Promise.withResolvers<void>();
    const holding = other.transaction(async (sql) => {
      await sql.query('LOCK TABLE bridge_events IN ACCESS EXCLUSIVE MODE');
      locked.resolve();
      await free.promise;
    });
    await locked.promise;
    const late = await post('two');
    expect(late.status).to.equal(503);
    expect((late.body as { code: string }).code).to.equal('database_unavailable');
    const asked = performance.now();
    const busy = await bridge.get('/healthz');
    expect(`${busy.status} ${JSON.stringify(busy.body)}`).to.match(/^200 .*no answer yet/);
    await until('its health to fail', async () => (await bridge.get('/healthz')).status === 503);
    expect(performance.now() - asked).to.be.greaterThan(9_000);
    expect(JSON.stringify((await bridge.get('/healthz')).body)).to.contain('did not answer within 10 s');
    free.resolve();
    await holding;
    await other.close();
    expect((await post('two')).status).to.equal(202);
    await until('its health', async () => (await bridge.get('/healthz')).status === 200);
  });
});
