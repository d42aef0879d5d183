import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { configureGateway, startGatewayProcess } from '../e2e/model-key-gateway.ts';
import { startGateway, type TestGateway } from '../fixtures/model-upstream/gateway.ts';
import { sendEvents } from '../fixtures/model-upstream/openai-answers.ts';
import { type ModelUpstream, startModelUpstream } from '../fixtures/model-upstream/openai-server.ts';

const planted = 'sk-planted-7Qx2mVb9LtRz4KdN8wYc';
const messages = [{ role: 'user' as const, content: 'Hello' }];
const nowhere = 'http://127.0.0.1:9/v1';

describe('The model gateway that records and replays', () => {
  let folder: string;
  let upstream: ModelUpstream;
  let gateway: TestGateway | undefined;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'core-recordings-'));
    upstream = await startModelUpstream();
  });
  afterEach(async () => {
    await gateway?.stop();
    gateway = undefined;
    await upstream.close();
    rmSync(folder, { recursive: true, force: true });
  });

  function config(mode: 'record' | 'replay', base_url: string): object {
    const entry = { kind: 'openai', base_url, model: 'tiny-1', credential: 'key' };
    const models = {
      small: { upstreams: [entry] },
      vectors: { kind: 'embeddings', upstreams: [entry] },
    };
    return { mode, recordings: folder, retries: 0, models };
  }

  async function traffic({ ask }: TestGateway): Promise<string[]> {
    const asked = [
      ask('/v1/chat/completions', { body: { model: 'small', messages } }),
      ask('/v1/chat/completions', { body: { model: 'small', messages, stream: true } }),
      ask('/v1/chat/completions', {
        body: { model: 'small', messages, stream: true, stream_options: { include_usage: true } },
      }),
      ask('/v1/embeddings', { body: { model: 'vectors', input: ['a', 'b'] } }),
    ];
    return Promise.all((await Promise.all(asked)).map((answer) => answer.text()));
  }

  it('gives the same bytes again, whole answers, streams and vectors, with no upstream and no credential', async () => {
    gateway = await startGateway(config('record', upstream.url), { key: planted });
    const recorded = await traffic(gateway);
    await gateway.stop();
    gateway = await startGateway(config('replay', nowhere));
    expect(await traffic(gateway)).to.deep.equal(recorded);
    const { choices } = await gateway.client.chat.completions.create({ model: 'small', messages });
    expect(choices[0]!.message.content).to.equal('Hello, wörld! 👋');
    expect(upstream.requests).to.have.length(4);
  });

  it('costs nothing the second time, whatever is left of the budget', async () => {
    const priced = (mode: 'record' | 'replay', url: string) => {
      const entry = { kind: 'openai', base_url: url, model: 'tiny-1', price: { input: 1000, output: 1000 } };
      return { mode, recordings: folder, models: { small: { upstreams: [entry] } }, budgets: { day: 1000 } };
    };
    gateway = await startGateway(priced('record', upstream.url));
    await gateway.client.chat.completions.create({ model: 'small', messages });
    const cost = async () =>
      ((await (await gateway!.ask('/v1/usage')).json()) as { total: { cost: number } }).total.cost;
    expect(await cost()).to.be.greaterThan(0);
    await gateway.stop();
    gateway = await startGateway({ ...priced('replay', nowhere), budgets: { day: 0 } });
    await gateway.client.chat.completions.create({ model: 'small', messages });
    expect(await cost()).to.equal(0);
  });

  it('answers 404 where it has nothing, in the shape that the client knows', async () => {
    gateway = await startGateway(config('replay', nowhere));
    const error = await gateway.client.chat.completions.create({ model: 'small', messages }).then(
      () => expect.fail('it was expected to fail'),
      (cause) => cause,
    );
    expect(error).to.include({ status: 404, code: 'recording_not_found', type: 'invalid_request_error' });
  });

  it('loses of a kill only the answer that was on its way', async () => {
    const home = mkdtempSync(join(tmpdir(), 'core-home-'));
    try {
      await configureGateway(home, config('record', upstream.url), { key: planted });
      const first = await startGatewayProcess(home);
      const ask = (content: string, stream: boolean) =>
        first.ask('POST', '/v1/chat/completions', {
          model: 'small',
          messages: [{ role: 'user', content }],
          stream,
        });
      await (await ask('before', false)).text();
      upstream.always(async (request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: {"choices":[{"index":0,"delta":{"content":"half"}}]}\n\n');
        await request.left;
      });
      const half = await ask('half', true);
      await half.body!.getReader().read();
      await first.kill();
      upstream.always(({ json }, response) => sendEvents(response, [{ model: json.model, choices: [] }]));
      expect(readdirSync(folder)).to.have.length(1);

      writeFileSync(join(folder, `.${readdirSync(folder)[0]}.cut.tmp`), '{"format": 1,');
      await configureGateway(home, config('replay', nowhere));
      const second = await startGatewayProcess(home);
      const again = await second.ask('POST', '/v1/chat/completions', {
        model: 'small',
        messages: [{ role: 'user', content: 'before' }],
        stream: false,
      });
      expect(again.status).to.equal(200);
      expect(second.said()).to.contain('.cut.tmp').and.to.contain('was not finished');
      await second.stop();
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  });
});
