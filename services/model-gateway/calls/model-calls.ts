import type { ServerResponse } from 'node:http';
import { Interrupted } from '#kit/errors.ts';
import type { WriteHead } from '#kit/http/route.ts';
import type { Logger } from '#kit/log.ts';
import type { Account } from '../ledger/account.ts';
import type { CallResult, Ledger, LostAttempt, Reservation } from '../ledger/ledger.ts';
import type { CallMetrics } from '../metrics.ts';
import { lateFailure, UpstreamFailure } from '../providers/failure.ts';
import type { ModelCall } from '../providers/upstream.ts';
import { noUsage } from '../providers/usage.ts';
import { type Answered, answerFrom } from './attempts.ts';
import { chosenModel, type Model, unusualTtl } from './chosen-model.ts';
import { decodeCall } from './decode-call.ts';
import { relay } from './relay.ts';
import { estimateTokens } from './token-estimate.ts';
import type { ViaLoopGuard } from './via-loop-guard.ts';

export interface ModelCallParts {
  readonly models: ReadonlyMap<string, Model>;
  readonly ledger: Pick<Ledger, 'reserve'>;
  readonly metrics: CallMetrics;
  readonly logger: Logger;
  readonly retries: number;
  readonly totalMs: number;
  readonly mark: ViaLoopGuard;
}

export interface CallRequest {
  readonly endpoint: ModelCall['endpoint'];
  /** The body. */
  readonly bytes: Buffer;
  /** The header of that name. */
  readonly via: string | undefined;
}

export interface Caller {
  readonly id: string;
  readonly account: Account;
  readonly writeHead: WriteHead;
}

/** Calls from their request to the settlement of what they cost. */
export class ModelCalls {
  readonly #parts: ModelCallParts;
  readonly #underWay = new Set<Promise<void>>();

  constructor(parts: ModelCallParts) {
    this.#parts = parts;
  }

  /** @throws what a client has to be told, unless the answer has begun */
  handle(request: CallRequest, response: ServerResponse, caller: Caller): Promise<void> {
    const call = this.#handle(request, response, caller).finally(() => this.#underWay.delete(call));
    this.#underWay.add(call);
    return call;
  }

  /** Resolves when every call is settled. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }

  async #handle(
    { endpoint, bytes, via: given }: CallRequest,
    response: ServerResponse,
    caller: Caller,
  ): Promise<void> {
    const started = performance.now();
    const via = this.#parts.mark.onward(given);
    const decoded = decodeCall(endpoint, bytes);
    const model = chosenModel(decoded, caller.account, this.#parts.models);
    const [first] = model.lanes;
    const { each, ...estimate } = estimateTokens(decoded, model);
    const reservation = await this.#parts.ledger.reserve(caller.account, {
      model: model.name,
      upstream: first!.upstream.name,
      longCache: unusualTtl(decoded) !== undefined,
      ...estimate,
    });
    const ending = new AbortController();
    response.once('close', () => {
      if (!response.writableFinished) ending.abort(new Interrupted('client_gone', 'the client left'));
    });
    const { totalMs } = this.#parts;
    const limit = setTimeout(() => ending.abort(lateFailure(underWay.upstream, 'total', totalMs)), totalMs);
    const underWay = new CallUnderWay({ parts: this.#parts, model, caller, reservation, started });
    if (response.destroyed) ending.abort(new Interrupted('client_gone', 'the client left'));
    try {
      const outputLimit = reservation.bounded ? each : null;
      await underWay.run({ ...decoded, via, outputLimit, signal: ending.signal }, response);
    } finally {
      clearTimeout(limit);
    }
  }
}

interface CallFacts {
  readonly parts: ModelCallParts;
  readonly model: Model;
  readonly caller: Caller;
  readonly reservation: Reservation;
  readonly started: number;
}

interface CallEnd extends Pick<CallResult, 'sentBytes' | 'contentBytes' | 'usage' | 'usageIsPartial'> {
  readonly failure: unknown;
  readonly signal: AbortSignal;
}

/** One call that has its reservation: however it ends, it is settled once. */
class CallUnderWay {
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

  async run(call: ModelCall, response: ServerResponse): Promise<void> {
    const { parts, model, caller, started } = this.#facts;
    let answered: Answered;
    try {
      answered = await answerFrom(model.lanes, call, {
        account: caller.account.key,
        retries: parts.retries,
        began: (upstream) => {
          this.#facts.reservation.check(this.#lost);
          this.upstream = upstream;
          this.#attempting = true;
        },
        failed: (upstream, failure, next) => {
          this.#attempting = false;
          if (failure.charged) this.#lose(upstream, !call.stream && endedUnseen.has(failure.code));
          this.#tell(upstream, failure, next);
        },
      });
    } catch (error) {
      if (this.#attempting) this.#lose(this.upstream, !call.stream);
      this.#settle({ failure: error, sentBytes: 0, contentBytes: null, usage: noUsage, signal: call.signal });
      if (clientLeft(call.signal)) return;
      throw error;
    }
    this.#firstTokenMs = performance.now() - started;
    const { answer, leave } = answered;
    const { failure, sentBytes } = await relay(answer, { response, writeHead: caller.writeHead }, call);
    leave();
    let usage = await answer.usage;
    const contentBytes = answer.contentBytes?.() ?? null;
    if (failure !== null && usage === null && !call.stream) {
      this.#lose(this.upstream, true);
      usage = noUsage;
    }
    if (failure instanceof UpstreamFailure) this.#tell(this.upstream, failure, 'given up');
    const usageIsPartial = answer.usageIsPartial?.() ?? false;
    const counted = { sentBytes: contentBytes ?? sentBytes, contentBytes, usage, usageIsPartial };
    this.#settle({ ...counted, failure, signal: call.signal });
  }

  #lose(upstream: string, written: boolean): void {
    this.#lost.push({ upstream, written });
  }

  #settle({ failure, signal, sentBytes, contentBytes, usage, usageIsPartial = false }: CallEnd): void {
    const { parts, model, reservation, started } = this.#facts;
    const { upstream } = this;
    const outcome = outcomeOf(failure, signal);
    const ms = performance.now() - started;
    const firstTokenMs = this.#firstTokenMs;
    const lost = this.#lost;
    const counted = { sentBytes, contentBytes, usage, usageIsPartial };
    const settlement = reservation.settle({ upstream, outcome, ms, firstTokenMs, lost, ...counted });
    parts.metrics.ended({ model: model.name, upstream, outcome, ms, firstTokenMs, settlement });
  }

  #tell(upstream: string, failure: UpstreamFailure, next: string): void {
    const { parts, model, caller } = this.#facts;
    // Codes of upstreams are without end, and measurements must not be.
    const counted = ourCodes.has(failure.code) ? failure.code : String(failure.status);
    parts.metrics.failed(model.name, upstream, counted);
    // The upstream's words may repeat what was asked: they are for the client, and not for the log.
    const what = ourWords.has(failure.code) ? failure.message : `${upstream} answered ${failure.status}`;
    parts.logger.warn(`${model.name}: ${what}`, {
      request_id: caller.id,
      upstream,
      status: failure.status,
      code: ourCodes.has(failure.code) || theirCodes.has(failure.code) ? failure.code : 'other',
      next,
    });
  }
}

/** A whole answer comes when it is written: with these it may have been. */
const endedUnseen = new Set(['upstream_timeout', 'upstream_broke_off']);

/** Codes of failures that are told in words of the gateway alone. */
const ourWords = new Set([
  'upstream_unreachable',
  'upstream_timeout',
  'upstream_broke_off',
  'upstream_redirected',
  'credential_unusable',
]);

const ourCodes = new Set([
  ...ourWords,
  'upstream_answer_invalid',
  'upstream_stream_broken',
  'queue_full',
  'queue_timeout',
]);

/** Those that upstreams are known to use: what else stands there may be anything, a part of the credential too. */
const theirCodes = new Set([
  'authentication_error',
  'billing_error',
  'content_filter',
  'context_length_exceeded',
  'insufficient_quota',
  'internal_error',
  'invalid_api_key',
  'invalid_request_error',
  'invalid_value',
  'model_not_found',
  'not_found_error',
  'overloaded',
  'permission_denied',
  'rate_limit_exceeded',
  'request_too_large',
  'server_error',
  'unknown_parameter',
  'unsupported_endpoint',
  'unsupported_parameter',
  'unsupported_value',
  'upstream_error',
]);

function outcomeOf(failure: unknown, signal: AbortSignal): CallResult['outcome'] {
  if (failure === null) return 'done';
  return clientLeft(signal) && !(failure instanceof UpstreamFailure) ? 'aborted' : 'failed';
}

/** And not: a limit of ours has passed. */
function clientLeft({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof Interrupted;
}
