import { randomUUID } from 'node:crypto';
import { guarded } from '#kit/callbacks.ts';
import type { PostgresSettings } from '#kit/config/storage.ts';
import type { UsageLine } from '#kit/contracts/model-gateway/usage.ts';
import type { Database } from '#kit/database/database.ts';
import { openPostgres } from '#kit/database/postgres.ts';
import type { CoreError } from '#kit/errors.ts';
import { momentIn } from '#kit/moment.ts';
import type { Money } from '../money.ts';
import type { LedgerStore, NewCall, OpenedCall, UsageQuestion } from '../store.ts';
import { CallWriter } from './call-writer.ts';
import { notRecorded } from './not-recorded.ts';
import { Presence, type PresenceOptions } from './presence.ts';
import { knownMs, PostgresRunKeys } from './run-keys.ts';
import { forgetOld, type OpenCall, usage } from './statements.ts';

/** Days for which single calls are kept; what they came to is kept for good. */
const keptDays = 90;
const tidyMs = 10_000;

/** Connects with the first question: a gateway starts without its database, and refuses calls until it is there. */
export function openPostgresStore(settings: PostgresSettings, options: PresenceOptions = {}): PostgresStore {
  return new PostgresStore(openPostgres(settings, 'core-model-gateway', { pool: 'ledger' }), options);
}

/** A ledger in PostgreSQL, which all gateways on the database share: each budget binds across them. Time and day are the server's. */
export class PostgresStore implements LedgerStore {
  readonly keys: PostgresRunKeys;
  readonly #database: Database;
  readonly #presence: Presence;
  readonly #calls: CallWriter;
  readonly #timer: NodeJS.Timeout;

  constructor(database: Database, options: PresenceOptions) {
    this.#database = database;
    this.#presence = new Presence(database, options);
    this.#calls = new CallWriter(database, this.#presence);
    this.keys = new PostgresRunKeys(database, () => this.#calls.flush());
    this.#timer = setInterval(
      guarded('the ledger', () => this.#tidy()),
      tidyMs,
    ).unref();
  }

  get cutOff(): number {
    return this.#presence.cutOff;
  }

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

  limitDay(budget: Money | null): void {
    this.#calls.limitDay(budget);
  }

  async usage(question: UsageQuestion): Promise<readonly UsageLine[]> {
    try {
      await this.#calls.flush();
    } catch (error) {
      throw notRecorded(error, 'usage cannot be reported before calls that ended are on record');
    }
    return usage(this.#database, question);
  }

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
      await this.#presence.close().finally(() => this.#database.close());
    }
  }

  #tidy(): void {
    this.keys.forgetKnown();
    if (this.#calls.problem !== null) return;
    // The next turn tries again.
    forgetOld(this.#database, keptDays).catch(() => {});
  }
}
