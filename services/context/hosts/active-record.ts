import { readPostgresSettings, readS3Settings } from '#kit/config/storage.ts';
import type { HealthCheck } from '#kit/contracts/health.ts';
import { counted } from '#kit/counted.ts';
import { createFencedLeases } from '#kit/database/fenced-leases.ts';
import { openPostgres } from '#kit/database/postgres.ts';
import { environment } from '#kit/environment.ts';
import { CoreError } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import type { Logger } from '#kit/log.ts';
import { openS3 } from '#kit/objects/s3.ts';
import { recordPath } from '../record/connection.ts';
import type { Journal } from '../record/single-writer.ts';
import type { Writer } from '../store/access.ts';
import { BackupRows } from './backup-rows.ts';
import { Backups } from './backups.ts';
import { type ActiveLease, waitForLease } from './lease.ts';
import { type JournalEntry, PostgresJournal } from './postgres-journal.ts';
import { recordFacts } from './record-copy.ts';
import { type Restored, requireOwnRecord, restoreRecord } from './restore-record.ts';

export interface HostsOptions {
  readonly folders: Folders;
  readonly settings: { readonly seconds: number; readonly keep: number };
  readonly logger: Logger;
}

/** One of several hosts whose core-context share a record, of which one at a time is active. */
export interface Hosts {
  /** @returns null where `signal` ends the waiting. @throws Conflict (`context_record_foreign`), Failed */
  becomeActive(
    standing: (reason: CoreError) => Promise<void>,
    signal: AbortSignal,
  ): Promise<ActiveRecord | null>;
  close(): Promise<void>;
}

/** What the active core-context has to do besides, so that another host can go on. */
export interface ActiveRecord {
  readonly journal: Journal;
  readonly backups: Pick<Backups, 'state'>;
  /** Before each answer. @throws Unavailable (`context_standby`) */
  require(): void;
  readonly lost: Promise<Error>;
  /** On the open record, before it is used: what was acknowledged after the backup; and a first backup where there is none. */
  catchUp(writer: Writer): Promise<void>;
  /** Leaves no backup with what was forgotten. */
  forgetInBackups(): Promise<void>;
  health(): HealthCheck;
  /** Before the record is closed. */
  close(): Promise<void>;
}

/** With this many seconds without a backup, health says so. */
const lateSeconds = 300;

/** null where `storage` of core.json names no database, or no bucket: then the record is this host's alone. */
export function openHosts({ folders, settings, logger }: HostsOptions): Hosts {
  const database = openPostgres(readPostgresSettings(folders)!, 'core-context', { pool: 'journal' });
  const store = openS3(readS3Settings(folders)!, environment);
  const leases = createFencedLeases(database);
  const rows = new BackupRows(database, leases);
  const { state } = folders;

  return {
    async becomeActive(standing, signal) {
      const lease = await waitForLease(
        leases,
        async (reason) => {
          await standing(reason);
          await requireOwnRecord(rows, state).catch(unlessAway);
        },
        signal,
      );
      if (lease === null) return null;
      const restored = await restoreRecord({ rows, store, state, logger });
      const [newest] = await rows.list();
      return active(lease, restored, newest?.at ?? null);
    },
    async close() {
      await leases.close();
      await store.close();
      await database.close();
    },
  };

  /** What was refused then, is refused again; what Core does not foresee was acknowledged by nobody, and keeps no host from going on. */
  async function replay(writer: Writer, { seq, command, input }: JournalEntry): Promise<void> {
    try {
      await writer.replay(command, input, seq);
    } catch (error) {
      const isForeseen = error instanceof CoreError;
      if (writer.hasEnded || (isForeseen && error.status >= 500)) throw error;
      if (!isForeseen)
        logger.error(`command ${seq} of the journal cannot be performed and is left out`, { command, error });
    }
  }

  function active(lease: ActiveLease, restored: Restored, at: Date | null): ActiveRecord {
    const path = recordPath(state);
    const journal = new PostgresJournal(database, leases);
    const backups = new Backups({ rows, store, path, settings, logger }, at);
    return {
      journal,
      backups,
      require: () => lease.require(),
      lost: lease.lost,
      async catchUp(writer) {
        const entries = await journal.entriesAfter(recordFacts(path)?.applied ?? 0);
        for (const entry of entries) await replay(writer, entry);
        if (entries.length > 0)
          logger.info(`performs ${counted(entries.length, 'command')} of the journal again`);
        // Who restores the newest backup has the identity that projections were last made of.
        if (restored === 'renewed') await backups.take();
        backups.begin();
      },
      forgetInBackups: () => backups.take(1),
      health() {
        const { at, behindSeconds, problem } = backups.state();
        const when = at === null ? 'no backup yet' : `the last backup is of ${at.toISOString()}`;
        const behind =
          behindSeconds === 0 ? 'and holds all' : `and lacks what came in the last ${behindSeconds} s`;
        const why = problem === null ? '' : `: ${problem}`;
        const status = behindSeconds > lateSeconds ? 'degraded' : 'ok';
        return { status, detail: `active; ${when} ${behind}${why}` };
      },
      close: () => backups.close(),
    };
  }
}

function unlessAway(error: unknown): void {
  if (!(error instanceof CoreError) || error.status !== 503) throw error;
}
