import { expect } from 'chai';
import { CoreError, Refused } from '#kit/errors.ts';
import {
  type ModelServer,
  type ScriptedReply,
  startModelServer,
  streamOf,
} from '../../../test/fixtures/models/model-server.ts';
import { until } from '../../../test/fixtures/until.ts';
import type { ModelEvent, ModelRequest } from '../planning/model.ts';
import { type OpenAiCompatibleOptions, openAiCompatibleModel } from './openai-compatible.ts';

const question: ModelRequest = {
  messages: [{ role: 'user', content: 'hello' }],
  tools: [{ name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } }],
  max_tokens: 50,
};

describe('a model behind an OpenAI-compatible endpoint', () => {
  let server: ModelServer | undefined;

  afterEach(async () => {
    await server?.close();
    server = undefined;
  });

  async function ask(
    reply: ScriptedReply,
    change: Partial<OpenAiCompatibleOptions> = {},
    signal = new AbortController().signal,
  ): Promise<ModelEvent[]> {
    server = await startModelServer([reply]);
    const model = openAiCompatibleModel({
      base_url: server.url,
      credential: null,
      model: 'scripted',
      tier: 'large',
      price: null,
      ...change,
    });
    const events: ModelEvent[] = [];
    for await (const event of model.complete(question, signal)) events.push(event);
    return events;
  }

  async function failure(work: Promise<unknown>): Promise<CoreError> {
    try {
      await work;
    } catch (error) {
      expect(error).to.be.instanceOf(CoreError);
      return error as CoreError;
    }
    throw new Error('it was expected to fail');
  }

  const textOf = (events: ModelEvent[]) =>
    events.map((event) => (event.type === 'text' ? event.text : '')).join('');
  const callsOf = (events: ModelEvent[]) => events.flatMap((e) => (e.type === 'tool_call' ? [e.call] : []));

  it('streams text, joins the pieces of tool calls and ends with usage and cost', async () => {
    const events = await ask(
      {
        text: 'Grüße aus 東京 👋, I look',
        calls: [
          { name: 'look', arguments: { at: 'a long path' } },
          { name: 'look', arguments: '{"broken":' },
        ],
        usage: { input: 1000, output: 200, cached: 400 },
      },
      { price: { input: 3, output: 15, cached: 0.3 } },
    );
    expect(textOf(events)).to.equal('Grüße aus 東京 👋, I look');
    expect(callsOf(events)).to.deep.equal([
      { id: 'call_0', type: 'function', function: { name: 'look', arguments: '{"at":"a long path"}' } },
      { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"broken":' } },
    ]);
    expect(events.at(-1)).to.deep.equal({
      type: 'end',
      finish_reason: 'tool_calls',
      model: 'scripted-1',
      provider: new URL(server!.url).host,
      usage: { input_tokens: 1000, output_tokens: 200, cached_tokens: 400, cost: 0.00492 },
    });
  });

  it('sends model, messages, tools and limit, and asks for a stream with usage', async () => {
    await ask({ text: 'hi' });
    const { path, body, headers } = server!.requests[0]!;
    expect(path).to.equal('/v1/chat/completions');
    expect(headers).not.to.have.property('authorization');
    expect(body).to.deep.equal({
      model: 'scripted',
      messages: question.messages,
      tools: [{ type: 'function', function: question.tools[0] }],
      max_tokens: 50,
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it('understands an endpoint that ignores stream and answers whole', async () => {
    const events = await ask({ text: 'all at once', calls: [{ name: 'look', arguments: {} }], whole: true });
    expect(textOf(events)).to.equal('all at once');
    expect(callsOf(events)[0]?.function).to.deep.equal({ name: 'look', arguments: '{}' });
    expect(events.at(-1)).to.include({ type: 'end', finish_reason: 'tool_calls' });
  });

  it('gives calls an id where the endpoint gives none or the same one twice', async () => {
    const call = (id: string | null) => ({ name: 'look', arguments: {}, id });
    const none = callsOf(await ask({ calls: [call(null), call(null)], whole: true }));
    await server!.close();
    const same = callsOf(await ask({ calls: [call('x'), call('x')] }));
    for (const calls of [none, same]) {
      expect(calls).to.have.length(2);
      expect(new Set(calls.map(({ id }) => id)).size).to.equal(2);
    }
  });

  it('distinguishes calls that a stream does not number', async () => {
    const delta = (call: object) =>
      `data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [call] } }] })}\n\n`;
    const raw = [
      delta({ id: 'a', function: { name: 'look', arguments: '{"n"' } }),
      delta({ function: { arguments: ':1}' } }),
      delta({ function: { name: 'look', arguments: '{"n":2}' } }),
      delta({ id: 'c', function: { name: 'look', arguments: '{"n":3}' } }),
      'data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}\n\n',
    ].join('');
    const calls = callsOf(await ask({ raw }));
    expect(calls.map((call) => call.function.arguments)).to.deep.equal(['{"n":1}', '{"n":2}', '{"n":3}']);
  });

  it('estimates tokens where the endpoint counts none, so that bounds still hold', async () => {
    const events = await ask(
      { text: 'x'.repeat(400), usage: null },
      { price: { input: 1, output: 1, cached: 0 } },
    );
    const end = events.at(-1)!;
    if (end.type !== 'end') throw new Error('no end');
    expect(end.usage.output_tokens).to.equal(100);
    expect(end.usage.input_tokens).to.be.greaterThan(50);
    expect(end.usage.cost).to.be.greaterThan(0);
  });

  it('estimates only the side that the endpoint states with an impossible number', async () => {
    const counted = async (usage: object) => {
      const raw = `data: ${JSON.stringify({ choices: [{ delta: { content: 'x'.repeat(400) }, finish_reason: 'stop' }], usage })}\n\n`;
      const end = (await ask({ raw })).at(-1)!;
      if (end.type !== 'end') throw new Error('no end');
      return end.usage;
    };
    const noInput = await counted({ prompt_tokens: -1, completion_tokens: 5_000 });
    expect(noInput.output_tokens).to.equal(5_000);
    expect(noInput.input_tokens).to.be.greaterThan(50);
    const noOutput = await counted({ prompt_tokens: 90_000, completion_tokens: 'x' });
    expect(noOutput).to.deep.include({ input_tokens: 90_000, output_tokens: 100 });
  });

  it('asks for the key before each call and sends it as a bearer token', async () => {
    await ask({ text: 'hi' }, { credential: async () => 'sk-test-1' });
    expect(server!.requests[0]!.headers.authorization).to.equal('Bearer sk-test-1');
  });

  it('sends nothing when there is no key', async () => {
    const credential = async () => {
      throw new Refused('token_missing', 'there is none');
    };
    expect(await failure(ask({ text: 'hi' }, { credential }))).to.include({ code: 'token_missing' });
    expect(server!.requests).to.have.length(0);
  });

  it('never shows the key, even when the endpoint repeats it', async () => {
    const credential = async () => 'sk-very-secret';
    const body = { error: { message: 'Incorrect API key provided: sk-very-secret.\u001b[31m' } };
    const error = await failure(ask({ status: 401, body }, { credential }));
    expect(error).to.include({ code: 'model_refused', retryable: false });
    expect(error.message).to.include('Incorrect API key provided: [key].');
    expect(error.message).not.to.match(/\u001b|sk-very/);
  });

  for (const status of [400, 401, 403, 404, 413, 422, 302]) {
    it(`takes ${status} as a refusal that no retry helps`, async () => {
      const reply = { status, body: { error: 'no' }, headers: { location: 'http://127.0.0.1:1/' } };
      expect(await failure(ask(reply))).to.include({ code: 'model_refused', retryable: false });
      expect(server!.requests).to.have.length(1);
    });
  }

  it('takes 429 as a request to wait, with Retry-After in seconds or as a date', async () => {
    const seconds = await failure(ask({ status: 429, headers: { 'retry-after': '7' } }));
    expect(seconds).to.include({ code: 'model_rate_limited', retryable: true, retryAfter: 7 });
    await server!.close();
    const date = new Date(Date.now() + 30_000).toUTCString();
    const dated = await failure(ask({ status: 429, headers: { 'retry-after': date } }));
    expect(dated.retryAfter).to.be.within(25, 31);
  });

  it('takes 429 for a used-up quota as a refusal', async () => {
    const body = { error: { message: 'You exceeded your current quota', code: 'insufficient_quota' } };
    expect(await failure(ask({ status: 429, body }))).to.include({ code: 'model_refused' });
  });

  it('takes a gateway without the credential as a refusal', async () => {
    const body = { error: { message: 'no credential for this model', code: 'credential_unusable' } };
    const error = await failure(ask({ status: 502, body }));
    expect(error).to.include({ code: 'model_refused', retryable: false });
    expect(error.message).to.include('no credential for this model');
  });

  it('takes 5xx as unavailable, with the words of our own gateway or of a proxy’s page', async () => {
    const problem = await failure(ask({ status: 503, body: { detail: 'no upstream', code: 'x' } }));
    expect(problem).to.include({ code: 'model_unavailable', retryable: true });
    expect(problem.message).to.include('no upstream');
    await server!.close();
    const page = await failure(ask({ status: 502, body: `<html>${'bad '.repeat(50_000)}` }));
    expect(page.message.length).to.be.below(700);
  });

  it('says that a stream broke when the connection drops, the end is missing or the JSON is no JSON', async () => {
    const cut = streamOf({ text: 'half' }).slice(0, 2).join('');
    const replies: ScriptedReply[] = [
      { text: 'a long answer that does not end', drop_after: 3 },
      { raw: cut },
      { raw: 'data: {"choices":[{"delta":{"content":5}}]}\n\n' },
      { raw: 'data: {nonsense\n\n' },
      { raw: 'data: {"error":{"message":"overloaded"}}\n\n' },
      { raw: '<html>hello</html>', type: 'text/html' },
    ];
    for (const reply of replies) {
      expect(await failure(ask(reply)), JSON.stringify(reply)).to.include({ code: 'model_stream_broken' });
      await server!.close();
    }
  });

  it('ends an answer that is too long', async () => {
    const error = await failure(ask({ text: 'x'.repeat(5000) }, { limits: { answer_bytes: 2000 } }));
    expect(error).to.include({ code: 'model_refused' });
    await server!.close();
    const whole = { text: 'x'.repeat(5000), whole: true };
    expect((await failure(ask(whole, { limits: { answer_bytes: 2000 } }))).message).to.include('2000 bytes');
  });

  it('has limits for silence before and in an answer, and for the whole', async () => {
    const [piece] = streamOf({ text: 'hi' });
    const cases = [
      { reply: { stall: [], ms: 100_000 }, limits: { idle_ms: 50 }, which: 'idle' },
      { reply: { stall: [piece!], ms: 100_000 }, limits: { idle_ms: 50 }, which: 'idle' },
      { reply: { stall: [piece!], ms: 100_000 }, limits: { total_ms: 80 }, which: 'total' },
    ];
    for (const { reply, limits, which } of cases) {
      const error = await failure(ask(reply, { limits }));
      expect(error).to.include({ code: 'model_timeout', retryable: true });
      expect(error.facts).to.include({ limit: which });
      await server!.close();
    }
  });

  it('ends the connection and says so when the caller aborts', async () => {
    const abort = new AbortController();
    const [piece] = streamOf({ text: 'hi' });
    const asked = failure(ask({ stall: [piece!], ms: 100_000 }, {}, abort.signal));
    await until('a request', () => server?.requests.length === 1);
    abort.abort();
    expect(await asked).to.include({ code: 'cancelled', exitCode: 130 });
    await until('the end of the connection', () => server!.aborted() === 1);
  });

  it('sends nothing when it was aborted before', async () => {
    expect(await failure(ask({ text: 'hi' }, {}, AbortSignal.abort()))).to.include({ code: 'cancelled' });
    expect(server!.requests).to.have.length(0);
  });

  it('says where it knocked when nothing listens there', async () => {
    const error = await failure(ask({ text: 'hi' }, { base_url: 'http://127.0.0.1:1/v1' }));
    expect(error).to.include({ code: 'model_unavailable', retryable: true });
    expect(error.message).to.include('http://127.0.0.1:1/v1');
  });
});
