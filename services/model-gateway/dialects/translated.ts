import { createParser } from 'eventsource-parser';
import { CoreError } from '#kit/errors.ts';
import { isObject } from '#kit/is-object.ts';
import { type OpenAiError, ownFailure, UpstreamFailure } from '../providers/failure.ts';
import { type ModelCall, type Upstream, type UpstreamAnswer, wholeAnswer } from '../providers/upstream.ts';
import type { SseEvent } from './chat-answer.ts';
import type { Dialect, Translation } from './dialect.ts';

/**
 * Asks an upstream that speaks chat completions, and gives its answer in the dialect of the call.
 * @throws UpstreamFailure as the upstream does, and `not_translatable` for what chat completions have nothing for
 * @param asked the limit of output that the request has
 */
export async function sendTranslated(
  chat: Upstream,
  { toChat, FromChat }: Translation,
  call: ModelCall,
  asked: ReturnType<Dialect['outputAsked']>,
): Promise<UpstreamAnswer> {
  const { signal, stream, via } = call;
  // Then the upstream gets the limit by the name that it reads, also where no budget binds.
  const outputLimit = call.outputLimit ?? asked?.tokens ?? null;
  const request = { ...refusing(() => toChat({ ...call.request })), stream };
  const answer = await chat.send({
    endpoint: 'chat/completions',
    bytes: Buffer.from(JSON.stringify(request)),
    request,
    stream,
    includeUsage: false,
    outputLimit,
    signal,
    ...(via !== undefined && { via }),
  });
  const reader = new FromChat({ ...call.request });
  return stream ? streamed(answer, reader) : await whole(answer, reader);
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
  return wholeAnswer({ status, headers, text: JSON.stringify(reader.whole(value)), usage: answer.usage() });
}

/** Some upstreams report errors with status 200. */
function reported(error: unknown): UpstreamFailure {
  const said = isObject(error) ? error.message : error;
  const message = `the upstream reports: ${typeof said === 'string' ? said : JSON.stringify(error)}`;
  return ownFailure(502, 'upstream_answer_invalid', message, { remedy: 'next', charged: true });
}

function streamed(answer: UpstreamAnswer, reader: FromChat): UpstreamAnswer {
  async function* events(): AsyncGenerator<Uint8Array> {
    let out = '';
    const give = (events: readonly SseEvent[]) => {
      for (const { event, data } of events) out += `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
    };
    const parser = createParser({
      onEvent({ data }) {
        if (data.startsWith('[DONE]')) return;
        const chunk = JSON.parse(data) as Record<string, unknown>;
        // What the upstream reports of an error comes as a failure too.
        if (chunk.error == null) give(reader.chunk(chunk));
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
    give(reader.end(answer.usage()));
    yield Buffer.from(out);
  }
  return { ...answer, body: events() };
}
