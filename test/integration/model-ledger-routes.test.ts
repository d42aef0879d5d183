import { expect } from 'chai';
import { MintedKey, RunKey } from '#kit/contracts/model-gateway/keys.ts';
import { UsageReply } from '#kit/contracts/model-gateway/usage.ts';
import { decode } from '#kit/decode.ts';
import { resolveFolders } from '#kit/folders.ts';
import { createHttpClient, type HttpClient } from '#kit/http/client.ts';
import { createToken, serviceToken } from '#kit/tokens/tokens.ts';
import { startGateway, type TestGateway } from '../fixtures/model-upstream/gateway.ts';
import { type ModelUpstream, startModelUpstream } from '../fixtures/model-upstream/openai-server.ts';

describe('Keys of runs and usage over HTTP', () => {
  let upstream: ModelUpstream;
  let gateway: TestGateway;
  let agentd: HttpClient;

  before(async () => {
    upstream = await startModelUpstream();
    const price = { input: 1_000, output: 1_000 };
    const entry = { upstreams: [{ kind: 'openai', base_url: upstream.url, model: 'tiny-1', price }] };
    gateway = await startGateway({ models: { a: entry, b: entry } });
    const token = serviceToken(resolveFolders({ home: gateway.home }, {} as never), 'agentd');
    agentd = createHttpClient({ baseUrl: gateway.url, token });
  });
  after(async () => {
    await agentd.close();
    await gateway.stop();
    await upstream.close();
  });

  const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();
  const mint = (change: object = {}) =>
    agentd.post(
      '/v1/keys',
      { run: 'run_1', models: ['a'], budget: 1, expires_at: inSeconds(60), ...change },
      MintedKey,
    );
  const call = (token: string, change: object = {}) =>
    gateway.ask('/v1/chat/completions', {
      token,
      body: { model: 'a', max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }], ...change },
    });

  async function refusal(change: object): Promise<string> {
    try {
      await mint(change);
    } catch (error) {
      return (error as Error).message;
    }
    return 'it was minted';
  }

  it('let a run ask its models within its budget, and see what it used alone', async () => {
    const { key, id } = await mint();
    await call(gateway.token);
    expect((await call(key)).status).to.equal(200);
    const other = await call(key, { model: 'b' });
    expect(other.status).to.equal(403);
    expect(((await other.json()) as { error: object }).error).to.include({
      code: 'model_not_allowed',
      message: 'model "b" is not allowed for this key: must be one of a',
    });
    const [model] = (
      (await (await gateway.ask('/v1/models', { token: key })).json()) as { data: { id: string }[] }
    ).data;
    expect(model!.id).to.equal('a');
    const own = decode(
      UsageReply,
      await (await gateway.ask('/v1/usage?by=run', { token: key })).json(),
      'usage',
    );
    expect(own.rows.map(({ name, calls }) => [name, calls])).to.deep.equal([['run_1', 1]]);
    const all = decode(UsageReply, await (await gateway.ask('/v1/usage?by=run')).json(), 'usage');
    expect(all.total.calls).to.equal(2);
    expect(await agentd.get(`/v1/keys/${id}`, RunKey)).to.include({
      used: 0.018,
      reserved: 0,
      revoked_at: null,
    });
  });

  it('refuse over the budget in OpenAI’s words, which its client takes for no passing trouble', async () => {
    const { key } = await mint({ run: 'run_2', budget: 0.05 });
    expect((await call(key)).status).to.equal(200);
    const refused = await call(key, { max_tokens: 100 });
    expect(refused.status).to.equal(429);
    expect(refused.headers.get('x-should-retry')).to.equal('false');
    const { error } = (await refused.json()) as { error: { code: string; type: string; message: string } };
    expect(error).to.include({ code: 'insufficient_quota', type: 'insufficient_quota' });
    expect(error.message).to.contain('the budget of run run_2 is $0.05: $0.018 is used, $0.00 is reserved');
    expect(upstream.requests.filter(({ json }) => json.max_tokens === 100)).to.deep.equal([]);
  });

  it('end at once when they are deleted', async () => {
    const { key, id } = await mint({ run: 'run_3' });
    const ended = await agentd.delete(`/v1/keys/${id}`, RunKey);
    expect(ended.revoked_at).not.to.equal(null);
    expect((await call(key)).status).to.equal(401);
    expect((await gateway.ask('/v1/keys/key_0', { token: gateway.token })).status).to.equal(404);
  });

  it('are made by whoever may, for what there is, within a day', async () => {
    expect(await refusal({ models: ['a', 'c'] })).to.contain('/models/1 is "c": must be one of a, b');
    expect(await refusal({ budget: 0 })).to.contain('/budget is 0: must be US dollars above 0');
    expect(await refusal({ run: '../x' })).to.contain('/run is "../x": must be the name of a run');
    expect(await refusal({ expires_at: inSeconds(-1) })).to.contain(
      'must be in the future, at most 24 hours ahead',
    );
    expect(await refusal({ expires_at: inSeconds(90_000) })).to.contain('at most 24 hours ahead');
    expect(await refusal({ expires_at: 'soon' })).to.contain('must be an RFC 3339 date and time');
    expect(await refusal({ budgets: 3 })).to.contain('/budgets');
    const body = { run: 'run_1', expires_at: inSeconds(60) };
    const folders = resolveFolders({ home: gateway.home }, {} as never);
    const { text } = createToken(folders, { name: 'asker', scopes: ['model', 'read'] });
    for (const [token, status] of [
      [null, 401],
      [text, 403],
    ] as const)
      expect((await gateway.ask('/v1/keys', { token, body })).status).to.equal(status);
    expect((await call(text)).status).to.equal(200);
  });

  it('say what is wrong with a question for usage', async () => {
    const wrong = {
      'by=hour': String.raw`query parameter by is \"hour\": must be one of run, model, day`,
      'from=2026-13-01': 'must be a day',
      'from=2026-02-02&to=2026-02-01': 'must not be after',
    };
    for (const [query, expected] of Object.entries(wrong)) {
      const answer = await gateway.ask(`/v1/usage?${query}`);
      expect(answer.status).to.equal(400);
      expect(await answer.text()).to.contain(expected);
    }
  });
});
