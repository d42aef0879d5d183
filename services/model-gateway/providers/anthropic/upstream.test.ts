import { expect } from 'chai';
import type { ChatCompletionChunk } from 'openai/resources';
import { type Connections, openConnections } from '#kit/http/client.ts';
import { eventsOf } from '../../../../test/fixtures/model-upstream/anthropic-answers.ts';
import {
  type AnthropicReply,
  type AnthropicServer,
  startAnthropicServer,
} from '../../../../test/fixtures/model-upstream/anthropic-server.ts';
import { until } from '../../../../test/fixtures/until.ts';
import type { UpstreamFailure } from '../failure.ts';
import { Mask } from '../mask.ts';
import type { ModelCall, UpstreamAnswer, UpstreamOptions } from '../upstream.ts';
import { AnthropicUpstream } from './upstream.ts';

const key = 'sk-ant-planted-0123456789abcdef';
const hello = [{ role: 'user', content: 'hello' }];

describe('an Anthropic upstream', () => {
  let server: AnthropicServer;
  let connections: Connections;

  afterEach(async () => {
    await server.close();
    await connections.destroy();
  });

  async function upstreamWith(
    reply: AnthropicReply | ((index: number) => AnthropicReply),
    change: Partial<UpstreamOptions> = {},
  ) {
    server = await startAnthropicServer(
      (_, index) => (typeof reply === 'function' ? reply(index) : reply),
      key,
    );
    const { timeouts = { first_token_ms: 60_000, idle_ms: 60_000 } } = change;
    connections = openConnections({ beginMs: 0, idleMs: timeouts.idle_ms });
    return new AnthropicUpstream({
      name: 'anthropic/claude-sonnet-4-5',
      entry: { kind: 'anthropic', base_url: server.url, model: 'claude-sonnet-4-5' },
      limits: undefined,
      userAgent: 'test',
      connections,
      credential: () => ({ text: key, mask: new Mask([key]) }),
      timeouts,
      ...change,
    });
  }

  function call(request: object, change: Partial<ModelCall> = {}): ModelCall {
    const body = { model: 'large', messages: hello, ...request } as Record<string, unknown>;
    return {
      endpoint: 'chat/completions',
      bytes: Buffer.from(JSON.stringify(body)),
      request: body,
      stream: body.stream === true,
      includeUsage: false,
      signal: new AbortController().signal,
      ...change,
    };
  }

  async function textOf(answer: UpstreamAnswer): Promise<string> {
    const pieces: Uint8Array[] = [];
    for await (const piece of answer.body) pieces.push(piece);
    return Buffer.concat(pieces).toString();
  }

  const chunksOf = (text: string): ChatCompletionChunk[] =>
    text
      .split('\n\n')
      .filter((event) => event.startsWith('data: {'))
      .map((event) => JSON.parse(event.slice(6)));

  async function failure(work: Promise<unknown>): Promise<UpstreamFailure> {
    return work.then(
      () => expect.fail('it was expected to fail'),
      (error) => error,
    );
  }

  it('gives a whole answer with calls, and usage with what was read from and written to the cache', async () => {
    const upstream = await upstreamWith({
      text: 'I look.',
      thinking: 'Hm.',
      calls: [{ id: 'toolu_1', name: 'look', input: { at: 'ü' } }],
      usage: { input: 1000, output: 50, cache_read: 600, cache_write: 100 },
    });
    const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }];
    const answer = await upstream.send(call({ tools }));
    const body = JSON.parse(await textOf(answer));
    expect(body).to.deep.include({ id: 'msg_1', object: 'chat.completion', model: 'claude-sonnet-4-5' });
    expect(body.choices).to.deep.equal([
      {
        index: 0,
        message: {
          role: 'assistant',
          content: 'I look.',
          refusal: null,
          tool_calls: [
            { id: 'toolu_1', type: 'function', function: { name: 'look', arguments: '{"at":"ü"}' } },
          ],
        },
        logprobs: null,
        finish_reason: 'tool_calls',
      },
    ]);
    expect(body.usage).to.deep.include({
      prompt_tokens: 1000,
      completion_tokens: 50,
      total_tokens: 1050,
      prompt_tokens_details: { cached_tokens: 600, cache_write_tokens: 100 },
    });
    expect(answer.usage()).to.deep.equal({ input: 1000, output: 50, cached: 600, cache_writes: 100 });
    expect(answer.headers['x-upstream-request-id']).to.equal('req_1');
    expect(server.requests[0]!.headers['x-api-key']).to.equal(key);
  });

  it('streams the role first, text and calls in pieces, the reason, usage only for who asked, and [DONE]', async () => {
    const upstream = await upstreamWith({
      text: 'Grüße aus 東京 👋',
      thinking: 'Let me see.',
      calls: [
        { id: 'a', name: 'look', input: { at: 'a long path' } },
        { id: 'b', name: 'list', input: {} },
      ],
    });
    const tools = ['look', 'list'].map((name) => ({ type: 'function', function: { name } }));
    for (const includeUsage of [false, true]) {
      const answer = await upstream.send(call({ tools, stream: true }, { includeUsage }));
      const text = await textOf(answer);
      const chunks = chunksOf(text);
      const deltas = chunks.flatMap(({ choices }) => choices.map((choice) => choice.delta));
      expect(deltas[0]).to.deep.include({ role: 'assistant' });
      expect(deltas.map(({ content }) => content ?? '').join('')).to.equal('Grüße aus 東京 👋');
      const calls = deltas.flatMap(({ tool_calls }) => tool_calls ?? []);
      const args = (index: number) =>
        calls
          .filter((c) => c.index === index)
          .map((c) => c.function?.arguments)
          .join('');
      expect([args(0), args(1)]).to.deep.equal(['{"at":"a long path"}', '{}']);
      expect(calls.filter(({ id }) => id).map(({ id }) => id)).to.deep.equal(['a', 'b']);
      const reasons = chunks.flatMap(({ choices }) => choices.map((c) => c.finish_reason));
      expect(reasons.filter((reason) => reason !== null)).to.deep.equal(['tool_calls']);
      expect(chunks.filter(({ usage }) => usage)).to.have.length(includeUsage ? 1 : 0);
      expect(text.endsWith('data: [DONE]\n\n')).to.equal(true);
      expect(answer.usage()).to.deep.equal({ input: 100, output: 20, cached: 0, cache_writes: 0 });
    }
  });

  it('returns errors in OpenAI’s format, with status, Retry-After and whether a retry can help', async () => {
    const cases: [number, string, string, string | null, string][] = [
      [400, 'invalid_request_error', 'invalid_request_error', null, 'none'],
      [401, 'authentication_error', 'authentication_error', 'invalid_api_key', 'next'],
      [429, 'rate_limit_error', 'rate_limit_error', 'rate_limit_exceeded', 'retry'],
      [529, 'overloaded_error', 'server_error', 'overloaded', 'retry'],
    ];
    for (const [status, said, type, code, remedy] of cases) {
      const upstream = await upstreamWith({
        status,
        error: [said, `no, and ${key} is the key`],
        headers: { 'retry-after': '7' },
      });
      for (const stream of [false, true]) {
        const failed = await failure(upstream.send(call({ stream })));
        expect(failed).to.include({ status, remedy, retryAfterMs: 7000 });
        expect(failed.openaiError).to.include({ type, code });
        expect(failed.message).to.contain('no, and **');
        expect(JSON.stringify(failed)).to.not.contain(key);
      }
      await server.close();
      await connections.destroy();
    }
    await upstreamWith({ text: '' });
  });

  it('recognizes an overload that is reported in a stream with status 200', async () => {
    const upstream = await upstreamWith({ text: 'x', error_after: [0, 'overloaded_error', 'Overloaded'] });
    expect(await failure(upstream.send(call({ stream: true })))).to.include({ status: 529, remedy: 'retry' });
  });

  it('does not end well what breaks in the middle: a dropped connection, an error event, an end without the last event', async () => {
    const broken: [AnthropicReply, RegExp][] = [
      [{ text: 'a long answer', drop_after: 4 }, /broke the connection/],
      [{ text: 'a long answer', error_after: [4, 'api_error', 'Internal'] }, /Internal/],
      [
        {
          type: 'text/event-stream',
          raw: 'event: message_start\ndata: {"type":"message_start","message":{"id":"m","usage":{"input_tokens":9,"output_tokens":1}}}\n\nevent: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\nevent: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}\n\n',
        },
        /before the answer was complete/,
      ],
    ];
    for (const [reply, words] of broken) {
      const upstream = await upstreamWith(reply);
      const answer = await upstream.send(call({ stream: true }));
      const failed = await failure(textOf(answer));
      expect(failed.message).to.match(words);
      expect(failed.charged).to.equal(true);
      expect(answer.usage()!.input).to.be.greaterThan(0);
      await server.close();
      await connections.destroy();
    }
    await upstreamWith({ text: '' });
  });

  it('goes on past kinds of events that are new', async () => {
    const events = eventsOf('claude', { text: 'Hello' });
    const eventText = (event: object) => `data: ${JSON.stringify(event)}\n\n`;
    events.splice(3, 0, eventText({ type: 'weather_report', sky: 'clear' }));
    events.splice(
      4,
      0,
      eventText({ type: 'content_block_delta', index: 0, delta: { type: 'mood_delta', mood: 1 } }),
    );
    const upstream = await upstreamWith({ type: 'text/event-stream', raw: events.join('') });
    const text = await textOf(await upstream.send(call({ stream: true })));
    const said = chunksOf(text).flatMap(({ choices }) => choices.map((choice) => choice.delta.content ?? ''));
    expect(said.join('')).to.equal('Hello');
    expect(text).to.contain('[DONE]');
  });

  it('takes no page, no redirect and no broken JSON for an answer', async () => {
    const strange: [AnthropicReply, RegExp][] = [
      [{ type: 'text/html', raw: '<h1>Welcome</h1>' }, /answered 200 with text\/html/],
      [
        { type: 'text/plain', raw: '', status: 302, headers: { location: 'http://127.0.0.1:1/' } },
        /redirect/,
      ],
      [{ type: 'application/json', raw: '{"id": ' }, /Anthropic’s interface does not describe/],
      [{ type: 'application/json', raw: '{"id": 5}' }, /Anthropic’s interface does not describe/],
    ];
    for (const [reply, words] of strange) {
      const upstream = await upstreamWith(reply);
      const failed = await failure(upstream.send(call({})));
      expect(failed.message).to.match(words);
      expect(failed).to.include({ status: 502, remedy: 'next' });
      expect(server.requests).to.have.length(1);
      await server.close();
      await connections.destroy();
    }
    const upstream = await upstreamWith({ type: 'text/event-stream', raw: ': nothing\n\n' });
    expect((await failure(upstream.send(call({ stream: true })))).status).to.equal(502);
  });

  it('ends the request upstream when the client leaves: before the answer, and in the middle of it', async () => {
    const upstream = await upstreamWith((index) =>
      index === 0 ? { silence: 30_000 } : { text: 'x'.repeat(7000), pace: 5 },
    );
    const leaving = new AbortController();
    const asked = upstream.send(call({}, { signal: leaving.signal }));
    await until('a request', () => server.requests.length > 0);
    leaving.abort();
    await failure(asked);
    await until('its end upstream', () => server.aborted() >= 1);

    const answer = await upstream.send(call({ stream: true }));
    let pieces = 0;
    for await (const _ of answer.body) if (++pieces === 5) break;
    await until('its end upstream', () => server.aborted() >= 2);
    expect(server.events()).to.be.lessThan(100);
    expect(answer.usage()!.input).to.equal(100);
  });

  it('ends what is too late: no first event, and silence after it', async () => {
    const timeouts = { first_token_ms: 100, idle_ms: 100 };
    const upstream = await upstreamWith({ silence: 30_000 }, { timeouts });
    const failed = await failure(upstream.send(call({ stream: true })));
    expect(failed).to.include({ status: 504, code: 'upstream_timeout' });
    expect(failed.message).to.contain('did not send the first token within 0.1 s');
    await until('its end upstream', () => server.aborted() >= 1);
    await server.close();
    await connections.destroy();

    const slow = await upstreamWith(
      { text: 'slowly', pace: 4_000, thinking: 'x' },
      { timeouts: { first_token_ms: 60_000, idle_ms: 30 } },
    );
    const answer = await slow.send(call({ stream: true }));
    expect((await failure(textOf(answer))).message).to.contain('sent nothing more');
  });

  it('reads no further than the client does', async () => {
    const upstream = await upstreamWith({ text: 'y'.repeat(14_000_000 / 4) });
    const answer = await upstream.send(call({ stream: true }));
    const pieces = answer.body[Symbol.asyncIterator]();
    await pieces.next();
    for (let before = -1; server.events() !== before; ) {
      before = server.events();
      await new Promise((resolve) => setTimeout(resolve, 400));
    }
    expect(server.events(), 'of half a million').to.be.lessThan(150_000);
    await pieces.return?.();
  });

  it('hides the credential where the model writes it, whole or in pieces', async () => {
    const upstream = await upstreamWith({
      text: `the key is ${key}, ${key}`,
      calls: [{ name: 'look', input: { key } }],
    });
    const tools = [{ type: 'function', function: { name: 'look' } }];
    for (const stream of [true, false]) {
      const text = await textOf(await upstream.send(call({ stream, tools })));
      const received = stream
        ? chunksOf(text)
            .flatMap(({ choices }) =>
              choices.map((c) => c.delta.content ?? c.delta.tool_calls?.[0]?.function?.arguments ?? ''),
            )
            .join('')
        : text;
      expect(received).to.contain('the key is **');
      expect(received).to.not.contain(key);
      expect(received).to.not.contain('planted');
    }
  });
});
