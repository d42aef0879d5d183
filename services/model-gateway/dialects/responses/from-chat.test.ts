import { expect } from 'chai';
import fc from 'fast-check';
import { chatAnswers } from '../../../../test/fixtures/models/chat-answers.ts';
import type { SseEvent } from '../answer-events.ts';
import { FromChat } from './from-chat.ts';

const request = {
  model: 'small',
  input: 'Hello',
  tools: [
    { type: 'function', name: 'read', parameters: {} },
    { type: 'custom', name: 'patch' },
    { type: 'namespace', name: 'space', tools: [{ type: 'function', name: 'run' }] },
    { type: 'local_shell' },
  ],
};
const answer = (message: object, finish_reason = 'stop') => ({
  id: 'chatcmpl-7',
  created: 1_790_000_000,
  choices: [{ index: 0, message, finish_reason }],
});
const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: 'chatcmpl-7',
  created: 1_790_000_000,
  choices: [{ index: 0, delta, finish_reason }],
});
const streamed = (chunks: readonly object[]): SseEvent[] => {
  const from = new FromChat(request);
  return [...chunks.flatMap((one) => from.chunk(one as Record<string, unknown>)), ...from.end(null)];
};
const names = (events: readonly SseEvent[]) => events.map(({ event }) => event);
const called = (name: string, text: string) => ({
  tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name, arguments: text } }],
});

// biome-ignore lint/suspicious/noExplicitAny: events of every shape are put together
type Data = any;

/** The members of an item that deltas add to, by the events' name. */
const grown: Readonly<Record<string, string>> = {
  'response.function_call_arguments.delta': 'arguments',
  'response.custom_tool_call_input.delta': 'input',
};

/** The output that a client puts together of a stream's deltas. */
function assembled(events: readonly SseEvent[]): Data[] {
  const output: Data[] = [];
  for (const { event, data } of events as readonly { event: string; data: Data }[]) {
    const item = output[data.output_index];
    if (event === 'response.output_item.added') output[data.output_index] = structuredClone(data.item);
    if (event === 'response.content_part.added') item.content.push(structuredClone(data.part));
    if (event === 'response.output_text.delta' || event === 'response.reasoning_text.delta')
      item.content[data.content_index].text += data.delta;
    if (event === 'response.refusal.delta') item.content[data.content_index].refusal += data.delta;
    if (grown[event] !== undefined) item[grown[event]] += data.delta;
    if (event === 'response.output_item.done') item.status = data.item.status;
  }
  return output;
}

describe('An answer of a chat completion as one of Responses', () => {
  it('has items, their ids, the status and what was used', () => {
    const usage = { prompt_tokens: 100, completion_tokens: 20, prompt_tokens_details: { cached_tokens: 60 } };
    const whole = new FromChat(request).whole({
      ...answer({ content: 'Hi', ...called('read', '{"a":1}') }, 'tool_calls'),
      usage,
    });
    expect(whole).to.deep.include({
      id: 'resp_7',
      object: 'response',
      created_at: 1_790_000_000,
      status: 'completed',
      model: 'small',
      output: [
        {
          id: 'msg_7_0',
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'Hi', annotations: [], logprobs: [] }],
        },
        {
          id: 'fc_7_1',
          type: 'function_call',
          name: 'read',
          status: 'completed',
          call_id: 'c1',
          arguments: '{"a":1}',
        },
      ],
      usage: {
        input_tokens: 100,
        input_tokens_details: { cached_tokens: 60, cache_write_tokens: 0 },
        output_tokens: 20,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 120,
      },
    });
  });

  it('streams in the order that clients expect, with numbers that have no gap', () => {
    const events = streamed([
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: 'Hel' }),
      chunk({ content: 'lo' }),
      chunk(called('read', '{}')),
      chunk({}, 'tool_calls'),
    ]);
    expect(names(events)).to.deep.equal([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.output_item.added',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.output_item.done',
      'response.completed',
    ]);
    expect(events.map(({ data }) => (data as Data).type)).to.deep.equal(names(events));
    expect(events.map(({ data }) => (data as Data).sequence_number)).to.deep.equal(
      events.map((_, index) => index),
    );
  });

  it('is the same whole, put together of its stream, and at the end of it', () => {
    fc.assert(
      fc.property(chatAnswers, ({ whole, chunks }) => {
        const response = new FromChat(request).whole(whole);
        const events = streamed(chunks);
        expect(assembled(events)).to.deep.equal(response.output);
        expect((events.at(-1)!.data as Data).response).to.deep.equal(response);
      }),
    );
  });

  it('gives the input of a tool of free text, also where the model wrote it without the function around it', () => {
    const items = (text: string) =>
      new FromChat(request).whole(answer(called('patch', text))).output as Data[];
    expect(items('{"input":"*** Begin"}')).to.deep.equal([
      {
        id: 'ctc_7_0',
        type: 'custom_tool_call',
        name: 'patch',
        status: 'completed',
        call_id: 'c1',
        input: '*** Begin',
      },
    ]);
    expect(items('*** Begin')[0].input).to.equal('*** Begin');
  });

  it('gives the tool of a namespace its own name back', () => {
    const { output } = new FromChat(request).whole(answer(called('space__run', '')));
    expect(output).to.deep.equal([
      {
        id: 'fc_7_0',
        type: 'function_call',
        name: 'run',
        namespace: 'space',
        status: 'completed',
        call_id: 'c1',
        arguments: '{}',
      },
    ]);
  });

  it('gives the shell of the client what to run, at once', () => {
    const events = streamed([
      chunk(called('local_shell', '{"command":["ls","-l"],"timeout_ms":5}')),
      chunk({}, 'stop'),
    ]);
    const item = {
      id: 'lsh_7_0',
      type: 'local_shell_call',
      status: 'completed',
      call_id: 'c1',
      action: { type: 'exec', command: ['ls', '-l'], timeout_ms: 5, env: {} },
    };
    expect(names(events).slice(2, 4)).to.deep.equal([
      'response.output_item.added',
      'response.output_item.done',
    ]);
    expect((events[3]!.data as Data).item).to.deep.equal(item);
  });

  it('is incomplete where the answer was cut off', () => {
    const cut = (finish: string) => new FromChat(request).whole(answer({ content: 'Hi' }, finish));
    expect(cut('length')).to.deep.include({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
    });
    expect(cut('content_filter').incomplete_details).to.deep.equal({ reason: 'content_filter' });
    expect(names(streamed([chunk({ content: 'Hi' }), chunk({}, 'length')])).at(-1)).to.equal(
      'response.incomplete',
    );
  });

  it('gives a refusal as one', () => {
    const { output } = new FromChat(request).whole(answer({ content: null, refusal: 'No' }));
    expect((output as Data[])[0].content).to.deep.equal([{ type: 'refusal', refusal: 'No' }]);
  });
});
