import { isObject } from '#kit/is-object.ts';
import { noUsage, readUsage } from '#kit/model-answers/usage.ts';
import { isAnswerHeader } from '../../providers/headers.ts';
import { rewriteRequest } from '../../providers/pass-through/request.ts';
import type { EventWire, Json, Wire } from '../../providers/pass-through/wire.ts';
import type { Dialect, Media } from '../dialect.ts';
import { countRule, modelRule, numberIn, objectsIn, streamRule } from '../rules.ts';
import { allowedMessages } from './allowed.ts';
import { FromChat } from './from-chat.ts';
import { toChat } from './to-chat.ts';

/** For clients that say none. Source: docs.claude.com, "Versions". */
export const anthropicVersion = '2023-06-01';

const messagesRule = [
  'a list with at least one message',
  (value: unknown) => Array.isArray(value) && value.length > 0,
] as const;
const read = ['model', 'messages', 'stream', 'max_tokens', 'system', 'tools', 'fallbacks'];

/** Source: docs.claude.com, "Errors". */
const statuses: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};

/** What is read from a cache and written to it stands beside `input_tokens`. */
const anthropic = { cacheBeside: true };

const events: EventWire = {
  answers: () => 1,
  end: 'a stop_reason',
  meaning({ type, error }) {
    if (type === 'error' || (type === undefined && error != null)) return 'failure';
    return type === 'message_stop' ? 'last' : 'more';
  },
  parts({ type, delta }) {
    if (type === 'message_start') return [{ place: '0', finished: false }];
    const reason = type === 'message_delta' && isObject(delta) ? delta.stop_reason : null;
    return typeof reason === 'string' && reason !== '' ? [{ place: '0', finished: true }] : [];
  },
  deltas: (event) =>
    event.type === 'content_block_delta' && isObject(event.delta)
      ? [{ place: `${event.index}`, holder: event, member: 'delta' }]
      : [],
  usage({ message, usage }, before) {
    const start = isObject(message) ? message.usage : undefined;
    return readUsage(start ?? usage, before, anthropic);
  },
  status({ error }) {
    return (isObject(error) && statuses[String(error.type)]) || null;
  },
};

const wire: Wire = {
  dialect: 'messages',
  path: ({ endpoint, search = '' }) => `/${endpoint}${search}`,
  headers: ({ headers }) => ({ 'anthropic-version': headers?.['anthropic-version'] ?? anthropicVersion }),
  credential: (text) => ({ 'x-api-key': text }),
  body({ bytes, request, outputLimit = null }, { model }) {
    const limit = outputLimit !== null && request.max_tokens == null ? { max_tokens: outputLimit } : {};
    if (request.model === model && !('max_tokens' in limit)) return bytes;
    return rewriteRequest(bytes, () => ({ model, ...limit }));
  },
  isAnswerHeader,
  usage: ({ usage }, { endpoint }) => (endpoint === 'messages' ? readUsage(usage, null, anthropic) : noUsage),
  events,
};

/** Anthropic's Messages, as Claude Code speaks them. */
export const messages: Dialect = {
  wire,
  endpoints: {
    messages: {
      path: '/v1/messages',
      summary: 'Anthropic’s Messages, whole or as a stream',
      stream: 'asked',
      for: 'chat',
      uses: true,
      allowed: allowedMessages,
      read,
      rules: { model: modelRule, stream: streamRule, max_tokens: countRule, messages: messagesRule },
    },
    'messages/count_tokens': {
      path: '/v1/messages/count_tokens',
      summary: 'How many tokens a request of Anthropic’s Messages has',
      stream: 'never',
      for: 'chat',
      uses: false,
      allowed: allowedMessages,
      read,
      rules: { model: modelRule, messages: messagesRule },
    },
  },
  tokenIn: { headers: ['x-api-key'] },
  outputAsked({ max_tokens }) {
    const tokens = numberIn(max_tokens);
    return tokens === 0 ? null : { param: 'max_tokens', tokens };
  },
  answersAsked: () => 1,
  media,
  turns: ({ messages }) => (Array.isArray(messages) ? messages : []),
  errorBody: ({ message, code }, status) => ({
    type: 'error',
    error: { type: typeOf(status), message, ...(code !== null && { code }) },
  }),
  errorEvent(error, status) {
    return `event: error\ndata: ${JSON.stringify(messages.errorBody(error, status))}\n\n`;
  },
  translation: {
    toChat,
    FromChat,
    // Claude Code makes a conversation shorter where it reads this.
    overflow: (error) =>
      error.message.toLowerCase().includes('prompt is too long')
        ? error
        : { ...error, message: `prompt is too long: ${error.message}` },
  },
};

function typeOf(status: number): string {
  const found = Object.entries(statuses).find(([, known]) => known === status);
  return found?.[0] ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
}

/** Those of results of tools too. */
function blocksIn(messages: unknown) {
  const blocks = objectsIn(messages).flatMap(({ content }) => objectsIn(content));
  return [...blocks, ...blocks.flatMap(({ content }) => objectsIn(content))];
}

/** Documents in base64 count as text. */
function media({ messages }: Json): Media {
  const images: number[] = [];
  let elsewhere = 0;
  for (const { type, source } of blocksIn(messages)) {
    if (!isObject(source)) continue;
    const isImage = type === 'image' && source.type !== 'file';
    if (isImage) images.push(typeof source.data === 'string' ? source.data.length : 0);
    else if (source.type === 'file' || source.type === 'url') elsewhere++;
  }
  return { images, elsewhere };
}
