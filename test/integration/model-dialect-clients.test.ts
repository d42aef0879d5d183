import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import { expect } from 'chai';
import OpenAI from 'openai';
import { type AnthropicServer, startAnthropicServer } from '../fixtures/model-upstream/anthropic-server.ts';
import { benches, speaking } from '../fixtures/model-upstream/dialects.ts';
import { all, startGateway, type TestGateway } from '../fixtures/model-upstream/gateway.ts';
import { sendJson } from '../fixtures/model-upstream/openai-answers.ts';
import { type ModelUpstream, startModelUpstream } from '../fixtures/model-upstream/openai-server.ts';

const [, responses, google] = benches;
const price = { input: 1, output: 2 };
const user = [{ role: 'user' as const, content: 'Hello' }];
const weather = {
  name: 'weather',
  description: 'Tells the weather.',
  input_schema: { type: 'object' as const, properties: { city: { type: 'string' } } },
};

describe('The official clients of other dialects at the model gateway', () => {
  let upstream: ModelUpstream;
  let claude: AnthropicServer;
  let gateway: TestGateway;
  let anthropic: Anthropic;
  let gemini: GoogleGenAI;

  beforeEach(async () => {
    upstream = await startModelUpstream();
    claude = await startAnthropicServer(({ body }) =>
      body.tools === undefined
        ? { text: 'Hello, wörld!', thinking: 'hm', usage: { input: 30, output: 9, cache_read: 20 } }
        : { text: 'I look.', calls: [{ name: 'weather', input: { city: 'Bern' } }] },
    );
    gateway = await startGateway({
      retries: 0,
      models: {
        claude: { upstreams: [{ kind: 'anthropic', base_url: claude.url, model: 'claude-x', price }] },
        gpt: {
          upstreams: [{ kind: 'openai', responses: true, base_url: upstream.url, model: 'gpt-x', price }],
        },
        gemini: {
          upstreams: [
            { kind: 'google', base_url: upstream.url.replace('/v1', '/v1beta'), model: 'gemini-x', price },
          ],
        },
      },
    });
    const { token: apiKey, url: baseURL } = gateway;
    anthropic = new Anthropic({ apiKey, baseURL, maxRetries: 0 });
    gemini = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: baseURL } });
  });
  afterEach(async () => {
    await gateway.stop();
    await upstream.close();
    await claude.close();
  });

  it('hold a conversation in Messages, whole and streamed, with thoughts, tools and usage', async () => {
    const asked = { model: 'claude', max_tokens: 100, messages: user };
    const whole = await anthropic.messages.create(asked);
    expect(whole.content.map(({ type }) => type)).to.deep.equal(['thinking', 'text']);
    expect(whole.usage).to.include({ input_tokens: 10, cache_read_input_tokens: 20, output_tokens: 9 });
    const stream = anthropic.messages.stream({ ...asked, tools: [weather] });
    const texts: string[] = [];
    stream.on('text', (text) => texts.push(text));
    const final = await stream.finalMessage();
    expect(texts.join('')).to.equal('I look.');
    expect(final.content.at(-1)).to.deep.include({
      type: 'tool_use',
      name: 'weather',
      input: { city: 'Bern' },
    });
    expect(final.stop_reason).to.equal('tool_use');
    expect(claude.requests.map(({ body }) => body.model)).to.deep.equal(['claude-x', 'claude-x']);
    expect(claude.requests[0]!.headers['user-agent']).to.match(/^Anthropic\/JS/);
  });

  it('pass a beta on, and take a token as Claude Code sends it', async () => {
    const client = new Anthropic({
      authToken: gateway.token,
      apiKey: null,
      baseURL: gateway.url,
      maxRetries: 0,
    });
    const answer = await client.beta.messages.create({
      model: 'claude',
      max_tokens: 10,
      messages: user,
      betas: ['context-management-2025-06-27'],
    });
    expect(answer.content).to.have.length(2);
    expect(claude.requests[0]!.headers['anthropic-beta']).to.equal('context-management-2025-06-27');
    const look = await fetch(gateway.url, { method: 'HEAD' });
    expect([look.status, await look.text()]).to.deep.equal([200, '']);
  });

  it('hold a conversation in Responses, whole and streamed', async () => {
    upstream.always(speaking(responses!));
    const asked = { model: 'gpt', input: 'Hello' };
    expect((await gateway.client.responses.create(asked)).output_text).to.equal(responses!.text);
    const events = await all(await gateway.client.responses.create({ ...asked, stream: true }));
    expect(events.map(({ type }) => type)).to.deep.equal(
      responses!.events.map((event) => /^event: (.*)$/m.exec(event)![1]),
    );
    const stored = await gateway.client.responses
      .create({ ...asked, background: true })
      .catch((error: unknown) => error);
    expect(stored).to.be.instanceOf(OpenAI.BadRequestError).with.property('param', 'background');
  });

  it('hold a conversation in generateContent, whole and streamed', async () => {
    upstream.always(speaking(google!));
    const asked = { model: 'gemini', contents: 'Hello', config: { maxOutputTokens: 40 } };
    const whole = await gemini.models.generateContent(asked);
    expect(whole.text).to.equal(google!.text);
    expect(whole.usageMetadata!.thoughtsTokenCount).to.equal(3);
    const chunks = await all(await gemini.models.generateContentStream(asked));
    expect(chunks.map(({ text }) => text).join('')).to.equal(google!.text);
    expect(upstream.requests.map(({ path }) => path)).to.deep.equal([
      '/v1beta/models/gemini-x:generateContent',
      '/v1beta/models/gemini-x:streamGenerateContent?alt=sse',
    ]);
  });

  it('read the errors of the gateway and of upstreams as their own', async () => {
    const unknown = await anthropic.messages
      .create({ model: 'huge', max_tokens: 10, messages: user })
      .catch((error: unknown) => error);
    expect(unknown).to.be.instanceOf(Anthropic.NotFoundError);
    expect(String(unknown)).to.contain('must be one of claude, gpt, gemini');
    upstream.next((_request, response) => sendJson(response, 429, { error: google!.refusal }));
    upstream.next((_request, response) =>
      sendJson(response, 429, { error: { code: 429, message: 'Slow down', status: 'RESOURCE_EXHAUSTED' } }),
    );
    await gemini.models.generateContent({ model: 'gemini', contents: 'Hello' }).catch(() => {});
    const late = await gemini.models
      .generateContent({ model: 'gemini', contents: 'Hello' })
      .catch((error: unknown) => error);
    expect(late).to.include({ status: 429, name: 'ApiError' });
    expect(String(late)).to.contain('RESOURCE_EXHAUSTED');
  });

  it('count tokens, which costs nothing and needs no budget', async () => {
    upstream.always((_request, response) => sendJson(response, 200, { totalTokens: 31 }));
    const counted = await gemini.models.countTokens({ model: 'gemini', contents: 'Hello' });
    expect(counted.totalTokens).to.equal(31);
    await gateway.stop();
    const entry = { kind: 'anthropic', base_url: upstream.url, model: 'claude-x', price };
    gateway = await startGateway({ models: { claude: { upstreams: [entry] } }, budgets: { day: 0 } });
    upstream.always((_request, response) => sendJson(response, 200, { input_tokens: 14 }));
    const client = new Anthropic({ apiKey: gateway.token, baseURL: gateway.url, maxRetries: 0 });
    const { input_tokens } = await client.messages.countTokens({ model: 'claude', messages: user });
    expect(input_tokens).to.equal(14);
    expect(upstream.requests.at(-1)!.path).to.equal('/v1/messages/count_tokens');
    const { total } = (await (await gateway.ask('/v1/usage')).json()) as { total: object };
    expect(total).to.include({ calls: 1, input_tokens: 0, output_tokens: 0, cost: 0, estimated: 0 });
  });

  it('learn which dialect the upstreams of a model do not speak', async () => {
    const body = { contents: [{ parts: [{ text: 'Hello' }] }] };
    const path = '/v1beta/models/claude:generateContent';
    const answer = (await (await gateway.ask(path, { body })).json()) as {
      error: { message: string; details: { reason: string }[] };
    };
    expect(answer.error.message).to.contain('no upstream of model "claude" answers generateContent');
    expect(answer.error.details[0]!.reason).to.equal('NOT_TRANSLATABLE');
    const counting = await anthropic.messages
      .countTokens({ model: 'gpt', messages: user })
      .catch((error: unknown) => error);
    expect(counting).to.be.instanceOf(Anthropic.BadRequestError);
    const chat = await gateway.client.chat.completions
      .create({ model: 'gemini', messages: user })
      .catch((error: unknown) => error);
    expect(chat).to.include({ status: 400, code: 'not_translatable' });
  });

  it('see the models with their own tokens', async () => {
    const page = await anthropic.models.list({ limit: 100 });
    expect(page.data.map(({ id }) => id)).to.deep.equal(['claude', 'gpt', 'gemini']);
    const listed = await all(await gemini.models.list());
    expect(listed.map(({ name }) => name)).to.deep.equal(['models/claude', 'models/gpt', 'models/gemini']);
    expect(listed.map(({ supportedActions }) => supportedActions)).to.deep.equal([
      ...[[], []],
      ['generateContent', 'countTokens'],
    ]);
    expect(await gemini.models.get({ model: 'gemini' })).to.include({ name: 'models/gemini' });
    const missing = await gemini.models.get({ model: 'huge' }).catch((error: unknown) => error);
    expect(missing).to.include({ status: 404, name: 'ApiError' });
    expect(String(missing)).to.contain('must be one of claude, gpt, gemini');
  });
});
