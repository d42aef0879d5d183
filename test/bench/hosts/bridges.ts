import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { PostgresSettings } from '#kit/config/storage.ts';
import type { PostgresServer } from '../../fixtures/postgres.ts';
import type { Comparison } from '../comparison.ts';
import { besideCommits, type Fleet } from './fleets.ts';

const program = fileURLToPath(new URL('./bridge-host.ts', import.meta.url));
/** Of all bridges together. */
const events = 240;

/** Events that reach several bridges on one PostgreSQL as webhooks, are stored, planned and ended. */
export async function bridgesOnHosts(server: PostgresServer): Promise<Comparison[]> {
  return besideCommits(server, {
    name: 'bridge',
    subject: (bridges) => `events through ${bridges} and the queue`,
    bar: 0.05,
    amount: events,
    rowLength: 500,
    start: (count) => fleet(server, count),
  });
}

/** So many bridges on a database of their own. */
async function fleet(server: PostgresServer, count: number): Promise<Fleet> {
  const settings = await server.database();
  const bridges: ChildProcess[] = [];
  for (let nth = 0; nth < count; nth++) bridges.push(await bridge(settings, `host-${nth}`));
  return {
    async work() {
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
