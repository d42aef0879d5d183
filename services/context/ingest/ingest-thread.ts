import { parentPort, workerData } from 'node:worker_threads';
import { copyOf, errorFrom } from '../record/error-copy.ts';
import { type IngestTarget, ingestRepository, type Progress } from './ingest-repository.ts';
import type { RecordAccess } from './record-access.ts';
import type { AccessAnswer, ThreadMessage } from './thread-messages.ts';

/** Runs one ingestion, then ends; see ingest-in-thread.ts for the other side. */
const port = parentPort!;
const waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>();
let next = 1;

port.on('message', (answer: AccessAnswer) => {
  const caller = waiting.get(answer.id);
  waiting.delete(answer.id);
  if ('error' in answer) caller?.reject(errorFrom(answer.error));
  else caller?.resolve(answer.value as never);
});

const access: RecordAccess = {
  ask: (query, input) => call({ type: 'ask', id: next++, query, input }),
  write: (command, input) => call({ type: 'write', id: next++, command, input }),
};

function call<Output>(message: Extract<ThreadMessage, { id: number }>): Promise<Output> {
  return new Promise<Output>((resolve, reject) => {
    waiting.set(message.id, { resolve, reject });
    send(message);
  });
}

function send(message: ThreadMessage): void {
  port.postMessage(message);
}

const everyMs = 50;
let told = Number.NEGATIVE_INFINITY;

function tell(progress: Progress): void {
  if (progress.done < progress.total && performance.now() - told < everyMs) return;
  told = performance.now();
  send({ type: 'progress', progress });
}

try {
  send({ type: 'done', result: await ingestRepository(workerData as IngestTarget, access, tell) });
} catch (thrown) {
  send({ type: 'failed', error: copyOf(thrown) });
} finally {
  port.close();
}
