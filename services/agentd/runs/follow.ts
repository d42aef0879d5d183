import { setTimeout } from 'node:timers/promises';
import type { Redactor } from '#kit/redaction/redactor.ts';
import type { ProgressUpdate } from '../agent.ts';

/** Watches until what it returns is called. */
type Watch = (mark: () => void) => () => void;

/**
 * Gives a turn to look at something: one at once, then one after each change, no sooner than `minMs` after the last look, until the
 * signal. What it gives asks for another turn though nothing changed.
 */
export async function* turnsToLook(
  signal: AbortSignal,
  watch: Watch,
  minMs = 0,
): AsyncGenerator<() => void, void, void> {
  let marked = Promise.withResolvers<void>();
  const mark = (): void => marked.resolve();
  signal.addEventListener('abort', mark);
  const unwatch = watch(mark);
  try {
    while (!signal.aborted) {
      yield mark;
      if (minMs > 0) await setTimeout(minMs, undefined, { signal }).catch(() => {});
      await marked.promise;
      marked = Promise.withResolvers();
    }
  } finally {
    unwatch();
    signal.removeEventListener('abort', mark);
  }
}

/** Progress that a slow client has not taken; the oldest is dropped, the record has all that matters. */
const maxUpdates = 1_000;

export interface FollowedRun {
  readonly agent: { watch(runId: string, look: () => void): () => void };
  /** What works on runs here. */
  readonly work: { watch(runId: string, watcher: (update: ProgressUpdate | null) => void): () => void };
  readonly redactor: Redactor;
}

/** Turns to look at the record of a run; each with what the work on it here reported since the last one. */
export async function* followRun(
  { agent, work, redactor }: FollowedRun,
  runId: string,
  signal: AbortSignal,
): AsyncGenerator<readonly ProgressUpdate[], void, void> {
  const updates: ProgressUpdate[] = [];
  const watch: Watch = (mark) => {
    const unwatch = work.watch(runId, (update) => {
      if (update !== null) updates.push(update);
      if (updates.length > maxUpdates) updates.shift();
      mark();
    });
    const unwatchRecord = agent.watch(runId, mark);
    return () => {
      unwatchRecord();
      unwatch();
    };
  };
  for await (const _ of turnsToLook(signal, watch)) {
    yield updates.splice(0).map((update) => redactor.redactDeep(update));
  }
}
