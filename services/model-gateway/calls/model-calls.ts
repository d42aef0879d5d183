import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { guarded } from '#kit/callbacks.ts';
import { CoreError, Interrupted } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { CallMetrics } from '../metrics.ts';
import { dialectOf } from '../providers/endpoints.ts';
import { lateFailure } from '../providers/failure.ts';
import { headersOfRun, searchOfRun } from '../providers/headers.ts';
import { type Caller, CallUnderWay } from '../stream.ts';
import { unusualTtl } from './allowed-for-run.ts';
import { decodeCall, estimateTokens, type SentCall } from './decode-call.ts';
import { chosenModel, type Model } from './models.ts';

export interface ModelCallParts {
  /** What is configured now, looked at once for each call. */
  readonly configured: () => { readonly models: ReadonlyMap<string, Model>; readonly retries: number };
  readonly ledger: Pick<Ledger, 'reserve'>;
  readonly metrics: CallMetrics;
  readonly logger: Logger;
  readonly totalMs: number;
}

export interface CallRequest extends SentCall {
  /** The header of that name. */
  readonly via: string | undefined;
  /** What of the request goes on to an upstream that speaks the same dialect. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly search?: string;
}

/** Calls from their request to the settlement of what they cost. */
export class ModelCalls {
  readonly #parts: ModelCallParts;
  readonly #loops = new ViaLoopGuard();
  readonly #underWay = new Set<Promise<void>>();

  constructor(parts: ModelCallParts) {
    this.#parts = parts;
  }

  /** @throws what the client is to be answered, unless the answer has begun */
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
    { via: given, headers: allHeaders = {}, search: wholeSearch = '', ...sent }: CallRequest,
    response: ServerResponse,
    caller: Caller,
  ): Promise<void> {
    const started = performance.now();
    const via = this.#loops.onward(given);
    const decoded = decodeCall(sent);
    const isRun = caller.account.run !== null;
    const headers = isRun ? headersOfRun(allHeaders) : allHeaders;
    const search = isRun ? searchOfRun(wholeSearch) : wholeSearch;
    const { models, retries } = this.#parts.configured();
    const model = chosenModel(decoded, caller.account, models);
    const [first] = model.lanes;
    const { each, ...estimate } = estimateTokens(decoded, model);
    const reservation = await this.#parts.ledger.reserve(caller.account, {
      model: model.name,
      upstream: first!.upstream.name,
      longCache: unusualTtl(decoded) !== undefined,
      ...estimate,
    });
    const ending = new AbortController();
    response.once(
      'close',
      guarded('a call of a model', () => {
        if (!response.writableFinished) ending.abort(new Interrupted('client_gone', 'the client left'));
      }),
    );
    const { totalMs } = this.#parts;
    const limit = setTimeout(() => ending.abort(lateFailure(underWay.upstream, 'total', totalMs)), totalMs);
    const parts = { ...this.#parts, retries };
    const dialect = dialectOf[decoded.endpoint];
    const underWay = new CallUnderWay({ parts, model, dialect, caller, reservation, started });
    if (response.destroyed) ending.abort(new Interrupted('client_gone', 'the client left'));
    try {
      const outputLimit = reservation.bounded ? each : null;
      const { inputTokens } = estimate;
      const call = { ...decoded, via, headers, search, outputLimit, inputTokens, signal: ending.signal };
      await underWay.run(call, response);
    } finally {
      clearTimeout(limit);
    }
  }
}

const markOf = (id: string) => `1.1 core-model-gateway-${id}`;
const marks = /1\.1 core-model-gateway-[0-9a-f]{16}/g;
/** More gateways behind one another are nobody's intention. */
const maxGateways = 8;

/** A call came back to a gateway that it had passed. */
export class CallLoop extends CoreError {
  override readonly status = 508;

  constructor(what: string) {
    super(
      'call_loop',
      `${what}: an upstream that is configured here, or behind it, leads back to this gateway`,
      {
        hint: 'Correct base_url of that upstream in models.json',
      },
    );
  }
}

/** By its `via` a gateway knows its own calls again, whatever the address under which it is an upstream. Source: RFC 9110, 7.6.3. */
export class ViaLoopGuard {
  readonly #mark = markOf(randomBytes(8).toString('hex'));

  /**
   * The `via` for upstreams of a call that came with this one; of it, the marks of gateways alone go on.
   * @throws CallLoop
   */
  onward(via: string | undefined): string {
    if (via === undefined) return this.#mark;
    const passed: readonly string[] = via.match(marks) ?? [];
    if (passed.includes(this.#mark)) throw new CallLoop('the call has been here already');
    if (passed.length >= maxGateways) throw new CallLoop(`the call has passed ${passed.length} gateways`);
    return [...passed, this.#mark].join(', ');
  }
}
