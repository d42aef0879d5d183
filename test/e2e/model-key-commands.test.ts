import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { benches, speaking } from '../fixtures/model-upstream/dialects.ts';
import { sendJson, speakOpenAi } from '../fixtures/model-upstream/openai-answers.ts';
import { type ModelUpstream, startModelUpstream } from '../fixtures/model-upstream/openai-server.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { useCommandHost } from '../fixtures/world/command-host.ts';
import { configureGateway, startGatewayProcess } from './model-key-gateway.ts';

const key = 'sk-Zt8Lq2Vx6Nw4Rb9Kc3Mf';

describe('The commands of models', () => {
  const host = useCommandHost({});
  let home: string;
  let upstream: ModelUpstream;
  let keyFile: string;

  beforeEach(async () => {
    home = temporaryFolder();
    upstream = await startModelUpstream();
    keyFile = join(home, 'given-key');
    writeFileSync(keyFile, `${key}\n`);
  });
  afterEach(() => upstream.close());

  const run = (...args: string[]) => host.run(['model', ...args, '--home', home]);
  const add = (name: string, ...more: string[]) =>
    run('add', name, '--url', upstream.url, '--model', 'tiny-1', '--yes', ...more);
  const configured = () => JSON.parse(readFileSync(join(home, 'config/models.json'), 'utf8'));

  it('add a model that answers, with its key in a secret of its own', async () => {
    const { code, stdout } = await add(
      'main',
      '--key-file',
      keyFile,
      '--tier',
      'large',
      '--price',
      '2,10,0.5',
    );
    expect(code).to.equal(0);
    expect(stdout).to.match(/^main answers: 11 tokens in, 7 out, \d+ ms\n/);
    expect(upstream.requests[0]!.headers.authorization).to.equal(`Bearer ${key}`);
    expect(upstream.requests[0]!.json).to.include({ model: 'tiny-1', max_tokens: 16 });
    const secret = 'model-main-127.0.0.1';
    expect(configured().models.main).to.deep.equal({
      kind: 'chat',
      tier: 'large',
      upstreams: [
        {
          kind: 'openai',
          base_url: upstream.url,
          model: 'tiny-1',
          credential: secret,
          price: { input: 2, output: 10, cached: 0.5 },
        },
      ],
    });
    const path = join(home, 'config/secrets', secret);
    expect(readFileSync(path, 'utf8')).to.equal(`${key}\n`);
    expect(statSync(path).mode & 0o777).to.equal(0o600);
    expect((await run('list')).stdout).to.match(
      /main +chat +large +openai .*\$2 in, \$10 out, \$0\.5 cached +model-main-127\.0\.0\.1 \(present\)/,
    );
  });

  it('ask again by the other name where a model wants the limit so', async () => {
    const message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.";
    upstream.next((_, response) => sendJson(response, 400, { error: { message } }));
    expect((await add('main')).code).to.equal(0);
    expect(upstream.requests[1]!.json).to.include({ max_completion_tokens: 16 });
  });

  it('configure nothing, and keep no key, where the model does not answer', async () => {
    upstream.always((_, response) => sendJson(response, 401, { error: { message: 'no such key' } }));
    const { code, stderr } = await add('main', '--key-file', keyFile);
    expect(code).to.equal(5);
    expect(stderr).to.contain('401: ').and.to.contain('no such key').and.to.contain('--no-try');
    expect(existsSync(join(home, 'config/models.json'))).to.equal(false);
    expect(existsSync(join(home, 'config/secrets/model-main-127.0.0.1'))).to.equal(false);
    expect((await add('main', '--no-try')).code).to.equal(0);
  });

  it('keep what else is in the file, add a fallback, replace, and remove', async () => {
    await configureGateway(home, { retries: 1, budgets: { day: 5 } });
    expect((await add('main', '--key-file', keyFile)).code).to.equal(0);
    const again = await add('main');
    expect(again.code).to.equal(3);
    expect(again.stderr).to.contain('model_exists').and.to.contain('--fallback');
    expect((await add('main', '--fallback', '--tier', 'small')).code).to.equal(0);
    expect(configured().models.main.upstreams).to.have.length(2);
    expect(configured()).to.deep.include({ retries: 1, budgets: { day: 5 } });
    expect((await add('main', '--replace')).code).to.equal(0);
    expect(configured().models.main.upstreams).to.have.length(1);
    expect((await run('remove', 'other')).stderr).to.contain('configured are main');
    const secret = join(home, 'config/secrets/model-main-127.0.0.1');
    expect(existsSync(secret)).to.equal(true);
    expect((await add('main', '--key-file', keyFile, '--replace')).stdout).to.contain(
      `its key is in ${secret}`,
    );
    const removed = await run('remove', 'main');
    expect(removed.code).to.equal(0);
    expect(removed.stdout).to.contain(`removed with it: ${secret}`).and.to.contain('no gateway runs here');
    expect(existsSync(secret)).to.equal(false);
    expect(configured().models).to.deep.equal({});
  });

  it('name the value, the rule and the choices of what is wrong, and write nothing', async () => {
    const wrong: [string[], string][] = [
      [['--tier', 'huge'], "--tier 'huge' must be one of large, small"],
      [['--kind', 'grpc'], 'must be one of openai, anthropic, google'],
      [['--kind', 'google', '--tier', 'small'], 'by chat completions, which upstreams of kind "google"'],
      [['--kind', 'google', '--responses'], '/responses is for upstreams of kind "openai"'],
      [['--price', 'cheap'], '--price is "cheap": must be INPUT,OUTPUT'],
      [['--url', 'ftp://x'], 'must be an http or https address'],
      [['--key-file', '/nowhere'], 'the key cannot be read from /nowhere: ENOENT'],
    ];
    for (const [more, expected] of wrong) {
      const { code, stderr } = await add('main', ...more);
      expect(code, more.join(' ')).to.equal(2);
      expect(stderr).to.contain(expected);
    }
    expect(existsSync(join(home, 'config/models.json'))).to.equal(false);
    expect(upstream.requests).to.have.length(0);
  });

  it('try an upstream by each interface of its own', async () => {
    const [, responses, google] = benches;
    upstream.next(speaking(google!));
    const price = ['--price', '1,2,0.1,1.25'];
    expect((await add('gemini', '--kind', 'google', ...price)).stdout).to.match(
      /^gemini answers: 111 tokens in/,
    );
    expect(upstream.requests[0]).to.deep.include({ path: '/v1/models/tiny-1:generateContent' });
    expect(upstream.requests[0]!.json).to.deep.include({ generationConfig: { maxOutputTokens: 16 } });
    expect(configured().models.gemini.upstreams[0]).to.deep.include({
      kind: 'google',
      price: { input: 1, output: 2, cached: 0.1, cache_writes: 1.25 },
    });
    upstream.always((request, response) =>
      (request.path === '/v1/responses' ? speaking(responses!) : speakOpenAi)(request, response),
    );
    expect((await add('coder', '--responses')).code).to.equal(0);
    expect(configured().models.coder.upstreams[0]).to.include({ responses: true });
    upstream.always((request, response) =>
      request.path === '/v1/responses'
        ? sendJson(response, 404, { error: { message: 'no such path' } })
        : speakOpenAi(request, response),
    );
    const { code, stderr } = await add('other', '--responses');
    expect(code).to.equal(5);
    expect(stderr).to.match(/does not answer responses: 404: .*no such path/);
    const checked = await run('check');
    expect(checked.code).to.equal(5);
    expect(checked.stdout).to.match(/coder +\S+ +none +\d+ +ok, 11 tokens/);
    expect(checked.stdout).to.match(/coder +\S+ +none +\d+ +failed by Responses: 404: /);
  });

  it('check each upstream in a table, and fail when one does', async () => {
    const entry = { kind: 'openai', base_url: upstream.url, model: 'tiny-1' };
    const gone = { ...entry, base_url: 'http://127.0.0.1:9/v1', credential: 'absent' };
    const models = {
      a: { upstreams: [entry] },
      b: { upstreams: [gone] },
      e: { kind: 'embeddings', upstreams: [entry] },
    };
    await configureGateway(home, { models });
    const { code, stdout } = await run('check');
    expect(code).to.equal(5);
    const [, a, b, e] = stdout.split('\n');
    expect(a).to.match(/^a +127\.0\.0\.1:\d+\/tiny-1 +none +\d+ +ok, 11 tokens in, 7 out$/);
    expect(b).to.match(
      /^b +127\.0\.0\.1:9\/tiny-1 +missing +\d+ +failed: 502: .*secret file absent is missing$/,
    );
    expect(e).to.match(/^e .* ok, /);
    expect(upstream.requests.map(({ path }) => path).sort()).to.deep.equal([
      '/v1/chat/completions',
      '/v1/embeddings',
    ]);
    const { upstreams } = JSON.parse((await run('check', '--json')).stdout);
    expect(upstreams.map(({ ok }: { ok: boolean }) => ok)).to.deep.equal([true, false, true]);
  });

  it('print what calls used, and say how to start the service where none runs', async () => {
    const price = { input: 1_000, output: 10_000 };
    const entry = { kind: 'openai', base_url: upstream.url, model: 'tiny-1', price };
    await configureGateway(home, { models: { main: { upstreams: [entry] } }, budgets: { day: 50 } });
    const gateway = await startGatewayProcess(home);
    try {
      const call = { model: 'main', max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }] };
      for (let count = 0; count < 2; count++)
        expect((await gateway.ask('POST', '/v1/chat/completions', call)).status).to.equal(200);
      const { stdout } = await run('usage', '--by', 'model');
      expect(stdout.split('\n').slice(0, 3)).to.deep.equal([
        'model  calls  failed  aborted  input  cached  output    cost',
        'main       2       0        0     22       8      14  $0.162',
        'total      2       0        0     22       8      14  $0.162',
      ]);
      const wrong = await run('usage', '--by', 'hour');
      expect(wrong.stderr).to.contain('must be one of run, model, day');
      expect((await run('usage', '--from', '2026-02-30')).stderr).to.contain('must be a day as YYYY-MM-DD');
      const over = await gateway.ask('POST', '/v1/chat/completions', { ...call, max_tokens: 5_000 });
      expect(over.status).to.equal(429);
      expect((await over.json()) as object).to.have.nested.property('error.code', 'insufficient_quota');
    } finally {
      await gateway.stop();
    }
    const { code, stderr } = await run('usage');
    expect(code).to.equal(5);
    expect(stderr).to.contain('core-model-gateway does not answer').and.to.contain('core up');
  });
});
