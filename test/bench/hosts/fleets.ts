import { openPostgres } from '#kit/database/postgres.ts';
import { agentdSchema } from '../../../services/agentd/schema.ts';
import type { PostgresServer } from '../../fixtures/postgres.ts';
import { type Comparison, compare, takeTurns } from '../comparison.ts';

/** Processes that share a database. */
export interface Fleet {
  /** Resolves when all of a round's work is done. */
  work(): Promise<void>;
  end(): void;
}

export interface FleetsOptions {
  /** For example `bridge`; several are named with an s. */
  readonly name: string;
  readonly subject: (fleet: string) => string;
  readonly bar: number;
  /** How many are done in a round, by all of a fleet together. */
  readonly amount: number;
  /** Characters of a row that the yardstick commits. */
  readonly rowLength: number;
  /** So many processes on a database of their own. */
  readonly start: (count: number) => Promise<Fleet>;
}

const commits = 300;
const rounds = 5;

/** What one, two and four processes on one PostgreSQL do, beside single-row commits of one client there. */
export async function besideCommits(server: PostgresServer, options: FleetsOptions): Promise<Comparison[]> {
  const { name, subject, bar, amount, start } = options;
  const database = openPostgres(await server.database(), 'core-bench', { schema: agentdSchema });
  await database.query('CREATE TABLE bare (id bigserial PRIMARY KEY, line text NOT NULL)');
  const line = 'x'.repeat(options.rowLength);
  const fleets = { one: await start(1), two: await start(2), four: await start(4) };
  try {
    const samples = await takeTurns(rounds, {
      bare: () =>
        perSecond(commits, async () => {
          for (let nth = 0; nth < commits; nth++)
            await database.query('INSERT INTO bare (line) VALUES ($1)', [line]);
        }),
      one: () => perSecond(amount, fleets.one.work),
      two: () => perSecond(amount, fleets.two.work),
      four: () => perSecond(amount, fleets.four.work),
    });
    const of = (fleet: string, found: readonly number[]): Comparison =>
      compare(
        {
          subject: subject(fleet),
          yardstick: 'single-row commits of one client there',
          ...{ measure: 'rate', bar },
        },
        found,
        samples.bare,
      );
    return [
      of(`one ${name}`, samples.one),
      of(`two ${name}s`, samples.two),
      of(`four ${name}s`, samples.four),
    ];
  } finally {
    for (const { end } of Object.values(fleets)) end();
    await database.close();
  }
}

async function perSecond(count: number, work: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await work();
  return count / ((performance.now() - started) / 1000);
}
