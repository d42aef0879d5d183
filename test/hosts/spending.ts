import { setTimeout as pause } from 'node:timers/promises';
import type { Client, Reply } from './client.ts';
import type { Host } from './host.ts';
import { setBudgetOfDay } from './installation.ts';
import type { LoadParts } from './load.ts';
import { oneOf, type Random } from './random.ts';
import { prices, spentTokens } from './upstream.ts';

const costOfCall = (5 * prices.spender.input + spentTokens * prices.spender.output) / 1e6;
/** US dollars: so many calls fit into it, and more are tried at once. */
const budget = 6.5 * costOfCall;
const calls = 14;

interface SpendingParts extends LoadParts {
  readonly hosts: readonly Host[];
  readonly random: Random;
}

let lastSpender = 0;

/** Runs with a budget that ask for more than it allows, at all gateways at once. */
export async function spend({ client, journal, ending, hosts, random }: SpendingParts): Promise<void> {
  while (!ending.aborted) {
    const run = `spend-${++lastSpender}`;
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const minted = await client.anywhere('models', '/v1/keys', {
      method: 'POST',
      body: { run, models: ['spender'], budget, expires_at },
    });
    if (minted.status >= 300) throw new Error(`no key: ${JSON.stringify(minted)}`);
    journal.budgets.set(run, budget);
    const replies = await Promise.all(
      Array.from({ length: calls }, () => callFor(client, oneOf(random, hosts), run, minted.json.key)),
    );
    for (const reply of replies) journal.count(`calls of spenders: ${reply?.status ?? 'no answer'}`);
    await pause(2_000);
  }
}

function callFor(client: Client, host: Host, run: string, token?: string): Promise<Reply | null> {
  const body = {
    model: 'spender',
    max_tokens: spentTokens,
    messages: [{ role: 'user', content: `(spend ${run})` }],
  };
  const asking = { method: 'POST', body, ...(token === undefined ? {} : { token }) } as const;
  return client.once(host, 'models', '/v1/chat/completions', asking);
}

/** Leaves little of the day, and asks for more than that at all gateways at once. @returns the day's budget */
export async function spendTheDay(parts: SpendingParts): Promise<number> {
  const { client, hosts, around } = parts;
  const used = (await client.anywhere('models', '/v1/usage?by=day')).json.total.cost as number;
  const day = Math.ceil(100 * (used + 10.5 * costOfCall)) / 100;
  setBudgetOfDay(hosts, around, day);
  let refused = 0;
  while (refused < 3 * hosts.length) {
    const replies = await Promise.all(
      hosts.flatMap((host) => Array.from({ length: 8 }, () => callFor(client, host, 'the day'))),
    );
    refused = replies.filter((reply) => reply?.status === 429 || reply?.status === 402).length;
    for (const reply of replies)
      parts.journal.count(`calls at the day's end: ${reply?.status ?? 'no answer'}`);
    await pause(500);
  }
  return day;
}
