import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import {
  type AnthropicReply,
  type AnthropicServer,
  startAnthropicServer,
} from '../fixtures/model-upstream/anthropic-server.ts';
import { startGateway, type TestGateway } from '../fixtures/model-upstream/gateway.ts';
import { type ModelUpstream, startModelUpstream } from '../fixtures/model-upstream/openai-server.ts';
import { until } from '../fixtures/until.ts';

const credential = 'sk-ant-planted-0123456789abcdef';
const hello = { model: 'large', messages: [{ role: 'user' as const, content: 'Hello' }] };

describe('The model gateway with an Anthropic upstream', () => {
  let server: AnthropicServer;
  let other: ModelUpstream;
  let gateway: TestGateway;
  let replies: AnthropicReply[];

  beforeEach(async () => {
    replies = [];
    other = await startModelUpstream();
    server = await startAnthropicServer(() => replies.shift() ?? { text: 'Hello.' }, credential);
    const price = { input: 3, output: 15, cached: 0.3, cache_writes: 3.75 };
    const claude = {
      kind: 'anthropic',
      base_url: server.url,
      model: 'claude-sonnet-4-5',
      credential: 'claude',
      price,
    };
    const spare = { kind: 'openai', base_url: other.url, model: 'spare' };
    gateway = await startGateway(
      { retries: 1, models: { large: { upstreams: [claude] }, both: { upstreams: [claude, spare] } } },
      { claude: credential },
    );
  });
  afterEach(async () => {
    await gateway.stop();
    await server.close();
    await other.close();
  });

  const ask = (body: object) => gateway.ask('/v1/chat/completions', { body: { ...hello, ...body } });
  const rows = async (by: string) => JSON.parse(await (await gateway.ask(`/v1/usage?by=${by}`)).text()).rows;

  it('accounts what was read from and written to the cache at their own prices', async () => {
    replies = [
      {
        text: 'Hi.',
        usage: { input: 1_000_000, output: 100_000, cache_read: 600_000, cache_write: 200_000 },
      },
    ];
    await (await ask({ max_tokens: 1000 })).text();
    const [row] = await rows('model');
    expect(row).to.include({
      calls: 1,
      input_tokens: 1_000_000,
      output_tokens: 100_000,
      cached_tokens: 600_000,
    });
    expect(row.cost).to.be.closeTo(0.2 * 3 + 0.6 * 0.3 + 0.2 * 3.75 + 0.1 * 15, 1e-6);
  });

  it('tries again when Anthropic is overloaded, also where it says so in a stream', async () => {
    replies = [{ text: 'x', error_after: [0, 'overloaded_error', 'Overloaded'] }, { text: 'Now.' }];
    const text = await (await ask({ stream: true })).text();
    expect(text).to.contain('"content":"Now."').and.to.contain('data: [DONE]');
    expect(server.requests).to.have.length(2);
  });

  it('does not end a stream well that broke', async () => {
    replies = [{ text: 'a long answer, cut off', drop_after: 6 }];
    const answer = await ask({ stream: true });
    const pieces: string[] = [];
    const failed = await (async () => {
      for await (const piece of answer.body!) pieces.push(Buffer.from(piece).toString());
    })().catch((error) => error);
    const text = pieces.join('');
    expect(failed, 'the connection ends before the body does').to.be.instanceOf(Error);
    expect(text)
      .to.contain('data: {"error":')
      .and.to.contain('broke the connection')
      .and.not.contain('[DONE]');
    const [row] = await rows('model');
    expect(row.input_tokens).to.equal(100);
  });

  it('says what has no counterpart before anything is sent, and lets another upstream have it', async () => {
    const refused = await ask({ n: 2 });
    expect(refused.status).to.equal(400);
    expect(JSON.parse(await refused.text()).error).to.deep.equal({
      message: "'n' is not possible with an Anthropic model: ask once for each answer, n must be 1",
      type: 'invalid_request_error',
      param: 'n',
      code: 'unsupported_parameter',
    });
    expect((await ask({ model: 'both', n: 2 })).status).to.equal(200);
    expect(other.requests.map(({ json }) => json.n)).to.deep.equal([2]);
    expect(server.requests).to.have.length(0);
    expect((await rows('model')).reduce((sum: number, row: { cost: number }) => sum + row.cost, 0)).to.equal(
      0,
    );
  });

  it('takes a new credential without a restart, and keeps each to itself', async () => {
    gateway.secret('claude', 'sk-ant-wrong-0123456789abcdef');
    const refused = await ask({});
    expect(refused.status).to.equal(401);
    expect(JSON.parse(await refused.text()).error).to.include({
      type: 'authentication_error',
      code: 'invalid_api_key',
    });
    gateway.secret('claude', credential);
    replies = [
      { text: `my key is ${credential}` },
      { status: 400, error: ['invalid_request_error', `bad ${credential}`] },
    ];
    expect(await (await ask({})).text())
      .to.contain('my key is **')
      .and.not.contain(credential);
    expect(await (await ask({})).text())
      .to.contain('bad **')
      .and.not.contain(credential);
    expect(gateway.logged()).to.not.contain(credential).and.not.contain('sk-ant-wrong');
    const state = join(gateway.home, 'state');
    for (const entry of readdirSync(state, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      expect(readFileSync(join(entry.parentPath, entry.name)).includes(credential), entry.name).to.equal(
        false,
      );
    }
  });

  it('holds no answer that is larger than answers are, however small it comes', async () => {
    const headers = { 'content-encoding': 'gzip' };
    const bomb = createServer((request, response) => {
      request.resume().on('end', () => {
        const [status, type] = kinds[kind]!;
        response.writeHead(status, { ...headers, 'content-type': type });
        response.end(small);
      });
    });
    await once(bomb.listen(0, '127.0.0.1'), 'listening');
    const { port } = bomb.address() as AddressInfo;
    const claude = { kind: 'anthropic', base_url: `http://127.0.0.1:${port}/v1`, model: 'claude-sonnet-4-5' };
    const other = await startGateway({ retries: 0, models: { large: { upstreams: [claude] } } });
    const small = gzipSync(`data: {"a":"${'x'.repeat(100_000_000)}"}\n\n`, { level: 9 });
    const kinds = [
      [200, 'application/json', false, /sent an answer of more than 16777216 bytes/],
      [200, 'text/event-stream', true, /sent an event of more than 16777216 bytes/],
      [400, 'application/json', false, /./],
    ] as const;
    let kind = 0;
    try {
      for (; kind < kinds.length; kind++) {
        const before = process.memoryUsage().rss;
        const answer = await other.ask('/v1/chat/completions', {
          body: { ...hello, stream: kinds[kind]![2] },
        });
        expect(answer.status).to.equal(kind === 2 ? 400 : 502);
        expect(JSON.parse(await answer.text()).error.message).to.match(kinds[kind]![3]);
        expect(process.memoryUsage().rss - before).to.be.lessThan(200_000_000);
      }
    } finally {
      await other.stop();
      bomb.close();
      bomb.closeAllConnections();
    }
  });

  it('streams to a slow reader only what it reads', async () => {
    replies = [{ text: 'z'.repeat(3_500_000) }];
    const answer = await ask({ stream: true });
    const reader = answer.body!.getReader();
    await reader.read();
    for (let before = -1; server.events() !== before; ) {
      before = server.events();
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    expect(server.events(), 'of half a million').to.be.lessThan(200_000);
    await reader.cancel();
    await until('its end upstream', () => server.aborted() > 0);
  });
});
