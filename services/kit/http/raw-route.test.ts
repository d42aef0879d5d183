import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { expect } from 'chai';
import * as t from 'io-ts';
import { loopbackBinding } from '../../../test/fixtures/http/loopback-binding.ts';
import { createLogger } from '../log.ts';
import { Redactor } from '../redaction.ts';
import { createToken, openTokens } from '../tokens.ts';
import type { RawRoute } from './raw-route.ts';
import { createHttpServer, type HttpServer } from './server.ts';

const echo: RawRoute = {
  method: 'POST',
  path: '/v1/echo',
  summary: 'Gives back who asked',
  scope: 'plan',
  body: t.UnknownRecord,
  answers: { 200: { description: 'ok', content: t.UnknownRecord } },
  async handle(request, response, { identity, writeHead }) {
    let text = '';
    for await (const piece of request) text += piece;
    if (text === 'throw') throw new Error('thrown');
    writeHead(200, { 'x-own': 'kept' });
    response.end(`${identity?.name} ${text}`);
  },
  refuse(response, error, { writeHead }) {
    writeHead(418, {});
    response.end(`refused: ${(error as Error).message}`);
  },
};

describe('A raw route', () => {
  let root: string;
  let server: HttpServer;
  let url: string;
  let log = '';
  let tokens: Record<string, string>;

  before(async () => {
    root = mkdtempSync(join(tmpdir(), 'core-raw-'));
    const folders = { tokens: join(root, 'tokens') };
    tokens = {
      planner: createToken(folders, { name: 'planner', scopes: ['plan'] }).text,
      reader: createToken(folders, { name: 'reader', scopes: ['read'] }).text,
    };
    const redactor = new Redactor();
    const stream = new Writable({
      write(chunk, _encoding, done) {
        log += chunk;
        done();
      },
    });
    server = createHttpServer({
      service: 'core-test',
      version: '1.2.3',
      binding: loopbackBinding,
      tokens: openTokens(folders),
      logger: createLogger({ service: 'core-test', level: 'debug', format: 'json', redactor, stream }),
      redactor,
      routes: [],
      raw: [echo],
      health: async () => ({ status: 'ok', service: 'core-test', version: '1.2.3', checks: {} }),
    });
    ({ url } = await server.start());
  });
  after(async () => {
    await server.close();
    rmSync(root, { recursive: true, force: true });
  });

  function post(body: string, token?: string, headers: Record<string, string> = {}): Promise<Response> {
    const own = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return fetch(`${url}/v1/echo?x=1`, { method: 'POST', body, headers: { ...own, ...headers } });
  }

  it('answers whoever may ask, with the headers of every answer, and is logged and counted', async () => {
    const answer = await post('hello', tokens.planner, { 'x-request-id': 'request-17' });
    expect(await answer.text()).to.equal('planner hello');
    expect(answer.headers.get('x-request-id')).to.equal('request-17');
    expect(answer.headers.get('x-content-type-options')).to.equal('nosniff');
    expect(answer.headers.get('x-own')).to.equal('kept');
    const metrics = await (await fetch(`${url}/v1/metrics`)).text();
    expect(metrics).to.match(/http_requests_total\{[^}]*route="\/v1\/echo",status="200"[^}]*\} 1/);
    expect(log).to.match(/"POST \/v1\/echo 200".*"request_id":"request-17".*"by":"planner"/);
  });

  it('refuses everybody else in its own words', async () => {
    const cases: readonly [Promise<Response>, RegExp][] = [
      [post('x'), /refused: this needs a token of scope plan/],
      [post('x', 'wrong'), /refused: the token is none/],
      [post('x', tokens.reader), /refused: token reader has the scopes read/],
      [post('x', tokens.planner, { origin: 'https://evil.example' }), /refused: origin .* is foreign/],
      [post('throw', tokens.planner), /refused: thrown/],
    ];
    for (const [asked, words] of cases) {
      const answer = await asked;
      expect(answer.status).to.equal(418);
      expect(await answer.text()).to.match(words);
    }
  });

  it('is described, and other methods are refused as everywhere', async () => {
    const document = (await (await fetch(`${url}/v1/openapi.json`)).json()) as {
      paths: Record<string, { post: { summary: string } }>;
    };
    expect(document.paths['/v1/echo']!.post.summary).to.equal(echo.summary);
    const other = await fetch(`${url}/v1/echo`);
    expect(other.status).to.equal(405);
    expect(other.headers.get('allow')).to.equal('POST');
  });
});
