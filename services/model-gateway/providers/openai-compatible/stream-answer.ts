import { TimeLimit } from '../../time-limit.ts';
import { connectionFailure, lateFailure } from '../connection-failure.ts';
import type { Mask } from '../mask.ts';
import type { UpstreamAnswer } from '../upstream.ts';
import { UpstreamFailure } from '../upstream-failure.ts';
import type { Usage } from '../usage.ts';
import { BrokenStream, StreamReader } from './chunks.ts';
import { errorInStream } from './failures.ts';

export interface StreamFacts {
  readonly name: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterator<Buffer>;
  readonly mask: Mask;
  readonly hideUsage: boolean;
  /** `ms` are left of `limit` for the first piece. */
  readonly first: { readonly ms: number; readonly limit: number };
  readonly signal: AbortSignal;
}

/** So long, in milliseconds, an upstream may take to end after `[DONE]`. */
const graceMs = 1_000;
/** Bytes of comments. */
const mostEarly = 64 * 1024;

/** Resolves with the first event, so that until then another upstream can be asked. */
export async function streamAnswer(facts: StreamFacts): Promise<UpstreamAnswer> {
  const { name, status, headers, body, mask, first, signal } = facts;
  const reader = new StreamReader({ hideUsage: facts.hideUsage });
  const masked = mask.stream();
  let settle: (usage: Usage | null) => void = () => {};
  const usage = new Promise<Usage | null>((resolve) => {
    settle = resolve;
  });

  /** Comments before the first event; they are no token, and another upstream may yet have to be asked. */
  const early: Buffer[] = [];
  let earlySize = 0;

  async function readFirst(): Promise<Buffer | null> {
    for (;;) {
      const next = await read();
      if (next === null || reader.begun) return next === null ? null : Buffer.concat([...early, next]);
      earlySize += next.length;
      if (earlySize > mostEarly)
        throw new BrokenStream(`it has more than ${mostEarly} bytes before its first event`);
      early.push(Buffer.from(next));
    }
  }

  /** Whole events; null at the end. */
  async function read(): Promise<Buffer | null> {
    for (;;) {
      const { done, value } = await body.next();
      if (done === true) {
        const last = Buffer.concat([reader.push(masked.end()), reader.end()]);
        return last.length > 0 ? last : null;
      }
      const events = reader.push(masked.push(value));
      if (events.length > 0) return events;
    }
  }

  function explained(error: unknown, begun: boolean): unknown {
    if (signal.aborted) return error;
    return error instanceof BrokenStream
      ? broken(name, error, begun)
      : connectionFailure(name, error, 'begun');
  }

  async function* events(from: Buffer | null): AsyncGenerator<Uint8Array> {
    try {
      for (let next = from; next !== null; next = await read()) {
        yield next;
        if (reader.done || reader.failure !== null) break;
      }
      if (reader.failure !== null) throw broken(name, new BrokenStream('it tells of an error'), true);
    } catch (error) {
      throw explained(error, true);
    } finally {
      settle(reader.usage);
      if (reader.done) finish(body);
      else void body.return?.();
    }
  }

  let limit: TimeLimit | undefined;
  try {
    const late = new Promise<never>((_resolve, reject) => {
      limit = new TimeLimit(first.ms, () => reject(lateFailure(name, 'first', first.limit)));
    });
    const piece = await Promise.race([readFirst(), late]);
    // Nobody has seen it yet, so that another attempt can help.
    if (reader.failure !== null) throw errorInStream(name, reader.failure, mask);
    return {
      status,
      headers,
      body: events(piece),
      usage,
      usageIsPartial: () => reader.usageIsPartial,
      wordBytes: () => reader.wordBytes(),
    };
  } catch (error) {
    void body.return?.();
    settle(reader.usage);
    throw explained(error, false);
  } finally {
    limit?.lift();
  }
}

/** Reads what is left, so that the connection can be used again, but not for long. */
function finish(body: AsyncIterator<Buffer>): void {
  const timer = setTimeout(() => void body.return?.(), graceMs);
  timer.unref();
  void (async () => {
    while ((await body.next()).done !== true);
  })()
    .catch(() => {})
    .finally(() => clearTimeout(timer));
}

function broken(upstream: string, error: BrokenStream, begun: boolean): UpstreamFailure {
  return new UpstreamFailure({
    status: 502,
    remedy: begun ? 'none' : 'retry',
    charged: true,
    error: {
      message: `upstream ${upstream} sent a broken stream: ${error.message}`,
      type: 'server_error',
      param: null,
      code: 'upstream_stream_broken',
    },
  });
}
