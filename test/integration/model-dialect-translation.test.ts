import Anthropic from '@anthropic-ai/sdk';
import { expect } from 'chai';
import OpenAI from 'openai';
import { type AnthropicServer, startAnthropicServer } from '../fixtures/model-upstream/anthropic-server.ts';
import { all, startGateway, type TestGateway } from '../fixtures/model-upstream/gateway.ts';
import { chunk, eventOf, greeting, sendJson } from '../fixtures/model-upstream/openai-answers.ts';
import { type ModelUpstream, startModelUpstream } from '../fixtures/model-upstream/openai-server.ts';
import { until } from '../fixtures/until.ts';

const price = { input: 1, output: 100, cached: 0.5 };
const user = [{ role: 'user' as const, content: 'Hello' }];
const text = greeting.join('');
const parameters = { type: 'object' as const, properties: { city: { type: 'string' } } };

describe('Messages and Responses at an upstream that speaks chat completions alone', () => {
  let upstream: ModelUpstream;
  let claude: AnthropicServer;
  let gateway: TestGateway;
  let anthropic: Anthropic;

  beforeEach(async () => {
    upstream = await startModelUpstream();
    claude = await startAnthropicServer(() => ({
      calls: [{ name: 'weather', input: { city: 'Bern' } }],
      usage: { input: 40, output: 9, cache_read: 30 },
    }));
    gateway = await startGateway({
      retries: 0,
      models: {
        local: {
          limits: { output_tokens: 500 },
          upstreams: [{ kind: 'openai', base_url: upstream.url, model: 'tiny-1', price }],
        },
        claude: { upstreams: [{ kind: 'anthropic', base_url: claude.url, model: 'claude-x', price }] },
        pair: {
          upstreams: [
            { kind: 'openai', base_url: upstream.url, model: 'tiny-1' },
            { kind: 'anthropic', base_url: claude.url, model: 'claude-x' },
          ],
        },
      },
    });
    anthropic = new Anthropic({ apiKey: gateway.token, baseURL: gateway.url, maxRetries: 0 });
  });
  afterEach(async () => {
    await gateway.stop();
    await upstream.close();
    await claude.close();
  });

  const asked = { model: 'local', max_tokens: 100, messages: user };

  async function usage(): Promise<object> {
    const answer = await (await gateway.ask('/v1/usage?by=model')).json();
    return (answer as { total: object }).total;
  }

  it('answer in Messages, whole and streamed, and count what the upstream counted', async () => {
    const whole = await anthropic.messages.create({ ...asked, system: 'Be brief.' });
    expect(whole).to.deep.include({ role: 'assistant', model: 'local', stop_reason: 'end_turn' });
    expect(whole.content).to.deep.equal([{ type: 'text', text }]);
    expect(whole.usage).to.include({ input_tokens: 7, cache_read_input_tokens: 4, output_tokens: 7 });
    const final = await anthropic.messages.stream(asked).finalMessage();
    expect(final.content).to.deep.equal([{ type: 'text', text }]);
    expect(final.usage).to.deep.include({ cache_read_input_tokens: 4, output_tokens: 7 });
    const [first, second] = upstream.requests;
    expect(first!.path).to.equal('/v1/chat/completions');
    expect(first!.json).to.deep.include({
      model: 'tiny-1',
      max_tokens: 100,
      messages: [{ role: 'system', content: 'Be brief.' }, ...user],
    });
    expect(second!.json.stream_options).to.deep.equal({ include_usage: true });
    expect(await usage()).to.include({
      calls: 2,
      estimated: 0,
      input_tokens: 22,
      output_tokens: 14,
      cached_tokens: 8,
    });
  });

  it('call tools and take their results in Messages, streamed', async () => {
    const tools = [{ name: 'weather', description: 'Tells it.', input_schema: parameters }];
    const called = await anthropic.messages.stream({ ...asked, tools }).finalMessage();
    expect(called.stop_reason).to.equal('tool_use');
    expect(called.content).to.deep.equal([
      { type: 'tool_use', id: 'call_1', name: 'weather', input: { city: 'Bern' } },
    ]);
    const result = { type: 'tool_result' as const, tool_use_id: 'call_1', content: 'sunny' };
    const messages = [
      ...user,
      { role: 'assistant' as const, content: called.content },
      { role: 'user' as const, content: [result] },
    ];
    const answered = await anthropic.messages.stream({ ...asked, tools, messages }).finalMessage();
    expect(answered.content).to.deep.equal([{ type: 'text', text }]);
    expect(upstream.requests[1]!.json.messages.at(-1)).to.deep.equal({
      role: 'tool',
      tool_call_id: 'call_1',
      content: 'sunny',
    });
  });

  it('answer in Responses, whole and streamed, with tools', async () => {
    const whole = await gateway.client.responses.create({
      model: 'local',
      input: 'Hello',
      instructions: 'Be kind.',
    });
    expect(whole.output_text).to.equal(text);
    expect(whole.usage).to.include({ input_tokens: 11, output_tokens: 7 });
    const tools = [{ type: 'function' as const, name: 'weather', parameters, strict: false }];
    const stream = { model: 'local', input: 'Hello', tools, stream: true } as const;
    const events = await all(await gateway.client.responses.create(stream));
    expect(events[0]!.type).to.equal('response.created');
    const last = events.at(-1)!;
    if (last.type !== 'response.completed') throw new Error(`the last event is ${last.type}`);
    expect(last.response.output).to.have.length(1);
    expect(last.response.output[0]).to.deep.include({ name: 'weather', arguments: '{"city":"Bern"}' });
    expect(last.response.usage).to.include({ input_tokens: 11, output_tokens: 7 });
    const numbers = events.map(({ sequence_number }) => sequence_number);
    expect(numbers).to.deep.equal(numbers.map((_, index) => index));
    expect(await usage()).to.include({ calls: 2, estimated: 0, output_tokens: 14 });
  });

  it('answer in Responses where the upstream is one of Anthropic’s', async () => {
    const tools = [{ type: 'function' as const, name: 'weather', parameters, strict: false }];
    const asked = { model: 'claude', input: 'Hello', tools, max_output_tokens: 90 };
    const events = await all(await gateway.client.responses.create({ ...asked, stream: true }));
    const last = events.at(-1)!;
    if (last.type !== 'response.completed') throw new Error(`the last event is ${last.type}`);
    expect(last.response.output[0]).to.deep.include({ name: 'weather', arguments: '{"city":"Bern"}' });
    expect(claude.requests[0]!.body).to.include({ model: 'claude-x', max_tokens: 90 });
    expect(await usage()).to.include({ input_tokens: 40, cached_tokens: 30, output_tokens: 9 });
  });

  it('stream piece by piece', async () => {
    let goOn: () => void = () => {};
    const seen = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    upstream.next(async (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(eventOf(chunk('tiny-1', { role: 'assistant', content: 'One' })));
      await seen;
      response.write(eventOf(chunk('tiny-1', { content: ' two' })));
      response.end(`${eventOf(chunk('tiny-1', {}, 'stop'))}data: [DONE]\n\n`);
    });
    const stream = anthropic.messages.stream(asked);
    const texts: string[] = [];
    stream.on('text', (delta) => {
      texts.push(delta);
      goOn();
    });
    await stream.done();
    expect(texts).to.deep.equal(['One', ' two']);
  });

  it('refuse by name what chat completions have nothing for, before an upstream is asked', async () => {
    const search = { type: 'web_search_20250305' as const, name: 'web_search' as const };
    const refused = await anthropic.messages
      .create({ ...asked, tools: [search] })
      .catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(Anthropic.BadRequestError);
    expect(String(refused))
      .to.contain('tools[0].type is \\"web_search_20250305\\"')
      .and.to.contain('not_translatable');
    const earlier = await gateway.client.responses
      .create({ model: 'local', input: 'Hello', previous_response_id: 'resp_1' })
      .catch((error: unknown) => error);
    expect(earlier).to.be.instanceOf(OpenAI.BadRequestError);
    expect(earlier).to.include({ code: 'not_translatable', param: 'previous_response_id' });
    expect(upstream.requests).to.have.length(0);
  });

  it('go on to the upstream of the model that needs no translation', async () => {
    const search = { type: 'web_search_20250305' as const, name: 'web_search' as const };
    const answer = await anthropic.messages.create({ ...asked, model: 'pair', tools: [search] });
    expect(answer.content[0]!.type).to.equal('tool_use');
    expect(claude.requests).to.have.length(1);
    const plain = await anthropic.messages.create({ ...asked, model: 'pair' });
    expect(plain.content).to.deep.equal([{ type: 'text', text }]);
  });

  it('set the limit of a budget, and refuse in the words of the dialect', async () => {
    const expires_at = new Date(Date.now() + 600_000).toISOString();
    const body = { run: 'run_1', models: ['local'], budget: 0.06, expires_at };
    const { key } = (await (await gateway.ask('/v1/keys', { body })).json()) as { key: string };
    const client = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
    await client.responses.create({ model: 'local', input: 'Hello' });
    expect(upstream.requests[0]!.json.max_tokens).to.equal(500);
    const own = new Anthropic({ apiKey: key, baseURL: gateway.url, maxRetries: 0 });
    const refused = await own.messages
      .create({ ...asked, max_tokens: 500, messages: [{ role: 'user', content: 'w'.repeat(50_000) }] })
      .catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(Anthropic.RateLimitError);
    expect(String(refused)).to.contain('the budget of run run_1 is $0.06');
  });

  it('give errors of the upstream, whole and in the middle of a stream', async () => {
    upstream.next((_request, response) =>
      sendJson(response, 404, { error: { message: 'no such model', code: 'model_not_found' } }),
    );
    const missing = await anthropic.messages.create(asked).catch((error: unknown) => error);
    expect(missing).to.be.instanceOf(Anthropic.NotFoundError);
    upstream.next((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(eventOf(chunk('tiny-1', { role: 'assistant', content: 'One' })));
      response.end(eventOf({ error: { message: 'out of memory' } }));
    });
    const broken = await anthropic.messages
      .stream(asked)
      .finalMessage()
      .catch((error: unknown) => error);
    expect(broken).to.be.instanceOf(Anthropic.APIError);
    expect(String(broken)).to.contain('api_error');
  });

  it('end the request upstream when the client leaves', async () => {
    upstream.next((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(eventOf(chunk('tiny-1', { role: 'assistant', content: 'One' })));
    });
    const stream = anthropic.messages.stream(asked);
    stream.on('text', () => stream.abort());
    await stream.done().catch(() => {});
    await until('the upstream to be left', () => upstream.requests[0]?.left.then(() => true));
  });
});
