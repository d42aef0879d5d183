import { writeSync } from 'node:fs';
import { openMemory } from './context-memory.place.ts';

/** Records without end, several at a time, and prints the id and content of each as soon as it is acknowledged. */
const [state, round] = process.argv.slice(2);
const place = openMemory(state!);
const kinds = [
  (n: number) => ({
    layer: 'semantic',
    content: `Round ${round} has a fact ${n}`,
    subject: `s${n % 5}`,
    predicate: 'is',
  }),
  (n: number) => ({
    layer: 'episodic',
    content: `Round ${round} had a turn ${n}`,
    session: `session ${round}`,
  }),
  (n: number) => ({
    layer: 'procedural',
    content: `Round ${round} knows a way ${n}`,
    steps: ['try', 'again'],
  }),
];

async function recordOn(worker: number): Promise<never> {
  for (let n = worker; ; n += 8) {
    const request = kinds[n % kinds.length]!(n);
    const { id } = await place.remember({ ...request, key: `${round}/${n}` });
    writeSync(1, `${JSON.stringify([id, request.content])}\n`);
  }
}

await Promise.all(Array.from({ length: 8 }, (_, worker) => recordOn(worker)));
