import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { openPostgres } from '#kit/postgres/database.ts';
import type { Account } from '../../../services/model-gateway/ledger/accounts.ts';
import { openPostgresStore } from '../../../services/model-gateway/ledger/postgres/store.ts';
import type { PostgresServer } from '../../fixtures/postgres.ts';
import { type Comparison, compare, takeTurns } from '../comparison.ts';

const program = fileURLToPath(new URL('./budget-gateway.ts', import.meta.url));
const commits = 300;
/** Of all gateways together. */
const reservations = 2_400;
const rounds = 5;

/** Calls that several gateways on one PostgreSQL reserve and settle, all against the budget of one run and that of the day. */
export async function budgetsOnHosts(server: PostgresServer): Promise<Comparison[]> {
  const database = openPostgres(await server.database(), 'core-bench');
  await database.query('CREATE TABLE bare (id bigserial PRIMARY KEY, line text NOT NULL)');
  const line = 'x'.repeat(200);
  const fleets = { one: await fleet(server, 1), two: await fleet(server, 2), four: await fleet(server, 4) };
  try {
    const samples = await takeTurns(rounds, {
      bare: () =>
        perSecond(commits, async () => {
          for (let nth = 0; nth < commits; nth++)
            await database.query('INSERT INTO bare (line) VALUES ($1)', [line]);
        }),
      one: () => perSecond(reservations, fleets.one.spend),
      two: () => perSecond(reservations, fleets.two.spend),
      four: () => perSecond(reservations, fleets.four.spend),
    });
    const of = (gateways: string, found: readonly number[]): Comparison =>
      compare(
        {
          subject: `calls reserved and settled by ${gateways}, within one budget`,
          yardstick: 'single-row commits of one client there',
          ...{ measure: 'rate', bar: 1 },
        },
        found,
        samples.bare,
      );
    return [
      of('one gateway', samples.one),
      of('two gateways', samples.two),
      of('four gateways', samples.four),
    ];
  } finally {
    for (const { end } of Object.values(fleets)) end();
    await database.close();
  }
}

interface Fleet {
  /** Resolves when the ends of all calls are on record. */
  spend(): Promise<void>;
  end(): void;
}

/** So many gateways on a database of their own, each in its process. */
async function fleet(server: PostgresServer, count: number): Promise<Fleet> {
  const settings = await server.database();
  const store = openPostgresStore(settings);
  const { keys } = store;
  const expires_at = new Date(Date.now() + 12 * 3_600_000).toISOString();
  const { key } = await keys.mint({ run: 'run_1', models: null, budget: 1_000_000, expires_at });
  await keys.lookUp(key);
  const account: Account = keys.find(key)!;
  await store.close();
  const gateways: ChildProcess[] = [];
  for (let nth = 0; nth < count; nth++) {
    const child = fork(program, [JSON.stringify({ settings, account })], {
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });
    await once(child, 'message');
    gateways.push(child);
  }
  return {
    async spend() {
      const done = gateways.map((one) => once(one, 'message'));
      for (const one of gateways) one.send(reservations / count);
      await Promise.all(done);
    },
    end() {
      for (const one of gateways) one.kill('SIGKILL');
    },
  };
}

async function perSecond(count: number, work: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await work();
  return count / ((performance.now() - started) / 1000);
}
