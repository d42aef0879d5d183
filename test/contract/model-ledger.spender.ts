import { writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { PostgresSettings } from '#kit/config/storage.ts';
import { codeOf } from '#kit/errors.ts';
import type { Account } from '../../services/model-gateway/ledger/accounts.ts';
import { Ledger } from '../../services/model-gateway/ledger/ledger.ts';
import type { CallResult } from '../../services/model-gateway/ledger/settlement.ts';
import { ledgerInDatabase, ledgerInFile } from '../fixtures/gateway/ledger-stores.ts';
import { spentBy, testCall, testPrices, token } from './model-ledger.scene.ts';

export interface SharedLedger {
  readonly settings: PostgresSettings;
  readonly account: Account;
  readonly dayBudget: number | null;
}

/**
 * Spends from a ledger in a process of its own: `<state folder, or a SharedLedger in JSON> <mode>`. Lines: `begun`,
 * `ended MICRODOLLARS`, `refused CODE`.
 */
const [place = '', mode = 'spend'] = process.argv.slice(2);
const shared: SharedLedger | null = place.startsWith('{') ? JSON.parse(place) : null;
const account = shared?.account ?? token;
const store = shared === null ? await ledgerInFile(place) : ledgerInDatabase(shared.settings);
const ledger = new Ledger(store, { prices: testPrices, dayBudget: shared?.dayBudget ?? null });

/** Written when it returns. A pipe that is full for a moment takes it a moment later. */
function say(line: string): void {
  for (;;) {
    try {
      writeSync(1, `${line}\n`);
      return;
    } catch (error) {
      if (codeOf(error) !== 'EAGAIN') throw error;
    }
  }
}

async function spend(output: number): Promise<void> {
  const reservation = await ledger.reserve(account, testCall);
  say('begun');
  await delay(Math.random() * 4);
  const result: CallResult = { ...spentBy(output), upstream: 'first' };
  say(`ended ${reservation.settle(result).cost}`);
}

async function spendForever(worker: number): Promise<never> {
  for (let turn = 0; ; turn++) await spend((worker * 31 + turn * 7) % testCall.outputTokens);
}

/** Until the budget refused so often in a row; the end is known when nothing is under way. */
async function spendBudget(worker: number): Promise<void> {
  for (let refused = 0, turn = 0; refused < 10; turn++) {
    try {
      await spend((worker * 31 + turn * 7) % testCall.outputTokens);
      refused = 0;
    } catch (error) {
      say(`refused ${codeOf(error)}`);
      if (codeOf(error) === 'insufficient_quota') refused++;
      await delay(20);
    }
  }
}

async function spendUntilFullAndAgain(): Promise<void> {
  for (let refused = false; ; ) {
    try {
      await Promise.all(Array.from({ length: 20 }, () => spend(10)));
      if (refused) return say('again');
    } catch (error) {
      if (!refused) say(`refused ${codeOf(error)} ${(await ledger.health()).status}`);
      refused = true;
      await delay(50);
    }
  }
}

if (mode === 'spend') await Promise.all(Array.from({ length: 8 }, (_, worker) => spendForever(worker)));
if (mode === 'budget') await Promise.all(Array.from({ length: 8 }, (_, worker) => spendBudget(worker)));
if (mode === 'once') await spend(100);
if (mode === 'until-full') await spendUntilFullAndAgain();
if (mode === 'hold-call') {
  const reservation = await ledger.reserve(account, testCall);
  say('begun');
  process.once('SIGUSR2', async () => {
    say(`ended ${reservation.settle({ ...spentBy(10), upstream: 'first' }).cost}`);
    await spend(20);
    await ledger.close();
    process.exit(0);
  });
  await delay(600_000);
}
if (mode === 'hold') {
  say('held');
  await delay(60_000);
}
await ledger.close();
say('closed');
