import { writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { codeOf } from '#kit/errors.ts';
import { Ledger } from '../../services/model-gateway/ledger/ledger.ts';
import type { CallResult } from '../../services/model-gateway/ledger/settlement.ts';
import { openSqliteStore } from '../../services/model-gateway/ledger/sqlite/store.ts';
import { spentBy, testCall, testPrices, token } from './model-ledger.scene.ts';

/** Spends from a ledger in a process of its own: `<state> <mode>`. Lines: `begun`, `ended MICRODOLLARS`, `refused CODE`. */
const [state = '', mode = 'spend'] = process.argv.slice(2);
const ledger = new Ledger(openSqliteStore(state), { prices: testPrices, dayBudget: null });

function say(line: string): void {
  writeSync(1, `${line}\n`);
}

async function spend(output: number): Promise<void> {
  const reservation = await ledger.reserve(token, testCall);
  say('begun');
  await delay(Math.random() * 4);
  const result: CallResult = { ...spentBy(output), upstream: 'first' };
  say(`ended ${reservation.settle(result).cost}`);
}

async function spendForever(worker: number): Promise<never> {
  for (let turn = 0; ; turn++) await spend((worker * 31 + turn * 7) % testCall.outputTokens);
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
if (mode === 'once') await spend(100);
if (mode === 'until-full') await spendUntilFullAndAgain();
if (mode === 'hold') {
  say('held');
  await delay(60_000);
}
await ledger.close();
say('closed');
