import type { Dispatcher } from 'undici';
import { connectionFailure, lateFailure } from '../connection-failure.ts';
import type { ReadCredential } from '../credential.ts';
import type { Mask } from '../mask.ts';
import type { ModelCall, Upstream, UpstreamAnswer } from '../upstream.ts';
import { UpstreamFailure } from '../upstream-failure.ts';
import { decodedBody } from './decoded-body.ts';
import { type Exchange, exchange } from './exchange.ts';
import { answerHeaders, errorIn, mediaTypeOf, upstreamError } from './failures.ts';
import { type LimitMember, rewriteRequest } from './request.ts';
import { streamAnswer } from './stream-answer.ts';
import { wholeAnswer } from './whole-answer.ts';

export interface Timeouts {
  readonly first_token_ms: number;
  readonly idle_ms: number;
  readonly total_ms: number;
}

export interface OpenAiUpstreamParts {
  readonly name: string;
  readonly base_url: string;
  /** Makes and keeps connections. */
  readonly dispatcher: Pick<Dispatcher, 'dispatch'>;
  /** The model's name there. */
  readonly model: string;
  /** Whether streams are asked for their usage. */
  readonly streamUsage: boolean;
  /** Which member it reads as the limit of an answer; null: what is usual where it is. */
  readonly limitMember: LimitMember | null;
  readonly credential: ReadCredential;
  readonly timeouts: Timeouts;
  readonly userAgent: string;
}

const largestError = 64 * 1024;

/** OpenAI's newer models refuse the older member, which is the only one that many others know. */
function limitMemberAt(hostname: string): LimitMember {
  return /(^|\.)openai\.(azure\.)?com$/.test(hostname) ? 'max_completion_tokens' : 'max_tokens';
}

/** What OpenAI's newer models say wherever they are: the caller asks again, and from then on it is told as they want it. */
function refusesOlderLimit(status: number, text: Buffer): boolean {
  return status === 400 && text.includes('max_tokens') && text.includes('max_completion_tokens');
}

/** An upstream that speaks OpenAI's interface: bytes go through but for the model's name and the usage of streams. */
export function createOpenAiUpstream(parts: OpenAiUpstreamParts): Upstream {
  const { name, dispatcher, timeouts } = parts;
  const { origin, pathname } = new URL(parts.base_url);
  const basePath = pathname.replace(/\/+$/, '');
  let limitMember = parts.limitMember ?? limitMemberAt(new URL(origin).hostname);

  async function send(call: ModelCall): Promise<UpstreamAnswer> {
    const { text, mask } = parts.credential();
    const askUsage = call.stream && parts.streamUsage && !call.includeUsage;
    const outputLimit = call.outputLimit == null ? null : { member: limitMember, tokens: call.outputLimit };
    const body = rewriteRequest(call.bytes, {
      model: parts.model,
      members: call.members,
      askUsage,
      outputLimit,
    });
    const headers: Record<string, string> = {
      'content-type': 'application/json',
      accept: call.stream ? 'text/event-stream' : 'application/json',
      // What is encoded could neither be searched for the credential nor read for its usage.
      'accept-encoding': 'identity',
      'user-agent': parts.userAgent,
    };
    if (call.via !== undefined) headers.via = call.via;
    if (text !== null) headers.authorization = `Bearer ${text}`;
    const started = performance.now();
    const firstMs = call.stream ? timeouts.first_token_ms : timeouts.total_ms;
    const late = (limit: 'head' | 'idle', ms: number) =>
      lateFailure(name, limit === 'head' && call.stream ? 'first' : limit, ms);
    const found = await exchange(dispatcher, {
      origin,
      path: `${basePath}/${call.endpoint}`,
      headers,
      body,
      signal: call.signal,
      headMs: firstMs,
      idleMs: timeouts.idle_ms,
      late,
      broke: (error, sent) => connectionFailure(name, error, sent ? 'sent' : 'unsent'),
    });
    const left = Math.max(1, firstMs - (performance.now() - started));
    return await answerOf(call, found, mask, { ms: left, limit: firstMs });
  }

  async function answerOf(
    call: ModelCall,
    found: Exchange,
    mask: Mask,
    first: { readonly ms: number; readonly limit: number },
  ): Promise<UpstreamAnswer> {
    const { status, headers } = found;
    const body = decodedBody(found.body, headers['content-encoding']);
    if (body === null) {
      void found.body.return();
      throw unreadable(`answered in an encoding that was not asked for and is not known here`);
    }
    const given = { name, status, headers: answerHeaders(headers, mask), body, mask };
    const type = mediaTypeOf(headers, mask);
    const isStream = type === 'text/event-stream';
    if (status < 200 || status >= 300) {
      const text = await beginning(body, mask);
      if (parts.limitMember === null && refusesOlderLimit(status, text))
        limitMember = 'max_completion_tokens';
      throw upstreamError(name, status, headers, text, mask);
    }
    if (call.stream && !isStream) {
      const text = await beginning(body, mask);
      const told = type === 'application/json' ? `: ${errorIn(name, status, text, mask).message}` : '';
      throw unreadable(
        `answered ${type || 'without a content type'} where an event stream was asked for${told}`,
      );
    }
    if (call.stream) {
      return await streamAnswer({ ...given, hideUsage: !call.includeUsage, first, signal: call.signal });
    }
    return await wholeAnswer({ ...given, type, signal: call.signal });
  }

  /** Of an error's body, which may break off. */
  async function beginning(body: AsyncIterator<Buffer>, mask: Mask): Promise<Buffer> {
    const pieces: Buffer[] = [];
    let size = 0;
    try {
      while (size < largestError) {
        const { done, value } = await body.next();
        if (done === true) break;
        pieces.push(value);
        size += value.length;
      }
    } catch {
      // The status says enough.
    }
    void body.return?.();
    return mask.hideIn(Buffer.concat(pieces)).subarray(0, largestError);
  }

  function unreadable(what: string): UpstreamFailure {
    return new UpstreamFailure({
      status: 502,
      remedy: 'next',
      charged: true,
      error: {
        message: `upstream ${name} ${what}`,
        type: 'server_error',
        param: null,
        code: 'upstream_answer_invalid',
      },
    });
  }

  return { name, send };
}
