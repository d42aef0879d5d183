import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { answerHeaders, benches, type DialectBench, speaking } from '../fixtures/model-upstream/dialects.ts';
import { startGateway, type TestGateway } from '../fixtures/model-upstream/gateway.ts';
import { sendJson } from '../fixtures/model-upstream/openai-answers.ts';
import { type ModelUpstream, startModelUpstream } from '../fixtures/model-upstream/openai-server.ts';
import { until } from '../fixtures/until.ts';

const credential = 'sk-planted-0123456789abcdef';
const price = { input: 1, output: 100, cached: 0.5, cache_writes: 2 };

for (const bench of benches) describe(`The gateway in the dialect ${bench.name}`, () => suite(bench));

function suite(bench: DialectBench): void {
  let upstream: ModelUpstream;
  let gateway: TestGateway;

  const config = (more: object = {}, base = upstream.url.replace('/v1', bench.base)) => ({
    retries: 0,
    models: {
      small: {
        limits: { output_tokens: 1_000 },
        upstreams: [{ ...bench.kind, base_url: base, model: 'tiny-1', credential: 'key', price }],
      },
      chat: { upstreams: [{ kind: 'openai', base_url: upstream.url, model: 'chat-1' }] },
    },
    ...more,
  });

  beforeEach(async () => {
    upstream = await startModelUpstream();
    upstream.always(speaking(bench));
    gateway = await startGateway(config(), { key: credential });
  });
  afterEach(async () => {
    await gateway.stop();
    await upstream.close();
  });

  const ask = (stream: boolean, more: object = {}, options: object = {}) =>
    gateway.ask(bench.path('small', stream), {
      body: bench.request('small', 'Hello', stream, more),
      ...options,
    });

  async function keyOf(budget: number): Promise<{ id: string; key: string }> {
    const expires_at = new Date(Date.now() + 600_000).toISOString();
    const made = await gateway.ask('/v1/keys', {
      body: { run: `run_${crypto.randomUUID()}`, models: ['small'], budget, expires_at },
    });
    return (await made.json()) as { id: string; key: string };
  }

  async function usedBy(id: string): Promise<number> {
    const { used } = await until('its calls to be settled', async () => {
      const key = (await (await gateway.ask(`/v1/keys/${id}`)).json()) as { used: number; reserved: number };
      return key.reserved === 0 && key;
    });
    return used;
  }

  it('gives whole answers and streams on as they came, with the headers of both sides', async () => {
    for (const stream of [false, true]) {
      const answer = await ask(
        stream,
        { brand_new: { deep: [1.5, null] } },
        { headers: { 'x-brand-new': 'asked', 'anthropic-beta': 'a-1,b-2', cookie: 'c=d' } },
      );
      const text = await answer.text();
      expect(answer.status, text).to.equal(200);
      expect(text).to.equal(stream ? bench.events.join('') : JSON.stringify(bench.whole));
      const given = Object.fromEntries(answer.headers);
      expect(given).to.include({
        'request-id': 'req_1',
        'anthropic-ratelimit-tokens-remaining': '17',
        'x-brand-new': 'yes',
        'x-upstream-request-id': 'theirs-1',
        'cache-control': 'no-store',
      });
      expect(given).to.not.have.property('set-cookie');
      const { path, headers, json } = upstream.requests.at(-1)!;
      expect(path).to.equal(bench.upstreamPath(stream));
      expect(json.brand_new).to.deep.equal({ deep: [1.5, null] });
      expect(headers).to.include({ 'x-brand-new': 'asked', 'anthropic-beta': 'a-1,b-2' });
      const [name, beginning] = bench.credentialHeader;
      expect(headers[name]).to.equal(`${beginning}${credential}`);
      expect(JSON.stringify(headers)).to.not.contain(gateway.token);
      expect(headers).to.not.have.property('cookie');
    }
    expect(answerHeaders).to.have.property('set-cookie');
  });

  it('changes a request by nothing but its model, whatever its numbers and members', async () => {
    const body = JSON.stringify(bench.request('small', '', false)).replace(
      /^\{/,
      '{"x_new":{"a":[1.0,12345678901234567890123]},',
    );
    expect((await gateway.ask(bench.path('small', false), { body })).status).to.equal(200);
    expect(upstream.requests[0]!.body).to.equal(body.replace('"model":"small"', '"model":"tiny-1"'));
  });

  it('streams piece by piece', async () => {
    let goOn: () => void = () => {};
    const seen = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const [first, ...others] = bench.events;
    upstream.next(async (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(first);
      await seen;
      response.end(others.join(''));
    });
    const reader = (await ask(true)).body!.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader.read()).value).to.equal(first);
    goOn();
    let rest = '';
    for (let next = await reader.read(); !next.done; next = await reader.read()) rest += next.value;
    expect(rest).to.equal(others.join(''));
  });

  it('takes a token as the clients of the dialect send it, and gives it to nobody', async () => {
    const header = bench.tokenHeader;
    const places: readonly [string, Record<string, string>][] = [
      ['', { authorization: `Bearer ${gateway.token}` }],
      ...(header === null ? [] : [['', { [header]: gateway.token }] as [string, Record<string, string>]]),
      ...(bench.name === 'Google'
        ? [[`?key=${gateway.token}&x=1`, {}] as [string, Record<string, string>]]
        : []),
    ];
    for (const [query, headers] of places) {
      const path = `${bench.path('small', false)}${query}`;
      const body = bench.request('small', 'Hello', false);
      expect((await gateway.ask(path, { body, token: null, headers })).status).to.equal(200);
      const seen = upstream.requests.at(-1)!;
      expect(`${seen.path} ${JSON.stringify(seen.headers)}`).to.not.contain(gateway.token);
    }
    expect(gateway.logged()).to.not.contain(gateway.token);
    for (const headers of [{}, { [header ?? 'authorization']: 'core_x_wrong' }]) {
      const body = bench.request('small', 'Hello', false);
      const refused = await gateway.ask(bench.path('small', false), { body, token: null, headers });
      const error = bench.errorIn(await refused.json());
      expect([refused.status, error.type]).to.deep.equal([401, bench.errorTypes[401]]);
    }
  });

  it('lets a client steer the upstream by nothing but the request', async () => {
    const steering = {
      'x-goog-fieldmask': 'candidates',
      'x-goog-user-project': 'p',
      'x-http-method': 'DELETE',
    };
    const query = '&access_token=a&$httpMethod=DELETE&$fields=candidates&alt=json';
    for (const stream of [false, true]) {
      const path = bench.path('small', stream);
      const body = bench.request('small', 'Hello', stream);
      const search = bench.name !== 'Google' ? '' : path.includes('?') ? query : `?${query.slice(1)}`;
      expect((await gateway.ask(`${path}${search}`, { body, headers: steering })).status).to.equal(200);
      const seen = upstream.requests.at(-1)!;
      expect(seen.path).to.equal(bench.upstreamPath(stream));
      expect(seen.headers).to.not.have.any.keys(Object.keys(steering));
    }
  });

  it('gives of the headers and the query of a run only those on that agents send', async () => {
    const { key } = await keyOf(1);
    const kept = {
      'anthropic-beta': 'effort-2025-11-24',
      'x-stainless-os': 'Linux',
      'user-agent': 'agent/1',
    };
    const steering = { 'x-portkey-config': 'https://example.org', 'x-litellm-tags': 'a', 'x-provider': 'b' };
    const betas = {
      'anthropic-beta': 'context-1m-2025-08-07, effort-2025-11-24,fast-mode-2026-02-01',
      'anthropic-workspace': 'a',
      'openai-beta': 'assistants=v2',
    };
    const path = bench.path('small', false);
    const query = bench.name === 'Google' ? '' : '?beta=true&provider=b&route=c';
    const options = {
      body: bench.request('small', 'Hello', false),
      headers: { ...kept, ...steering, ...betas },
    };
    expect((await gateway.ask(`${path}${query}`, { ...options, token: key })).status).to.equal(200);
    const { headers, path: asked } = upstream.requests.at(-1)!;
    expect(headers).to.not.have.any.keys([...Object.keys(steering), 'anthropic-workspace', 'openai-beta']);
    expect(headers).to.include(kept);
    expect(asked).to.equal(`${bench.upstreamPath(false)}${query === '' ? '' : '?beta=true'}`);
    await gateway.ask(path, options);
    expect(upstream.requests.at(-1)!.headers).to.include(steering);
  });

  it('counts and prices what an answer used, whole and streamed, with what a cache held', async () => {
    const { input, output, cached, writes } = bench.usage;
    const cost = (input - cached - writes) * 1 + cached * 0.5 + writes * 2 + output * 100;
    for (const stream of [false, true]) {
      const { id, key } = await keyOf(1);
      await (await ask(stream, {}, { token: key })).text();
      expect(await usedBy(id)).to.equal(Math.ceil(cost) / 1e6);
    }
    const { rows } = (await (await gateway.ask('/v1/usage?by=model')).json()) as { rows: object[] };
    expect(rows).to.have.length(1);
    expect(rows[0]).to.include({
      calls: 2,
      estimated: 0,
      input_tokens: 2 * input,
      output_tokens: 2 * output,
      cached_tokens: 2 * cached,
      cache_write_tokens: 2 * writes,
    });
    const metrics = await (await gateway.ask('/v1/metrics')).text();
    expect(metrics).to.contain(`dialect="${bench.name.toLowerCase()}"`);
    expect(metrics).to.match(new RegExp(`model_tokens_total\\{[^}]*kind="cached"[^}]*\\} ${2 * cached}\n`));
  });

  it('sets aside what a call may cost before it goes out, and refuses what does not fit in the words of the dialect', async () => {
    const { key } = await keyOf(0.01);
    const body = bench.limited('small', 200);
    const refused = await gateway.ask(bench.path('small', false), { body, token: key });
    const { type, message } = bench.errorIn(await refused.json());
    expect([refused.status, type]).to.deep.equal([429, bench.errorTypes[429]]);
    expect(message).to.match(/^the budget of run run_\S+ is \$0.01: .* this call may cost \$0.02/);
    expect(upstream.requests).to.have.length(0);
    const without = bench.limited('small', 0);
    const text = JSON.stringify(without).replace(
      /,?"(?:max_tokens|max_output_tokens|maxOutputTokens)":0,?/,
      (found) => (found.startsWith(',') && found.endsWith(',') ? ',' : ''),
    );
    const { key: other } = await keyOf(1);
    await gateway.ask(bench.path('small', false), { body: text, token: other });
    expect(bench.limitIn(upstream.requests.at(-1)!.json)).to.equal(1_000);
  });

  it('refuses a limit that a server may read as another, and one above that of the model', async () => {
    for (const [limit, rule] of [
      [0.5, /whole number/],
      [2_000, /must be at most 1000/],
    ] as const) {
      const body = bench.limited('small', limit);
      const refused = await gateway.ask(bench.path('small', false), { body });
      const { type, message, code } = bench.errorIn(await refused.json());
      expect([refused.status, type, code]).to.deep.equal([400, bench.errorTypes[400], 'invalid_input']);
      expect(message).to.match(rule);
    }
    expect(upstream.requests).to.have.length(0);
  });

  it('lets a run ask for nothing but what is known here: no tool of the upstream, no address, no other price or model', async () => {
    const { key } = await keyOf(1);
    for (const [more, param] of bench.outside) {
      const refused = await ask(false, more, { token: key });
      const { type, message } = bench.errorIn(await refused.json());
      expect([refused.status, type], param).to.deep.equal([400, bench.errorTypes[400]]);
      expect(message).to.contain(`${param} is not possible with the key of a run: `);
    }
    expect(upstream.requests).to.have.length(0);
    expect((await ask(false, { tools: bench.tools }, { token: key })).status).to.equal(200);
    for (const [more, param] of bench.outside) expect((await ask(false, more)).status, param).to.equal(200);
  });

  it('names a model that is not there, and those that are', async () => {
    const body = bench.request('huge', 'Hello', false);
    const refused = await gateway.ask(bench.path('huge', false), { body });
    const { type, message, code } = bench.errorIn(await refused.json());
    expect([refused.status, type, code]).to.deep.equal([404, bench.errorTypes[404], 'model_not_found']);
    expect(message).to.contain('"huge" is not configured: must be one of small, chat');
  });

  it('gives what the upstream says of an error as it said it, without secrets', async () => {
    const text = JSON.stringify(bench.refusal).replace('large', `large ${credential}`);
    upstream.next((_request, response) => {
      response.writeHead(400, { 'content-type': 'application/json', 'x-brand-new': 'yes' });
      response.end(text);
    });
    const refused = await ask(true);
    expect(refused.status).to.equal(400);
    expect(refused.headers.get('x-brand-new')).to.equal('yes');
    const hidden = text.replace(credential, '*'.repeat(credential.length));
    expect(await refused.json()).to.deep.equal(JSON.parse(hidden));
  });

  it('hides a credential that the upstream repeats, whole and streamed', async () => {
    const hidden = '*'.repeat(credential.length);
    upstream.next((_request, response) => sendJson(response, 200, { ...bench.whole, x: credential }));
    expect(await (await ask(false)).json()).to.deep.equal({ ...bench.whole, x: hidden });
    const events = [bench.events[0], bench.said(credential), ...bench.events.slice(1)].join('');
    upstream.next((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(events);
    });
    expect(await (await ask(true)).text()).to.equal(events.replace(credential, hidden));
  });

  it('reports a stream that broke in an event of the dialect, and counts the words that were sent', async () => {
    const { id, key } = await keyOf(1);
    upstream.next((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(bench.events[0]);
      response.write(bench.said('w'.repeat(35)), () => response.destroy());
    });
    const answer = await ask(true, {}, { token: key });
    let text = '';
    const failed = await (async () => {
      for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) text += piece;
    })().catch((error: unknown) => error);
    expect(failed).to.be.instanceOf(Error);
    expect(text).to.satisfy(bench.brokenEvent);
    expect(await usedBy(id)).to.be.at.least(10 * 100e-6);
  });

  it('takes a stream that ends in the middle for a broken one', async () => {
    upstream.next((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(bench.events[0]! + bench.said('Hello'));
    });
    const text = await (await ask(true)).text().catch((error: unknown) => String(error));
    expect(text).to.match(/terminated|error/);
    expect(gateway.logged()).to.contain('upstream_stream_broken');
  });

  it('takes a stream for a broken one that does not say why it ended', async () => {
    for (const empty of ['""', 'null']) {
      const events = bench.events
        .join('')
        .replace(bench.endReason, (found) => found.replace(/"[^"]*"$/, empty));
      expect(events).to.not.equal(bench.events.join(''));
      upstream.next((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(events);
      });
      const text = await (await ask(true)).text().catch((error: unknown) => String(error));
      expect(text).to.match(/terminated|error/);
      await until('the log to say so', () => gateway.logged().includes('upstream_stream_broken'));
    }
  });

  for (const stream of [false, true]) {
    it(`ends the request upstream when the client leaves, ${stream ? 'in the middle of a stream' : 'before a whole answer'}`, async () => {
      upstream.next((_request, response) => {
        if (!stream) return;
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(bench.events[0]);
      });
      const leaving = new AbortController();
      const asked = ask(stream, {}, { signal: leaving.signal }).catch((error: unknown) => error);
      await until('the upstream to be asked', () => upstream.requests[0]);
      if (stream) await asked;
      leaving.abort();
      await upstream.requests[0]!.left;
      await asked;
    });
  }

  it('records and replays, whole, streamed and refused, without secrets', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'core-recordings-'));
    const planted = ['ghp', 'aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fG3hJ6'].join('_');
    const said = [bench.said(planted.slice(0, 9)), bench.said(planted.slice(9))];
    const events = [bench.events[0], ...said, ...bench.events.slice(1)].join('');
    const askAll = async () => {
      const answers = [
        await ask(false),
        await ask(true),
        await ask(true, { x: 1 }),
        await ask(false, { x: 2 }),
      ];
      return Promise.all(answers.map(async (one) => [one.status, await one.text()] as const));
    };
    try {
      await gateway.stop();
      gateway = await startGateway(config({ mode: 'record', recordings: folder }), { key: credential });
      upstream.next(speaking(bench), speaking(bench), (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(events);
      });
      upstream.next((_request, response) => sendJson(response, 400, bench.refusal));
      const recorded = await askAll();
      await until('four recordings', () => readdirSync(folder).length === 4);
      await gateway.stop();
      gateway = await startGateway(config({ mode: 'replay', recordings: folder }, 'http://127.0.0.1:9/v1'));
      const replayed = await askAll();
      expect(replayed[0]).to.deep.equal(recorded[0]);
      expect(replayed[1]).to.deep.equal(recorded[1]);
      expect(recorded[2]![1]).to.contain(planted.slice(9));
      expect(replayed[2]![1]).to.not.contain(planted.slice(9));
      expect(replayed[2]![1]).to.contain('[redacted github_token]');
      expect([replayed[3]![0], JSON.parse(replayed[3]![1])]).to.deep.equal([400, bench.refusal]);
      const kept = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
      expect(kept.join('')).to.not.contain(credential);
      const unknown = await ask(false, { x: 3 });
      expect(bench.errorIn(await unknown.json()).message).to.contain('no recording answers this request');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('passes a request of 20 MB', async () => {
    const text = 'x'.repeat(20_000_000);
    const answer = await gateway.ask(bench.path('small', false), {
      body: bench.request('small', text, false),
    });
    expect(answer.status).to.equal(200);
    expect(upstream.requests[0]!.body.length).to.be.above(20_000_000);
  });

  it('asks an upstream that fails again, and the next one of its model', async () => {
    await gateway.stop();
    const entry = { ...bench.kind, base_url: upstream.url.replace('/v1', bench.base), credential: 'key' };
    const upstreams = ['one', 'two'].map((model) => ({ ...entry, model }));
    gateway = await startGateway({ retries: 1, models: { small: { upstreams } } }, { key: credential });
    for (const _ of [1, 2])
      upstream.next((_request, response) =>
        sendJson(response, 503, { error: { message: 'overloaded' } }, { 'retry-after': '0' }),
      );
    expect((await ask(true)).status).to.equal(200);
    const asked = upstream.requests.map(({ path, json }) => json.model ?? /models\/(\w+):/.exec(path)![1]);
    expect(asked).to.deep.equal(['one', 'one', 'two']);
  });
}
