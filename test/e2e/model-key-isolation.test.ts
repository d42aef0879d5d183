import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { valueForms } from '#kit/redaction/redactor.ts';
import {
  type ModelUpstream,
  type Script,
  startModelUpstream,
} from '../fixtures/model-upstream/openai-server.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { core, started } from '../fixtures/world/core-command.ts';
import { itWith } from '../needs.ts';
import { configureGateway, type GatewayProcess, startGatewayProcess } from './model-key-gateway.ts';

/** With characters that look different in JSON, in URLs and in base64. */
const planted = 'sk-pl4nted+Key/Wq7&Zx=9Rt~Lm3Vb%8Nc2Hd6Jf';
const prompt = 'a-private-question-4711';
const answer = 'a-private-answer-0815';
const base64 = Buffer.from(`user:${planted}`).toString('base64');

/** Upstreams that give the credential away in every place that there is. Each gets it in its own request. */
const leaks: Readonly<Record<string, (key: string) => Script>> = {
  'an error of each status': (key) => (request, response) => {
    const statuses = [400, 401, 403, 404, 409, 422, 429, 500, 503];
    const status = statuses[request.body.length % statuses.length]!;
    const message = `Incorrect API key: ${key}; you asked ${request.body}`;
    response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '0' });
    response.end(JSON.stringify({ error: { message, type: key, code: key } }));
  },
  'the reason and the body of an error page': (key) => (_, response) => {
    response.writeHead(500, `no ${encodeURIComponent(key)}`, { 'content-type': 'text/html' });
    response.end(`<h1>${key} ${base64}</h1>`);
  },
  'headers of every kind': (key) => (_, response) => {
    const hidden = { 'set-cookie': `key=${key}`, authorization: key, 'x-api-key': key };
    const shown = { 'x-request-id': key, 'openai-model': key, 'x-ratelimit-remaining-tokens': key };
    response.writeHead(200, { 'content-type': 'application/json', ...hidden, ...shown });
    response.end(
      JSON.stringify({ choices: [{ message: { content: answer } }], usage: { prompt_tokens: 1 } }),
    );
  },
  'a redirect': (key) => (_, response) => {
    response.writeHead(302, { location: `http://127.0.0.1:1/?key=${encodeURIComponent(key)}` });
    response.end();
  },
  'the text of an answer, in every form': (key) => (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    // Each form as it is, not escaped once more.
    const content = [answer, ...valueForms(key), base64].join(' ');
    response.end(`{"choices":[{"message":{"content":"${content}"}}],"usage":{"prompt_tokens":1}}`);
  },
  'a stream, cut at every byte': (key) => async (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const event = `data: ${JSON.stringify({ choices: [{ delta: { content: `${answer} ${key} ${base64}` } }] })}\n\n`;
    for (const byte of Buffer.from(event)) {
      response.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    response.end('data: [DONE]\n\n');
  },
  'a stream that breaks after it': (key) => async (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`data: ${JSON.stringify({ error: { message: key } })}\n\ndata: {"half": "${key}`);
    await delay(20);
    response.destroy();
  },
  'a body that is no JSON': (key) => (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(`${key} is your key`);
  },
};

describe('A credential of the gateway', () => {
  let upstream: ModelUpstream;
  let gateway: GatewayProcess;
  let home: string;
  const replies: string[] = [];

  before(async () => {
    home = temporaryFolder();
    upstream = await startModelUpstream();
    const entry = (kind: string) => ({ kind, base_url: upstream.url, model: 'm', credential: 'planted' });
    const models = { open: { upstreams: [entry('openai')] }, claude: { upstreams: [entry('anthropic')] } };
    await configureGateway(home, { models, retries: 0, mode: 'record' }, { planted });
    gateway = await startGatewayProcess(home, { CORE_LOG_LEVEL: 'debug', CORE_LOG_FORMAT: 'json' });
    for (const leak of Object.values(leaks)) {
      upstream.always((request, response) => leak(keyIn(request.headers))(request, response));
      for (const model of ['open', 'claude']) for (const stream of [false, true]) await ask(model, stream);
    }
    for (const path of [
      '/healthz',
      '/v1/metrics',
      '/v1/usage?by=model',
      '/v1/models',
      '/v1/keys',
      '/v1/openapi.json',
    ])
      await record(await gateway.ask('GET', path));
  });
  after(async () => {
    await gateway.stop();
    await upstream.close();
  });

  async function ask(model: string, stream: boolean): Promise<void> {
    const messages = [{ role: 'user', content: `${prompt} ${'x'.repeat(replies.length)}` }];
    await record(await gateway.ask('POST', '/v1/chat/completions', { model, stream, messages }));
  }

  async function record(reply: Response): Promise<void> {
    const text = await reply.text().catch((error) => String(error));
    replies.push([reply.status, reply.statusText, JSON.stringify([...reply.headers]), text].join('\n'));
  }

  it('reached the upstream with every call, so that there was something to give away', () => {
    const calls = Object.keys(leaks).length * 4;
    expect(upstream.requests).to.have.length(calls);
    expect(upstream.requests.every(({ headers }) => keyIn(headers) === planted)).to.equal(true);
    expect(replies.filter((reply) => reply.includes(answer)).length).to.be.greaterThan(3);
  });

  it('is in no reply: not in errors, bodies, streams, headers, measurements', () => {
    expect(replies.filter(holdsIt)).to.deep.equal([]);
  });

  it('makes no measurement of what upstreams call their errors', async () => {
    const text = await (await gateway.ask('GET', '/v1/metrics')).text();
    const codes = [...text.matchAll(/model_upstream_errors_total\{[^}]*code="([^"]*)"/g)].map(
      ([, code]) => code,
    );
    expect(codes).to.include.members(['500', 'upstream_redirected']);
    expect(codes.filter((code) => !/^(\d{3}|[a-z_]+)$/.test(code!))).to.deep.equal([]);
  });

  it('is in no line of the log at its most talkative, and neither is what was asked or answered', () => {
    const said = gateway.said();
    expect(said.split('\n').length).to.be.greaterThan(Object.keys(leaks).length);
    expect(said.split('\n').filter(holdsIt)).to.deep.equal([]);
    expect(said).not.to.contain(prompt).and.not.to.contain(answer);
  });

  it('is in no file but its own: not in the ledger, not in recordings', async () => {
    await gateway.ask('GET', '/v1/usage');
    const files = filesIn(home);
    expect(files.some((path) => path.includes('recordings'))).to.equal(true);
    expect(files.some((path) => path.endsWith('ledger.sqlite'))).to.equal(true);
    const holding = files.filter((path) => holdsIt(readFileSync(join(home, path), 'latin1')));
    expect(holding).to.deep.equal(['config/secrets/planted']);
    const asked = files.filter((path) => readFileSync(join(home, path)).includes(prompt));
    expect(asked.filter((path) => !path.includes('recordings'))).to.deep.equal([]);
  });

  itWith(['linux'], 'is not among the arguments or the environment of the process', () => {
    for (const name of ['cmdline', 'environ']) {
      const text = readFileSync(`/proc/${gateway.child.pid}/${name}`, 'latin1');
      expect(holdsIt(text), name).to.equal(false);
    }
  });

  it('is printed by no command', async () => {
    upstream.always((request, response) =>
      leaks['an error of each status']!(keyIn(request.headers))(request, response),
    );
    for (const args of [
      ['model', 'check'],
      ['model', 'check', '--json'],
      ['model', 'list'],
      ['doctor'],
      ['config', 'show'],
    ]) {
      const { stdout, stderr } = await started(core, [...args, '--home', home]).ended;
      expect(holdsIt(stdout + stderr), args.join(' ')).to.equal(false);
      if (args[1] === 'check') expect(stdout).to.contain('present').and.to.contain('*');
    }
  });

  it('is not given to whoever has no token, the key of a run included where it asks another model', async () => {
    const call = { model: 'open', messages: [{ role: 'user', content: prompt }] };
    expect((await gateway.ask('POST', '/v1/chat/completions', call, null)).status).to.equal(401);
    const expires_at = new Date(Date.now() + 600_000).toISOString();
    const minted = await gateway.ask('POST', '/v1/keys', { run: 'run_1', models: ['claude'], expires_at });
    const { key, id } = (await minted.json()) as { key: string; id: string };
    const before = upstream.requests.length;
    const refused = await gateway.ask('POST', '/v1/chat/completions', call, key);
    expect(refused.status).to.equal(403);
    expect(await refused.text()).to.contain('claude');
    expect((await gateway.ask('POST', '/v1/keys', { run: 'r', expires_at }, key)).status).to.equal(403);
    expect((await gateway.ask('DELETE', `/v1/keys/${id}`)).status).to.equal(200);
    expect((await gateway.ask('GET', '/v1/models', undefined, key)).status).to.equal(401);
    expect(upstream.requests).to.have.length(before);
    expect(gateway.said()).not.to.contain(key);
  });
});

function keyIn(headers: Readonly<Record<string, unknown>>): string {
  return String(headers['x-api-key'] ?? headers.authorization).replace('Bearer ', '');
}

const forms = [...valueForms(planted), base64];

function holdsIt(text: string): boolean {
  return forms.some((form) => text.includes(form));
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}
