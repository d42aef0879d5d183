import { once } from 'node:events';
import { connect } from 'node:net';
import { Writable } from 'node:stream';
import { expect } from 'chai';
import * as t from 'io-ts';
import { loopbackBinding } from '../../../test/fixtures/http/loopback-binding.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { until } from '../../../test/fixtures/until.ts';
import { integerBetween, optional } from '../decode.ts';
import { Conflict, messageOf, Unavailable } from '../errors.ts';
import { createLogger } from '../log.ts';
import { Redactor } from '../redaction/redactor.ts';
import { createToken, openTokens } from '../tokens/tokens.ts';
import { type RouteRequest, routeWithBody, routeWithBytes } from './route.ts';
import { createHttpServer, type HttpServer } from './server.ts';

const Body = t.strict({ number: integerBetween(1, 9), word: optional(t.string) });
const answers = { 200: { description: 'ok', content: t.UnknownRecord } };

async function count({ body, identity, header, id }: RouteRequest<t.TypeOf<typeof Body>>) {
  if (body.word === 'conflict')
    throw new Conflict('number_taken', `${body.number} is taken, says very-secret-value`);
  if (body.word === 'busy') throw new Unavailable('too_busy', 'not now', { retryAfter: 3 });
  if (body.word === 'break') throw new Error('broken inside');
  const json = { ...body, by: identity?.name, about: header('X-About'), known: id.length > 0 };
  return { status: body.number === 1 ? 201 : 200, headers: { 'X-Number': String(body.number) }, json };
}

interface Case {
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly method?: string;
}

describe('A route', () => {
  let server: HttpServer;
  let url: string;
  let port: number;
  let log: string;
  let tokens: Record<string, string>;
  let errors: unknown[];

  before(async () => {
    const folders = { tokens: temporaryFolder() };
    tokens = {
      planner: createToken(folders, { name: 'planner', scopes: ['read', 'plan'] }).text,
      reader: createToken(folders, { name: 'reader', scopes: ['read'] }).text,
    };
    const redactor = new Redactor();
    redactor.addSecret('very-secret-value');
    const stream = new Writable({
      write(chunk, _encoding, done) {
        log += chunk;
        done();
      },
    });
    const facts = { method: 'POST', summary: 's', scope: 'plan', answers } as const;
    server = createHttpServer({
      service: 'core-test',
      version: '1',
      binding: loopbackBinding,
      tokens: openTokens(folders),
      logger: createLogger({ service: 'core-test', level: 'debug', format: 'json', redactor, stream }),
      redactor,
      bodyLimit: 200,
      routes: [
        routeWithBody({ ...facts, path: '/v1/count', body: Body, debugBelow: 400 }, count),
        routeWithBytes(
          {
            ...facts,
            path: '/v1/echo',
            summary: 'Gives back who asked',
            body: t.UnknownRecord,
            bodyLimit: 400,
            anyQuery: true,
            debugBelow: 500,
            onError: (error) => errors.push(error),
            errorReply: (error) => ({ status: 418, json: { refused: messageOf(error) } }),
          },
          async ({ body, identity }) => ({
            async write(response, writeHead) {
              const text = body.toString();
              if (text === '"early"') throw new Error('thrown before the head');
              writeHead(200, { 'x-own': 'kept' });
              response.write(`${identity?.name} ${text}`);
              if (text === '"late"') throw new Error('thrown after the head');
              response.end();
            },
          }),
        ),
      ],
      health: async () => ({ status: 'ok', service: 'core-test', version: '1', checks: {} }),
    });
    ({ url, port } = await server.start());
  });
  beforeEach(() => {
    log = '';
    errors = [];
  });
  after(() => server.close());

  function ask(path: string, { body, headers, query = '', method = 'POST' }: Case): Promise<Response> {
    const usual = {
      'content-type': 'application/json',
      'x-request-id': 'request-17',
      authorization: `Bearer ${tokens.planner}`,
    };
    const sent = Object.entries({ ...usual, ...headers }).filter(([, value]) => value !== '');
    return fetch(`${url}${path}${query}`, {
      method,
      headers: Object.fromEntries(sent),
      ...(body === undefined ? {} : { body }),
    });
  }

  it('gives its handler the decoded body, who asks and the headers, and sends the headers of the reply', async () => {
    const answer = await ask('/v1/count', { body: '{"number":1}', headers: { 'x-about': 'it' } });
    expect(answer.status).to.equal(201);
    expect(answer.headers.get('x-number')).to.equal('1');
    expect(answer.headers.get('x-request-id')).to.equal('request-17');
    expect(await answer.json()).to.deep.equal({ number: 1, by: 'planner', about: 'it', known: true });
    expect((await ask('/v1/count', { body: '{"number":2}', query: '?' })).status).to.equal(200);
  });

  const refused: Readonly<Record<string, readonly [asked: Case, status: number, code: string]>> = {
    'members that are unknown': [{ body: '{"number":2,"other":{"x":1}}' }, 400, 'invalid_input'],
    'members that stand twice': [{ body: '{"number":2,"number":3}' }, 400, 'invalid_json'],
    'values that are wrong': [{ body: '{"number":12,"word":7}' }, 400, 'invalid_input'],
    'what is no object': [{ body: '[{"number":2}]' }, 400, 'invalid_input'],
    'what is no JSON': [{ body: '{"number":' }, 400, 'invalid_json'],
    'what nests too deep': [{ body: '['.repeat(120) }, 400, 'invalid_json'],
    'no body': [{}, 400, 'invalid_json'],
    'another type': [
      { body: 'number=1', headers: { 'content-type': 'text/plain' } },
      415,
      'content_type_not_supported',
    ],
    'what is compressed': [
      { body: '{}', headers: { 'content-encoding': 'gzip' } },
      415,
      'encoding_not_supported',
    ],
    'too much': [{ body: `{"number":1,"word":"${'x'.repeat(300)}"}` }, 413, 'body_too_large'],
    'an unknown token': [
      { body: '{"number":1}', headers: { authorization: 'Bearer wrong' } },
      401,
      'token_invalid',
    ],
    'no token': [{ body: '{"number":1}', headers: { authorization: '' } }, 401, 'token_required'],
    'another origin': [
      { body: '{"number":1}', headers: { origin: 'https://evil.example' } },
      403,
      'origin_not_allowed',
    ],
    'a conflict': [{ body: '{"number":3,"word":"conflict"}' }, 409, 'number_taken'],
    'a failure inside': [{ body: '{"number":3,"word":"break"}' }, 500, 'internal'],
    'a query that is not declared': [{ body: '{"number":3}', query: '?x=1' }, 400, 'invalid_query'],
    'another method': [{ method: 'DELETE' }, 405, 'method_not_allowed'],
  };
  for (const [name, [asked, status, code]] of Object.entries(refused)) {
    it(`answers ${name} with a problem`, async () => {
      const answer = await ask('/v1/count', asked);
      expect(answer.headers.get('content-type')).to.equal('application/problem+json');
      const text = await answer.text();
      expect(text).to.not.contain('very-secret-value');
      expect(JSON.parse(text)).to.include({ status, code, request_id: 'request-17' });
      expect(answer.status).to.equal(status);
    });
  }

  it('says when to come again', async () => {
    const answer = await ask('/v1/count', { body: '{"number":3,"word":"busy"}' });
    expect([answer.status, answer.headers.get('retry-after')]).to.deep.equal([503, '3']);
  });

  it('refuses a token without the scope', async () => {
    const headers = { authorization: `Bearer ${tokens.reader}` };
    const answer = await ask('/v1/count', { body: '{"number":1}', headers });
    expect([answer.status, ((await answer.json()) as { code: string }).code]).to.deep.equal([
      403,
      'scope_missing',
    ]);
  });

  it('is counted, and logged with who asked, at the level that it says', async () => {
    await ask('/v1/count', { body: '{"number":1}' });
    await ask('/v1/count', { body: '{"number":3,"word":"conflict"}' });
    await ask('/v1/count', { body: '{"number":3,"word":"break"}' });
    const metrics = await (await fetch(`${url}/v1/metrics`)).text();
    expect(metrics).to.match(/http_requests_total\{[^}]*route="\/v1\/count",status="201"[^}]*\} \d/);
    expect(log).to.match(/"debug".*"POST \/v1\/count 201".*"request_id":"request-17".*"by":"planner"/);
    expect(log).to.match(/"info".*"POST \/v1\/count 409"/);
    expect(log).to.match(/"error".*"request failed".*"broken inside"/);
    expect(log).to.match(/"warn".*"POST \/v1\/count 500"/);
  });

  it('outlives clients that leave within their body', async () => {
    const socket = connect(port, '127.0.0.1');
    const head = `POST /v1/count HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${tokens.planner}`;
    const begun = `${head}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"number`;
    await new Promise((resolve) => socket.write(begun, resolve));
    socket.destroy();
    await until('its request to end', () => log.includes('POST /v1/count 409'));
    expect((await ask('/v1/count', { body: '{"number":1}' })).status).to.equal(201);
  });

  it('checks the host of a target in absolute form', async () => {
    const answerTo = async (target: string) => {
      const socket = connect(port, '127.0.0.1').setEncoding('latin1');
      socket.write(`GET ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`);
      const [text] = await once(socket, 'data');
      socket.destroy();
      return String(text);
    };
    expect(await answerTo('http://localhost/healthz')).to.match(/^HTTP\/1\.1 200 /);
    expect(await answerTo('http://evil.test/healthz')).to.match(/^HTTP\/1\.1 403 [\s\S]*host_not_allowed/);
  });

  describe('that writes its answer itself', () => {
    it('answers with the headers of every answer and its own, and is logged and counted', async () => {
      const answer = await ask('/v1/echo', { body: '{"a":1}', query: '?api-version=1' });
      expect(await answer.text()).to.equal('planner {"a":1}');
      expect(answer.headers.get('x-request-id')).to.equal('request-17');
      expect(answer.headers.get('x-content-type-options')).to.equal('nosniff');
      expect(answer.headers.get('x-own')).to.equal('kept');
      const metrics = await (await fetch(`${url}/v1/metrics`)).text();
      expect(metrics).to.match(/http_requests_total\{[^}]*route="\/v1\/echo",status="200"[^}]*\} 1/);
      expect(log).to.match(/"debug".*"POST \/v1\/echo 200".*"request_id":"request-17".*"by":"planner"/);
    });

    it('refuses everybody else in its own words, which somebody may follow', async () => {
      const cases: readonly [Case, RegExp][] = [
        [{ body: '{}', headers: { authorization: '' } }, /^this needs a token of scope plan/],
        [{ body: '{}', headers: { authorization: 'Bearer wrong' } }, /^the token is unknown/],
        [
          { body: '{}', headers: { authorization: `Bearer ${tokens.reader}` } },
          /^token reader has the scopes/,
        ],
        [{ body: '{}', headers: { origin: 'https://evil.example' } }, /^origin .* is not allowed/],
        [{ body: 'x'.repeat(401) }, /^the body has more than 400 bytes/],
        [{ body: '"early"' }, /^thrown before the head/],
      ];
      for (const [asked, words] of cases) {
        const answer = await ask('/v1/echo', asked);
        expect(answer.status).to.equal(418);
        expect(((await answer.json()) as { refused: string }).refused).to.match(words);
      }
      expect(errors.map(messageOf).join('\n')).to.match(/needs a token[\s\S]*thrown before the head$/);
      expect(log).to.match(/"debug".*"POST \/v1\/echo 418"/);
    });

    it('never looks whole when it breaks off', async () => {
      const broken = await ask('/v1/echo', { body: '"late"' })
        .then((answer) => answer.text())
        .catch((error) => error);
      expect(broken).to.be.instanceOf(Error);
    });

    it('is described, and other methods are refused as everywhere', async () => {
      const document = (await (await fetch(`${url}/v1/openapi.json`)).json()) as {
        paths: Record<string, { post: { summary: string } }>;
      };
      expect(document.paths['/v1/echo']!.post).to.include({ summary: 'Gives back who asked' });
      expect(document.paths['/v1/echo']!.post).to.have.nested.property('requestBody.required', true);
      const other = await fetch(`${url}/v1/echo`);
      expect(other.status).to.equal(405);
      expect(other.headers.get('allow')).to.equal('POST');
    });
  });
});
