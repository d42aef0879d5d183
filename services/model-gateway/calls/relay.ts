import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { WriteHead } from '#kit/http/route.ts';
import { UpstreamFailure } from '../providers/failure.ts';
import { type ModelCall, type UpstreamAnswer, WholeBody } from '../providers/upstream.ts';
import { errorEvent } from './error-answer.ts';

/** So long, in milliseconds, a reader has to take the error of a stream. */
const lastWordMs = 2_000;

export interface Relayed {
  /** Null where the whole answer was given on. */
  readonly failure: unknown;
  readonly sentBytes: number;
}

/**
 * Gives an answer on as fast as the client reads. One that breaks off never looks whole: a stream tells it in an event and has
 * no `[DONE]`, and the connection ends before the body does.
 */
export async function relay(
  answer: UpstreamAnswer,
  { response, writeHead }: { readonly response: ServerResponse; readonly writeHead: WriteHead },
  { stream: isStream, signal }: Pick<ModelCall, 'stream' | 'signal'>,
): Promise<Relayed> {
  if (answer.body instanceof WholeBody) {
    const { bytes } = answer.body;
    writeHead(answer.status, answer.headers);
    response.end(bytes);
    return { failure: null, sentBytes: bytes.length };
  }
  const body = answer.body[Symbol.asyncIterator]();
  let sentBytes = 0;
  let failure: unknown = null;
  try {
    let { done, value } = await body.next();
    // Only now, when the first byte is there, the head cannot be taken back any more.
    writeHead(answer.status, answer.headers);
    while (done !== true) {
      const isFirst = sentBytes === 0;
      sentBytes += value!.length;
      if (!response.write(value) && !response.destroyed) await drained(response, signal);
      // The first token goes out before what came with it is looked at.
      else if (isFirst && isStream) await new Promise<void>((resolve) => process.nextTick(resolve));
      if (response.destroyed) {
        await body.return?.();
        return { failure: new Error('the client left'), sentBytes };
      }
      ({ done, value } = await body.next());
    }
    response.end();
  } catch (error) {
    failure = error;
    void body.return?.().catch(() => {});
    breakOff(response, error, isStream);
  }
  return { failure, sentBytes };
}

/** The reader is as slow as it likes, within the time of the whole call. @throws the signal's reason */
async function drained(response: ServerResponse, signal: AbortSignal): Promise<void> {
  const settled = new AbortController();
  const either = AbortSignal.any([signal, settled.signal]);
  const events = ['drain', 'close'].map((name) => once(response, name, { signal: either }));
  await Promise.race(events).catch(() => {});
  settled.abort();
  if (!response.destroyed) signal.throwIfAborted();
}

function breakOff(response: ServerResponse, error: unknown, isStream: boolean): void {
  if (response.destroyed) return;
  if (!response.headersSent || !isStream || !(error instanceof UpstreamFailure)) {
    response.destroy();
    return;
  }
  response.write(errorEvent(error.openaiError), () => response.destroy());
  setTimeout(() => response.destroy(), lastWordMs).unref();
}
