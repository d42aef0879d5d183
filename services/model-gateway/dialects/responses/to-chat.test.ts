import { expect } from 'chai';
import { toChat } from './to-chat.ts';

const text = (words: string) => ({ type: 'input_text', text: words });
const ask = { model: 'small', input: 'Hello' };
const asking = (...input: object[]) => toChat({ ...ask, input }).messages;
const call = (id: string, name: string, input: string) => ({
  id,
  type: 'function',
  function: { name, arguments: input },
});

describe('A request of Responses as a chat completion', () => {
  it('keeps what both have', () => {
    const request = {
      ...ask,
      instructions: 'Be brief.',
      max_output_tokens: 100,
      temperature: 0.5,
      top_p: 0.9,
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
    });
  });

  it('gives a conversation, its words of the developer as one at the beginning', () => {
    expect(
      asking(
        { type: 'message', id: 'msg_1', role: 'developer', content: [text('One.')] },
        { role: 'system', content: 'Two.' },
        {
          role: 'user',
          content: [
            text('Hello'),
            { type: 'input_image', image_url: 'data:image/png;base64,AA==', detail: 'original' },
          ],
        },
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' },
        {
          type: 'message',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'Hi', annotations: [] }],
        },
        { role: 'user', content: 'Again' },
        { role: 'developer', content: 'Three.' },
      ),
    ).to.deep.equal([
      { role: 'system', content: 'One.\n\nTwo.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Hello' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==', detail: 'high' } },
        ],
      },
      { role: 'assistant', content: 'Hi' },
      { role: 'user', content: 'Again\n\n<system-reminder>\nThree.\n</system-reminder>' },
    ]);
  });

  it('puts each output behind the answer that called, whatever came between them', () => {
    expect(
      asking(
        { role: 'user', content: 'Go' },
        { type: 'function_call', call_id: 'c1', name: 'read', arguments: '{"a":1}' },
        { type: 'custom_tool_call', call_id: 'c2', name: 'patch', input: '*** Begin' },
        { role: 'user', content: 'Hurry' },
        { type: 'function_call_output', call_id: 'c1', output: 'one' },
        { type: 'custom_tool_call_output', call_id: 'c2', output: [text('two')] },
        { type: 'function_call', call_id: 'c3', name: 'run', namespace: 'space', arguments: '{}' },
        {
          type: 'function_call_output',
          call_id: 'c3',
          output: [{ type: 'input_image', image_url: 'data:,' }],
        },
      ),
    ).to.deep.equal([
      { role: 'user', content: 'Go' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [call('c1', 'read', '{"a":1}'), call('c2', 'patch', '{"input":"*** Begin"}')],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'one' },
      { role: 'tool', tool_call_id: 'c2', content: 'two' },
      { role: 'user', content: 'Hurry' },
      { role: 'assistant', content: null, tool_calls: [call('c3', 'space__run', '{}')] },
      { role: 'tool', tool_call_id: 'c3', content: 'The pictures follow in the next message.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Pictures of the tool call c3:' },
          { type: 'image_url', image_url: { url: 'data:,' } },
        ],
      },
    ]);
  });

  it('gives the shell of the client as a function', () => {
    const action = { type: 'exec', command: ['ls'], env: {} };
    expect(
      asking(
        { type: 'local_shell_call', id: 'lsh_1', call_id: 'c1', status: 'completed', action },
        { type: 'local_shell_call_output', id: 'c1', output: 'a.txt' },
      ),
    ).to.deep.equal([
      {
        role: 'assistant',
        content: null,
        tool_calls: [call('c1', 'local_shell', '{"command":["ls"],"env":{}}')],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'a.txt' },
    ]);
  });

  const read = {
    type: 'function',
    name: 'read',
    description: 'Reads',
    parameters: { type: 'object' },
    strict: false,
  };
  const patch = {
    type: 'custom',
    name: 'patch',
    description: 'Patches.',
    format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"' },
  };
  const space = { type: 'namespace', name: 'space', description: 'Tools', tools: [{ ...read, name: 'run' }] };
  const tools = [read, patch, space, { type: 'local_shell' }];

  it('gives tools of free text, of namespaces and of the shell as functions', () => {
    const { tools: given } = toChat({ ...ask, tools, tool_choice: 'auto' }) as {
      tools: { function: { name: string; description: string; parameters: object } }[];
    };
    expect(given.map((tool) => tool.function.name)).to.deep.equal([
      'read',
      'patch',
      'space__run',
      'local_shell',
    ]);
    expect(given[0]).to.deep.equal({
      type: 'function',
      function: { name: 'read', description: 'Reads', parameters: { type: 'object' } },
    });
    expect(given[1]!.function.description).to.equal(
      'Patches.\n\nThe text must follow this grammar (lark):\nstart: "a"',
    );
    expect(given[1]!.function.parameters).to.include({ type: 'object' }).and.nested.include({
      'properties.input.type': 'string',
    });
  });

  it('gives each way to choose among tools', () => {
    const chosen = (tool_choice: unknown) =>
      toChat({ ...ask, tools, tool_choice, parallel_tool_calls: false });
    expect(chosen('required')).to.include({ tool_choice: 'required', parallel_tool_calls: false });
    expect(chosen({ type: 'custom', name: 'patch' }).tool_choice).to.deep.equal({
      type: 'function',
      function: { name: 'patch' },
    });
    const allowed = chosen({
      type: 'allowed_tools',
      mode: 'required',
      tools: [{ type: 'function', name: 'read' }],
    });
    expect(allowed.tool_choice).to.equal('required');
    expect((allowed.tools as { function: object }[]).map((tool) => tool.function)).to.deep.equal([
      { name: 'read', description: 'Reads', parameters: { type: 'object' } },
    ]);
  });

  it('asks for an answer by a schema as chat completions do', () => {
    const format = { type: 'json_schema', name: 'facts', schema: { type: 'object' }, strict: true };
    expect(toChat({ ...ask, text: { format, verbosity: 'low' } }).response_format).to.deep.equal({
      type: 'json_schema',
      json_schema: { name: 'facts', schema: { type: 'object' }, strict: true },
    });
  });

  it('drops what changes nothing that was asked', () => {
    const dropped = {
      reasoning: { effort: 'high', summary: 'auto' },
      store: false,
      include: ['reasoning.encrypted_content'],
      prompt_cache_key: 'k',
      client_metadata: { a: 'b' },
      service_tier: 'auto',
      metadata: {},
      truncation: 'auto',
      previous_response_id: null,
    };
    expect(toChat({ ...ask, ...dropped })).to.deep.equal(toChat(ask));
  });

  for (const [param, members] of Object.entries({
    'tools[0].type': { tools: [{ type: 'web_search' }] },
    'tools[0].tools[0].type': { tools: [{ ...space, tools: [{ type: 'mcp' }] }] },
    'tool_choice.type': { tools: [read], tool_choice: { type: 'file_search' } },
    previous_response_id: { previous_response_id: 'resp_1' },
    conversation: { conversation: 'conv_1' },
    prompt: { prompt: { id: 'p' } },
    background: { background: true },
    store: { store: true },
    include: { include: ['web_search_call.results'] },
    'input[0].type': { input: [{ type: 'item_reference', id: 'x' }] },
    'input[0].role': { input: [{ role: 'critic', content: 'x' }] },
    'input[0].content[0].type': {
      input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] }],
    },
    'input[0].content[0].file_id': {
      input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }],
    },
    'text.format.type': { text: { format: { type: 'grammar' } } },
  }))
    it(`refuses ${param} by name, as nothing stands for it`, () => {
      expect(() => toChat({ ...ask, ...members }))
        .to.throw(`${param} is `)
        .with.include({ code: 'not_translatable', status: 400, param });
    });

  it('says what is wrong in a request that is none', () => {
    expect(() => toChat({ model: 'small' })).to.throw('/input is missing');
    expect(() => asking({ type: 'function_call_output', call_id: 'c9', output: 'x' })).to.throw(
      'input[0].call_id is "c9": no tool call before it has this id',
    );
    expect(() => toChat({ ...ask, tools: [read, read] })).to.throw(
      'tools[1].name is "read", which a tool before it has',
    );
  });
});
