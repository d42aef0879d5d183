import { connectionFailure } from '../connection-failure.ts';
import type { Mask } from '../mask.ts';
import { type UpstreamAnswer, WholeBody } from '../upstream.ts';
import { UpstreamFailure } from '../upstream-failure.ts';
import type { Usage } from '../usage.ts';
import { PieceQueue } from './piece-queue.ts';
import { LargeBodyReader, usageInBody } from './usage-of-body.ts';

export interface BodyFacts {
  readonly name: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Media type. */
  readonly type: string;
  readonly body: AsyncIterator<Buffer>;
  readonly mask: Mask;
  readonly signal: AbortSignal;
}

/** So much of an answer is held until it is whole and known to be JSON; more goes on as it comes. */
const held = 256 * 1024;

export async function wholeAnswer(facts: BodyFacts): Promise<UpstreamAnswer> {
  const { name, status, headers, type, body, mask, signal } = facts;
  const whole = body instanceof PieceQueue ? body.takeWhole() : null;
  if (whole !== null) return answer(facts, mask.hideIn(whole));
  const pieces: Buffer[] = [];
  let size = 0;
  let ended = false;
  try {
    while (size <= held) {
      const { done, value } = await body.next();
      if (done === true) {
        ended = true;
        break;
      }
      pieces.push(value);
      size += value.length;
    }
  } catch (error) {
    throw signal.aborted ? error : connectionFailure(name, error, 'begun');
  }
  const bytes = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  if (ended) return answer(facts, mask.hideIn(bytes));
  if (!beginsAsJson(bytes)) {
    void body.return?.();
    throw notJson(name, type, bytes);
  }
  return large({ status, headers, body, mask, signal, name }, bytes);
}

function answer({ name, status, headers, type }: BodyFacts, bytes: Buffer): UpstreamAnswer {
  const value = objectIn(bytes);
  if (value === null) throw notJson(name, type, bytes);
  return {
    status,
    headers: { ...headers, 'content-type': 'application/json', 'content-length': String(bytes.length) },
    body: new WholeBody(bytes),
    usage: Promise.resolve(usageInBody(value)),
  };
}

function large(
  { name, status, headers, body, mask, signal }: Omit<BodyFacts, 'type'>,
  first: Buffer,
): UpstreamAnswer {
  const masked = mask.stream();
  const begin = masked.push(first);
  const reader = new LargeBodyReader();
  reader.push(begin);
  let settle: (usage: Usage | null) => void = () => {};
  const usage = new Promise<Usage | null>((resolve) => {
    settle = resolve;
  });

  async function* pieces(): AsyncGenerator<Uint8Array> {
    try {
      yield begin;
      for (;;) {
        const { done, value } = await body.next();
        const piece = done === true ? masked.end() : masked.push(value);
        reader.push(piece);
        if (piece.length > 0) yield piece;
        if (done === true) return;
      }
    } catch (error) {
      throw signal.aborted ? error : connectionFailure(name, error, 'begun');
    } finally {
      settle(reader.usage);
      void body.return?.();
    }
  }
  return { status, headers: { ...headers, 'content-type': 'application/json' }, body: pieces(), usage };
}

function objectIn(bytes: Buffer): object | null {
  if (!beginsAsJson(bytes)) return null;
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return null;
  }
}

function beginsAsJson(bytes: Buffer): boolean {
  let at = 0;
  while (bytes[at]! <= 0x20) at++;
  return bytes[at] === 0x7b;
}

function notJson(upstream: string, type: string, bytes: Buffer): UpstreamFailure {
  const what = bytes.length === 0 ? 'nothing' : type === '' ? 'no content type' : type;
  return new UpstreamFailure({
    status: 502,
    remedy: 'next',
    charged: true,
    error: {
      message: `upstream ${upstream} answered 200 with ${what} that is not a JSON object`,
      type: 'server_error',
      param: null,
      code: 'upstream_answer_invalid',
    },
  });
}
