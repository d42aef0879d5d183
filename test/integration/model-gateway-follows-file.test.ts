import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { oneModel, startGateway, type TestGateway } from '../fixtures/model-upstream/gateway.ts';
import { greeting, sendJson } from '../fixtures/model-upstream/openai-answers.ts';
import { type ModelUpstream, startModelUpstream } from '../fixtures/model-upstream/openai-server.ts';
import { until } from '../fixtures/until.ts';

describe('The model gateway while models.json changes', () => {
  let upstream: ModelUpstream;
  let gateway: TestGateway;

  beforeEach(async () => {
    upstream = await startModelUpstream();
    gateway = await startGateway(oneModel(upstream.url, { price: { input: 1, output: 2 } }));
  });
  afterEach(async () => {
    await gateway.stop();
    await upstream.close();
  });

  function write(config: object): void {
    const path = join(gateway.home, 'config', 'models.json');
    writeFileSync(`${path}.new`, JSON.stringify({ port: 0, ...config }));
    renameSync(`${path}.new`, path);
  }

  const entry = () => ({ kind: 'openai', base_url: upstream.url, model: 'other-1' });
  const ask = (model: string) =>
    gateway.ask('/v1/chat/completions', { body: { model, messages: [{ role: 'user', content: 'Hello' }] } });
  const names = async () => {
    const { data } = (await (await gateway.ask('/v1/models')).json()) as { data: { id: string }[] };
    return data.map(({ id }) => id);
  };
  const health = async () =>
    (await (await gateway.ask('/healthz')).json()) as {
      status: string;
      checks: Record<string, { status: string; detail: string }>;
    };

  it('answers for a model that was added, and not for one that was taken out', async () => {
    expect((await ask('new')).status).to.equal(404);
    write({ models: { new: { upstreams: [entry()] } } });
    const answer = await ask('new');
    expect(answer.status).to.equal(200);
    expect(JSON.stringify(await answer.json())).to.contain(greeting[0]);
    expect(upstream.requests.at(-1)!.json.model).to.equal('other-1');
    expect((await ask('small')).status).to.equal(404);
    expect(await names()).to.deep.equal(['new']);
    expect(gateway.logged()).to.contain('models.json changed and is in force');
  });

  it('makes keys for a model that was added', async () => {
    const mint = () =>
      gateway.ask('/v1/keys', {
        body: { run: 'run_1', models: ['new'], expires_at: new Date(Date.now() + 60_000).toISOString() },
      });
    expect((await mint()).status).to.equal(400);
    write({ models: { new: { upstreams: [entry()] } } });
    expect((await mint()).status).to.equal(201);
  });

  it('goes on with what it had where the file cannot be used, and says so until it can', async () => {
    write({ models: { small: { upstreams: [] } } });
    expect((await ask('small')).status).to.equal(200);
    const { status, checks } = await health();
    expect(status).to.equal('degraded');
    expect(checks.configuration!.detail)
      .to.contain('what was in force before stays')
      .and.to.contain('/models/small/upstreams');
    expect(gateway.logged()).to.contain('cannot be used');
    write(oneModel(upstream.url));
    await until(
      'a good file',
      async () => (await health()).checks.configuration!.detail === 'as in models.json',
    );
  });

  it('keeps to the budget of the day as it is now, and to the prices that a call began with', async () => {
    write({ ...oneModel(upstream.url, { price: { input: 1, output: 2 } }), budgets: { day: 0 } });
    const refused = await ask('small');
    expect(refused.status).to.equal(429);
    expect(JSON.stringify(await refused.json())).to.contain('insufficient_quota');

    write(oneModel(upstream.url, { price: { input: 1, output: 2 } }));
    upstream.next(async (_, response) => {
      write({ models: {} });
      sendJson(response, 200, {
        id: 'x',
        object: 'chat.completion',
        model: 'tiny-1',
        choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hi' } }],
        usage: { prompt_tokens: 1_000_000, completion_tokens: 0, total_tokens: 1_000_000 },
      });
    });
    expect((await ask('small')).status).to.equal(200);
    const usage = (await (await gateway.ask('/v1/usage?by=model')).json()) as { total: { cost: number } };
    expect(usage.total.cost).to.be.closeTo(1, 0.001);
  });

  it('says what counts from the next start on alone', async () => {
    write({ ...oneModel(upstream.url), port: 8099 });
    await names();
    expect(gateway.logged()).to.contain('models.json: port count from the next start on');
  });

  describe('says how large the context window of a model is', () => {
    const listed = (model: object) =>
      upstream.next(async (_, response) =>
        sendJson(response, 200, { data: [{ id: 'x' }, { id: 'tiny-1', ...model }] }),
      );
    const context = async () => {
      const facts = await (await gateway.ask('/v1/models/small')).json();
      return (facts as { limits: { context_tokens: number | null } }).limits.context_tokens;
    };
    const limited = (context_tokens: number) => ({
      models: { small: { limits: { context_tokens }, upstreams: [{ ...entry(), model: 'tiny-1' }] } },
    });

    const kinds = [
      { max_model_len: 8192 },
      { context_length: 8192 },
      { context_window: 8192 },
      { max_context_length: 8192 },
      { max_input_tokens: 8192 },
      { meta: { n_ctx: 8192, n_ctx_train: 40_960 } },
    ];
    for (const kind of kinds) {
      it(`as its upstream says it: ${JSON.stringify(kind)}, and asks once`, async () => {
        listed(kind);
        expect(await context()).to.equal(8192);
        expect(await context()).to.equal(8192);
        expect(upstream.requests.map(({ path }) => path)).to.deep.equal(['/v1/models']);
      });
    }

    it('as it is configured, where that is less or the upstream does not say', async () => {
      write(limited(4096));
      listed({ max_model_len: 8192 });
      expect(await context()).to.equal(4096);
      write(limited(16_384));
      expect(await context(), 'the upstream is the same').to.equal(8192);
    });

    it('or that nobody says it, where the upstream has no such list', async () => {
      upstream.next(async (_, response) => sendJson(response, 404, { error: { message: 'what?' } }));
      expect(await context()).to.equal(null);
    });
  });
});
