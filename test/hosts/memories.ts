import { setTimeout as pause } from 'node:timers/promises';
import { sharedClock } from '../fixtures/history/history.ts';
import type { Client } from './client.ts';
import type { Host } from './host.ts';
import type { Journal } from './journal.ts';
import type { LoadParts } from './load.ts';
import type { Losses } from './losses.ts';
import type { Problems } from './problems.ts';

let lastMemory = 0;

/** One memory after the other; each is asked for again, under the same key, until it is acknowledged. */
export async function remember({ client, journal, ending }: LoadParts): Promise<void> {
  while (!ending.aborted) {
    const nth = ++lastMemory;
    const content = `Greeting when the name is empty, observation ${nth}: ${nth * 7919} strangers came by`;
    const body = { layer: 'semantic', content, key: `observation-${nth}` };
    const from = sharedClock();
    journal.does('memories', `waiting for observation ${nth}`);
    const { status, json } = await client.anywhere('context', '/v1/memory/record', { method: 'POST', body });
    if (status > 201) throw new Error(`a memory was refused: ${status} ${JSON.stringify(json)}`);
    journal.memories.set(json.id, { content, span: { from, to: sharedClock() } });
    journal.note('memory', { id: json.id, content });
    journal.count('memories');
    await pause(500);
  }
  journal.does('memories', null);
}

/** Looks for all memories where core-context is active, and once more after that one was killed. */
export async function memoryProblems(
  client: Client,
  hosts: readonly Host[],
  journal: Journal,
  losses: Losses,
): Promise<Problems> {
  const before = await missing(client, journal, losses);
  for (const host of hosts) host.signal('SIGKILL', 'context');
  const after = await missing(client, journal, losses);
  const { lines } = await client.anywhere('context', '/v1/memory/export');
  // What runs report to core-context may say the same twice.
  const recorded = new Set([...journal.memories.values()].map(({ content }) => content));
  const contents = lines.map((line) => JSON.parse(line).content as string).filter((one) => recorded.has(one));
  const kept = Map.groupBy(contents, (content) => content);
  return {
    'lost memories': [...new Set([...before, ...after])],
    'doubled memories': [...kept].filter(([, ones]) => ones.length > 1).map(([content]) => content),
    'memories that no plan was given':
      (journal.counts.get('completed plans that were given memories') ?? 0) > 0 ? [] : ['all of them'],
  };
}

async function missing(client: Client, journal: Journal, losses: Losses): Promise<string[]> {
  const ones: string[] = [];
  for (const [id, { content, span }] of journal.memories) {
    const { status, json } = await client.anywhere('context', `/v1/memory/${id}`);
    if (status === 200 && json.content === content) continue;
    if (status === 404 && losses.mayInclude(span)) journal.lost('memories', id);
    else ones.push(`${id}: ${status}`);
  }
  return ones;
}
