import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Account } from '../../../services/model-gateway/ledger/accounts.ts';
import { ledgerInDatabase } from '../../fixtures/gateway/ledger-stores.ts';
import type { PostgresServer } from '../../fixtures/postgres.ts';
import type { Comparison } from '../comparison.ts';
import { besideCommits, type Fleet } from './fleets.ts';

const program = fileURLToPath(new URL('./budget-gateway.ts', import.meta.url));
/** Of all gateways together. */
const reservations = 2_400;

/** Calls that several gateways on one PostgreSQL reserve and settle, all against the budget of one run and that of the day. */
export async function budgetsOnHosts(server: PostgresServer): Promise<Comparison[]> {
  return besideCommits(server, {
    name: 'gateway',
    subject: (gateways) => `calls reserved and settled by ${gateways}, within one budget`,
    bar: 1,
    amount: reservations,
    rowLength: 200,
    start: (count) => fleet(server, count),
  });
}

/** So many gateways on a database of their own, each in its process. */
async function fleet(server: PostgresServer, count: number): Promise<Fleet> {
  const settings = await server.database();
  const store = ledgerInDatabase(settings);
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
    async work() {
      const done = gateways.map((one) => once(one, 'message'));
      for (const one of gateways) one.send(reservations / count);
      await Promise.all(done);
    },
    end() {
      for (const one of gateways) one.kill('SIGKILL');
    },
  };
}
