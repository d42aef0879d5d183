import { expect } from 'chai';
import type { PostgresSettings } from '#kit/config/storage.ts';
import { type MintedKey, RunKey } from '#kit/contracts/model-gateway/keys.ts';
import { decode } from '#kit/decode.ts';
import { resolveFolders } from '#kit/folders.ts';
import { serviceToken } from '#kit/tokens/tokens.ts';
import { startGateway, type TestGateway } from '../fixtures/model-upstream/gateway.ts';
import { type ModelUpstream, startModelUpstream } from '../fixtures/model-upstream/openai-server.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { until } from '../fixtures/until.ts';
import { describeWith } from '../needs.ts';

describeWith(['postgres'], 'Two model gateways on one database', () => {
  let server: PostgresServer;
  let settings: PostgresSettings;
  let upstream: ModelUpstream;
  let gateways: TestGateway[];

  before(async () => {
    server = await startPostgres();
    settings = await server.database();
    upstream = await startModelUpstream();
    const price = { input: 1_000, output: 1_000 };
    const entry = { upstreams: [{ kind: 'openai', base_url: upstream.url, model: 'tiny-1', price }] };
    const start = () =>
      startGateway({ models: { a: entry } }, {}, undefined, { storage: { kind: 'postgres', ...settings } });
    gateways = [await start(), await start()];
  });
  after(async () => {
    for (const gateway of gateways ?? []) await gateway.stop();
    await upstream?.close();
    await server?.stop();
  });

  const call = (gateway: TestGateway, token: string, content = 'Hi') =>
    gateway.ask('/v1/chat/completions', {
      token,
      body: { model: 'a', max_tokens: 10, messages: [{ role: 'user', content }] },
    });

  function minting({ home }: TestGateway): string {
    return serviceToken(resolveFolders({ home }, {} as never), 'agentd');
  }

  async function mint(gateway: TestGateway, budget: number): Promise<MintedKey> {
    const expires_at = new Date(Date.now() + 60_000).toISOString();
    const answer = await gateway.ask('/v1/keys', {
      token: minting(gateway),
      body: { run: `run_${crypto.randomUUID()}`, models: ['a'], budget, expires_at },
    });
    expect(answer.status).to.equal(201);
    return (await answer.json()) as MintedKey;
  }

  async function errorOf(answer: Response): Promise<{ code: string; message: string }> {
    return ((await answer.json()) as { error: { code: string; message: string } }).error;
  }

  it('take a key of each other at once, hold its one budget, and end it together', async () => {
    const [one, two] = gateways as [TestGateway, TestGateway];
    const { key, id } = await mint(one, 0.1);
    expect((await call(two, key)).status).to.equal(200);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => call(index % 2 === 0 ? one : two, key)),
    );
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).to.be.within(1, 19);
    expect((await errorOf(refused[0]!)).code).to.equal('insufficient_quota');
    const seen = async () =>
      decode(
        RunKey,
        await (await two.ask(`/v1/keys/${id}`, { token: minting(two) })).json(),
        'the key',
        'internal',
      );
    await until('what is under way to end', async () => (await seen()).reserved === 0);
    expect((await seen()).used).to.be.within(0.001, 0.1);
    const ended = await fetch(`${one.url}/v1/keys/${id}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${minting(one)}` },
    });
    expect(ended.status).to.equal(200);
    expect((await call(two, key)).status).to.equal(401);
  });

  it('send nothing to an upstream while the database is away, and go on when it is back', async () => {
    const [one, two] = gateways as [TestGateway, TestGateway];
    const { key } = await mint(one, 1);
    expect((await call(two, key)).status).to.equal(200);
    const before = upstream.requests.length;
    await server.crash();
    for (const [gateway, token] of [
      [one, one.token],
      [two, key],
    ] as const) {
      const answer = await call(gateway, token);
      expect(answer.status).to.equal(503);
      expect(answer.headers.get('retry-after')).to.equal('5');
      const { code, message } = await errorOf(answer);
      expect(code).to.equal('database_unavailable');
      expect(message).to.contain('does not answer').and.not.contain('password');
    }
    const health = await one.ask('/healthz', { token: null });
    expect(health.status).to.equal(503);
    const { checks } = (await health.json()) as {
      checks: Record<string, { status: string; detail: string }>;
    };
    expect(checks.ledger!.status).to.equal('failing');
    expect(checks.ledger!.detail).to.contain('does not answer');
    expect(upstream.requests.length).to.equal(before);
    await server.restart();
    await until('its return', async () => (await one.ask('/healthz', { token: null })).status === 200);
    expect((await call(one, one.token)).status).to.equal(200);
    expect((await call(two, key)).status).to.equal(200);
    expect(upstream.requests.length).to.equal(before + 2);
  });
});
