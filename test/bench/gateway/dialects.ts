interface DialectStream {
  /** Below `/v1`. */
  readonly path: string;
  readonly request: object;
  /** What it begins with, goes on with, and ends with. */
  readonly events: readonly [first: string, word: string, last: string];
}

const event = (type: string, more: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
const text = 'Say a few words about the weather in the mountains, and no more than that.';

/** Streams of dialects beside chat completions. */
export const dialectStreams: Readonly<Record<'Messages' | 'Responses', DialectStream>> = {
  Messages: {
    path: 'messages',
    request: {
      model: 'claude',
      max_tokens: 100,
      messages: [{ role: 'user', content: text }],
      stream: true,
    },
    events: [
      event('message_start', {
        message: {
          id: 'msg_bench',
          role: 'assistant',
          content: [],
          usage: { input_tokens: 20, output_tokens: 1 },
        },
      }),
      event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'word ' } }),
      event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 100 } }) +
        event('message_stop', {}),
    ],
  },
  Responses: {
    path: 'responses',
    request: { model: 'bench', input: text, stream: true },
    events: [
      event('response.created', { response: { id: 'resp_bench', status: 'in_progress' } }),
      event('response.output_text.delta', { item_id: 'msg_bench', output_index: 0, delta: 'word ' }),
      event('response.completed', {
        response: { id: 'resp_bench', status: 'completed', usage: { input_tokens: 20, output_tokens: 100 } },
      }),
    ],
  },
};
