import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { mapTexts } from '#kit/map-texts.ts';
import {
  connectionFailure,
  lateFailure,
  ownFailure,
  type Progress,
  type UpstreamFailure,
} from '../failure.ts';
import { type Mask, withoutSecrets } from '../mask.ts';
import {
  type ModelCall,
  type Upstream,
  type UpstreamAnswer,
  type UpstreamOptions,
  wholeAnswer,
} from '../upstream.ts';
import { isObject, usageOf } from '../usage.ts';
import { BrokenStream, ChunkReader, drain } from './chunks.ts';
import { answerHeaders, errorIn, errorInStream, upstreamError } from './failures.ts';
import { type LimitMember, rewriteRequest } from './request.ts';

/** In bytes, all three. */
const maxError = 64 * 1024;
const maxWhole = 256 * 1024 * 1024;
/** Of comments before the first event. */
const maxEarly = 64 * 1024;

/** OpenAI's newer models refuse the older member, which is the only one that many others know. */
function limitMemberAt(hostname: string): LimitMember {
  return /(^|\.)openai\.(azure\.)?com$/.test(hostname) ? 'max_completion_tokens' : 'max_tokens';
}

/** What OpenAI's newer models answer wherever they are: the caller asks again, and from then on the newer member is sent. */
function refusesOlderLimit(status: number, text: string): boolean {
  return status === 400 && text.includes('max_tokens') && text.includes('max_completion_tokens');
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Media type, masked. */
  readonly type: string;
  readonly body: Readable;
  readonly mask: Mask;
  readonly signal: AbortSignal;
}

/** An upstream with OpenAI's interface: requests and answers go through but for the model's name and the usage of streams. */
export class OpenAiUpstream implements Upstream {
  readonly name: string;
  readonly #options: UpstreamOptions;
  readonly #baseUrl: string;
  #limitMember: LimitMember;

  constructor(options: UpstreamOptions) {
    const { base_url, limit_member } = options.entry;
    this.name = options.name;
    this.#options = options;
    this.#baseUrl = base_url.replace(/\/+$/, '');
    this.#limitMember = limit_member ?? limitMemberAt(new URL(base_url).hostname);
  }

  async send(call: ModelCall): Promise<UpstreamAnswer> {
    const { first_token_ms } = this.#options.timeouts;
    if (!call.stream) return await this.#whole(await this.#ask(call, call.signal));
    const first = new AbortController();
    const timer = setTimeout(
      () => first.abort(lateFailure(this.name, 'first', first_token_ms)),
      first_token_ms,
    );
    try {
      return await this.#stream(
        await this.#ask(call, AbortSignal.any([call.signal, first.signal])),
        !call.includeUsage,
      );
    } finally {
      clearTimeout(timer);
    }
  }

  /** Resolves with an answer of status 2xx. @throws UpstreamFailure, the signal's reason */
  async #ask(call: ModelCall, signal: AbortSignal): Promise<Answer> {
    const { text, mask } = this.#options.credential();
    const progress: { stage: Progress } = { stage: 'unsent' };
    const asked = this.#options.connections.request(`${this.#baseUrl}/${call.endpoint}`, {
      method: 'POST',
      onSent: () => {
        progress.stage = 'sent';
      },
      headers: this.#headers(call, text),
      body: this.#body(call),
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
      'content-type': 'application/json',
      accept: call.stream ? 'text/event-stream' : 'application/json',
      // An encoded answer could neither be searched for the credential nor read for its usage.
      'accept-encoding': 'identity',
      'user-agent': this.#options.userAgent,
      ...(call.via !== undefined && { via: call.via }),
      ...(credential !== null && { authorization: `Bearer ${credential}` }),
    };
  }

  #body({ bytes, stream, includeUsage, outputLimit = null }: ModelCall): Buffer {
    const { model, stream_usage = true } = this.#options.entry;
    return rewriteRequest(bytes, {
      model,
      askUsage: stream && stream_usage && !includeUsage,
      outputLimit: outputLimit === null ? null : { member: this.#limitMember, tokens: outputLimit },
    });
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
      if (this.#options.entry.limit_member === undefined && refusesOlderLimit(status, text))
        this.#limitMember = 'max_completion_tokens';
      throw upstreamError(this.name, status, headers, text, mask);
    }
    if (!call.stream || type === 'text/event-stream') return answer;
    const text = await beginning(answer);
    const reported = type === 'application/json' ? `: ${errorIn(this.name, status, text, mask).message}` : '';
    const what = type || 'without a content type';
    throw this.#invalid(`answered ${what} where an event stream was asked for${reported}`);
  }

  async #whole({ status, headers, type, body, mask, signal }: Answer): Promise<UpstreamAnswer> {
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
      headers: answerHeaders(headers, mask),
      // Some upstreams report errors with status 200.
      text: value.error == null ? text : JSON.stringify(mapTexts(value, hiding(mask))),
      usage: usageOf(value.usage),
    });
  }

  /** Resolves with the first event, so that until then another upstream can be asked. */
  async #stream(
    { status, headers, body, mask, signal }: Answer,
    hideUsage: boolean,
  ): Promise<UpstreamAnswer> {
    const reader = new ChunkReader({ hideUsage, mask });
    const events = eventsOf(body, reader);
    const explained = (error: unknown, given: boolean) =>
      error instanceof BrokenStream ? this.#broken(error, given) : this.#explained(error, signal, 'begun');

    async function* all(first: string): AsyncGenerator<Uint8Array> {
      try {
        yield Buffer.from(first);
        for await (const next of events) yield Buffer.from(next);
        if (reader.failure !== null) throw new BrokenStream('it reports an error');
      } catch (error) {
        throw explained(error, true);
      } finally {
        await events.return(undefined);
      }
    }

    try {
      const first = await firstOf(events, reader);
      // Nobody has seen it yet, so that another attempt can help.
      if (reader.failure !== null) throw errorInStream(this.name, reader.failure, mask);
      return {
        status,
        headers: answerHeaders(headers, mask),
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

/** Whole events of a stream; leaving them ends it upstream. @throws BrokenStream, and what reading throws */
async function* eventsOf(body: Readable, reader: ChunkReader): AsyncGenerator<string> {
  try {
    for await (const piece of body.iterator({ destroyOnReturn: false })) {
      const events = reader.push(piece);
      if (events !== '') yield events;
      if (reader.isOver) return;
    }
    const last = reader.end();
    if (last !== '') yield last;
  } finally {
    if (reader.done) drain(body);
    else body.destroy();
  }
}

/** The first event with the comments before it: they are no token, and another upstream may yet have to be asked. */
async function firstOf(events: AsyncGenerator<string>, reader: ChunkReader): Promise<string> {
  let early = '';
  while (!reader.begun) {
    const { done, value } = await events.next();
    if (done) break;
    early += value;
    if (early.length > maxEarly && !reader.begun)
      throw new BrokenStream(`it has more than ${maxEarly} bytes before its first event`);
  }
  return early;
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
