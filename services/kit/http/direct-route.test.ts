import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { expect } from 'chai';
import * as t from 'io-ts';
import { loopbackBinding } from '../../../test/fixtures/http/loopback-binding.ts';
import { until } from '../../../test/fixtures/until.ts';
import { integerBetween, optional } from '../decode.ts';
import { Conflict, Unavailable } from '../errors.ts';
import { createLogger } from '../log.ts';
import { Redactor } from '../redaction.ts';
import { createToken, openTokens } from '../tokens.ts';
import { isDirect } from './direct-route.ts';
import { type Route, type RouteRequest, route, routeWithBody } from './route.ts';
import { createHttpServer, type HttpServer } from './server.ts';

const Body = t.strict({ number: integerBetween(1, 9), word: optional(t.string) });

async function answer({ body, identity, header, id }: RouteRequest<t.TypeOf<typeof Body>>) {
  if (body.word === 'conflict')
    throw new Conflict('number_taken', `${body.number} is taken, says very-secret-value`);
  if (body.word === 'busy') throw new Unavailable('too_busy', 'not now', { retryAfter: 3 });
  if (body.word === 'break') throw new Error('broken inside');
  const json = { ...body, by: identity?.name, about: header('X-About'), known: id.length > 0 };
  return { status: body.number === 1 ? 201 : 200, headers: { 'X-Number': String(body.number) }, json };
}

const facts = { method: 'POST', summary: 's', scope: 'plan', body: Body, answers: {} } as const;

describe('A direct route', () => {
  let root: string;
  let server: HttpServer;
  let url: string;
  let port: number;
  let log: string;
  let tokens: Record<string, string>;

  before(async () => {
    root = mkdtempSync(join(tmpdir(), 'core-direct-'));
    const folders = { tokens: join(root, 'tokens') };
    tokens = {
      planner: createToken(folders, { name: 'planner', scopes: ['plan'] }).text,
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
    server = createHttpServer({
      service: 'core-test',
      version: '1',
      binding: loopbackBinding,
      tokens: openTokens(folders),
      logger: createLogger({ service: 'core-test', level: 'debug', format: 'json', redactor, stream }),
      redactor,
      bodyLimit: 200,
      routes: [
        routeWithBody({ ...facts, path: '/v1/plain' }, answer),
        routeWithBody({ ...facts, path: '/v1/direct', direct: true }, answer),
      ],
      health: async () => ({ status: 'ok', service: 'core-test', version: '1', checks: {} }),
    });
    ({ url, port } = await server.start());
  });

  beforeEach(() => {
    log = '';
  });

  after(async () => {
    await server.close();
    rmSync(root, { recursive: true, force: true });
  });

  const json = { 'content-type': 'application/json' };

  async function told(path: string, { body, headers, method = 'POST' }: Case) {
    const id = { 'x-request-id': 'request-17' };
    const authorization = { authorization: `Bearer ${tokens.planner}` };
    const sent = { ...json, ...id, ...authorization, ...headers };
    const present = Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== ''));
    const answer = await fetch(`${url}${path}`, { method, headers: present, ...(body && { body }) });
    const text = (await answer.text()).replaceAll(path.split('?')[0]!, '/v1/…');
    const { date, ...rest } = Object.fromEntries(answer.headers);
    return { status: answer.status, text, headers: { ...rest, 'content-length': text.length } };
  }

  interface Case {
    readonly body?: string;
    readonly method?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly query?: string;
  }

  const cases: Readonly<Record<string, Case>> = {
    'what it understands': { body: '{"number":1,"word":"ä \\u0000"}', headers: { 'x-about': 'this' } },
    'what needs only some members': { body: ' {"number": 2} ' },
    'members that are unknown': { body: '{"number":2,"other":{"x":1}}' },
    'values that are wrong': { body: '{"number":12,"word":7}' },
    'what is no object': { body: '[{"number":2}]' },
    'what is no JSON': { body: '{"number":' },
    'what nests too deep': { body: `${'['.repeat(120)}` },
    'no body': {},
    'another type': { body: 'number=1', headers: { 'content-type': 'text/plain' } },
    'what is compressed': { body: '{}', headers: { 'content-encoding': 'gzip' } },
    'too much': { body: `{"number":1,"word":"${'x'.repeat(300)}"}` },
    'nobody we know': { body: '{"number":1}', headers: { authorization: 'Bearer wrong' } },
    'nobody at all': { body: '{"number":1}', headers: { authorization: '' } },
    'another origin': { body: '{"number":1}', headers: { origin: 'https://evil.example' } },
    'a conflict': { body: '{"number":3,"word":"conflict"}' },
    'a busy moment': { body: '{"number":3,"word":"busy"}' },
    'a failure inside': { body: '{"number":3,"word":"break"}' },
    'a query': { body: '{"number":3}', query: '?x=1' },
    'an empty query': { body: '{"number":3}', query: '?' },
    'another method': { method: 'DELETE' },
  };

  for (const [name, one] of Object.entries(cases)) {
    it(`answers ${name} as every other route does`, async () => {
      const { query = '' } = one;
      expect(await told(`/v1/direct${query}`, one)).to.deep.equal(await told(`/v1/plain${query}`, one));
    });
  }

  it('refuses a token without the scope', async () => {
    const one = { body: '{"number":1}', headers: { authorization: `Bearer ${tokens.reader}` } };
    const answer = await told('/v1/direct', one);
    expect(answer.status).to.equal(403);
    expect(answer).to.deep.equal(await told('/v1/plain', one));
  });

  it('is counted, and logged with who asked', async () => {
    await told('/v1/direct', { body: '{"number":1}' });
    await told('/v1/direct', { body: '{"number":3,"word":"break"}' });
    const metrics = await (await fetch(`${url}/v1/metrics`)).text();
    expect(metrics).to.match(/http_requests_total\{[^}]*route="\/v1\/direct",status="201"[^}]*\} \d/);
    expect(log).to.match(/"debug".*"POST \/v1\/direct 201".*"request_id":"request-17".*"by":"planner"/);
    expect(log).to.match(/"error".*"request failed".*"broken inside"/);
    expect(log).to.match(/"warn".*"POST \/v1\/direct 500"/);
  });

  it('outlives clients that leave within their body', async () => {
    const socket = connect(port, '127.0.0.1');
    const head = `POST /v1/direct HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${tokens.planner}`;
    await new Promise((resolve) => {
      socket.write(
        `${head}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"number`,
        resolve,
      );
    });
    socket.destroy();
    await until('its request to end', () => log.includes('POST /v1/direct 409'));
    expect((await told('/v1/direct', { body: '{"number":1}' })).status).to.equal(201);
  });

  it('has a path without parts and a JSON body', () => {
    const plain: Route = routeWithBody({ ...facts, path: '/v1/plain' }, answer);
    expect(isDirect(plain)).to.equal(false);
    expect(() => isDirect({ ...plain, path: '/v1/{id}', direct: true })).to.throw('/v1/{id} cannot be');
    const bodiless = route({ ...facts, path: '/v1/none', direct: true }, async () => ({ json: 1 }));
    expect(() => isDirect(bodiless)).to.throw('/v1/none cannot be answered directly');
  });
});
