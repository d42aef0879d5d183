import { expect } from 'chai';
import { callOptionsOf } from './call-options.ts';
import { UntranslatableRequest } from './failures.ts';
import { type CallOptions, loadProvider } from './provider.ts';
import { decodeChat } from './request.ts';

const hello = [{ role: 'user', content: 'hello' }];
const look = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } };
const lookCall = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } };

describe('an OpenAI request for an Anthropic model', () => {
  let translate: (request: object, model?: string) => CallOptions;

  before(async () => {
    const { getModelCapabilities } = await loadProvider();
    translate = (request, model = 'claude-sonnet-4-5') =>
      callOptionsOf(decodeChat({ model: 'large', messages: hello, ...request }), {
        model,
        capabilities: getModelCapabilities(model),
        outputTokens: null,
      });
  });

  function refused(request: object, model?: string): UntranslatableRequest {
    try {
      translate(request, model);
    } catch (error) {
      expect(error).to.be.instanceOf(UntranslatableRequest);
      return error as UntranslatableRequest;
    }
    return expect.fail(`${JSON.stringify(request)} was expected to be refused`);
  }

  it('says what is wrong with a response_format', () => {
    const schema = (described: unknown) => ({ type: 'json_schema', json_schema: described });
    const cases: readonly [unknown, string, string][] = [
      ['json', 'response_format', `'response_format' is "json": must be an object`],
      [
        {},
        'response_format.type',
        "'response_format.type' is missing: must be one of text, json_object, json_schema",
      ],
      [{ type: 'xml' }, 'response_format.type', 'is "xml": must be one of text, json_object, json_schema'],
      [{ type: 'json_schema' }, 'response_format.json_schema', 'is missing: must be an object'],
      [schema({ schema: {} }), 'response_format.json_schema.name', 'is missing: must be a string'],
      [schema({ name: 'a', schema: [] }), 'response_format.json_schema.schema', 'is []: must be an object'],
      [
        schema({ name: 'a', description: 1 }),
        'response_format.json_schema.description',
        'is 1: must be a string',
      ],
    ];
    for (const [response_format, param, said] of cases) {
      const error = refused({ response_format });
      expect(error).to.include({ param });
      expect(error.message).to.contain(said);
    }
    for (const response_format of [null, { type: 'text' }, schema({ name: 'a', schema: null, strict: true })])
      expect(() => translate({ response_format })).to.not.throw();
  });

  it('has the configured limit of output, or what the model can where that is less', async () => {
    const { getModelCapabilities } = await loadProvider();
    const limitOf = (outputTokens: number | null, more: object = {}) => {
      const model = 'claude-sonnet-4-5';
      const chat = decodeChat({ model: 'large', messages: hello, ...more });
      return callOptionsOf(chat, { model, capabilities: getModelCapabilities(model), outputTokens })
        .maxOutputTokens;
    };
    expect([limitOf(4_096), limitOf(1_000_000), limitOf(null)]).to.deep.equal([4_096, 64_000, 64_000]);
    expect(limitOf(4_096, { max_tokens: 5 })).to.equal(5);
  });

  it('is refused by name where something in it has no counterpart', () => {
    const cases: [object, string, RegExp][] = [
      [{ n: 2 }, 'n', /n must be 1/],
      [{ logprobs: true }, 'logprobs', /not possible/],
      [{ top_logprobs: 3 }, 'top_logprobs', /not possible/],
      [{ frequency_penalty: 0.5 }, 'frequency_penalty', /not possible/],
      [{ logit_bias: { 5: 1 } }, 'logit_bias', /not possible/],
      [{ modalities: ['text', 'audio'] }, 'modalities', /only \["text"\]/],
      [{ audio: { voice: 'ash' } }, 'audio', /not possible/],
      [{ web_search_options: {} }, 'web_search_options', /not possible/],
      [{ functions: [{ name: 'f' }] }, 'functions', /give tools/],
      [{ function_call: 'auto' }, 'function_call', /give tool_choice/],
      [{ frobnicate: 1 }, 'frobnicate', /Unrecognized request argument supplied: frobnicate/],
      [{ temperature: 1.5 }, 'temperature', /is 1.5; an Anthropic model takes 0 to 1/],
      [{ temperature: 0.5, top_p: 0.5 }, 'top_p', /one of the two/],
      [{ max_tokens: 1_000_000 }, 'max_tokens', /at most 64000/],
      [{ max_tokens: 0 }, 'max_tokens', /from 1 to/],
      [{ stop: 5 }, 'stop', /is 5/],
      [{ tool_choice: 'required' }, 'tool_choice', /together with tools/],
      [
        { tools: [look], tool_choice: { type: 'function', function: { name: 'x' } } },
        'tool_choice',
        /tools are look/,
      ],
      [{ tools: [{ type: 'custom', custom: { name: 'x' } }] }, 'tools[0].type', /is "custom"/],
      [{ messages: [] }, 'messages', /must not be empty/],
      [{ messages: 'hi' }, 'messages', /must be a list/],
      [
        { messages: [{ role: 'robot', content: 'x' }] },
        'messages[0].role',
        /system, developer, user, assistant, tool/,
      ],
      [
        { messages: [{ role: 'user', content: 'x', name: 'mira' }] },
        'messages[0].name',
        /write it into the content/,
      ],
      [
        { messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: {} }] }] },
        'messages[0].content[0].type',
        /"input_audio"/,
      ],
      [
        {
          messages: [
            { role: 'user', content: [{ type: 'image_url', image_url: { url: 'http://x/y.png' } }] },
          ],
        },
        'messages[0].content[0].image_url.url',
        /https address/,
      ],
      [
        {
          messages: [
            {
              role: 'user',
              content: [{ type: 'image_url', image_url: { url: 'data:image/tiff;base64,AAAA' } }],
            },
          ],
        },
        'messages[0].content[0].image_url.url',
        /image\/tiff/,
      ],
      [
        { messages: [...hello, { role: 'tool', tool_call_id: 'nope', content: 'x' }] },
        'messages[1].tool_call_id',
        /no message before it called/,
      ],
    ];
    for (const [request, param, words] of cases) {
      const error = refused(request);
      expect(error.message, JSON.stringify(request)).to.match(words);
      expect(error.param, JSON.stringify(request)).to.equal(param);
    }
  });

  it('goes without hints, and without values that say nothing', () => {
    const options = translate({
      seed: 5,
      metadata: { a: 'b' },
      store: true,
      prompt_cache_key: 'x',
      n: 1,
      logprobs: false,
      presence_penalty: 0,
      temperature: 1,
      top_p: 1,
      verbosity: 'medium',
      stop: null,
    });
    expect(options).to.not.have.any.keys('temperature', 'topP', 'stopSequences');
    expect(options.maxOutputTokens).to.equal(64_000);
  });

  it('keeps who speaks, what was called and what came back', () => {
    const { prompt } = translate({
      messages: [
        {
          role: 'developer',
          content: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
        },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw==', detail: 'low' } },
            { type: 'image_url', image_url: { url: 'https://example.org/a.png' } },
          ],
        },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'call:1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } },
            { id: 'c2', type: 'function', function: { name: 'look', arguments: '{"at":' } },
          ],
        },
        { role: 'tool', tool_call_id: 'call:1', content: 'one' },
        { role: 'tool', tool_call_id: 'c2', content: [{ type: 'text', text: 'two' }] },
      ],
    });
    expect(prompt.map(({ role }) => role)).to.deep.equal(['system', 'user', 'assistant', 'tool', 'tool']);
    expect(prompt[0]).to.deep.equal({
      role: 'system',
      content: 'Be brief.',
      providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } },
    });
    expect(prompt[1]!.content).to.deep.equal([
      { type: 'text', text: 'What is this?' },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'iVBORw==' } },
      {
        type: 'file',
        mediaType: 'image/*',
        data: { type: 'url', url: new URL('https://example.org/a.png') },
      },
    ]);
    const [first, second] = prompt[2]!.content as { toolCallId: string; input: unknown }[];
    expect(first!.toolCallId).to.match(/^call_[0-9a-f]{24}$/);
    expect((prompt[3]!.content as { toolCallId: string }[])[0]!.toolCallId).to.equal(first!.toolCallId);
    expect(second!.input).to.deep.equal({ INVALID_JSON: '{"at":' });
  });

  it('caches a conversation with tools up to its end, or where the request says', () => {
    const ephemeral = { anthropic: { cacheControl: { type: 'ephemeral' } } };
    expect(translate({ tools: [look] }).prompt.at(-1)!.providerOptions).to.deep.equal(ephemeral);
    expect(translate({}).prompt.at(-1)).to.not.have.property('providerOptions');
    const explicit = { tools: [look], prompt_cache_options: { mode: 'explicit' } };
    expect(translate(explicit).prompt.at(-1)).to.not.have.property('providerOptions');
    const text = { type: 'text', text: 'a long text', prompt_cache_breakpoint: { mode: 'explicit' } };
    const marked = translate({ tools: [look], messages: [{ role: 'user', content: [text] }, ...hello] });
    expect(marked.prompt.at(-1)).to.not.have.property('providerOptions');
    expect(marked.prompt[0]!.content).to.deep.equal([
      { type: 'text', text: 'a long text', providerOptions: ephemeral },
    ]);
  });

  it('gives a model that thinks by a budget no more tokens than the request allows', () => {
    const asked = { reasoning_effort: 'medium', max_completion_tokens: 10_000 };
    expect(translate(asked)).to.deep.include({ maxOutputTokens: 7000 });
    expect(translate(asked).providerOptions!.anthropic).to.deep.include({
      thinking: { type: 'enabled', budgetTokens: 3000 },
    });
    const small = translate({ ...asked, max_completion_tokens: 1500 });
    expect(small.maxOutputTokens).to.equal(1500);
    expect(small.providerOptions!.anthropic).to.not.have.property('thinking');
    const loop = [
      ...hello,
      { role: 'assistant', tool_calls: [lookCall] },
      { role: 'tool', tool_call_id: 'c1', content: 'x' },
    ];
    expect(translate({ ...asked, messages: loop }).providerOptions!.anthropic).to.not.have.property(
      'thinking',
    );
    expect(refused({ ...asked, temperature: 0 }).param).to.equal('temperature');
    expect(refused({ ...asked, tools: [look], tool_choice: 'required' }).param).to.equal('tool_choice');
    expect(translate({ reasoning_effort: 'high' }, 'claude-opus-4-6').reasoning).to.equal('high');
  });

  it('is refused where the model has no way to do it', () => {
    expect(refused({ temperature: 0 }, 'claude-opus-5-5').message).to.match(
      /claude-opus-5-5 takes no value but 1/,
    );
    expect(refused({ tools: [look], tool_choice: 'required' }, 'claude-opus-5-5').message).to.match(
      /cannot be made to use a tool: must be one of auto, none/,
    );
  });
});
