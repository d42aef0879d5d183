import type { FolderHold } from '#kit/storage/lock.ts';
import { MovedSchema } from '#kit/storage-move/moved-schema.ts';
import type { MoveOptions, OpenMoveParts } from '#kit/storage-move/part.ts';
import {
  balancesOf,
  gatewaysWithCalls,
  lockBalances,
  settleCutOff,
  writeBalances,
} from './ledger/ledger-rows.ts';
import { holdLedger } from './ledger/store.ts';
import { gatewaySchema } from './schema.ts';

/** Calls, their sums, balances and keys of runs. */
export const openMoveParts: OpenMoveParts = async (options) => [
  new MovedLedger(options, holdLedger(options.folders)),
];

/** A call that was cut off is counted at what was reserved, as when its gateway ends. */
class MovedLedger extends MovedSchema {
  readonly #hold: FolderHold;

  constructor(options: MoveOptions, hold: FolderHold) {
    super({ name: 'rows of the ledger', schema: gatewaySchema, notMoved: [] }, options);
    this.#hold = hold;
  }

  override async prepare(): Promise<void> {
    await super.prepare();
    await this.source.transaction(async (sql) => {
      for (const gateway of await gatewaysWithCalls(sql)) {
        const { balances } = await lockBalances(sql, await balancesOf(sql, gateway));
        await settleCutOff(sql, gateway, { balances, kept: [] });
        await writeBalances(sql, balances);
      }
    });
  }

  override async close(): Promise<void> {
    await super.close();
    this.#hold.release();
  }
}
