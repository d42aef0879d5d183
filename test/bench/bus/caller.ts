import { type Call, call, type Target } from './peers.ts';

/** Calls the echo function as requested, so many at a time. */
type Order =
  | { readonly name: string; readonly target: Target }
  | { readonly name: string; readonly calls: number; readonly atATime: number };

const calls = new Map<string, Call>();

process.on('message', async (order: Order) => {
  if ('target' in order) {
    const make = await call(order.target);
    await answering(make);
    calls.set(order.name, make);
    process.send!('done');
  } else {
    process.send!(await measure(calls.get(order.name)!, order));
  }
});
process.on('disconnect', () => process.exit());

/** Whoever provides the function may still be on its way. */
async function answering(make: Call): Promise<void> {
  for (;;) {
    const answer = await Promise.race([make().catch(() => null), later()]);
    if (answer !== null) return;
  }
}

function later(): Promise<null> {
  return new Promise((resolve) => setTimeout(() => resolve(null), 200));
}

async function measure(make: Call, { calls: total, atATime }: { calls: number; atATime: number }) {
  const times = new Float64Array(total);
  let next = 0;
  async function work(): Promise<void> {
    while (next < total) {
      const nth = next++;
      const started = performance.now();
      await make();
      times[nth] = performance.now() - started;
    }
  }
  const started = performance.now();
  await Promise.all(Array.from({ length: atATime }, work));
  const seconds = (performance.now() - started) / 1000;
  return { rate: total / seconds, p99: times.sort()[Math.floor(total * 0.99)]! };
}
