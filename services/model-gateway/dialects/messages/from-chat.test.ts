import { expect } from 'chai';
import fc from 'fast-check';
import { chatAnswers } from '../../../../test/fixtures/models/chat-answers.ts';
import type { SseEvent } from '../answer-events.ts';
import { FromChat } from './from-chat.ts';

const request = { model: 'small', max_tokens: 100, messages: [], thinking: { type: 'adaptive' } };
const answer = (message: object, finish_reason = 'stop', more: object = {}) => ({
  id: 'chatcmpl-7',
  choices: [{ index: 0, message, finish_reason, ...more }],
});
const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: 'chatcmpl-7',
  choices: [{ index: 0, delta, finish_reason }],
});
const streamed = (chunks: readonly object[], asked: object = request): SseEvent[] => {
  const from = new FromChat(asked as Record<string, unknown>);
  return [...chunks.flatMap((one) => from.chunk(one as Record<string, unknown>)), ...from.end(null)];
};
const names = (events: readonly SseEvent[]) => events.map(({ event }) => event);

// biome-ignore lint/suspicious/noExplicitAny: events of every shape are put together
type Data = any;

/** The message that a client puts together of a stream's events. */
function assembled(events: readonly SseEvent[]): Data {
  const message: Data = {};
  for (const { event, data } of events as readonly { event: string; data: Data }[]) {
    const block = message.content?.[data.index];
    if (event === 'message_start') Object.assign(message, structuredClone(data.message));
    if (event === 'content_block_start')
      message.content.push(structuredClone({ ...data.content_block, json: '' }));
    if (event === 'message_delta') Object.assign(message, data.delta, { usage: data.usage });
    if (data.delta?.type === 'text_delta') block.text += data.delta.text;
    if (data.delta?.type === 'thinking_delta') block.thinking += data.delta.thinking;
    if (data.delta?.type === 'input_json_delta') block.json += data.delta.partial_json;
  }
  for (const block of message.content) {
    if (block.type === 'tool_use' && block.json !== '') block.input = JSON.parse(block.json);
    delete block.json;
  }
  return message;
}

describe('An answer of a chat completion as one of Messages', () => {
  it('has text, calls, the reason to stop and what was used', () => {
    const tool_calls = [
      { id: 'call_1', type: 'function', function: { name: 'read', arguments: '{"path":"a"}' } },
    ];
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 20,
      prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 10 },
    };
    const whole = { ...answer({ content: 'I read.', tool_calls }, 'tool_calls'), usage };
    expect(new FromChat(request).whole(whole)).to.deep.equal({
      id: 'msg_7',
      type: 'message',
      role: 'assistant',
      model: 'small',
      content: [
        { type: 'text', text: 'I read.' },
        { type: 'tool_use', id: 'call_1', name: 'read', input: { path: 'a' } },
      ],
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: {
        input_tokens: 30,
        cache_creation_input_tokens: 10,
        cache_read_input_tokens: 60,
        output_tokens: 20,
      },
    });
  });

  it('streams in the order that clients expect', () => {
    const events = streamed([
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: 'Hel' }),
      chunk({ content: 'lo' }),
      chunk({
        tool_calls: [
          { index: 0, id: 'call_1', type: 'function', function: { name: 'read', arguments: '{}' } },
        ],
      }),
      chunk({}, 'tool_calls'),
    ]);
    expect(names(events)).to.deep.equal([
      'message_start',
      'ping',
      'content_block_start',
      'content_block_delta',
      'content_block_delta',
      'content_block_stop',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
    expect(events.map(({ data }) => (data as Data).type)).to.deep.equal(names(events));
  });

  it('is the same whole and put together of its stream', () => {
    fc.assert(
      fc.property(chatAnswers, ({ whole, chunks }) => {
        const from = new FromChat(request);
        expect(assembled(streamed(chunks))).to.deep.equal(from.whole(whole));
      }),
    );
  });

  it('opens one block after the other, also where a server writes several calls at once', () => {
    fc.assert(
      fc.property(chatAnswers, ({ chunks }) => {
        let open: number | null = null;
        let next = 0;
        for (const { event, data } of streamed(chunks) as { event: string; data: Data }[]) {
          if (event === 'content_block_start') {
            expect([open, data.index]).to.deep.equal([null, next]);
            open = next++;
          } else if (event === 'content_block_delta') expect(data.index).to.equal(open);
          else if (event === 'content_block_stop') {
            expect(data.index).to.equal(open);
            open = null;
          }
        }
        expect(open).to.equal(null);
      }),
    );
  });

  it('distinguishes calls that a server gives the same place', () => {
    const call = (id: string) => ({ index: 0, id, function: { name: 'read', arguments: `{"a":"${id}"}` } });
    const { content } = assembled(
      streamed([
        chunk({ tool_calls: [call('one')] }),
        chunk({ tool_calls: [call('two')] }),
        chunk({}, 'stop'),
      ]),
    );
    expect(content).to.deep.equal([
      { type: 'tool_use', id: 'one', name: 'read', input: { a: 'one' } },
      { type: 'tool_use', id: 'two', name: 'read', input: { a: 'two' } },
    ]);
  });

  it('gives thoughts only where they were asked for, and shows that it lives else', () => {
    const thinking = [chunk({ reasoning: 'Hm' }), chunk({ content: 'Yes' }), chunk({}, 'stop')];
    const unasked = { ...request, thinking: { type: 'disabled' } };
    expect(assembled(streamed(thinking)).content).to.deep.equal([
      { type: 'thinking', thinking: 'Hm', signature: '' },
      { type: 'text', text: 'Yes' },
    ]);
    expect(assembled(streamed(thinking, unasked)).content).to.deep.equal([{ type: 'text', text: 'Yes' }]);
    expect(names(streamed(thinking, unasked)).slice(0, 3)).to.deep.equal(['message_start', 'ping', 'ping']);
    const whole = answer({ content: 'Yes', reasoning_content: 'Hm' });
    expect(new FromChat(unasked).whole(whole).content).to.deep.equal([{ type: 'text', text: 'Yes' }]);
  });

  it('names the reason to stop in the words of Messages', () => {
    const asked = { ...request, stop_sequences: ['END'] };
    const reason = (...[message, finish, more]: Parameters<typeof answer>) => {
      const { stop_reason, stop_sequence } = new FromChat(asked).whole(answer(message, finish, more));
      return [stop_reason, stop_sequence];
    };
    const tool_calls = [{ id: 'a', function: { name: 'read', arguments: '' } }];
    expect(reason({ content: 'a' }, 'stop')).to.deep.equal(['end_turn', null]);
    expect(reason({ content: 'a' }, 'length')).to.deep.equal(['max_tokens', null]);
    expect(reason({ content: 'a' }, 'content_filter')).to.deep.equal(['refusal', null]);
    expect(reason({ content: null, refusal: 'No' }, 'stop')).to.deep.equal(['refusal', null]);
    expect(reason({ content: null, tool_calls }, 'stop')).to.deep.equal(['tool_use', null]);
    expect(reason({ content: 'a' }, 'stop', { stop_reason: 'END' })).to.deep.equal(['stop_sequence', 'END']);
    expect(reason({ content: 'a' }, 'stop', { stop_reason: 128001 })).to.deep.equal(['end_turn', null]);
  });

  it('hands wrong arguments to the client under a name that says so', () => {
    const tool_calls = [{ id: 'a', function: { name: 'read', arguments: '{"a":' } }];
    expect(new FromChat(request).whole(answer({ tool_calls }, 'tool_calls')).content).to.deep.equal([
      { type: 'tool_use', id: 'a', name: 'read', input: { INVALID_JSON: '{"a":' } },
    ]);
  });
});
