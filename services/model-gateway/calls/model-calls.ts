import type { IncomingMessage, ServerResponse } from 'node:http';
import { Forbidden, Interrupted, NotFound } from '#kit/errors.ts';
import { readJsonBytes } from '#kit/http/body.ts';
import type { Logger } from '#kit/log.ts';
import type { ModelEntry } from '../configuration.ts';
import type { Account } from '../ledger/account.ts';
import type { CallResult, Ledger, Reservation } from '../ledger/ledger.ts';
import type { CallMetrics } from '../metrics.ts';
import { lateFailure } from '../upstreams/connection-failure.ts';
import { type Answered, answerFrom, type Lane } from './attempts.ts';
import { type DecodedCall, decodeCall, InvalidCall } from './decode-call.ts';
import { relay } from './relay.ts';
import { estimateTokens, outputAsked } from './token-estimate.ts';
import type { ModelCall } from './upstream-answer.ts';
import { UpstreamFailure } from './upstream-failure.ts';
import { noUsage, type Usage } from './usage.ts';

export interface Model {
  readonly name: string;
  readonly kind: NonNullable<ModelEntry['kind']>;
  readonly outputLimit: number | null;
  readonly lanes: readonly Lane[];
}

export interface ModelCallParts {
  readonly models: ReadonlyMap<string, Model>;
  readonly ledger: Pick<Ledger, 'reserve'>;
  readonly metrics: CallMetrics;
  readonly logger: Logger;
  readonly retries: number;
  readonly totalMs: number;
}

export interface Caller {
  readonly id: string;
  readonly account: Account;
}

const largestBody = 10 * 1024 * 1024;

/** Calls from their request to the settlement of what they cost. */
export class ModelCalls {
  readonly #parts: ModelCallParts;
  readonly #underWay = new Set<Promise<void>>();

  constructor(parts: ModelCallParts) {
    this.#parts = parts;
  }

  /** @throws what a client has to be told, unless the answer has begun */
  handle(
    endpoint: ModelCall['endpoint'],
    request: IncomingMessage,
    response: ServerResponse,
    caller: Caller,
  ): Promise<void> {
    const call = this.#handle(endpoint, request, response, caller);
    const ended = call.then(
      () => {},
      () => {},
    );
    this.#underWay.add(ended);
    void ended.then(() => this.#underWay.delete(ended));
    return call;
  }

  /** Resolves when every call is settled. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  async #handle(
    endpoint: ModelCall['endpoint'],
    request: IncomingMessage,
    response: ServerResponse,
    caller: Caller,
  ): Promise<void> {
    const started = performance.now();
    const decoded = decodeCall(endpoint, await readJsonBytes(request, largestBody));
    const model = this.#modelFor(decoded, caller.account);
    const [first] = model.lanes;
    const estimate = estimateTokens(decoded, model.outputLimit);
    const reservation = await this.#parts.ledger.reserve(caller.account, {
      model: model.name,
      upstream: first!.upstream.name,
      ...estimate,
    });
    const ending = new AbortController();
    response.once('close', () => {
      if (!response.writableFinished) ending.abort(new Interrupted('client_gone', 'the client left'));
    });
    const timer = setTimeout(
      () => ending.abort(lateFailure(underWay.upstream, 'total', this.#parts.totalMs)),
      this.#parts.totalMs,
    );
    const underWay = new CallUnderWay({ parts: this.#parts, model, caller, reservation, started });
    if (response.destroyed) ending.abort(new Interrupted('client_gone', 'the client left'));
    try {
      await underWay.run({ ...decoded, signal: ending.signal }, response);
    } finally {
      clearTimeout(timer);
    }
  }

  #modelFor(call: DecodedCall, { models: own }: Account): Model {
    const { models } = this.#parts;
    const known = [...models.values()].filter(({ name }) => own === null || own.includes(name));
    const model = models.get(call.model);
    const wanted = call.endpoint === 'embeddings' ? 'embeddings' : 'chat';
    const choices = known.filter(({ kind }) => kind === wanted).map(({ name }) => name);
    const must =
      choices.length === 0 ? noneThere(models.size, wanted) : `must be one of ${choices.join(', ')}`;
    const said = `model ${JSON.stringify(call.model.slice(0, 120))}`;
    if (model === undefined) throw new UnknownModel('model_not_found', `${said} is not configured: ${must}`);
    if (!known.includes(model)) {
      throw new ForbiddenModel('model_not_allowed', `${said} is none of this key: ${must}`);
    }
    if (model.kind !== wanted) {
      throw new InvalidCall(
        'model_kind',
        `${said} is for ${model.kind}, not for ${wanted}: ${must}`,
        'model',
      );
    }
    const asked = outputAsked(call.request);
    if (asked !== null && model.outputLimit !== null && asked > model.outputLimit) {
      const param = call.request.max_completion_tokens === undefined ? 'max_tokens' : 'max_completion_tokens';
      throw new InvalidCall(
        'invalid_input',
        `${param} is ${asked}: must be at most ${model.outputLimit}`,
        param,
      );
    }
    return model;
  }
}

class UnknownModel extends NotFound {
  readonly param = 'model';
}

class ForbiddenModel extends Forbidden {
  readonly param = 'model';
}

function noneThere(all: number, wanted: string): string {
  return all === 0
    ? 'none is; ./core model add configures one'
    : `there is none for ${wanted}; ./core model add configures one`;
}

interface CallFacts {
  readonly parts: ModelCallParts;
  readonly model: Model;
  readonly caller: Caller;
  readonly reservation: Reservation;
  readonly started: number;
}

/** One call that has its reservation: however it ends, it is settled once. */
class CallUnderWay {
  readonly #facts: CallFacts;
  /** Where it was answered, or failed last. */
  upstream: string;
  /** Whether an upstream may have begun to work for it, and is paid. */
  #charged = false;
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
          this.upstream = upstream;
          this.#charged = true;
        },
        failed: (upstream, failure, next) => {
          this.#charged = failure.charged;
          this.#tell(upstream, failure, next);
        },
      });
    } catch (error) {
      this.#settle({
        failure: error,
        sentBytes: 0,
        usage: this.#charged ? null : noUsage,
        signal: call.signal,
      });
      if (clientLeft(call.signal)) return;
      throw error;
    }
    this.#firstTokenMs = performance.now() - started;
    const { answer, leave } = answered;
    const { failure, sentBytes } = await relay(answer, response, call);
    leave();
    const usage = await answer.usage;
    if (failure instanceof UpstreamFailure) this.#tell(this.upstream, failure, 'given up');
    this.#settle({ failure, sentBytes: answer.wordBytes?.() ?? sentBytes, usage, signal: call.signal });
  }

  #settle(end: { failure: unknown; sentBytes: number; usage: Usage | null; signal: AbortSignal }): void {
    const { parts, model, reservation, started } = this.#facts;
    const outcome = outcomeOf(end.failure, end.signal);
    const ms = performance.now() - started;
    const result = { upstream: this.upstream, outcome, ms, firstTokenMs: this.#firstTokenMs };
    const settlement = reservation.settle({ ...result, usage: end.usage, sentBytes: end.sentBytes });
    parts.metrics.ended({ ...result, model: model.name, settlement });
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
      code: /^[\w.-]{1,64}$/.test(failure.code) ? failure.code : 'other',
      next,
    });
  }
}

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

function outcomeOf(failure: unknown, signal: AbortSignal): CallResult['outcome'] {
  if (failure === null) return 'done';
  return clientLeft(signal) && !(failure instanceof UpstreamFailure) ? 'aborted' : 'failed';
}

/** And not: a limit of ours has passed. */
function clientLeft({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof Interrupted;
}
