import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { TimeLimit } from '../../time-limit.ts';
import { PieceQueue } from './piece-queue.ts';

export interface ExchangeRequest {
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly signal: AbortSignal;
  /** Milliseconds until the head of the answer. */
  readonly headMs: number;
  /** Milliseconds between two pieces of its body. */
  readonly idleMs: number;
  readonly late: (limit: 'head' | 'idle', ms: number) => Error;
  /** What a connection's end before the head of the answer means. @param sent whether the request was on its way */
  readonly broke: (error: Error, sent: boolean) => Error;
}

export interface Exchange {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Leaving it ends the exchange. */
  readonly body: PieceQueue;
}

/**
 * One POST over undici's dispatcher itself, without the streams of its other interfaces, which cost most of the time and memory
 * of a proxy. Redirects are answers like all others. Rejects with what `broke` or `late` give, or the signal's reason.
 */
export function exchange(
  dispatcher: Pick<Dispatcher, 'dispatch'>,
  request: ExchangeRequest,
): Promise<Exchange> {
  const { origin, path, headers, body, signal, headMs, idleMs, late, broke } = request;
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | null = null;
    let queue: PieceQueue | null = null;
    let stopped: Error | null = null;

    function stop(error: Error): void {
      if (stopped !== null) return;
      stopped = error;
      finish();
      controller?.abort(error);
      if (queue === null) reject(error);
      else queue.fail(error);
    }
    const leave = () => stop(signal.reason);
    const limit = new TimeLimit(headMs, () => stop(late('head', headMs)));
    function finish(): void {
      limit.lift();
      signal.removeEventListener('abort', leave);
    }
    if (signal.aborted) return stop(signal.reason);
    signal.addEventListener('abort', leave);

    const source = {
      pause: () => controller?.pause(),
      resume: () => controller?.resume(),
      abort: () => stop(new Error('nobody reads the answer')),
    };
    const options = {
      origin,
      path,
      method: 'POST' as const,
      headers,
      body,
      headersTimeout: 0,
      bodyTimeout: 0,
    };
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(given) {
        controller = given;
        if (stopped !== null) given.abort(stopped);
      },
      onResponseStart(_controller, status, headers) {
        if (status < 200 || stopped !== null) return;
        limit.lift();
        queue = new PieceQueue(source, idleMs, () => late('idle', idleMs));
        resolve({ status, headers, body: queue });
      },
      onResponseData(_controller, chunk) {
        queue?.push(chunk);
      },
      onResponseEnd() {
        finish();
        queue?.end();
      },
      onResponseError(_controller, error) {
        if (stopped !== null) return;
        stopped = error;
        finish();
        if (queue === null) reject(broke(error, controller !== null));
        else queue.fail(error);
      },
    };
    try {
      dispatcher.dispatch(options, handler);
    } catch (error) {
      stop(broke(error as Error, false));
    }
  });
}
