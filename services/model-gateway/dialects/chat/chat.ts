import { isObject } from '#kit/is-object.ts';
import { readUsage } from '#kit/model-answers/usage.ts';
import { upstreamRequestId } from '../../providers/headers.ts';
import { rewriteRequest } from '../../providers/pass-through/request.ts';
import type { EventWire, Json, LimitMember, There, Wire } from '../../providers/pass-through/wire.ts';
import type { ModelCall } from '../../providers/upstream.ts';
import type { Dialect, Media, OutputAsked } from '../dialect.ts';
import { isOpenAiHost } from '../openai-host.ts';
import { countRule, modelRule, numberIn, objectsIn, streamRule } from '../rules.ts';
import { allowedChat, allowedEmbeddings } from './allowed.ts';

const limits = { max_tokens: countRule, max_completion_tokens: countRule, n: countRule, best_of: countRule };
const ofAll = { model: modelRule, stream: streamRule, ...limits };
const read = [
  ...['model', 'models', 'fallbacks', 'messages', 'input', 'stream', 'stream_options'],
  ...Object.keys(limits),
];

const events: EventWire = {
  answers: ({ n }) => Math.max(1, numberIn(n)),
  end: 'a finish_reason',
  meaning({ error, choices, usage }) {
    const list = Array.isArray(choices) ? choices : [];
    // An error of the stream or of a choice, even if the stream continues.
    if (error != null || list.some((choice) => choice?.finish_reason === 'error')) return 'failure';
    return Array.isArray(choices) && choices.length === 0 && readUsage(usage) !== null ? 'usage' : 'more';
  },
  parts: ({ choices }) =>
    objectsIn(choices).map(({ index, finish_reason: finish }) => ({
      place: `${index ?? 0}`,
      finished: typeof finish === 'string' && finish !== '',
    })),
  deltas({ choices }) {
    if (!Array.isArray(choices)) return [];
    return choices
      .filter(isObject)
      .map((holder) => ({ place: `${holder.index ?? 0}`, holder, member: 'delta' }));
  },
  usage: ({ usage }, before) => readUsage(usage, before),
  status({ error }) {
    const { code, status } = isObject(error) ? error : {};
    return [code, status].map(Number).find((number) => number >= 400 && number <= 599) ?? null;
  },
};

const wire: Wire = {
  dialect: 'chat',
  path: ({ endpoint }) => `/${endpoint}`,
  headers: () => ({}),
  credential: (text) => ({ authorization: `Bearer ${text}` }),
  body,
  isAnswerHeader: isChatHeader,
  usage: ({ usage }) => readUsage(usage),
  events,
  limitMember: {
    // OpenAI's newer models refuse the older member, which is the only one that many others know.
    usual: ({ base_url, limit_member }) =>
      limit_member ?? (isOpenAiHost(base_url) ? 'max_completion_tokens' : 'max_tokens'),
    // What OpenAI's newer models answer wherever they are: the caller asks again, and from then on the newer member is sent.
    learn: (status, text) =>
      status === 400 && text.includes('max_tokens') && text.includes('max_completion_tokens')
        ? 'max_completion_tokens'
        : null,
  },
};

function body(call: ModelCall, { model, limitMember, streamUsage }: There): Buffer {
  const { bytes, stream, includeUsage, outputLimit = null } = call;
  return rewriteRequest(bytes, (request) => ({
    model,
    ...(stream && streamUsage && !includeUsage && askUsage(request)),
    ...(outputLimit !== null && limitOutput(request, limitMember, outputLimit)),
  }));
}

function askUsage({ stream_options: given }: Json): Json {
  return { stream_options: { ...(isObject(given) && given), include_usage: true } };
}

/**
 * Limits the answer by the member that the upstream reads, whichever the client wrote; what it wrote is at most as much. Servers
 * refuse both members at once, or read only one of them: the value moves to the name that is read.
 */
function limitOutput(request: Json, member: LimitMember, tokens: number): Record<string, unknown> {
  if (request[member] != null) return {};
  const other = member === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens';
  return { [other]: undefined, [member]: request[other] ?? tokens };
}

const shown = new Set([
  'content-type',
  'retry-after',
  'x-request-id',
  upstreamRequestId,
  'openai-processing-ms',
  'openai-model',
  'openai-version',
]);

/** A name could hold anything, so only those that upstreams are known to use. */
const rateLimit =
  /^x-ratelimit-(?:limit|remaining|reset)(?:-(?:requests|tokens|input-tokens|output-tokens|project-tokens|images))?(?:-(?:second|minute|hour|day|month))?$/;

function isChatHeader(name: string): boolean {
  return shown.has(name) || rateLimit.test(name);
}

/** OpenAI's chat completions and embeddings: for everything that is compatible with them. */
export const chat: Dialect = {
  wire,
  endpoints: {
    'chat/completions': {
      path: '/v1/chat/completions',
      summary: 'Complete a conversation, whole or as a stream',
      stream: 'asked',
      for: 'chat',
      uses: true,
      allowed: allowedChat,
      read,
      rules: {
        ...ofAll,
        messages: ['a list with at least one message', (value) => Array.isArray(value) && value.length > 0],
      },
    },
    embeddings: {
      path: '/v1/embeddings',
      summary: 'Vectors of texts',
      stream: 'never',
      for: 'embeddings',
      uses: true,
      allowed: allowedEmbeddings,
      read,
      rules: { ...ofAll, input: ['a text or a list', (value) => value !== undefined] },
    },
  },
  tokenIn: {},
  outputAsked,
  answersAsked: ({ n, best_of }) => Math.max(numberIn(n), numberIn(best_of), 1),
  media,
  turns: ({ messages }) => (Array.isArray(messages) ? messages : []),
  errorBody: (error) => ({ error }),
  errorEvent: (error) => `data: ${JSON.stringify({ error })}\n\n`,
  translation: null,
};

/** Servers differ in which member they take, so that the greater counts. */
function outputAsked(request: Json): OutputAsked | null {
  const [older, newer] = [numberIn(request.max_tokens), numberIn(request.max_completion_tokens)];
  const tokens = Math.max(older, newer);
  if (tokens === 0) return null;
  return { param: older > newer ? 'max_tokens' : 'max_completion_tokens', tokens };
}

function partsIn(messages: unknown) {
  return objectsIn(messages).flatMap(({ content }) => objectsIn(content));
}

/** Files and sounds that stand in the request count as text. */
function media({ messages }: Json): Media {
  const images: number[] = [];
  let elsewhere = 0;
  for (const part of partsIn(messages)) {
    const url = part.image_url?.url ?? part.image_url;
    if (typeof url === 'string' && url.startsWith('data:image/')) images.push(url.length);
    else if (typeof url === 'string' && !url.startsWith('data:')) images.push(0);
    const { file = part, file_url } = part;
    if (file?.file_id != null || file?.file_url != null || file_url != null) elsewhere++;
  }
  return { images, elsewhere };
}
