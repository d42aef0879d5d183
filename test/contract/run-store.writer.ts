import { openRunStore } from '../../services/agentd/open-run-store.ts';
import { sampleRequest, turn } from './run-store.sample.ts';

/**
 * A process of its own that appends to a run: `run-store.writer.ts <home> <run> <events> <batch> <text size>`, or makes one where
 * <run> is `new`. Prints the sequence number of each append after it is acknowledged, or the new run.
 */
const [home, runId, events, batch, size] = process.argv.slice(2) as [string, string, string, string, string];
const store = await openRunStore({ config: `${home}/config`, state: `${home}/state` });
try {
  if (runId === 'new') process.stdout.write(`${(await store.create(sampleRequest())).run_id}\n`);
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
  await store.close();
}
