import { Worker } from 'node:worker_threads';
import { guarded } from '#kit/callbacks.ts';
import type { RefreshedRepository } from '#kit/contracts/context/refresh.ts';
import { CoreError, Failed, Interrupted } from '#kit/errors.ts';
import type { RecordReader, RecordWriter } from '../record/calls.ts';
import { copyOf, errorFrom } from '../record/error-copy.ts';
import type { AnswerMessage } from '../record/thread.ts';
import type {
  IngestCommands,
  IngestQueries,
  IngestTarget,
  Progress,
  ThreadMessage,
} from './record-access.ts';

interface Record {
  readonly writer: RecordWriter<IngestCommands>;
  readonly readers: RecordReader<IngestQueries>;
}

interface IngestOptions {
  readonly signal?: AbortSignal | undefined;
  readonly progress: (progress: Progress) => void;
  /** What the thread runs. */
  readonly thread?: URL | undefined;
}

const ownThread = new URL('./ingest-thread.ts', import.meta.url);

/** A parser that breaks takes its thread with it; a repository full of such files is given up. */
const maxBrokenFiles = 100;

/**
 * Ingests a repository in a thread of its own, which reads git, parses, and asks here for what it needs of the record. Ended by
 * `signal` between any two transactions: what is stored is whole, and the next time does the rest.
 * @throws Interrupted; Failed (`repository_vanished`, `parser_broken`, `ingestion_ended`); what git and the record throw
 */
export async function ingestInThread(
  target: Omit<IngestTarget, 'plainly'>,
  record: Record,
  options: IngestOptions,
): Promise<RefreshedRepository> {
  const plainly: string[] = [];
  for (;;) {
    try {
      return await oneThread({ ...target, plainly }, record, options);
    } catch (error) {
      const blob = brokenBlob(error);
      if (blob === null || plainly.includes(blob) || plainly.length >= maxBrokenFiles) throw error;
      plainly.push(blob);
    }
  }
}

function brokenBlob(error: unknown): string | null {
  if (!(error instanceof CoreError) || error.code !== 'parser_broken') return null;
  return typeof error.facts.blob === 'string' ? error.facts.blob : null;
}

function oneThread(
  target: IngestTarget,
  record: Record,
  options: IngestOptions,
): Promise<RefreshedRepository> {
  const { signal, progress, thread = ownThread } = options;
  if (signal?.aborted) return Promise.reject(interrupted(target, signal));
  return new Promise((resolve, reject) => {
    const worker = new Worker(thread, { workerData: target });
    const end = (settle: () => void): void => {
      signal?.removeEventListener('abort', abort);
      settle();
      worker.terminate();
    };
    const abort = guarded('an ingestion', (): void => end(() => reject(interrupted(target, signal!))));
    signal?.addEventListener('abort', abort);
    worker.on(
      'message',
      guarded(
        'an ingestion',
        (message: ThreadMessage) => {
          if (message.type === 'progress') progress(message.progress);
          else if (message.type === 'done') end(() => resolve(message.result));
          else if (message.type === 'failed') end(() => reject(errorFrom(message.error)));
          else return answer(record, message).then((reply) => worker.postMessage(reply));
        },
        (error) => end(() => reject(error)),
      ),
    );
    worker.on(
      'error',
      guarded('an ingestion', (error) => end(() => reject(error))),
    );
    worker.on(
      'exit',
      guarded('an ingestion', (code) => {
        const { repository } = target;
        end(() =>
          reject(new Failed('ingestion_ended', `the thread that ingested ${repository} ended with ${code}`)),
        );
      }),
    );
  });
}

async function answer(
  { writer, readers }: Record,
  { type, id, name, input }: Extract<ThreadMessage, { id: number }>,
): Promise<AnswerMessage> {
  try {
    const value =
      type === 'ask'
        ? await readers.ask(name as keyof IngestQueries, input as never)
        : await writer.run(name as keyof IngestCommands, input as never, 'normal');
    return { id, value };
  } catch (error) {
    return { id, error: copyOf(error) };
  }
}

function interrupted({ repository }: IngestTarget, { reason: cause }: AbortSignal): Interrupted {
  const message = `the ingestion of ${repository} was stopped; the next goes on from here`;
  return new Interrupted('interrupted', message, { cause });
}
