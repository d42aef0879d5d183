import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { providerHeader } from '#kit/contracts/model-gateway/provider-header.ts';
import type { WriteHead } from '#kit/http/route.ts';
import type { Logger } from '#kit/log.ts';
import { noUsage } from '#kit/model-answers/usage.ts';
import type { Lane, Model } from './calls/models.ts';
import { dialectFor } from './dialects/registry.ts';
import type { Account } from './ledger/accounts.ts';
import type { Reservation } from './ledger/ledger.ts';
import { type CallResult, type LostAttempt, statesOutput } from './ledger/settlement.ts';
import type { CallMetrics } from './metrics.ts';
import type { DialectName, Endpoint } from './providers/endpoints.ts';
import { ownCodes, ownWords, UpstreamFailure, upstreamCodes } from './providers/failure.ts';
import { type ModelCall, type UpstreamAnswer, WholeBody } from './providers/upstream.ts';

export interface Caller {
  readonly id: string;
  readonly account: Account;
  readonly writeHead: WriteHead;
}

interface CallFacts {
  readonly parts: {
    readonly metrics: CallMetrics;
    readonly logger: Logger;
    /** After the first attempt at each upstream. */
    readonly retries: number;
  };
  readonly model: Model;
  readonly caller: Caller;
  readonly reservation: Reservation;
  /** Aborted when the client leaves. The signal of the call follows at once, or after the time that its upstream may be read on. */
  readonly left: AbortSignal;
  readonly started: number;
  readonly dialect: DialectName;
}

type Counted = Omit<CallResult, 'upstream' | 'outcome' | 'lost' | 'ms' | 'firstTokenMs'>;

interface Answered {
  readonly answer: UpstreamAnswer;
  /** Gives the place at the upstream to the next call. */
  readonly leave: () => void;
}

const firstWaitMs = 250;
const maxWaitMs = 8_000;
/** An upstream that asks for a longer pause is not waited for. */
const maxRetryAfterMs = 20_000;
/** Maximum of what is read of an answer whose client left, in bytes. */
const maxUnsentBytes = 32 * 1024 * 1024;

/** One call from its reservation to the last byte: however it ends, it is settled once. */
export class CallUnderWay {
  readonly #facts: CallFacts;
  /** Where it was answered, or failed last. */
  upstream: string;
  /** Whether an attempt is under way of which nothing is known yet. */
  #attempting = false;
  readonly #lost: LostAttempt[] = [];
  #firstTokenMs: number | null = null;

  constructor(facts: CallFacts) {
    this.#facts = facts;
    this.upstream = facts.model.lanes[0]!.upstream.name;
  }

  /** @throws what the client is to be answered, unless the answer has begun or the client left */
  async run(call: ModelCall, response: ServerResponse): Promise<void> {
    const { caller, started, left } = this.#facts;
    let answered: Answered;
    try {
      answered = await this.#answered(call);
    } catch (error) {
      if (this.#attempting) this.#lose(this.upstream, this.#countsWhole(call));
      this.#settle(error, { sentBytes: 0, contentBytes: null, usage: noUsage });
      if (left.aborted) return;
      throw error;
    }
    this.#firstTokenMs = performance.now() - started;
    const { answer, leave } = answered;
    const headers = { ...answer.headers, [providerHeader]: this.upstream.split('/', 1)[0]! };
    const client = { response, writeHead: caller.writeHead, readOn: readsOn(caller.account, call) };
    const { failure, sentBytes } = await relay({ ...answer, headers }, client, call).finally(leave);
    const usage = answer.usage();
    const endIsUnknown = call.stream
      ? failure !== null || (left.aborted && !statesOutput(usage))
      : failure !== null && !statesOutput(usage);
    const mayHaveOutput = endIsUnknown && this.#countsWhole(call);
    if (failure instanceof UpstreamFailure) this.#report(this.upstream, failure, 'given up');
    const contentBytes = answer.contentBytes?.() ?? null;
    const usageIsPartial = answer.usageIsPartial?.() ?? false;
    const readToEnd = failure === null;
    this.#settle(failure, { sentBytes, contentBytes, usage, usageIsPartial, readToEnd, mayHaveOutput });
  }

  /**
   * Whether the whole reservation is counted for an answer whose end was not seen. A stream may hold hidden thoughts, which a run
   * could otherwise have for nothing.
   */
  #countsWhole({ stream }: ModelCall): boolean {
    return !stream || this.#facts.caller.account.run !== null;
  }

  /**
   * Asks one upstream after the other until one answers, each as often as it may help; nobody has seen a byte until then.
   * @throws the failure of the last upstream, and the signal's reason
   */
  async #answered(call: ModelCall): Promise<Answered> {
    const { parts, model, left } = this.#facts;
    const waiting = AbortSignal.any([call.signal, left]);
    for (const lane of model.lanes) {
      const isLast = lane === model.lanes.at(-1);
      for (let attempt = 0; ; attempt++) {
        try {
          return await this.#attempt(lane, call, waiting);
        } catch (error) {
          if (call.signal.aborted) throw call.signal.reason;
          if (!(error instanceof UpstreamFailure)) throw error;
          const mayRetry = error.remedy === 'retry' && attempt < parts.retries;
          const wait = mayRetry && !left.aborted ? waitBefore(attempt, error) : null;
          const over = error.remedy === 'none' || left.aborted || (wait === null && isLast);
          const { name } = lane.upstream;
          this.#attempting = false;
          if (error.charged) this.#lose(name, this.#countsWhole(call) && endedUnseen.has(error.code));
          this.#report(name, error, wait !== null ? 'again' : over ? 'given up' : 'elsewhere');
          if (over) throw error;
          if (wait === null) break;
          await pause(wait, waiting);
        }
      }
    }
    throw new Error('a model has at least one upstream');
  }

  async #attempt({ upstream, enter }: Lane, call: ModelCall, waiting: AbortSignal): Promise<Answered> {
    const { caller, reservation } = this.#facts;
    const leave = await enter(caller.account.key, waiting);
    try {
      await reservation.check(this.#lost);
      waiting.throwIfAborted();
      this.upstream = upstream.name;
      this.#attempting = true;
      return { answer: await upstream.send(call), leave };
    } catch (error) {
      leave();
      throw error;
    }
  }

  #lose(upstream: string, mayHaveOutput: boolean): void {
    this.#lost.push({ upstream, mayHaveOutput });
  }

  #settle(failure: unknown, counted: Counted): void {
    const { parts, model, dialect, reservation, started, left } = this.#facts;
    const own = {
      upstream: this.upstream,
      outcome: outcomeOf(failure, left),
      ms: performance.now() - started,
      firstTokenMs: this.#firstTokenMs,
    };
    const settlement = reservation.settle({ ...own, ...counted, lost: this.#lost });
    parts.metrics.ended({ model: model.name, dialect, ...own, settlement });
  }

  #report(upstream: string, failure: UpstreamFailure, next: 'again' | 'elsewhere' | 'given up'): void {
    const { parts, model, dialect, caller } = this.#facts;
    const { code, status, message } = failure;
    // Codes of upstreams are without end, and measurements must not be.
    parts.metrics.failed(
      { model: model.name, upstream, dialect },
      ownCodes.has(code) ? code : String(status),
    );
    // The upstream's words may repeat what was asked: they are for the client, and not for the log.
    const own = ownCodes.has(code) ? `${upstream}: ${code}` : `${upstream} answered ${status}`;
    const what = ownWords.has(code) ? message : own;
    parts.logger.warn(`${model.name}: ${what}`, {
      request_id: caller.id,
      upstream,
      status,
      code: ownCodes.has(code) || upstreamCodes.has(code) ? code : 'other',
      next,
    });
  }
}

/** An upstream may have generated its whole answer before one of these failures. */
const endedUnseen = new Set(['upstream_timeout', 'upstream_broke_off']);

function outcomeOf(failure: unknown, left: AbortSignal): CallResult['outcome'] {
  if (left.aborted && !(failure instanceof UpstreamFailure)) return 'aborted';
  return failure === null ? 'done' : 'failed';
}

/** Whether an upstream is read to its usage after the client left. People’s calls end at once. */
export function readsOn({ run }: Account, { stream }: Pick<ModelCall, 'stream'>): boolean {
  return run !== null && stream;
}

/** Full jitter, and never sooner than the upstream asked; null where that is too long. */
function waitBefore(attempt: number, { retryAfterMs }: UpstreamFailure): number | null {
  if ((retryAfterMs ?? 0) > maxRetryAfterMs) return null;
  return (retryAfterMs ?? 0) + Math.random() * Math.min(maxWaitMs, firstWaitMs * 2 ** attempt);
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await delay(ms, undefined, { signal });
  } catch {
    throw signal.reason;
  }
}

/** Time for a slow reader to take the event that reports an error of its stream. */
const lastWordMs = 2_000;

interface Client {
  readonly response: ServerResponse;
  readonly writeHead: WriteHead;
  /** The upstream is read to its end also when the client has left. */
  readonly readOn: boolean;
}

interface Relayed {
  /** Null if the answer was read to its end. */
  readonly failure: unknown;
  readonly sentBytes: number;
}

/**
 * Gives an answer on as fast as the client reads. One that breaks off never looks whole: a stream reports it in an event and has
 * no `[DONE]`, and the connection ends before the body does.
 */
async function relay(
  answer: UpstreamAnswer,
  { response, writeHead, readOn }: Client,
  { endpoint, stream: isStream, signal }: Pick<ModelCall, 'endpoint' | 'stream' | 'signal'>,
): Promise<Relayed> {
  if (answer.body instanceof WholeBody) {
    const { bytes } = answer.body;
    try {
      writeHead(answer.status, answer.headers);
      response.end(bytes);
    } catch (failure) {
      response.destroy();
      return { failure, sentBytes: 0 };
    }
    return { failure: null, sentBytes: bytes.length };
  }
  const body = answer.body[Symbol.asyncIterator]();
  let sentBytes = 0;
  let failure: unknown = null;
  try {
    let { done, value } = await body.next();
    // Only now, when the first byte is there, the head cannot be taken back any more.
    if (!response.destroyed) writeHead(answer.status, answer.headers);
    while (done !== true) {
      const isFirst = sentBytes === 0;
      if (response.destroyed) {
        if (readOn) return { failure: await readToEnd(body), sentBytes };
        await body.return?.();
        return { failure: new Error('the client left'), sentBytes };
      }
      sentBytes += value!.length;
      if (!response.write(value) && !response.destroyed) await drained(response, signal);
      // The first token goes out before what came with it is looked at.
      else if (isFirst && isStream) await new Promise<void>((resolve) => process.nextTick(resolve));
      ({ done, value } = await body.next());
    }
    response.end();
  } catch (error) {
    failure = error;
    void body.return?.().catch(() => {});
    breakOff(response, error, isStream ? endpoint : null);
  }
  return { failure, sentBytes };
}

/** Throws away what is left of an answer, for its usage. @returns why it was not read to its end; null if it was */
async function readToEnd(body: AsyncIterator<Uint8Array>): Promise<unknown> {
  let bytes = 0;
  for (;;) {
    const { done, value } = await body.next();
    if (done === true) return null;
    bytes += value.length;
    if (bytes <= maxUnsentBytes) continue;
    await body.return?.();
    return new Error(`the client left, and the answer went on for more than ${maxUnsentBytes} bytes`);
  }
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

/** @param streamed what a stream answers; null for a whole answer */
function breakOff(response: ServerResponse, error: unknown, streamed: Endpoint | null): void {
  if (response.destroyed) return;
  if (!response.headersSent || streamed === null || !(error instanceof UpstreamFailure)) {
    response.destroy();
    return;
  }
  const event = dialectFor(streamed).errorEvent(error.openaiError, error.status);
  response.write(event, () => response.destroy());
  setTimeout(() => response.destroy(), lastWordMs).unref();
}
