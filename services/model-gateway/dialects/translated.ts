import { createParser } from 'eventsource-parser';
import { CoreError } from '#kit/errors.ts';
import { isObject } from '#kit/is-object.ts';
import { UnfinishedAnswer } from '#kit/model-answers/chat-answer.ts';
import { UnknownPart } from '#kit/model-answers/content-parts.ts';
import { isContextOverflow } from '#kit/model-answers/context-overflow.ts';
import { BrokenToolCalls } from '#kit/model-answers/tool-calls.ts';
import { type OpenAiError, ownFailure, UpstreamFailure } from '../providers/failure.ts';
import { type ModelCall, type Upstream, type UpstreamAnswer, wholeAnswer } from '../providers/upstream.ts';
import type { SseEvent } from './answer-events.ts';
import type { Dialect, Translation } from './dialect.ts';

/**
 * Asks an upstream that speaks chat completions, and gives its answer in the dialect of the call.
 * @throws UpstreamFailure as the upstream does, and `not_translatable` for what chat completions have nothing for
 * @param asked the limit of output that the request has
 */
export async function sendTranslated(
  chat: Upstream,
  { toChat, overflow, FromChat }: Translation,
  call: ModelCall,
  asked: ReturnType<Dialect['outputAsked']>,
): Promise<UpstreamAnswer> {
  const { signal, stream, via } = call;
  // Then the upstream gets the limit by the name that it reads, also where no budget binds.
  const outputLimit = call.outputLimit ?? asked?.tokens ?? null;
  const request = { ...refusing(() => toChat({ ...call.request })), stream };
  const explained = (error: unknown) => withOverflow(error, overflow);
  const sent = chat.send({
    endpoint: 'chat/completions',
    bytes: Buffer.from(JSON.stringify(request)),
    request,
    stream,
    includeUsage: false,
    outputLimit,
    signal,
    ...(via !== undefined && { via }),
  });
  const answer = await sent.catch((error) => {
    throw explained(error);
  });
  const reader = new FromChat({ ...call.request }, call.inputTokens ?? 0);
  return stream
    ? streamed(answer, reader, explained)
    : await whole(answer, reader).catch((error) => {
        throw explained(error);
      });
}

type FromChat = InstanceType<Translation['FromChat']>;

/** What the translation refuses is for the client; another upstream of the model may need none. */
function refusing<T>(translate: () => T): T {
  try {
    return translate();
  } catch (cause) {
    if (!(cause instanceof CoreError)) throw cause;
    const param = 'param' in cause && typeof cause.param === 'string' ? cause.param : null;
    const error: OpenAiError = {
      message: cause.message,
      type: 'invalid_request_error',
      param,
      code: cause.code,
    };
    throw new UpstreamFailure({ status: cause.status, error, remedy: 'next', cause });
  }
}

async function whole(answer: UpstreamAnswer, reader: FromChat): Promise<UpstreamAnswer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of answer.body) pieces.push(piece);
  const { status, headers } = answer;
  const value = JSON.parse(Buffer.concat(pieces).toString()) as Record<string, unknown>;
  const { error } = value;
  if (error != null) throw reported(error);
  const translated = readable(() => reader.whole(value), answerInvalid);
  return wholeAnswer({ status, headers, text: JSON.stringify(translated), usage: answer.usage() });
}

type Failed = (why: string) => UpstreamFailure;

const answerInvalid: Failed = (why) =>
  ownFailure(502, 'upstream_answer_invalid', `the upstream sent an answer that cannot be read: ${why}`, {
    remedy: 'next',
    charged: true,
  });

const streamBroken: Failed = (why) =>
  ownFailure(502, 'upstream_stream_broken', `the upstream sent a broken stream: ${why}`, {
    remedy: 'none',
    charged: true,
  });

/** @throws UpstreamFailure for an answer of which the calls or the content are not certain */
function readable<T>(read: () => T, failed: Failed): T {
  try {
    return read();
  } catch (cause) {
    const isBroken = [BrokenToolCalls, UnfinishedAnswer, UnknownPart].some((kind) => cause instanceof kind);
    if (isBroken) throw failed((cause as Error).message);
    throw cause;
  }
}

/** Some upstreams report errors with status 200. */
function reported(error: unknown): UpstreamFailure {
  const said = isObject(error) ? error.message : error;
  const message = `the upstream reports: ${typeof said === 'string' ? said : JSON.stringify(error)}`;
  return ownFailure(502, 'upstream_answer_invalid', message, { remedy: 'next', charged: true });
}

/** Some servers say it with a status of their own fault, or in a stream. */
const mayOverflow = new Set([400, 413, 422, 500, 502]);

/** The same failure, in words that the client of the dialect recognises where the conversation is too long for the model. */
function withOverflow(error: unknown, overflow: Translation['overflow']): unknown {
  if (!(error instanceof UpstreamFailure) || !mayOverflow.has(error.status)) return error;
  if (!isContextOverflow(error.openaiError)) return error;
  const { status, remedy: own, retryAfterMs, charged } = error;
  const remedy = own === 'retry' ? 'next' : own;
  return new UpstreamFailure({
    ...{ status: status >= 500 ? 400 : status, remedy, retryAfterMs, charged, cause: error },
    error: overflow(error.openaiError),
  });
}

function streamed(
  answer: UpstreamAnswer,
  reader: FromChat,
  explained: (error: unknown) => unknown,
): UpstreamAnswer {
  async function* events(): AsyncGenerator<Uint8Array> {
    try {
      yield* translated();
    } catch (error) {
      throw explained(error);
    }
  }

  async function* translated(): AsyncGenerator<Uint8Array> {
    let out = '';
    const give = (events: readonly SseEvent[]) => {
      for (const { event, data } of events) out += `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
    };
    const parser = createParser({
      onEvent({ data }) {
        if (data.startsWith('[DONE]')) return;
        const chunk = JSON.parse(data) as Record<string, unknown>;
        // What the upstream reports of an error comes as a failure too.
        if (chunk.error == null) give(readable(() => reader.chunk(chunk), streamBroken));
      },
      onComment: (comment) => {
        out += `: ${comment}\n\n`;
      },
    });
    const decoder = new TextDecoder();
    for await (const piece of answer.body) {
      parser.feed(decoder.decode(piece, { stream: true }));
      if (out !== '') yield Buffer.from(out);
      out = '';
    }
    give(readable(() => reader.end(answer.usage()), streamBroken));
    yield Buffer.from(out);
  }
  return { ...answer, body: events() };
}
