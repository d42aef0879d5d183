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
import { type Caller, CallUnderWay, readsOn } from '../stream.ts';
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

/** Time in ms for which the upstream of a run's stream is read after the client left, to learn what it costs. */
const readOnMs = 60_000;

/** Calls from their request to the settlement of what they cost. */
export class ModelCalls {
  readonly #parts: ModelCallParts;
  readonly #loops = new ViaLoopGuard();
  readonly #underWay = new Set<Promise<void>>();
  /** Ends the calls that are only read for their usage. */
  readonly #readingOn = new Set<() => void>();

  constructor(parts: ModelCallParts) {
    this.#parts = parts;
  }

  /** @throws what the client is to be answered, unless the answer has begun */
  handle(request: CallRequest, response: ServerResponse, caller: Caller): Promise<void> {
    const call = this.#handle(request, response, caller).finally(() => this.#underWay.delete(call));
    this.#underWay.add(call);
    return call;
  }

  /** Ends calls whose client left. Resolves when every call is settled. */
  async settled(): Promise<void> {
    for (const end of this.#readingOn) end();
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
    const [ending, leaving] = [new AbortController(), new AbortController()];
    const gone = () => new Interrupted('client_gone', 'the client left');
    const end = () => ending.abort(gone());
    let readOn: NodeJS.Timeout | undefined;
    const leave = () => {
      if (leaving.signal.aborted) return;
      leaving.abort(gone());
      if (!readsOn(caller.account, decoded)) return end();
      readOn = setTimeout(end, readOnMs);
      this.#readingOn.add(end);
    };
    response.once(
      'close',
      guarded('a call of a model', () => {
        if (!response.writableFinished) leave();
      }),
    );
    const { totalMs } = this.#parts;
    const limit = setTimeout(() => ending.abort(lateFailure(underWay.upstream, 'total', totalMs)), totalMs);
    const parts = { ...this.#parts, retries };
    const dialect = dialectOf[decoded.endpoint];
    const underWay = new CallUnderWay({
      ...{ parts, model, dialect, caller, reservation, started },
      left: leaving.signal,
    });
    if (response.destroyed) leave();
    try {
      const outputLimit = reservation.bounded ? each : null;
      const { inputTokens } = estimate;
      const call = { ...decoded, via, headers, search, outputLimit, inputTokens, signal: ending.signal };
      await underWay.run(call, response);
    } finally {
      clearTimeout(limit);
      clearTimeout(readOn);
      this.#readingOn.delete(end);
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
