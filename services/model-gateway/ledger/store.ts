import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import { guarded } from '#kit/callbacks.ts';
import { readPostgresSettings } from '#kit/config/storage.ts';
import type { UsageLine } from '#kit/contracts/model-gateway/usage.ts';
import type { Database } from '#kit/database/database.ts';
import { databaseFile, openDatabase } from '#kit/database/open-database.ts';
import type { CoreError } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { momentIn } from '#kit/moment.ts';
import { type FolderHold, holdFolder } from '#kit/storage/lock.ts';
import { gatewaySchema } from '../schema.ts';
import { CallWriter } from './call-writer.ts';
import {
  type CallEnd,
  forgetOld,
  type NewCall,
  type OpenCall,
  type UsageQuestion,
  usage,
} from './ledger-rows.ts';
import type { Money } from './money.ts';
import { notRecorded } from './not-recorded.ts';
import { Presence, type PresenceOptions } from './presence.ts';
import { knownMs, RunKeys } from './run-keys.ts';

export interface OpenedCall {
  /** Whether there is a budget that its account must keep within. */
  readonly bounded: boolean;
  /**
   * Before each attempt. Sets more aside, up to this in all.
   * @throws Unauthorized (`token_invalid`) where its key has ended meanwhile, BudgetExceeded, Unavailable
   */
  check(reserved: Money): Promise<void>;
  /** Puts the cost in the place of what was set aside; once. It is written as soon as it can be, and tried again until then. */
  end(end: CallEnd): void;
}

/** Milliseconds for which single calls are kept; their sums are kept permanently. */
const keptMs = 90 * 86_400_000;
const tidyMs = 10_000;

/** Takes the ledger of a state folder for this process. @throws Conflict (`ledger_held`) */
export function holdLedger(folders: Pick<Folders, 'state'>): FolderHold {
  const folder = dirname(databaseFile(folders, gatewaySchema));
  return holdFolder(folder, { code: 'ledger_held', name: 'the ledger' });
}

/**
 * A file has one gateway: this counts what an earlier one left in progress at what was reserved. On PostgreSQL nothing is asked yet, so
 * that a gateway starts without its database, and refuses calls until the database answers.
 * @param now milliseconds since 1970, for a file; default the clock
 * @throws Conflict (`ledger_held`), Failed (`ledger_damaged`, `ledger_newer`), DatabaseDiskFull
 */
export async function openLedgerStore(
  folders: Pick<Folders, 'config' | 'state'>,
  now?: () => number,
): Promise<LedgerStore> {
  const tables = { application: 'core-model-gateway', pool: 'ledger', ...(now === undefined ? {} : { now }) };
  if (readPostgresSettings(folders) !== null)
    return new LedgerStore(await openDatabase(folders, gatewaySchema, tables));
  const hold = holdLedger(folders);
  const store = new LedgerStore(await openDatabase(folders, gatewaySchema, tables), { hold });
  try {
    await store.settleGone();
    return store;
  } catch (error) {
    await store.close().catch(() => {});
    throw error;
  }
}

/** Keeps calls, balances of budgets, and keys of runs. All gateways on a database share them: each budget binds across them. */
export class LedgerStore {
  readonly keys: RunKeys;
  readonly #database: Database;
  readonly #hold: FolderHold | undefined;
  readonly #presence: Presence;
  readonly #calls: CallWriter;
  readonly #timer: NodeJS.Timeout;

  /** @param options `hold`: of the folder of a file, released at the end */
  constructor(
    database: Database,
    { hold, ...presence }: PresenceOptions & { readonly hold?: FolderHold } = {},
  ) {
    this.#database = database;
    this.#hold = hold;
    this.#presence = new Presence(database, presence);
    this.#calls = new CallWriter(database, this.#presence);
    this.keys = new RunKeys(database, () => this.#calls.flush());
    this.#timer = setInterval(
      guarded('the ledger', () => this.#tidy()),
      tidyMs,
    ).unref();
  }

  /** Number of calls of gateways that ended which this one counted at what was reserved. */
  get cutOff(): number {
    return this.#presence.cutOff;
  }

  settleGone(): Promise<void> {
    return this.#presence.settleGone();
  }

  /**
   * The call is on record, and set aside from every budget that binds it, when this resolves.
   * @throws Unauthorized (`token_invalid`) where the key has ended, BudgetExceeded, Unavailable when it cannot be recorded
   */
  async open(asked: NewCall): Promise<OpenedCall> {
    const call: OpenCall = { ...asked, id: randomUUID() };
    const { day, bounded } = await this.#calls.open(call);
    let { reserved } = call;
    let known = momentIn(knownMs);
    return {
      bounded,
      check: async (needed) => {
        if (needed > reserved) {
          await this.#calls.raise({ call, day, reserved: needed });
          reserved = needed;
          known = momentIn(knownMs);
        } else if (call.account.run !== null) known = await this.keys.check(call.account, known);
      },
      end: (end) => this.#calls.end({ ...end, id: call.id, run: call.account.run, day }),
    };
  }

  /** Sets what the calls of a day may cost together from now on; null is no limit. */
  limitDay(budget: Money | null): void {
    this.#calls.limitDay(budget);
  }

  /** Of calls that ended. Most expensive first; days newest first. @throws Unavailable */
  async usage(question: UsageQuestion): Promise<readonly UsageLine[]> {
    try {
      await this.#calls.flush();
    } catch (error) {
      throw notRecorded(error, 'usage cannot be reported before calls that ended are on record');
    }
    return usage(this.#database, question);
  }

  /** The reason that no call can be put on record now; null where one can. */
  async problem(): Promise<CoreError | null> {
    if (this.#calls.problem !== null) return this.#calls.problem;
    try {
      await this.#database.query('SELECT 1 FROM gateway_balances LIMIT 1');
      return null;
    } catch (error) {
      return notRecorded(error, 'calls cannot be put on record, so none is made');
    }
  }

  /** Records what is left to record. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    try {
      await this.#calls.flush();
    } finally {
      this.#calls.close();
      await this.#presence.close().finally(async () => {
        await this.#database.close();
        this.#hold?.release();
      });
    }
  }

  #tidy(): void {
    this.keys.forgetKnown();
    if (this.#calls.problem !== null) return;
    // The next turn tries again.
    this.#database.transaction((sql) => forgetOld(sql, keptMs)).catch(() => {});
  }
}
