import { TimedOut } from '#kit/errors.ts';

export interface ModelLimits {
  readonly connect_ms: number;
  /** From the request to the first bytes of the answer's body. */
  readonly first_token_ms: number;
  /** Between two pieces of the answer. */
  readonly idle_ms: number;
  readonly total_ms: number;
  readonly answer_bytes: number;
}

/** The body's pieces; the time limits run only while a piece is awaited. */
export async function* piecesOf(
  body: AsyncIterable<Uint8Array>,
  call: AbortController,
  limits: ModelLimits,
): AsyncIterable<Uint8Array> {
  const pieces = body[Symbol.asyncIterator]();
  let first = true;
  for (;;) {
    const next = first
      ? await within(limits.first_token_ms, 'first_token', call, pieces.next())
      : await within(limits.idle_ms, 'idle', call, pieces.next());
    if (next.done) return;
    first = false;
    yield next.value;
  }
}

/** The text up to a number of bytes; the rest is left unread. */
export async function textOf(pieces: AsyncIterable<Uint8Array>, limit: number): Promise<string> {
  const read: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    read.push(piece);
    bytes += piece.length;
    if (bytes >= limit) break;
  }
  return Buffer.concat(read).subarray(0, limit).toString('utf8');
}

/** Ends the call when the work takes longer than this. */
export async function within<T>(
  ms: number,
  which: string,
  call: AbortController,
  work: Promise<T>,
): Promise<T> {
  const timer = setTimeout(() => call.abort(timedOut(which, ms)), ms);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}

export function timedOut(which: string, ms: number): TimedOut {
  return new TimedOut(
    'model_timeout',
    `the model did not answer within the ${which} limit of ${ms / 1000} s`,
    {
      facts: { limit: which, ms },
    },
  );
}
