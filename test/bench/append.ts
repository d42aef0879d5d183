import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseRunStore } from '../../services/agentd/runs/database-run-store.ts';
import type { NewEvent } from '../../services/agentd/runs/event.ts';
import { planned, sampleRequest, turn } from '../contract/run-store.sample.ts';
import { runStoreIn } from '../fixtures/runs/run-store-in.ts';
import { type Benchmark, compare, takeTurns } from './comparison.ts';

/** More than the events of most runs. */
const appends = 200;
const events: readonly NewEvent[] = [turn()];

/** Both write lines of the same length to a file of their own, one at a time, each durable before the next. */
export const append: Benchmark = {
  summary: 'durable appends to the event log of a run',
  async run(folder) {
    const store = runStoreIn(join(folder, 'state'));
    const line = await lineOf(store);
    try {
      const samples = await takeTurns(40, {
        bare: (round) => bareRate(join(folder, `yardstick-${round}.jsonl`), line),
        store: () => storeRate(store),
      });
      const what = { subject: 'durable event append', yardstick: 'write and fdatasync' };
      return [compare({ ...what, measure: 'rate', bar: 0.5 }, samples.store, samples.bare)];
    } finally {
      store.close();
    }
  },
};

async function newRun(store: DatabaseRunStore): Promise<string> {
  const { run_id } = await store.create(sampleRequest());
  await store.append(run_id, () => planned(run_id));
  return run_id;
}

async function lineOf(store: DatabaseRunStore): Promise<Uint8Array> {
  const runId = await newRun(store);
  const { head } = await store.read(runId);
  await store.append(runId, () => events);
  const [last] = await store.events(runId, head.seq);
  return Buffer.from(`${JSON.stringify(last)}\n`);
}

async function storeRate(store: DatabaseRunStore): Promise<number> {
  const runId = await newRun(store);
  return perSecond(() => store.append(runId, () => events));
}

async function bareRate(path: string, line: Uint8Array): Promise<number> {
  const fd = openSync(path, 'ax', 0o600);
  try {
    return await perSecond(() => {
      writeSync(fd, line);
      fdatasyncSync(fd);
    });
  } finally {
    closeSync(fd);
  }
}

async function perSecond(once: () => unknown): Promise<number> {
  const started = performance.now();
  for (let done = 0; done < appends; done++) await once();
  return (appends * 1000) / (performance.now() - started);
}
