import { setTimeout } from 'node:timers/promises';
import { crashPoint } from '#kit/crash-point.ts';
import { CommitUnknown } from '#kit/database/commit-unknown.ts';
import type { Database } from '#kit/database/database.ts';
import type { FencedLeases } from '#kit/database/fenced-leases.ts';
import { codeOf, messageOf } from '#kit/errors.ts';
import type { Journal } from '../record/single-writer.ts';
import { journaled } from '../store/journaled.ts';
import { fenceRecord, requireLease, standby } from './lease.ts';

interface Waiting {
  /** null: the next one. */
  readonly seq: number | null;
  readonly command: string;
  readonly input: string;
  readonly resolve: (seq: number) => void;
  readonly reject: (error: unknown) => void;
}

interface Row extends Omit<Waiting, 'seq'> {
  readonly seq: number;
}

/** One command of the journal, to be performed again. */
export interface JournalEntry {
  readonly seq: number;
  readonly command: string;
  readonly input: unknown;
}

const maxAtOnce = 500;
const retryMs = 500;

/** Stands in the place of a command that was refused. */
const withdrawn = 'withdrawn';

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
    return this.#add(null, command, JSON.stringify(input));
  }

  async withdraw(seq: number): Promise<void> {
    await this.#add(seq, withdrawn, 'null');
  }

  /** What came after a place, in order. New entries follow both. */
  async entriesAfter(applied: number): Promise<JournalEntry[]> {
    const rows = await this.#database.query<{ seq: string; command: string; input: string }>(
      'SELECT seq, command, input FROM context_journal WHERE seq > $1 ORDER BY seq',
      [applied],
    );
    this.#last = Math.max(applied, Number(rows.at(-1)?.seq ?? 0));
    return rows
      .filter(({ command }) => command !== withdrawn)
      .map(({ seq, command, input }) => ({ seq: Number(seq), command, input: JSON.parse(input) }));
  }

  #add(seq: number | null, command: string, input: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ seq, command, input, resolve, reject });
      this.#writing ??= this.#writeAll().finally(() => {
        this.#writing = null;
      });
    });
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting
        .splice(0, maxAtOnce)
        .map((one) => ({ ...one, seq: one.seq ?? this.#next() }));
      try {
        await this.#write(batch);
        crashPoint('context.journal_written');
        for (const { seq, resolve } of batch) resolve(seq);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
  }

  /** A number that may have been given is not given again. */
  #next(): number {
    this.#last!++;
    return this.#last!;
  }

  /** Goes on, where it may be written or must be, until it is known to be or this process may write no more. */
  async #write(batch: readonly Row[]): Promise<void> {
    let isOpen = batch.some(({ command }) => command === withdrawn);
    for (;;) {
      try {
        requireLease(this.#leases);
        return await this.#commit(batch);
      } catch (error) {
        const isLost = codeOf(error) === 'lease_lost';
        isOpen ||= error instanceof CommitUnknown;
        if (isLost && isOpen)
          throw standby(`it is not known whether this was recorded, ask again: ${messageOf(error)}`);
        if (isLost) throw standby(`nothing was recorded: ${messageOf(error)}`);
        if (!isOpen) throw error;
      }
      await setTimeout(retryMs);
    }
  }

  /** Waits for an earlier attempt that is still under way. */
  #commit(batch: readonly Row[]): Promise<void> {
    return this.#database.transaction(async (sql) => {
      await fenceRecord(this.#leases, sql);
      await sql.query(
        `INSERT INTO context_journal (seq, command, input) SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[])
         ON CONFLICT (seq) DO UPDATE SET command = excluded.command, input = excluded.input`,
        [batch.map(({ seq }) => seq), batch.map(({ command }) => command), batch.map(({ input }) => input)],
      );
    });
  }
}
