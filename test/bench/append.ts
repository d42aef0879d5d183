import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { NewEvent } from '../../services/agentd/runs/event.ts';
import { createRunStore } from '../../services/agentd/runs/file-run-store.ts';
import { planned, sampleRequest, turn } from '../contract/run-store.sample.ts';
import { type Benchmark, compare, takeTurns } from './comparison.ts';

const appends = 200;
const events: readonly NewEvent[] = [turn()];

/** Both write lines of the same length, one at a time, each durable before the next. */
export const append: Benchmark = {
  summary: 'durable appends to the event log of a run',
  async run(folder) {
    const store = createRunStore({ stateDir: join(folder, 'state') });
    const { run_id } = await store.create(sampleRequest());
    await store.append(run_id, () => planned(run_id));
    const before = await store.events(run_id);
    await store.append(run_id, () => events);
    const [last] = await store.events(run_id, before.length);
    const line = Buffer.from(`${JSON.stringify(last)}\n`);
    const fd = openSync(join(folder, 'yardstick.jsonl'), 'ax', 0o600);
    try {
      const samples = await takeTurns(12, {
        bare: () => perSecond(() => writeLine(fd, line)),
        store: () => perSecond(() => store.append(run_id, () => events)),
      });
      const what = { subject: 'durable event append', yardstick: 'write and fdatasync' };
      return [compare({ ...what, measure: 'rate', bar: 0.5 }, samples.store, samples.bare)];
    } finally {
      closeSync(fd);
      store.close();
    }
  },
};

function writeLine(fd: number, line: Uint8Array): void {
  writeSync(fd, line);
  fdatasyncSync(fd);
}

async function perSecond(once: () => unknown): Promise<number> {
  const started = performance.now();
  for (let done = 0; done < appends; done++) await once();
  return (appends * 1000) / (performance.now() - started);
}
