import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { isObject } from '#kit/is-object.ts';
import { mapTexts } from '#kit/map-texts.ts';
import { errorIn, errorInStream, upstreamError } from '../answer-errors.ts';
import {
  connectionFailure,
  lateFailure,
  ownFailure,
  type Progress,
  type UpstreamFailure,
} from '../failure.ts';
import { answerHeaders } from '../headers.ts';
import { type Mask, withoutSecrets } from '../mask.ts';
import {
  type ModelCall,
  type Upstream,
  type UpstreamAnswer,
  type UpstreamOptions,
  wholeAnswer,
} from '../upstream.ts';
import { BrokenStream, EventReader } from './event-reader.ts';
import { eventsOf, firstOf } from './event-stream.ts';
import type { LimitMember, Wire } from './wire.ts';

/** In bytes, both. */
const maxError = 64 * 1024;
const maxWhole = 256 * 1024 * 1024;

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Media type, masked. */
  readonly type: string;
  readonly body: Readable;
  readonly mask: Mask;
  readonly signal: AbortSignal;
}

/**
 * An upstream that speaks the dialect of the calls that it gets: requests and answers go through but for the model's name, limits
 * that a budget sets, and the usage of streams.
 */
export class PassThroughUpstream implements Upstream {
  readonly name: string;
  readonly #options: UpstreamOptions;
  readonly #wire: Wire;
  readonly #baseUrl: string;
  #limitMember: LimitMember;

  constructor(options: UpstreamOptions, wire: Wire) {
    this.name = options.name;
    this.#options = options;
    this.#wire = wire;
    this.#baseUrl = options.entry.base_url.replace(/\/+$/, '');
    this.#limitMember = wire.limitMember?.usual(options.entry) ?? 'max_tokens';
  }

  async send(call: ModelCall): Promise<UpstreamAnswer> {
    const { first_token_ms } = this.#options.timeouts;
    if (!call.stream) return await this.#whole(call, await this.#ask(call, call.signal));
    const first = new AbortController();
    const timer = setTimeout(
      () => first.abort(lateFailure(this.name, 'first', first_token_ms)),
      first_token_ms,
    );
    try {
      return await this.#stream(
        await this.#ask(call, AbortSignal.any([call.signal, first.signal])),
        !call.includeUsage,
        this.#wire.events.answers(call.request),
      );
    } finally {
      clearTimeout(timer);
    }
  }

  /** Resolves with an answer of status 2xx. @throws UpstreamFailure, the signal's reason */
  async #ask(call: ModelCall, signal: AbortSignal): Promise<Answer> {
    const { text, mask } = this.#options.credential();
    const progress: { stage: Progress } = { stage: 'unsent' };
    const path = this.#wire.path(call, this.#options.entry.model);
    const asked = this.#options.connections.request(`${this.#baseUrl}${path}`, {
      method: 'POST',
      onSent: () => {
        progress.stage = 'sent';
      },
      headers: this.#headers(call, text),
      body: this.#wire.body(call, this.#there()),
      signal,
    });
    const { statusCode, headers, body } = await asked.catch((error) => {
      throw this.#explained(error, signal, progress.stage);
    });
    // Who iterates over the body sees its errors.
    body.on('error', () => {});
    const type = mediaTypeOf(headers, mask);
    return await this.#accepted(call, { status: statusCode, headers, type, body, mask, signal });
  }

  #headers(call: ModelCall, credential: string | null): Record<string, string> {
    return {
      'user-agent': this.#options.userAgent,
      ...call.headers,
      ...this.#wire.headers(call),
      'content-type': 'application/json',
      accept: call.stream ? 'text/event-stream' : 'application/json',
      // An encoded answer could neither be searched for the credential nor read for its usage.
      'accept-encoding': 'identity',
      ...(call.via !== undefined && { via: call.via }),
      ...(credential !== null && this.#wire.credential(credential)),
    };
  }

  #there() {
    const { model, stream_usage: streamUsage = true } = this.#options.entry;
    return { model, streamUsage, limitMember: this.#limitMember };
  }

  async #accepted(call: ModelCall, answer: Answer): Promise<Answer> {
    const { status, headers, type, body, mask } = answer;
    const { 'content-encoding': encoding = 'identity' } = headers;
    if (encoding !== 'identity') {
      body.destroy();
      throw this.#invalid('answered in a content encoding, though none was asked for');
    }
    if (status < 200 || status >= 300) {
      const text = await beginning(answer);
      if (this.#options.entry.limit_member === undefined)
        this.#limitMember = this.#wire.limitMember?.learn(status, text) ?? this.#limitMember;
      throw upstreamError(status, headers, this.#refused(answer, text));
    }
    if (!call.stream || type === 'text/event-stream' || type === '') return answer;
    const text = await beginning(answer);
    const reported = type === 'application/json' ? `: ${errorIn(this.name, status, text, mask).message}` : '';
    const what = type || 'without a content type';
    throw this.#invalid(`answered ${what} where an event stream was asked for${reported}`);
  }

  /** Chat completions are what every upstream is made to look like: their errors have OpenAI's words alone. */
  #refused({ headers, mask }: Answer, body: string) {
    const { dialect } = this.#wire;
    const own = dialect === 'chat' ? null : { dialect, headers: this.#given(headers, mask) };
    return { upstream: this.name, mask, body, own };
  }

  #given(headers: IncomingHttpHeaders, mask: Mask): Record<string, string> {
    return answerHeaders(headers, mask, this.#wire.isAnswerHeader);
  }

  async #whole(call: ModelCall, answer: Answer): Promise<UpstreamAnswer> {
    const { status, headers, type, body, mask, signal } = answer;
    const pieces: Buffer[] = [];
    let size = 0;
    try {
      for await (const piece of body) {
        size += piece.length;
        if (size > maxWhole) throw this.#invalid(`answered more than ${maxWhole} bytes`);
        pieces.push(piece);
      }
    } catch (error) {
      throw this.#explained(error, signal, 'begun');
    }
    const text = mask.hide(Buffer.concat(pieces).toString());
    const value = parsed(text);
    if (!isObject(value)) {
      const what = size === 0 ? 'nothing' : type === '' ? 'no content type' : type;
      throw this.#invalid(`answered 200 with ${what} that is not a JSON object`);
    }
    return wholeAnswer({
      status,
      headers: this.#given(headers, mask),
      // Some upstreams report errors with status 200.
      text: value.error == null ? text : JSON.stringify(mapTexts(value, hiding(mask))),
      usage: this.#wire.usage(value, call),
    });
  }

  /** Resolves with the first event, so that until then another upstream can be asked. */
  async #stream(answer: Answer, hideUsage: boolean, answers: number): Promise<UpstreamAnswer> {
    const { status, headers, body, mask, signal } = answer;
    const reader = new EventReader({ wire: this.#wire.events, hideUsage, mask, answers });
    const events = eventsOf(body, reader);
    const explained = (error: unknown, given: boolean) =>
      error instanceof BrokenStream ? this.#broken(error, given) : this.#explained(error, signal, 'begun');

    const reported = (event: string) => {
      const { message } = errorIn(this.name, 502, event, mask);
      return new BrokenStream(`it reports an error: ${message}`);
    };

    async function* all(first: string): AsyncGenerator<Uint8Array> {
      try {
        yield Buffer.from(first);
        for await (const next of events) yield Buffer.from(next);
        if (reader.failure !== null) throw reported(reader.failure);
      } catch (error) {
        throw explained(error, true);
      } finally {
        await events.return(undefined);
      }
    }

    try {
      const first = await firstOf(events, reader);
      // Nobody has seen it yet, so that another attempt can help.
      if (reader.failure !== null) throw this.#failureIn(reader.failure, answer);
      return {
        status,
        headers: this.#given(headers, mask),
        body: all(first),
        usage: () => reader.usage,
        usageIsPartial: () => reader.usageIsPartial,
        contentBytes: () => reader.contentBytes(),
      };
    } catch (error) {
      await events.return(undefined);
      throw explained(error, false);
    }
  }

  #failureIn(event: string, answer: Answer): UpstreamFailure {
    const status = this.#wire.events.status(JSON.parse(event)) ?? 502;
    return errorInStream(status, this.#refused(answer, event));
  }

  #explained(error: unknown, signal: AbortSignal, progress: Progress): unknown {
    if (signal.aborted) return signal.reason;
    return connectionFailure(this.name, error, progress, this.#options.timeouts.idle_ms);
  }

  #broken(error: BrokenStream, given: boolean): UpstreamFailure {
    const message = `upstream ${this.name} sent a broken stream: ${error.message}`;
    return ownFailure(502, 'upstream_stream_broken', message, {
      remedy: given ? 'none' : 'retry',
      charged: true,
    });
  }

  #invalid(what: string): UpstreamFailure {
    const facts = { remedy: 'next', charged: true } as const;
    return ownFailure(502, 'upstream_answer_invalid', `upstream ${this.name} ${what}`, facts);
  }
}

/** Of an error's body, which may break off. */
async function beginning({ body, mask }: Answer): Promise<string> {
  const pieces: Buffer[] = [];
  let size = 0;
  try {
    for await (const piece of body) {
      pieces.push(piece);
      size += piece.length;
      if (size >= maxError) break;
    }
  } catch {
    // The status is enough.
  }
  body.destroy();
  return mask.hide(Buffer.concat(pieces).toString()).slice(0, maxError);
}

/** The media type alone, masked and then in lower case, in which no credential would be found. */
function mediaTypeOf(headers: IncomingHttpHeaders, mask: Mask): string {
  return withoutSecrets(headers['content-type'] ?? '', mask)
    .split(';', 1)[0]!
    .trim()
    .toLowerCase();
}

const hiding = (mask: Mask) => (text: string) => withoutSecrets(text, mask);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
