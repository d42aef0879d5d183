import { parentPort, workerData } from 'node:worker_threads';
import { guarded } from '#kit/callbacks.ts';
import { copyOf } from '../record/error-copy.ts';
import { type AnswerMessage, PendingCalls } from '../record/thread.ts';
import { ingestRepository } from './ingest-repository.ts';
import type { IngestTarget, Progress, RecordAccess, ThreadMessage } from './record-access.ts';

/** Runs one ingestion, then ends; see ingest-in-thread.ts for the other side. */
const port = parentPort!;
const calls = new PendingCalls();
port.on(
  'message',
  guarded('an ingestion', (answer: AnswerMessage) => calls.settle(answer)),
);

const access: RecordAccess = {
  ask: (name, input) => calls.start((id) => send({ type: 'ask', id, name, input })),
  run: (name, input) => calls.start((id) => send({ type: 'write', id, name, input })),
};

function send(message: ThreadMessage): void {
  port.postMessage(message);
}

const everyMs = 50;
let lastReport = Number.NEGATIVE_INFINITY;

function report(progress: Progress): void {
  if (progress.done < progress.total && performance.now() - lastReport < everyMs) return;
  lastReport = performance.now();
  send({ type: 'progress', progress });
}

try {
  send({ type: 'done', result: await ingestRepository(workerData as IngestTarget, access, report) });
} catch (thrown) {
  send({ type: 'failed', error: copyOf(thrown) });
} finally {
  port.close();
}
