import { isObject } from '#kit/is-object.ts';
import { readUsage } from '#kit/model-answers/usage.ts';
import { isAnswerHeader } from '../../providers/headers.ts';
import { rewriteRequest } from '../../providers/pass-through/request.ts';
import type { EventWire, Json, Wire } from '../../providers/pass-through/wire.ts';
import type { Dialect, Media } from '../dialect.ts';
import { countRule, modelRule, numberIn, objectsIn, streamRule } from '../rules.ts';
import { allowedResponses } from './allowed.ts';
import { FromChat } from './from-chat.ts';
import { toChat } from './to-chat.ts';

/** With these the response is over, whatever became of it. */
const last = new Set(['response.completed', 'response.incomplete', 'response.failed']);

const ends = new Set(['completed', 'incomplete', 'failed', 'cancelled']);

const events: EventWire = {
  answers: () => 1,
  end: 'response.completed',
  meaning({ type, error }) {
    if (type === 'error' || (type === undefined && error != null)) return 'failure';
    return typeof type === 'string' && last.has(type) ? 'last' : 'more';
  },
  parts({ type, response }) {
    if (typeof type !== 'string' || !last.has(type)) return [];
    const status = isObject(response) ? response.status : undefined;
    return [{ place: '0', finished: status === undefined || ends.has(String(status)) }];
  },
  deltas: (event) =>
    typeof event.type === 'string' && event.type.endsWith('.delta') && typeof event.delta === 'string'
      ? [{ place: placeOf(event), holder: event, member: 'delta' }]
      : [],
  usage: ({ response }, before) => (isObject(response) ? readUsage(response.usage, before) : null),
  status(event) {
    const { status, code } = isObject(event.error) ? event.error : event;
    return [status, code].map(Number).find((number) => number >= 400 && number <= 599) ?? null;
  },
};

function placeOf({ type, item_id, output_index, content_index, summary_index }: Json): string {
  return JSON.stringify([type, item_id, output_index, content_index, summary_index]);
}

const wire: Wire = {
  dialect: 'responses',
  path: ({ search = '' }) => `/responses${search}`,
  headers: () => ({}),
  credential: (text) => ({ authorization: `Bearer ${text}` }),
  body({ bytes, request, outputLimit = null }, { model }) {
    const isLimited = outputLimit === null || request.max_output_tokens != null;
    if (request.model === model && isLimited) return bytes;
    return rewriteRequest(bytes, () => ({ model, ...(!isLimited && { max_output_tokens: outputLimit }) }));
  },
  isAnswerHeader,
  usage: ({ usage }) => readUsage(usage),
  events,
};

/** OpenAI's Responses, as Codex speaks them. */
export const responses: Dialect = {
  wire,
  endpoints: {
    responses: {
      path: '/v1/responses',
      summary: 'OpenAI’s Responses, whole or as a stream',
      stream: 'asked',
      for: 'chat',
      uses: true,
      allowed: allowedResponses,
      read: [
        ...['model', 'input', 'stream', 'max_output_tokens', 'background', 'previous_response_id'],
        ...['conversation', 'models', 'fallbacks'],
      ],
      rules: {
        model: modelRule,
        stream: streamRule,
        max_output_tokens: countRule,
        background: [
          'false, as its answer and what that costs would come elsewhere',
          (value) => value == null || value === false,
        ],
      },
    },
  },
  tokenIn: {},
  outputAsked({ max_output_tokens }) {
    const tokens = numberIn(max_output_tokens);
    return tokens === 0 ? null : { param: 'max_output_tokens', tokens };
  },
  answersAsked: () => 1,
  media,
  turns: ({ input }) => (Array.isArray(input) ? input : []),
  errorBody: (error) => ({ error }),
  // OpenAI's clients go by the first, Codex by the second.
  errorEvent({ message, param, code }) {
    const response = { object: 'response', status: 'failed', output: [], error: { code, message } };
    return [
      { type: 'error', code, message, param },
      { type: 'response.failed', response },
    ]
      .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
      .join('');
  },
  translation: {
    toChat,
    FromChat,
    overflow: (error) => ({ ...error, type: 'invalid_request_error', code: 'context_length_exceeded' }),
  },
};

/** Items of the conversation, and what they hold. */
function partsIn(input: unknown) {
  const items = objectsIn(input);
  return [...items, ...items.flatMap(({ content, output }) => [...objectsIn(content), ...objectsIn(output)])];
}

/** Files that stand in the request count as text. An earlier response or a stored prompt is read again as input. */
function media({ input, previous_response_id, conversation, prompt }: Json): Media {
  const images: number[] = [];
  let elsewhere = [previous_response_id, conversation, prompt].filter((named) => named != null).length;
  for (const { image_url, file_id, file_url } of partsIn(input)) {
    if (typeof image_url === 'string') images.push(image_url.startsWith('data:') ? image_url.length : 0);
    if (file_id != null || file_url != null) elsewhere++;
  }
  return { images, elsewhere };
}
