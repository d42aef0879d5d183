import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { PostgresSettings } from '#kit/config/storage.ts';
import type { BridgeStorage } from '../../services/bridge/bridge-storage.ts';
import { EventQueue } from '../../services/bridge/queue/event-queue.ts';
import { queueConfig } from '../fixtures/bridge/queue-config.ts';
import { storageIn } from '../fixtures/bridge/storage-place.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { describeWith } from '../needs.ts';
import type { ToParent } from './bridge.messages.ts';

const program = fileURLToPath(new URL('./bridge.processor.ts', import.meta.url));

/** Lease of the claims of a bridge that is killed, in milliseconds. */
const leaseMs = 1_000;

/** A hundred processes compile the same modules. */
const compiled = temporaryFolder();

/** What is on the other side of the bridge, and outlives it: one run for each event. */
class World {
  readonly runs = new Map<string, string>();
  readonly accepted = new Set<string>();
  readonly taken: string[] = [];
  readonly state = temporaryFolder();
  readonly postgres: PostgresSettings | null;

  constructor(postgres: PostgresSettings | null) {
    this.postgres = postgres;
  }

  open(): BridgeStorage {
    return storageIn(this.postgres ?? this.state);
  }

  /**
   * Runs the bridge until it ends.
   * @param stop whether it is killed now, asked after each thing that it says and was answered
   * @returns all that it said
   */
  async run(
    {
      mode = 'process',
      ids = [],
      crashAt = '',
    }: { mode?: string; ids?: readonly string[]; crashAt?: string },
    stop: (said: readonly ToParent[]) => boolean,
  ): Promise<readonly ToParent[]> {
    const child = fork(program, [this.state, JSON.stringify(this.postgres), mode, ...ids], {
      execArgv: ['--disable-warning=ExperimentalWarning'],
      env: { ...process.env, CORE_CRASH_AT: crashAt, NODE_COMPILE_CACHE: compiled },
    });
    const said: ToParent[] = [];
    const ended = once(child, 'exit');
    child.on('message', (message: ToParent) => {
      said.push(message);
      this.#answer(child, message);
      if (stop(said)) child.kill('SIGKILL');
    });
    const [code, signal] = await ended;
    expect([code, signal]).to.deep.equal([null, 'SIGKILL']);
    return said;
  }

  #answer(child: ChildProcess, { accepted, plan, delivered }: ToParent): void {
    const send = (message: object) => void child.send(message, () => {});
    if (accepted !== undefined) this.accepted.add(accepted);
    if (plan !== undefined) {
      if (!this.runs.has(plan)) this.runs.set(plan, `run_${this.runs.size + 1}`);
      send({ for: plan, run_id: this.runs.get(plan) });
    }
    if (delivered !== undefined) {
      this.taken.push(delivered);
      send({ for: delivered, run_id: '' });
    }
  }

  /** A schedule was never looked at. */
  async isDue(name: string): Promise<void> {
    const storage = this.open();
    await storage.schedules.begin([name]);
    await storage.schedules.alone(name, (held) => held.passed(0));
    await storage.close();
  }

  /** Every event that was ever answered for is planned, by the one run that it has. */
  async expectNothingLost(): Promise<void> {
    const storage = this.open();
    const queue = new EventQueue(storage, queueConfig);
    for (const id of this.accepted)
      expect(await queue.get(id)).to.deep.include({ state: 'done', run_id: this.runs.get(id), attempts: 0 });
    const { done, ...others } = await queue.counts();
    expect(others).to.deep.equal({ pending: 0, processing: 0, skipped: 0, dead: 0 });
    expect(this.runs.size).to.equal(done);
    await storage.close();
  }
}

const never = () => false;
const atRest = (said: readonly ToParent[]) => said.at(-1)?.left === 0;

function crashes(makeWorld: () => Promise<World>): void {
  for (const point of ['event_stored', 'event_claimed', 'event_planned', 'event_ended']) {
    it(`has every event planned once after a kill at bridge.${point}`, async () => {
      const world = await makeWorld();
      const ids = ['a', 'b', 'c'];
      await world.run({ ids, crashAt: `bridge.${point}` }, never);
      const unanswered = ids.filter((id) => !world.accepted.has(id));
      await world.run({ ids: unanswered }, (said) => world.accepted.size === 3 && atRest(said));
      expect([...world.accepted].sort()).to.deep.equal(ids);
      await world.expectNothingLost();
    });
  }

  it('loses nothing and plans nothing twice in 100 rounds', async () => {
    const world = await makeWorld();
    const sent: string[] = [];
    for (let round = 0; round < 100; round++) {
      const fresh = [`${round}-a`, `${round}-b`];
      sent.push(...fresh);
      const unanswered = sent.filter((id) => !world.accepted.has(id));
      const patience = 1 + ((round * 7) % 9);
      await world.run({ ids: unanswered }, (said) => said.length >= patience);
    }
    const unanswered = sent.filter((id) => !world.accepted.has(id));
    await world.run({ ids: unanswered }, (said) => world.accepted.size === sent.length && atRest(said));
    expect(world.accepted.size).to.equal(200);
    await world.expectNothingLost();
  });

  it('sends a dashboard again, under the same key, what it may not have received', async () => {
    const world = await makeWorld();
    const ids = ['run_1', 'run_2'];
    await world.run({ mode: 'sync', ids, crashAt: 'bridge.summary_delivered' }, never);
    await setTimeout(leaseMs + 200);
    expect(world.taken).to.deep.equal(['board/run_1/completed']);
    await world.run({ mode: 'sync', ids }, atRest);
    await world.run({ mode: 'sync', ids }, atRest);
    expect(world.taken).to.deep.equal([
      'board/run_1/completed',
      'board/run_1/completed',
      'board/run_2/completed',
    ]);
  });

  it('finds the events of a schedule that it had made, and makes none twice', async () => {
    const world = await makeWorld();
    const ids = ['1', '2'];
    await world.isDue('always');
    await world.run({ mode: 'tick', ids, crashAt: 'bridge.schedule_stored' }, never);
    await setTimeout(leaseMs + 200);
    const said = await world.run({ mode: 'tick', ids }, ({ length }) => length > 0);
    expect(said).to.deep.equal([{ left: 2, due: 1, events: 0 }]);
  });

  it('knows what it took up from a forge, and makes none of it twice', async () => {
    const world = await makeWorld();
    const ids = ['1', '2', '3'];
    await world.run({ mode: 'catch-up', ids, crashAt: 'bridge.caught_up' }, never);
    const said = await world.run({ mode: 'catch-up', ids }, ({ length }) => length > 0);
    expect(said).to.deep.equal([{ left: 3, events: 0, known: 3 }]);
  });
}

describeWith(['time'], 'core-bridge that is killed', function () {
  this.timeout(600_000);
  crashes(async () => new World(null));
});

describeWith(['time', 'postgres'], 'core-bridge that is killed, with its queue in PostgreSQL', function () {
  this.timeout(1_800_000);
  let server: PostgresServer;

  before(async () => {
    server = await startPostgres();
  });
  after(() => server.stop());

  crashes(async () => {
    return new World(await server.database());
  });
});
