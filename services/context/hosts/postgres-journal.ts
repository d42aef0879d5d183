import { crashPoint } from '#kit/crash-point.ts';
import { CoreError, codeOf } from '#kit/errors.ts';
import type { Database } from '#kit/postgres/database.ts';
import type { FencedLeases } from '#kit/postgres/leases.ts';
import type { Journal } from '../record/single-writer.ts';
import { journaled } from '../store/journaled.ts';
import { leaseName, standby } from './lease.ts';

interface Waiting {
  readonly command: string;
  readonly input: string;
  readonly resolve: (seq: number) => void;
  readonly reject: (error: unknown) => void;
}

/** One command of the journal, to be performed again. */
export interface JournalEntry {
  readonly seq: number;
  readonly command: string;
  readonly input: unknown;
}

const maxAtOnce = 500;

/** The journal in PostgreSQL. Whoever lost the lease can add nothing; commands that wait together share a transaction. */
export class PostgresJournal implements Journal {
  readonly #database: Database;
  readonly #leases: FencedLeases;
  #waiting: Waiting[] = [];
  #writing: Promise<void> | null = null;
  #last: number | null = null;

  constructor(database: Database, leases: FencedLeases) {
    this.#database = database;
    this.#leases = leases;
  }

  keeps(command: string): boolean {
    return (journaled as Readonly<Record<string, boolean>>)[command] === true;
  }

  append(command: string, input: unknown): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ command, input: JSON.stringify(input), resolve, reject });
      this.#writing ??= this.#writeAll().finally(() => {
        this.#writing = null;
      });
    });
  }

  /** What came after a place, in order. New entries follow both. */
  async entriesAfter(applied: number): Promise<JournalEntry[]> {
    const rows = await this.#database.query<{ seq: string; command: string; input: string }>(
      'SELECT seq, command, input FROM context_journal WHERE seq > $1 ORDER BY seq',
      [applied],
    );
    this.#last = Math.max(applied, Number(rows.at(-1)?.seq ?? 0));
    return rows.map(({ seq, command, input }) => ({ seq: Number(seq), command, input: JSON.parse(input) }));
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, maxAtOnce);
      const first = this.#last! + 1;
      // A number that may have been given is not given again.
      this.#last = first + batch.length - 1;
      try {
        await this.#write(batch, first);
        crashPoint('context.journal_written');
        for (const [index, { resolve }] of batch.entries()) resolve(first + index);
      } catch (error) {
        const explained = refusal(error);
        for (const { reject } of batch) reject(explained);
      }
    }
  }

  #write(batch: readonly Waiting[], first: number): Promise<void> {
    return this.#database.transaction(async (sql) => {
      await this.#leases.fence(sql, leaseName);
      await sql.query(
        'INSERT INTO context_journal (seq, command, input) SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[])',
        [
          batch.map((_, index) => first + index),
          batch.map(({ command }) => command),
          batch.map(({ input }) => input),
        ],
      );
    });
  }
}

function refusal(error: unknown): unknown {
  if (error instanceof CoreError && codeOf(error) === 'lease_lost')
    return standby(`nothing was recorded: ${error.message}`);
  return error;
}
