import { expect } from 'chai';
import OpenAI from 'openai';
import { all, oneModel, startGateway, type TestGateway } from '../fixtures/model-upstream/gateway.ts';
import { greeting, sendJson, usage } from '../fixtures/model-upstream/openai-answers.ts';
import { type ModelUpstream, startModelUpstream } from '../fixtures/model-upstream/openai-server.ts';

const credential = 'sk-test-0123456789abcdefghijklmnop';
const hello = { model: 'small', messages: [{ role: 'user' as const, content: 'Hello' }] };
const weather = {
  type: 'function' as const,
  function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
};

describe('The model gateway with the official client', () => {
  let upstream: ModelUpstream;
  let gateway: TestGateway;

  beforeEach(async () => {
    upstream = await startModelUpstream();
    const price = { input: 1, output: 2, cached: 0.5 };
    gateway = await startGateway(
      {
        models: {
          small: {
            tier: 'small',
            limits: { output_tokens: 500 },
            upstreams: [
              { kind: 'openai', base_url: `${upstream.url}/`, model: 'tiny-1', credential: 'openai', price },
            ],
          },
          vectors: {
            kind: 'embeddings',
            upstreams: [{ kind: 'openai', base_url: upstream.url, model: 'embedder' }],
          },
        },
      },
      { openai: `${credential}\n` },
    );
  });
  afterEach(async () => {
    await gateway.stop();
    await upstream.close();
  });

  it('completes a conversation, and asks the upstream for its own model with its own credential', async () => {
    const answer = await gateway.client.chat.completions.create(hello);
    expect(answer.choices[0]!.message.content).to.equal(greeting.join(''));
    expect(answer.usage!.total_tokens).to.equal(18);
    const [request] = upstream.requests;
    expect(request!.path).to.equal('/v1/chat/completions');
    expect(request!.json.model).to.equal('tiny-1');
    expect(request!.headers.authorization).to.equal(`Bearer ${credential}`);
    expect(request!.headers['accept-encoding']).to.equal('identity');
    expect(JSON.stringify(request!.headers)).to.not.contain(gateway.token);
  });

  it('streams a conversation, and hides the usage that the client did not ask for', async () => {
    const stream = await gateway.client.chat.completions.create({ ...hello, stream: true });
    let text = '';
    let chunks = 0;
    for await (const chunk of stream) {
      chunks++;
      expect(chunk.choices).to.have.length(1);
      expect(chunk.usage ?? null).to.equal(null);
      text += chunk.choices[0]!.delta.content ?? '';
    }
    expect(text).to.equal(greeting.join(''));
    expect(chunks).to.equal(greeting.length + 2);
    expect(upstream.requests[0]!.json.stream_options).to.deep.equal({ include_usage: true });
    const metrics = await (await gateway.ask('/v1/metrics')).text();
    expect(metrics).to.match(/model_tokens_total\{[^}]*kind="input"[^}]*\} 11\n/);
    expect(metrics).to.match(/model_tokens_total\{[^}]*kind="output"[^}]*\} 7\n/);
  });

  it('gives the usage of a stream to a client that asked for it', async () => {
    const stream = await gateway.client.chat.completions.create({
      ...hello,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = await all(stream);
    expect(chunks.at(-1)!.usage!.completion_tokens).to.equal(7);
    expect(chunks.at(-1)!.choices).to.deep.equal([]);
  });

  it('carries calls of tools and their results, whole and streamed', async () => {
    const asked = { ...hello, tools: [weather] };
    const whole = await gateway.client.chat.completions.create(asked);
    const call = whole.choices[0]!.message.tool_calls![0]!;
    expect(call).to.deep.include({ id: 'call_1', type: 'function' });

    let names = '';
    let args = '';
    for await (const chunk of await gateway.client.chat.completions.create({ ...asked, stream: true })) {
      const part = chunk.choices[0]!.delta.tool_calls?.[0];
      names += part?.function?.name ?? '';
      args += part?.function?.arguments ?? '';
    }
    expect({ names, args: JSON.parse(args) }).to.deep.equal({ names: 'weather', args: { city: 'Bern' } });

    const answered = await gateway.client.chat.completions.create({
      ...asked,
      messages: [
        ...hello.messages,
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call_1', content: 'sunny' },
      ],
    });
    expect(answered.choices[0]!.message.content).to.equal(greeting.join(''));
    expect(upstream.requests.at(-1)!.json.messages).to.have.length(3);
  });

  it('passes on everything in a request but the name of the model, and numbers to their last digit', async () => {
    const body = `{ "seed": 12345678901234567890123, "x_new" : {"a":[1.0, 1e400]},"model":"small",\n "messages":[{"role":"user","content":"\\u00e9 \\"model\\": ü"}], "stream":false }`;
    const answer = await gateway.ask('/v1/chat/completions', { body });
    expect(answer.status).to.equal(200);
    expect(upstream.requests[0]!.body).to.equal(
      '{"seed":12345678901234567890123,"x_new":{"a":[1.0,1e400]},"model":"tiny-1","messages":[{"role":"user","content":"é \\"model\\": ü"}],"stream":false}',
    );
  });

  it('counts the usage of an answer itself, and of nothing in it, however large it is', async () => {
    const wrong = { prompt_tokens: 900, completion_tokens: 900 };
    const choices = [
      { index: 0, message: { role: 'assistant', content: 'w'.repeat(2_000_000) }, usage: wrong },
    ];
    const own = { choices, text: '"usage":{"prompt_tokens":9}', usage: { ...usage, note: 'a , } ] " \\ b' } };
    for (const answer of [own, { ...own, usage: null }]) {
      upstream.next((_request, response) => sendJson(response, 200, answer));
      expect(await (await gateway.ask('/v1/chat/completions', { body: hello })).json()).to.deep.equal(answer);
    }
    const rows = (await (await gateway.ask('/v1/usage?by=model')).json()) as {
      rows: { input_tokens: number; estimated: number }[];
    };
    expect(rows.rows[0]).to.include({ estimated: 1 });
    expect(rows.rows[0]!.input_tokens).to.be.within(12, 100);
  });

  it('asks for vectors', async () => {
    const answer = await gateway.client.embeddings.create({
      model: 'vectors',
      input: ['a', 'b'],
      encoding_format: 'float',
    });
    expect(answer.data.map(({ embedding }) => embedding)).to.deep.equal([
      [0.25, -0.5, 1],
      [0.25, -0.5, 1],
    ]);
    expect(upstream.requests[0]!.path).to.equal('/v1/embeddings');
    expect(upstream.requests[0]!.headers.authorization).to.equal(undefined);
  });

  it('lists the models', async () => {
    const models = await all(gateway.client.models.list());
    expect(models.map(({ id }) => id)).to.deep.equal(['small', 'vectors']);
    expect(models[0]).to.deep.include({ object: 'model', tier: 'small', kind: 'chat' });
    expect(await gateway.client.models.retrieve('small')).to.deep.equal(models[0]);
    const unknown = await gateway.client.models.retrieve('large').catch((error: unknown) => error);
    expect(unknown).to.include({ status: 404 });
    expect(String(unknown)).to.contain('must be one of small, vectors');
  });

  it('takes a new credential without a restart', async () => {
    await gateway.client.chat.completions.create(hello);
    gateway.secret('openai', 'sk-rotated-0123456789abcdef');
    await gateway.client.chat.completions.create(hello);
    expect(upstream.requests[1]!.headers.authorization).to.equal('Bearer sk-rotated-0123456789abcdef');
  });

  it('ends the request upstream when the client leaves in the middle of a stream', async () => {
    upstream.next(({ json }, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(
        `data: ${JSON.stringify({ model: json.model, choices: [{ delta: { content: 'a' } }] })}\n\n`,
      );
    });
    const stream = await gateway.client.chat.completions.create({ ...hello, stream: true });
    for await (const _chunk of stream) stream.controller.abort();
    await upstream.requests[0]!.left;
  });

  for (const stream of [true, false]) {
    it(`ends the request upstream when the client leaves before the first byte, ${stream ? '' : 'not '}streaming`, async () => {
      let arrived: () => void = () => {};
      const waiting = new Promise<void>((resolve) => {
        arrived = resolve;
      });
      upstream.next(() => arrived());
      const leaving = new AbortController();
      const asked = gateway.client.chat.completions.create({ ...hello, stream }, { signal: leaving.signal });
      await waiting;
      leaving.abort();
      const error = await asked.catch((error: unknown) => error);
      expect(error).to.be.instanceOf(OpenAI.APIUserAbortError);
      await upstream.requests[0]!.left;
    });
  }

  it('gives the errors of the upstream with their status, in the words of OpenAI', async () => {
    upstream.next((_request, response) => {
      response.writeHead(400, {
        'content-type': 'application/json',
        'x-request-id': 'up-7',
        'set-cookie': 'a=b',
      });
      response.end(
        JSON.stringify({
          error: {
            message: 'Bad temperature',
            type: 'invalid_request_error',
            param: 'temperature',
            code: 'bad',
          },
        }),
      );
    });
    const error = await gateway.client.chat.completions.create(hello).catch((error) => error);
    expect(error).to.be.instanceOf(OpenAI.BadRequestError);
    expect(error).to.include({
      status: 400,
      param: 'temperature',
      code: 'bad',
      type: 'invalid_request_error',
    });
    expect(error.message).to.contain('Bad temperature');
    expect(upstream.requests).to.have.length(1);
  });

  it('says what a client did wrong', async () => {
    const cases: readonly [object, number, string, RegExp][] = [
      [{ ...hello, model: 'huge' }, 404, 'model_not_found', /"huge" is not configured: must be one of small/],
      [{ messages: hello.messages }, 400, 'model_missing', /model is missing/],
      [{ model: 'small' }, 400, 'invalid_input', /messages is missing/],
      [{ ...hello, model: 'vectors' }, 400, 'model_kind', /is for embeddings, not for chat/],
      [{ ...hello, max_tokens: 501 }, 400, 'invalid_input', /max_tokens is 501: must be at most 500/],
      [{ ...hello, Model: 'gpt-large' }, 400, 'invalid_input', /Model is no member/],
      [{ ...hello, stream: 'yes' }, 400, 'invalid_input', /stream is "yes"/],
      [
        { ...hello, model: 'm'.repeat(1e6) },
        400,
        'invalid_input',
        /^model is "m{78}…: must be the name of a model, of 1 to 100 characters$/,
      ],
    ];
    for (const [body, status, code, message] of cases) {
      const answer = await gateway.ask('/v1/chat/completions', { body });
      const { error } = (await answer.json()) as { error: { message: string; code: string } };
      expect({ status: answer.status, code: error.code }).to.deep.equal({ status, code });
      expect(error.message).to.match(message);
    }
    const deep = `{"model":"small","messages":[{}],"tools":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    for (const body of ['{"model": "small", }', deep]) {
      const malformed = await gateway.ask('/v1/chat/completions', { body });
      expect(malformed.status).to.equal(400);
      expect(((await malformed.json()) as { error: { code: string } }).error.code).to.equal('invalid_json');
    }
    expect(upstream.requests).to.have.length(0);
  });

  it('refuses a member that stands twice, wherever it does, before an upstream is asked', async () => {
    const asked = upstream.requests.length;
    const messages = '"messages":[{"role":"user","content":"Hello"}]';
    for (const [body, pointer] of [
      [`{"model":"small","model":"other",${messages}}`, '/model'],
      [`{"model":"small","max_tokens":1,"max_\\u0074okens":100000,${messages}}`, '/max_tokens'],
      [
        '{"model":"small","messages":[{"role":"system","role":"user","content":"Hello"}]}',
        '/messages/0/role',
      ],
    ] as const) {
      const answer = await gateway.ask('/v1/chat/completions', { body });
      expect(answer.status, pointer).to.equal(400);
      const { error } = (await answer.json()) as { error: { code: string; message: string } };
      expect(error).to.deep.include({
        code: 'invalid_json',
        message: `the body: ${pointer} stands twice: must be there once`,
      });
    }
    expect(upstream.requests.length).to.equal(asked);
  });

  it('reports unknown paths in the format of OpenAI too', async () => {
    const error = await gateway.client.files.list().catch((error) => error);
    expect(error).to.be.instanceOf(OpenAI.NotFoundError);
    expect(error).to.include({ code: 'path_not_found', type: 'invalid_request_error' });
    expect(error.message).to.contain('there is nothing at /v1/files');
    const other = await gateway.ask('/v1/chat/completions');
    expect(other.status).to.equal(405);
    expect(other.headers.get('allow')).to.equal('POST');
    expect(((await other.json()) as { error: { code: string } }).error.code).to.equal('method_not_allowed');
  });

  it('refuses who has no token, or a wrong one, in the words of OpenAI', async () => {
    const stranger = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'sk-wrong-token', maxRetries: 0 });
    const error = await stranger.chat.completions.create(hello).catch((error) => error);
    expect(error).to.be.instanceOf(OpenAI.AuthenticationError);
    expect(error.code).to.equal('invalid_api_key');
    const nobody = await gateway.ask('/v1/chat/completions', { body: hello, token: null });
    expect(nobody.status).to.equal(401);
    const foreign = await gateway.ask('/v1/chat/completions', {
      body: hello,
      headers: { origin: 'https://evil.example' },
    });
    expect(foreign.status).to.equal(403);
    expect(upstream.requests).to.have.length(0);
  });

  it('refuses a body of 50 MB, and goes on', async () => {
    const body = JSON.stringify({ ...hello, padding: 'x'.repeat(50 * 1024 * 1024) });
    const answer = await gateway.ask('/v1/chat/completions', { body });
    expect(answer.status).to.equal(413);
    expect(((await answer.json()) as { error: { code: string } }).error.code).to.equal('body_too_large');
    const next = await gateway.client.chat.completions.create(hello);
    expect(next.choices).to.have.length(1);
  });
});

describe('The model gateway without a model', () => {
  it('lists none, is degraded, and says how to configure one', async () => {
    const gateway = await startGateway({});
    try {
      const health = (await (await gateway.ask('/healthz')).json()) as {
        status: string;
        checks: { models: { detail: string } };
      };
      expect(health.status).to.equal('degraded');
      expect(health.checks.models.detail).to.contain('./core model add');
      expect(await all(gateway.client.models.list())).to.deep.equal([]);
      const error = await gateway.client.chat.completions.create(hello).catch((error) => error);
      expect(error.status).to.equal(404);
      expect(error.message).to.contain('./core model add');
    } finally {
      await gateway.stop();
    }
  });

  it('stops its start at a configuration that is wrong, and says where', async () => {
    const wrong = oneModel('ftp://host/v1');
    const error = await startGateway(wrong).catch((error) => error);
    expect(error.message).to.match(/models\.json: \/models\/small\/upstreams\/0\/base_url is "ftp:/);
  });
});
