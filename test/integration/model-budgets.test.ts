import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type { UsageLine } from '#kit/contracts/model-gateway/usage.ts';
import { startAnthropicServer } from '../fixtures/model-upstream/anthropic-server.ts';
import { startGateway, type TestGateway } from '../fixtures/model-upstream/gateway.ts';
import {
  chunk,
  completion,
  eventOf,
  sendEvents,
  sendJson,
} from '../fixtures/model-upstream/openai-answers.ts';
import { type ModelUpstream, startModelUpstream } from '../fixtures/model-upstream/openai-server.ts';
import { until } from '../fixtures/until.ts';

const messages = [{ role: 'user', content: 'Hello' }];
const price = { input: 1, output: 100 };
/** Of the output that each call here asks for. */
const wholeOutput = (100 * 100) / 1_000_000;

describe('What the model gateway counts against budgets', () => {
  let upstream: ModelUpstream;
  let gateway: TestGateway;

  beforeEach(async () => {
    upstream = await startModelUpstream();
    gateway = await start({ first_token_ms: 100_000, total_ms: 200_000 });
  });
  afterEach(async () => {
    await gateway.stop();
    await upstream.close();
  });

  function start(timeouts: object): Promise<TestGateway> {
    const entry = { kind: 'openai', base_url: upstream.url, price };
    return startGateway({
      models: {
        small: { upstreams: [{ ...entry, model: 'tiny-1', concurrency: 1 }] },
        pair: { upstreams: ['one', 'two'].map((model) => ({ ...entry, model })) },
        other: { upstreams: [{ ...entry, model: 'huge' }] },
        codex: { upstreams: [{ ...entry, model: 'codex', responses: true }] },
        claude: { upstreams: [{ ...entry, kind: 'anthropic', model: 'claude' }] },
      },
      timeouts,
      retries: 0,
    });
  }

  async function startAgain(timeouts: object): Promise<void> {
    await gateway.stop();
    gateway = await start(timeouts);
  }

  async function key(budget: number | null = 1): Promise<{ id: string; key: string }> {
    const expires_at = new Date(Date.now() + 600_000).toISOString();
    const made = await gateway.ask('/v1/keys', {
      body: {
        run: `run_${crypto.randomUUID()}`,
        models: ['small', 'pair', 'codex', 'claude'],
        budget,
        expires_at,
      },
    });
    expect(made.status).to.equal(201);
    return (await made.json()) as { id: string; key: string };
  }

  function call(token: string, change: object, signal?: AbortSignal): Promise<Response> {
    const body = { model: 'small', messages, ...change };
    return gateway.ask('/v1/chat/completions', { body, token, ...(signal && { signal }) });
  }

  /** Of the run of a key, when its calls are settled. */
  async function usedBy(id: string): Promise<number> {
    const { used } = await until('its calls to be settled', async () => {
      const key = (await (await gateway.ask(`/v1/keys/${id}`)).json()) as { used: number; reserved: number };
      return key.reserved === 0 && key;
    });
    return used;
  }

  it('lets a run ask for nothing but what is known here: no tool of the upstream, no address, no other price or model', async () => {
    const { key: token } = await key();
    const outside = 'https://example.org/?q=secret';
    const given = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };
    const parts: [object, string][] = [
      [{ type: 'image_url', image_url: { url: outside } }, '.image_url.url'],
      [{ type: 'image_url', image_url: outside }, '.image_url'],
      [{ type: 'video_url', video_url: { url: outside } }, ''],
      [{ type: 'audio_url', audio_url: { url: outside } }, ''],
      [{ type: 'image', image: outside }, ''],
      [{ type: 'document', source: { type: 'url', url: outside } }, ''],
      [{ type: 'document_url', document_url: outside }, ''],
      [{ type: 'input_audio', input_audio: { data: outside } }, '.input_audio.data'],
      [{ type: 'file', file: { file_data: outside } }, '.file.file_data'],
      [{ type: 'file', file: { url: outside } }, '.file.url'],
      [{ type: 'file', file_url: outside }, '.file_url'],
      [{ type: 'text', text: 'a', video_url: { url: outside } }, '.video_url'],
      [{ text: 'a' }, ''],
    ];
    const cases: [object, string][] = [
      ...['web_search_options', 'search_parameters', 'web_search', 'plugins', 'provider'].map(
        (name): [object, string] => [{ [name]: { mode: 'on' } }, name],
      ),
      ...['enable_search', 'route', 'preset', 'transforms', 'search_mode', 'models', 'audio'].map(
        (name): [object, string] => [{ [name]: true }, name],
      ),
      [{ modalities: ['text', 'audio'] }, 'modalities[1]'],
      [{ service_tier: 'priority' }, 'service_tier'],
      ...['web_search', 'browser_search', 'code_interpreter', 'mcp', 'openrouter:web_search'].map(
        (type): [object, string] => [{ tools: [{ type }] }, 'tools[0]'],
      ),
      [{ tools: [{ function: { name: 'a' }, web_search: { enable: true } }] }, 'tools[0].web_search'],
      ...parts.map(([part, at]): [object, string] => [
        { messages: [{ role: 'user', content: [given, part] }] },
        `messages[0].content[1]${at}`,
      ]),
      [{ messages: [{ role: 'tool', content: [parts[0]![0]] }] }, 'messages[0].content[0].image_url.url'],
    ];
    for (const [change, param] of cases) {
      const refused = await call(token, change);
      const { error } = (await refused.json()) as { error: { param: string; message: string } };
      expect([refused.status, error.param], param).to.deep.equal([400, param]);
      expect(error.message).to.contain(`${param} is not possible with the key of a run: `);
    }
    expect(upstream.requests).to.have.length(0);
    const held = await call(token, { max_tokens: 10, messages: [{ role: 'user', content: [given] }] });
    expect(held.status).to.equal(200);
    for (const [change, param] of cases)
      expect((await call(gateway.token, change)).status, param).to.equal(200);
  });

  it('refuses limits that a server may read as more than was set aside', async () => {
    const { key: token } = await key();
    const cases: [string, string | null][] = [
      ['"max_tokens":"100000"', 'max_tokens'],
      ['"max_tokens":true', 'max_tokens'],
      ['"max_tokens":0', 'max_tokens'],
      ['"max_completion_tokens":1e400', 'max_completion_tokens'],
      ['"n":"100"', 'n'],
      ['"best_of":1.5', 'best_of'],
      ['"Max_Tokens":100000', 'Max_Tokens'],
      ['"max_toKens":100000', 'max_toKens'],
      ['"max_tokens":1,"max_tokens":100000', null],
      ['"models":["other"]', 'models'],
      ['"fallbacks":["other"]', 'fallbacks'],
      [`"max_tokens":${'['.repeat(20_000)}${']'.repeat(20_000)}`, null],
    ];
    for (const [member, param] of cases) {
      const body = `{"model":"small","messages":[{"role":"user","content":"Hello"}],${member}}`;
      const answer = await gateway.ask('/v1/chat/completions', { body, token });
      const { error } = (await answer.json()) as { error: { param: string; message: string } };
      expect([answer.status, error.param], member.slice(0, 40)).to.deep.equal([400, param]);
    }
    expect(upstream.requests).to.deep.equal([]);
  });

  it('sets aside the greater of two limits, for every answer that is asked for', async () => {
    const { key: token } = await key(0.0101);
    for (const change of [
      { max_completion_tokens: 1, max_tokens: 200 },
      { max_tokens: 100, n: 2 },
      { max_tokens: 100, n: 1, best_of: 3 },
    ]) {
      const answer = await call(token, change);
      expect(answer.status, JSON.stringify(change)).to.equal(429);
    }
    expect((await call(token, { max_tokens: 100 })).status).to.equal(200);
  });

  it('sets room aside for a file that lies at the upstream', async () => {
    const { key: token } = await key(0.05);
    for (const part of [
      { type: 'file', file: { file_id: 'file-1' } },
      { type: 'file', file_id: 'file-1' },
    ]) {
      const answer = await call(token, { messages: [{ role: 'user', content: [part] }], max_tokens: 1 });
      expect(answer.status).to.equal(429);
    }
  });

  it('refuses with the key of a run what is dearer than the price that is known', async () => {
    const { key: token } = await key();
    const content = [{ type: 'text', text: 'Hello', cache_control: { type: 'ephemeral', ttl: '1h' } }];
    const cases: [object, string][] = [
      [{ service_tier: 'priority' }, 'service_tier'],
      [{ messages: [{ role: 'user', content }] }, 'cache_control.ttl'],
    ];
    for (const [change, param] of cases) {
      const answer = await call(token, change);
      const { error } = (await answer.json()) as { error: { param: string } };
      expect([answer.status, error.param]).to.deep.equal([400, param]);
      expect((await call(gateway.token, change)).status).to.equal(200);
    }
    expect((await call(token, { service_tier: 'auto' })).status).to.equal(200);
  });

  it('charges what upstreams report outside of their output, and shows which of them contradict themselves', async () => {
    const { key: token, id } = await key();
    const usages = [
      { prompt_tokens: 100, completion_tokens: 10, total_tokens: 3_110 },
      { prompt_tokens: 100, completion_tokens: 10, total_tokens: 50 },
    ];
    for (const usage of usages) {
      upstream.next((_, response) => sendJson(response, 200, { ...completion('Hello'), usage }));
      expect((await call(token, { max_tokens: 100 })).status).to.equal(200);
    }
    await usedBy(id);
    const { rows } = (await (await gateway.ask('/v1/usage?by=run')).json()) as { rows: object[] };
    expect(rows[0]).to.include({ calls: 2, input_tokens: 200, output_tokens: 3_020, contradictory: 1 });
  });

  describe('charges every number that can be read, and marks those that cannot', () => {
    const impossible: readonly (readonly [usage: object, input: number, output: number])[] = [
      [{ prompt_tokens: -1, completion_tokens: 5_000 }, 0, 5_000],
      [{ prompt_tokens: 100.5, completion_tokens: 5_000 }, 101, 5_000],
      [{ prompt_tokens: 'n/a', completion_tokens: 10, reasoning_tokens: 5_000 }, 0, 5_010],
      [{ prompt_tokens: 90_000, completion_tokens: -1 }, 90_000, 0],
      [{ prompt_tokens: -1, completion_tokens: 10, total_tokens: 5_110 }, 0, 5_110],
      [{ prompt_tokens: 100, completion_tokens: 10, total_tokens: 5_110.5 }, 100, 5_011],
      [{ prompt_tokens: 100, completion_tokens: 10, thinking_tokens: 5_000 }, 100, 5_010],
      [{ prompt_tokens: -1, completion_tokens: 'x' }, 0, 0],
    ];
    const possible: typeof impossible = [
      [{ completion_tokens: 10, total_tokens: 5_110 }, 0, 5_110],
      [{ prompt_tokens: 100, completion_tokens: '10.0', total_tokens: '5110.0' }, 100, 5_010],
      [{ prompt_token_count: 100, candidates_token_count: 10, thoughts_token_count: 5_000 }, 100, 5_010],
    ];
    const cases = [
      ...impossible.map((one) => [...one, 1] as const),
      ...possible.map((one) => [...one, 0] as const),
    ];
    for (const [usage, input, output, contradictory] of cases)
      for (const stream of [false, true])
        it(`${stream ? 'at the end of a stream' : 'in a whole answer'}: ${JSON.stringify(usage)}`, async () => {
          const { key: token, id } = await key();
          upstream.next((_, response) => {
            if (!stream) return sendJson(response, 200, { ...completion('Hello'), usage });
            const end = { ...chunk('m', {}), choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
            const counted = { ...chunk('m', {}), choices: [], usage };
            sendEvents(response, [chunk('m', { role: 'assistant', content: 'Hello' }), end, counted]);
          });
          const answer = await call(token, { max_tokens: 9_000, stream });
          expect(answer.status).to.equal(200);
          await answer.text();
          await usedBy(id);
          const { rows } = (await (await gateway.ask('/v1/usage?by=run')).json()) as { rows: UsageLine[] };
          const [row] = rows;
          expect(row).to.include({ calls: 1, contradictory, estimated: input === 0 || output === 0 ? 1 : 0 });
          if (input > 0) expect(row!.input_tokens).to.equal(input);
          else expect(row!.input_tokens).to.be.within(1, 100);
          if (output > 0) expect(row!.output_tokens).to.equal(output);
          else expect(row!.output_tokens).to.be.within(1, 200);
        });
  });

  it('counts what was sent to an upstream that closes the connection, and sets aside for each attempt', async () => {
    const sent = await key();
    upstream.next((_, response) => void response.destroy());
    expect((await call(sent.key, { max_tokens: 100 })).status).to.equal(502);
    expect(await usedBy(sent.id))
      .to.be.above(wholeOutput)
      .and.below(wholeOutput * 1.1);

    const short = await key(wholeOutput * 1.5);
    const asked = upstream.requests.length;
    upstream.next((_, response) => void response.destroy());
    const refused = await call(short.key, { model: 'pair', max_tokens: 100 });
    expect(refused.status).to.equal(429);
    expect(upstream.requests.length).to.equal(asked + 1);
    expect(await usedBy(short.id))
      .to.be.above(wholeOutput)
      .and.below(wholeOutput * 1.1);
  });

  it('counts a file by its size', async () => {
    const { key: token } = await key(0.05);
    const file = { filename: 'a.pdf', file_data: `data:application/pdf;base64,${'A'.repeat(350_000)}` };
    const content = [{ type: 'file', file }];
    const answer = await call(token, { messages: [{ role: 'user', content }], max_tokens: 1 });
    expect(answer.status).to.equal(429);
  });

  it('bounds the answer of a call that has a budget, by the member that the upstream reads, and no other', async () => {
    const { key: token } = await key();
    expect((await call(token, {})).status).to.equal(200);
    expect((await call(token, { max_tokens: null })).status).to.equal(200);
    expect((await call(token, { max_completion_tokens: 50 })).status).to.equal(200);
    expect((await call(gateway.token, {})).status).to.equal(200);
    expect(upstream.requests.map(({ json }) => json.max_tokens)).to.deep.equal([4096, 4096, 50, undefined]);
    expect(upstream.requests[2]!.json).to.not.have.property('max_completion_tokens');
  });

  it('counts whole answers that came too late as if they were written', async () => {
    await startAgain({ first_token_ms: 1_000, total_ms: 1_000 });
    const late = await key();
    upstream.next(() => {});
    expect((await call(late.key, { max_tokens: 100 })).status).to.equal(504);
    expect(await usedBy(late.id))
      .to.be.above(wholeOutput)
      .and.below(wholeOutput * 1.1);
  });

  it('counts whole answers that broke off or were not waited for as if they were written', async () => {
    const cut = await key();
    upstream.next((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{"id":', () => response.destroy());
    });
    expect((await call(cut.key, { max_tokens: 100 })).status).to.equal(502);
    expect(await usedBy(cut.id)).to.be.above(wholeOutput);

    const left = await key();
    const leaving = new AbortController();
    upstream.next(() => leaving.abort());
    await call(left.key, { max_tokens: 100 }, leaving.signal).catch(() => {});
    expect(await usedBy(left.id)).to.be.above(wholeOutput);
  });

  it('counts the input of attempts that gave nothing, also when a later one refuses or answers', async () => {
    const html = (_: unknown, response: ServerResponse) =>
      void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
    const alone = await key();
    upstream.next(html);
    expect((await call(alone.key, { max_tokens: 100 })).status).to.equal(502);
    const input = await usedBy(alone.id);
    expect(input).to.be.above(0).and.below(0.0001);

    const refused = await key();
    upstream.next(html, (_, response) => sendJson(response, 400, { error: { message: 'no' } }));
    expect((await call(refused.key, { model: 'pair', max_tokens: 100 })).status).to.equal(400);
    expect(await usedBy(refused.id)).to.be.closeTo(input, 2e-6);

    const answered = await key();
    const own = await key();
    expect((await call(own.key, { model: 'pair', max_tokens: 100 })).status).to.equal(200);
    upstream.next(html);
    expect((await call(answered.key, { model: 'pair', max_tokens: 100 })).status).to.equal(200);
    expect(await usedBy(answered.id)).to.be.closeTo((await usedBy(own.id)) + input, 2e-6);
  });

  it('counts the input of an attempt that sent no token', async () => {
    await startAgain({ first_token_ms: 1_000, total_ms: 200_000 });
    const silent = await key();
    upstream.next(
      (_, response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders(),
    );
    expect((await call(silent.key, { max_tokens: 100, stream: true })).status).to.equal(504);
    expect(await usedBy(silent.id)).to.be.above(0);
  });

  /** A stream of 3,000 hidden thoughts, with a pause before its end. */
  const thoughtful: Readonly<Record<string, { change: object; events: readonly [object[], object[]] }>> = {
    '/v1/chat/completions': {
      change: { messages, max_tokens: 4_000 },
      events: [
        [
          chunk('m', { role: 'assistant', content: 'ok' }),
          { ...chunk('m', {}), choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
        ],
        [{ ...chunk('m', {}), choices: [], usage: { prompt_tokens: 10, completion_tokens: 3_002 } }],
      ],
    },
    '/v1/responses': {
      change: { input: 'Hello', max_output_tokens: 4_000 },
      events: [
        [
          { type: 'response.created', response: { id: 'r', status: 'in_progress', output: [] } },
          {
            type: 'response.output_text.delta',
            item_id: 'a',
            output_index: 0,
            content_index: 0,
            delta: 'ok',
          },
        ],
        [
          {
            type: 'response.completed',
            response: {
              ...{ id: 'r', status: 'completed', output: [] },
              usage: { input_tokens: 10, output_tokens: 3_002, total_tokens: 3_012 },
            },
          },
        ],
      ],
    },
    '/v1/messages': {
      change: { messages, max_tokens: 4_000 },
      events: [
        [
          { type: 'message_start', message: { usage: { input_tokens: 10, output_tokens: 1 } } },
          { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'ok' } },
        ],
        [
          { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3_002 } },
          { type: 'message_stop' },
        ],
      ],
    },
  };

  for (const [path, { change, events }] of Object.entries(thoughtful)) {
    const model = path === '/v1/messages' ? 'claude' : path === '/v1/responses' ? 'codex' : 'small';
    const asked = (token: string, signal?: AbortSignal) =>
      gateway.ask(path, { body: { model, stream: true, ...change }, token, ...(signal && { signal }) });
    const begun = (response: ServerResponse) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
    };
    const send = (response: ServerResponse, some: readonly object[]) => {
      for (const one of some) response.write(eventOf(one));
    };
    const finish = (response: ServerResponse) => {
      send(response, events[1]);
      response.end(path === '/v1/chat/completions' ? 'data: [DONE]\n\n' : '');
    };

    it(`charges a run that leaves a stream of ${path} as one that stays`, async () => {
      const staying = await key();
      upstream.next((_, response) => {
        begun(response);
        send(response, events[0]);
        finish(response);
      });
      await (await asked(staying.key)).text();
      const whole = await usedBy(staying.id);
      expect(whole).to.be.closeTo((10 + 3_002 * 100) / 1_000_000, 1e-9);

      const early = await key();
      const leaving = new AbortController();
      upstream.next((_, response) => {
        begun(response);
        send(response, events[0]);
        setTimeout(() => finish(response), 200);
      });
      const answer = await asked(early.key, leaving.signal);
      for await (const _ of answer.body!) break;
      leaving.abort();
      expect(await usedBy(early.id)).to.be.closeTo(whole, 1e-9);

      const unseen = await key();
      const before = new AbortController();
      upstream.next((_, response) => {
        begun(response);
        setTimeout(() => before.abort(), 50);
        setTimeout(() => {
          send(response, events[0]);
          finish(response);
        }, 200);
      });
      await asked(unseen.key, before.signal).catch(() => {});
      expect(await usedBy(unseen.id)).to.be.closeTo(whole, 1e-9);
    });

    it(`charges a run its reservation for a stream of ${path} whose end nobody saw`, async () => {
      const reserved = (4_000 * 100) / 1_000_000;
      const left = await key();
      const leaving = new AbortController();
      upstream.next((_, response) => {
        begun(response);
        send(response, events[0]);
        setTimeout(() => response.destroy(), 200);
      });
      const answer = await asked(left.key, leaving.signal);
      for await (const _ of answer.body!) break;
      leaving.abort();
      expect(await usedBy(left.id)).to.be.within(reserved, reserved * 1.01);
      const { rows } = (await (await gateway.ask('/v1/usage?by=run')).json()) as { rows: object[] };
      expect(rows[0]).to.include({ calls: 1, estimated: 1 });

      await startAgain({ first_token_ms: 300, total_ms: 600 });
      const late = await key();
      upstream.next((_, response) => begun(response));
      await (await asked(late.key)).text();
      expect(await usedBy(late.id), 'no event').to.be.within(reserved, reserved * 1.01);
      const silent = await key();
      upstream.next((_, response) => {
        begun(response);
        send(response, events[0]);
      });
      await (await asked(silent.key)).text().catch(() => {});
      expect(await usedBy(silent.id), 'no end').to.be.within(reserved, reserved * 1.01);
    });
  }

  it('ends what it reads of a run’s stream at a limit of bytes, and when the gateway ends', async () => {
    const begin = async (more: (response: ServerResponse) => void) => {
      const { id, key: token } = await key();
      const leaving = new AbortController();
      upstream.next((_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(eventOf(chunk('m', { content: 'ok' })));
        leaving.signal.addEventListener('abort', () => setTimeout(() => more(response), 200));
      });
      const answer = await call(token, { max_tokens: 100, stream: true }, leaving.signal);
      for await (const _ of answer.body!) break;
      leaving.abort();
      return id;
    };
    const endless = await begin((response) => {
      const event = eventOf(chunk('m', { reasoning: 'x'.repeat(1024 * 1024) }));
      for (let sent = 0; sent < 40; sent++) response.write(event);
    });
    expect(await usedBy(endless)).to.be.within(wholeOutput, wholeOutput * 1.1);
    await begin(() => {});
    await delay(200);
    const began = performance.now();
    await gateway.stop();
    expect(performance.now() - began).to.be.below(2_500);
    gateway = await start({});
  });

  it('counts the words of a stream that was left, though the upstream had counted none yet', async () => {
    const { id, key: token } = await key();
    const leaving = new AbortController();
    upstream.next((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const counted = { usage: { prompt_tokens: 10, completion_tokens: 0, total_tokens: 10 } };
      response.write(eventOf({ ...chunk('m', { role: 'assistant', content: '' }), ...counted }));
      for (let sent = 0; sent < 50; sent++)
        response.write(eventOf(chunk('m', { content: 'words '.repeat(10) })));
    });
    const answer = await call(token, { max_tokens: 2_000, stream: true }, leaving.signal);
    for await (const _ of answer.body!) break;
    leaving.abort();
    expect(await usedBy(id)).to.be.above((50 * 100) / 1_000_000);
  });

  it('counts the thoughts of a stream that was left before its first word', async () => {
    const claude = await startAnthropicServer(() => ({ thinking: 'thought '.repeat(2_000), pace: 1 }));
    const thinking = await startGateway(
      { models: { claude: { upstreams: [{ kind: 'anthropic', base_url: claude.url, model: 'c', price }] } } },
      {},
    );
    try {
      const leaving = new AbortController();
      const body = { model: 'claude', messages, max_tokens: 5_000, stream: true };
      const answer = await thinking.ask('/v1/chat/completions', { body, signal: leaving.signal });
      let seen = '';
      for await (const piece of answer.body!) {
        seen += Buffer.from(piece).toString();
        if (seen.split(': thinking').length > 50) break;
      }
      leaving.abort();
      const { output_tokens } = await until('the call to be counted', async () => {
        const usage = await (await thinking.ask('/v1/usage')).json();
        const { total } = usage as { total: { calls: number; output_tokens: number } };
        return total.calls === 1 && total;
      });
      expect(output_tokens).to.be.at.least((50 * 7) / 3.5);
    } finally {
      await thinking.stop();
      await claude.close();
    }
  });

  it('estimates an output that the upstream reported wrong or not at all', async () => {
    for (const usage of [
      { prompt_tokens: 10 },
      { prompt_tokens: 10, completion_tokens: -5, total_tokens: 10 },
    ]) {
      const { id, key: token } = await key();
      upstream.next((_, response) => sendJson(response, 200, { ...completion('m'), usage }));
      expect((await call(token, { max_tokens: 100 })).status).to.equal(200);
      expect(await usedBy(id)).to.be.above((10 * 100) / 1_000_000);
    }
  });

  it('ends calls that wait for a place with their key', async () => {
    const [first, second] = [await key(), await key()];
    let end = () => {};
    upstream.next((_, response) => {
      end = () => sendJson(response, 200, completion('m'));
    });
    const running = call(first.key, { max_tokens: 100 });
    const waiting = call(second.key, { max_tokens: 100 });
    await until('a request', () => upstream.requests.length > 0);
    await delay(30);
    for (const { id } of [first, second]) {
      const url = `${gateway.url}/v1/keys/${id}`;
      const ended = await fetch(url, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${gateway.token}` },
      });
      expect(ended.status).to.equal(200);
    }
    end();
    const statuses = (await Promise.all([running, waiting])).map(({ status }) => status);
    expect(statuses.toSorted()).to.deep.equal([200, 401]);
    expect(upstream.requests).to.have.length(1);
    const used = [await usedBy(first.id), await usedBy(second.id)];
    expect(used.filter((one) => one > 0)).to.have.length(1);
  });
});
