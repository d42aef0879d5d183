import Anthropic from '@anthropic-ai/sdk';
import { expect } from 'chai';
import OpenAI from 'openai';
import { all, startGateway, type TestGateway } from '../fixtures/model-upstream/gateway.ts';
import { chunk, completion, sendJson } from '../fixtures/model-upstream/openai-answers.ts';
import { type ModelUpstream, startModelUpstream } from '../fixtures/model-upstream/openai-server.ts';

const user = [{ role: 'user' as const, content: 'Hello' }];

/** As servers say that a conversation is too long. */
const overflows: readonly (readonly [server: string, status: number, body: object])[] = [
  [
    'OpenAI',
    400,
    {
      error: {
        message: "This model's maximum context length is 8192 tokens, however you requested 9000 tokens.",
        type: 'invalid_request_error',
        param: 'messages',
        code: 'context_length_exceeded',
      },
    },
  ],
  [
    'vLLM',
    400,
    {
      object: 'error',
      message: "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens.",
      type: 'BadRequestError',
      code: 400,
    },
  ],
  [
    'llama.cpp',
    400,
    {
      error: {
        code: 400,
        message: 'the request exceeds the available context size. try increasing the context size',
        type: 'exceed_context_size_error',
      },
    },
  ],
  [
    'xAI',
    400,
    { code: 'Bad Request', error: "This model's maximum prompt length is 131072 but it has 140000 tokens." },
  ],
  [
    'Mistral',
    400,
    {
      object: 'error',
      message: 'Prompt contains 40000 tokens, too large for model with 32768 maximum context length',
    },
  ],
  [
    'Groq',
    413,
    {
      error: {
        message: 'Please reduce the length of the messages or completion.',
        type: 'invalid_request_error',
      },
    },
  ],
  [
    'Gemini',
    400,
    {
      error: {
        code: 400,
        message: 'The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).',
      },
    },
  ],
  ['Ollama', 500, { error: { message: 'input length exceeds the context length' } }],
];

const textOf = (body: object) => /"(?:message|error)":"([^"]+)"/.exec(JSON.stringify(body))![1]!;

describe('What a translation makes of errors and streams', () => {
  let upstream: ModelUpstream;
  let gateway: TestGateway;
  let anthropic: Anthropic;

  before(async () => {
    upstream = await startModelUpstream();
    const entry = { kind: 'openai', base_url: upstream.url, model: 'tiny-1' };
    gateway = await startGateway({ retries: 0, models: { small: { upstreams: [entry] } } });
    anthropic = new Anthropic({ apiKey: gateway.token, baseURL: gateway.url, maxRetries: 0 });
  });
  after(async () => {
    await gateway.stop();
    await upstream.close();
  });

  const claude = (stream: boolean) => {
    const asked = { model: 'small', max_tokens: 100, messages: user };
    return stream ? anthropic.messages.stream(asked).finalMessage() : anthropic.messages.create(asked);
  };
  const codex = async (stream: boolean) => {
    const asked = { model: 'small', input: 'Hello' };
    return stream
      ? await all(await gateway.client.responses.create({ ...asked, stream: true }))
      : await gateway.client.responses.create(asked);
  };
  const failureOf = (asked: Promise<unknown>) =>
    asked.then(
      () => expect.fail('it was answered'),
      (error: Error) => error,
    );

  for (const [server, status, body] of overflows)
    it(`is a conversation that is too long, in the words of the client's agent: ${server}`, async () => {
      for (const stream of [false, true]) {
        upstream.next((_request, response) => sendJson(response, status, body));
        const forClaude = await failureOf(claude(stream));
        expect(forClaude).to.be.instanceOf(Anthropic.APIError);
        expect((forClaude as InstanceType<typeof Anthropic.APIError>).status).to.be.within(400, 422);
        expect(forClaude.message).to.contain('prompt is too long').and.to.contain(textOf(body));
        upstream.next((_request, response) => sendJson(response, status, body));
        const forCodex = await failureOf(codex(stream));
        expect(forCodex)
          .to.be.instanceOf(OpenAI.APIError)
          .and.to.include({ code: 'context_length_exceeded' });
        expect(forCodex.message).to.contain(textOf(body));
      }
    });

  it('is the same where the upstream says it in its stream', async () => {
    const error = { message: 'the request exceeds the available context size', code: 400 };
    const body = [chunk('tiny-1', { content: 'Hi' }), { error }]
      .map((event) => `data: ${JSON.stringify(event)}\n\n`)
      .join('');
    const broken = () =>
      upstream.next((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(body);
      });
    broken();
    expect((await failureOf(claude(true))).message)
      .to.contain('prompt is too long')
      .and.to.contain(error.message);
    broken();
    const answer = await gateway.ask('/v1/responses', {
      body: { model: 'small', input: 'Hello', stream: true },
    });
    const text = await answer.text().catch(() => '');
    expect(text).to.satisfy((said: string) => said === '' || said.includes('context_length_exceeded'));
  });

  it('is any other error with the words of the upstream', async () => {
    for (const stream of [false, true])
      for (const [status, message] of [
        [400, 'tools[0].function.name is not a name'],
        [429, 'Rate limit reached for tokens'],
        [503, 'The model is being loaded'],
      ] as const)
        for (const ask of [claude, codex]) {
          upstream.next((_request, response) => sendJson(response, status, { error: { message } }));
          const failed = await failureOf(ask(stream));
          expect(failed).to.include({ status });
          expect(failed.message).to.contain(message).and.to.not.contain('too long');
        }
  });

  it('keeps the words of an error in the middle of a stream', async () => {
    upstream.next((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const events = [chunk('tiny-1', { content: 'Hi' }), { error: { message: 'CUDA out of memory' } }];
      response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
    });
    expect((await failureOf(claude(true))).message).to.contain('CUDA out of memory');
  });

  it('is a stream without a content type, with fields that are not known', async () => {
    const body = [chunk('tiny-1', { content: 'Hi' }), chunk('tiny-1', {}, 'stop')]
      .map((event) => `foo: 1\nevent: message\ndata: ${JSON.stringify(event)}\nbar\n\n`)
      .join('');
    for (const ask of [claude, codex]) {
      upstream.next((_request, response) => {
        response.writeHead(200);
        response.end(`${body}data: [DONE]\n\n`);
      });
      expect(JSON.stringify(await ask(true))).to.contain('Hi');
    }
  });

  it('begins with the tokens of the input, and ends with those that the upstream counted', async () => {
    const text = 'word '.repeat(700);
    const stream = await anthropic.messages.create({
      ...{ model: 'small', max_tokens: 100, stream: true as const },
      messages: [{ role: 'user', content: text }],
    });
    const events = await all(stream);
    const [start] = events.flatMap((event) => (event.type === 'message_start' ? [event.message] : []));
    expect(start!.usage.input_tokens).to.be.within(700, 1_500);
    const [delta] = events.flatMap((event) => (event.type === 'message_delta' ? [event] : []));
    expect(delta!.usage).to.include({ input_tokens: 7 });
  });

  it('is OpenAI’s code where Anthropic says that a prompt is too long', async () => {
    const message = 'prompt is too long: 210000 tokens > 200000 maximum';
    const error = { type: 'error', error: { type: 'invalid_request_error', message } };
    upstream.next((_request, response) => sendJson(response, 400, error));
    const entry = { kind: 'anthropic', base_url: upstream.url, model: 'claude-x' };
    const other = await startGateway({ retries: 0, models: { claude: { upstreams: [entry] } } });
    try {
      const asked = other.client.chat.completions.create({ model: 'claude', messages: user });
      const failed = await failureOf(asked);
      expect(failed).to.include({ status: 400, code: 'context_length_exceeded' });
      expect(failed.message).to.contain(message);
    } finally {
      await other.stop();
    }
  });

  it('is an error for a whole answer that does not say why it ended', async () => {
    const answer = completion('tiny-1') as { choices: object[] };
    const choices = answer.choices.map((choice) => ({ ...choice, finish_reason: '' }));
    for (const ask of [claude, codex]) {
      upstream.next((_request, response) => sendJson(response, 200, { ...answer, choices }));
      expect((await failureOf(ask(false))).message).to.contain('finish_reason');
    }
  });
});
