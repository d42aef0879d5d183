import type { PostgresSettings } from '#kit/config/storage.ts';
import type { Account } from '../../../services/model-gateway/ledger/accounts.ts';
import { Ledger } from '../../../services/model-gateway/ledger/ledger.ts';
import { spentBy, testCall, testPrices } from '../../contract/model-ledger.scene.ts';
import { ledgerInDatabase } from '../../fixtures/gateway/ledger-stores.ts';

/**
 * The ledger of one core-model-gateway: `<settings of the database, and an account, as JSON>`. For each number that it is sent it
 * reserves and settles so many calls, 32 at a time, all within one budget, and says `done` when their ends are on record.
 */
const { settings, account } = JSON.parse(process.argv[2]!) as {
  settings: PostgresSettings;
  account: Account;
};
const ledger = new Ledger(ledgerInDatabase(settings), { prices: testPrices, dayBudget: 1_000_000 });

process.on('message', async (count: number) => {
  let begun = 0;
  await Promise.all(
    Array.from({ length: 32 }, async () => {
      while (begun < count) {
        begun++;
        const reservation = await ledger.reserve(account, testCall);
        reservation.settle({ ...spentBy(10), upstream: 'first' });
      }
    }),
  );
  await ledger.usage({ by: 'day', from: null, to: null, run: null });
  process.send!('done');
});
process.send!('ready');
