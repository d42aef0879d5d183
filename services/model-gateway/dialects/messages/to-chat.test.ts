import { expect } from 'chai';
import { toChat } from './to-chat.ts';

const text = (words: string) => ({ type: 'text', text: words });
const ask = { model: 'small', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] };
const asking = (...messages: object[]) => toChat({ ...ask, messages });

describe('A request of Messages as a chat completion', () => {
  it('keeps what both have', () => {
    const request = {
      ...ask,
      system: 'Be brief.',
      temperature: 0.5,
      top_p: 0.9,
      top_k: 40,
      stop_sequences: ['END'],
      stream: true,
    };
    expect(toChat(request)).to.deep.equal({
      model: 'small',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello' },
      ],
      max_tokens: 100,
      stream: true,
      stream_options: { include_usage: true },
      temperature: 0.5,
      top_p: 0.9,
      top_k: 40,
      stop: ['END'],
    });
  });

  it('gives blocks of text as one text, and a later word of the system to the user, marked', () => {
    const request = {
      ...ask,
      system: [{ ...text('One.'), cache_control: { type: 'ephemeral' } }, text('Two.')],
      messages: [
        { role: 'user', content: [text('Hello'), text('there')] },
        { role: 'system', content: 'It is Monday.' },
      ],
    };
    expect(toChat(request).messages).to.deep.equal([
      { role: 'system', content: 'One.\n\nTwo.' },
      {
        role: 'user',
        content: 'Hello\n\nthere\n\n<system-reminder>\nIt is Monday.\n</system-reminder>',
      },
    ]);
  });

  it('gives pictures by their bytes and by their address', () => {
    const content = [
      text('What is this?'),
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0K' } },
      { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
    ];
    expect(asking({ role: 'user', content }).messages).to.deep.equal([
      {
        role: 'user',
        content: [
          text('What is this?'),
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0K' } },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
        ],
      },
    ]);
  });

  it('gives calls and their results, errors and pictures too, and leaves thinking out', () => {
    const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } };
    const { messages } = asking(
      { role: 'user', content: 'Look' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm', signature: 'abc' },
          { type: 'redacted_thinking', data: 'xyz' },
          text('I look.'),
          { type: 'tool_use', id: 'toolu_1', name: 'read', input: { path: 'a' } },
          { type: 'tool_use', id: 'toolu_2', name: 'shot', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'toolu_1', is_error: true, content: 'no such file' },
          { type: 'tool_result', tool_use_id: 'toolu_2', content: [text('done'), picture] },
          text('Go on'),
        ],
      },
    );
    const call = (id: string, name: string, input: string) => ({
      id,
      type: 'function',
      function: { name, arguments: input },
    });
    expect(messages).to.deep.equal([
      { role: 'user', content: 'Look' },
      {
        role: 'assistant',
        content: 'I look.',
        tool_calls: [call('toolu_1', 'read', '{"path":"a"}'), call('toolu_2', 'shot', '{}')],
      },
      { role: 'tool', tool_call_id: 'toolu_1', content: 'Error:\n\nno such file' },
      {
        role: 'tool',
        tool_call_id: 'toolu_2',
        content: 'done\n\nThe pictures follow in the next message.',
      },
      {
        role: 'user',
        content: [
          text('Pictures of the tool call toolu_2:'),
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
          text('Go on'),
        ],
      },
    ]);
  });

  it('refuses the result of a call that nobody made', () => {
    const result = { type: 'tool_result', tool_use_id: 'toolu_9', content: 'x' };
    expect(() => asking({ role: 'user', content: [result] }))
      .to.throw('messages[0].content[0].tool_use_id is "toolu_9": no tool call before it has this id')
      .with.property('code', 'invalid_input');
  });

  const tool = { name: 'read', description: 'Reads', input_schema: { type: 'object' } };
  const described = {
    type: 'function',
    function: { name: 'read', description: 'Reads', parameters: { type: 'object' } },
  };

  it('gives tools as functions, and each way to choose among them', () => {
    const chosen = (tool_choice: object) => toChat({ ...ask, tools: [tool], tool_choice });
    expect(chosen({ type: 'auto' })).to.deep.include({ tools: [described], tool_choice: 'auto' });
    expect(chosen({ type: 'any', disable_parallel_tool_use: true })).to.deep.include({
      tool_choice: 'required',
      parallel_tool_calls: false,
    });
    expect(chosen({ type: 'none' })).to.include({ tool_choice: 'none' });
    expect(chosen({ type: 'tool', name: 'read' }).tool_choice).to.deep.equal({
      type: 'function',
      function: { name: 'read' },
    });
  });

  it('asks for an answer by a schema as chat completions do', () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } } };
    const output_config = { effort: 'high', format: { type: 'json_schema', schema } };
    expect(toChat({ ...ask, output_config }).response_format).to.deep.equal({
      type: 'json_schema',
      json_schema: { name: 'answer', schema, strict: true },
    });
  });

  it('drops what changes nothing that was asked', () => {
    const dropped = {
      metadata: { user_id: 'u' },
      service_tier: 'auto',
      thinking: { type: 'adaptive' },
      output_config: { effort: 'high' },
      context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
      mcp_servers: [],
    };
    expect(toChat({ ...ask, ...dropped })).to.deep.equal(toChat(ask));
  });

  for (const [param, members] of Object.entries({
    'tools[0].type': { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
    'tools[0].allowed_callers': { tools: [{ ...tool, allowed_callers: ['code_execution_20260120'] }] },
    mcp_servers: { mcp_servers: [{ type: 'url', url: 'https://example.com', name: 'a' }] },
    container: { container: 'c' },
    inference_geo: { inference_geo: 'eu' },
    'output_config.task_budget': { output_config: { task_budget: { total: 1 } } },
    'messages[0].content[0].type': { messages: [{ role: 'user', content: [{ type: 'document' }] }] },
    'messages[0].content[0].source.type': {
      messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'file', file_id: 'f' } }] }],
    },
    'messages[1].content[0].type': {
      messages: [...ask.messages, { role: 'assistant', content: [{ type: 'server_tool_use' }] }],
    },
    'messages[1].role': { messages: [...ask.messages, { role: 'assistant', content: 'The answer is' }] },
    thread: { thread: { id: 't' } },
  }))
    it(`refuses ${param} by name, as nothing stands for it`, () => {
      expect(() => toChat({ ...ask, ...members }))
        .to.throw(`${param} is `)
        .with.include({ code: 'not_translatable', status: 400, param });
    });

  it('says what is wrong in a request that is none', () => {
    expect(() => toChat({ ...ask, max_tokens: '100' })).to.throw('/max_tokens is "100": must be an integer');
    expect(() => asking({ role: 'tool', content: 'x' })).to.throw('/messages/0/role is "tool"');
    expect(() => asking({ role: 'user', content: [{ type: 'text', text: 1 }] })).to.throw(
      'messages[0].content[0]: /text is 1: must be a string',
    );
  });
});
