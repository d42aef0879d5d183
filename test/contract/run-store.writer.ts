import { FileRunStore } from '../../services/agentd/runs/file-run-store.ts';
import { turn } from './run-store.sample.ts';

/**
 * A process of its own that appends to a run: `run-store.writer.ts <state> <run> <events> <batch> <text size>`. Prints the
 * sequence number of each append after it is acknowledged.
 */
const [stateDir, runId, events, batch, size] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
];
const store = new FileRunStore({ stateDir });
try {
  for (let done = 0; done < Number(events); done += Number(batch)) {
    const more = Array.from({ length: Number(batch) }, () => ({ ...turn() }));
    const text = 'x'.repeat(Number(size));
    const run = await store.append(runId, () => [
      { type: 'cancel_requested', data: { by: `${process.pid}`, reason: text } },
      ...more.slice(1),
    ]);
    process.stdout.write(`${run.head.seq}\n`);
  }
} catch (error) {
  process.stdout.write(`${(error as { code?: string }).code}\n`);
} finally {
  store.close();
}
