import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { PostgresSettings } from '#kit/config/storage.ts';
import { openPostgres } from '#kit/postgres/database.ts';
import type { PostgresServer } from '../../fixtures/postgres.ts';
import { type Comparison, compare, takeTurns } from '../comparison.ts';

const program = fileURLToPath(new URL('./bridge-host.ts', import.meta.url));
const commits = 300;
/** Of all bridges together. */
const events = 240;
const rounds = 5;

/** Events that reach several bridges on one PostgreSQL as webhooks, are stored, planned and ended. */
export async function bridgesOnHosts(server: PostgresServer): Promise<Comparison[]> {
  const database = openPostgres(await server.database(), 'core-bench');
  await database.query('CREATE TABLE bare (id bigserial PRIMARY KEY, line text NOT NULL)');
  const line = 'x'.repeat(500);
  const fleets = { one: await fleet(server, 1), two: await fleet(server, 2), four: await fleet(server, 4) };
  try {
    const samples = await takeTurns(rounds, {
      bare: () =>
        perSecond(commits, async () => {
          for (let nth = 0; nth < commits; nth++)
            await database.query('INSERT INTO bare (line) VALUES ($1)', [line]);
        }),
      one: () => perSecond(events, fleets.one.plan),
      two: () => perSecond(events, fleets.two.plan),
      four: () => perSecond(events, fleets.four.plan),
    });
    const of = (bridges: string, bar: number, found: readonly number[]): Comparison =>
      compare(
        {
          subject: `events through ${bridges} and the queue`,
          yardstick: 'single-row commits of one client there',
          ...{ measure: 'rate', bar },
        },
        found,
        samples.bare,
      );
    return [
      of('one bridge', 0.05, samples.one),
      of('two bridges', 0.05, samples.two),
      of('four bridges', 0.05, samples.four),
    ];
  } finally {
    for (const { end } of Object.values(fleets)) end();
    await database.close();
  }
}

interface Fleet {
  /** Resolves when all events are planned. */
  plan(): Promise<void>;
  end(): void;
}

/** So many bridges on a database of their own. */
async function fleet(server: PostgresServer, count: number): Promise<Fleet> {
  const settings = await server.database();
  const bridges: ChildProcess[] = [];
  for (let nth = 0; nth < count; nth++) bridges.push(await bridge(settings, `host-${nth}`));
  return {
    async plan() {
      const done = bridges.map((one) => once(one, 'message'));
      for (const one of bridges) one.send(events / count);
      await Promise.all(done);
    },
    end() {
      for (const one of bridges) one.kill('SIGKILL');
    },
  };
}

async function bridge(settings: PostgresSettings, prefix: string): Promise<ChildProcess> {
  const child = fork(program, [JSON.stringify(settings), prefix], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  await once(child, 'message');
  return child;
}

async function perSecond(count: number, work: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await work();
  return count / ((performance.now() - started) / 1000);
}
