import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { expect } from 'chai';
import fc from 'fast-check';
import * as t from 'io-ts';
import { loopbackBinding } from '../../../test/fixtures/http/loopback-binding.ts';
import type { HealthStatus } from '../contracts/health.ts';
import { integerBetween } from '../decode.ts';
import { replaceFile } from '../durable-file.ts';
import { CoreError, codeOf, Failed, InvalidInput, TimedOut, Unavailable } from '../errors.ts';
import { createLogger } from '../log.ts';
import { Registry } from '../prometheus.ts';
import { Redactor } from '../redaction/redactor.ts';
import { createToken, openTokens, revokeToken } from '../tokens/tokens.ts';
import type { Binding } from './authentication.ts';
import { createHttpClient, type HttpClient } from './client.ts';
import { readEvents } from './event-stream.ts';
import { measureHttp } from './metrics.ts';
import { type EventSink, route, routeWithBody } from './route.ts';
import { createHttpServer, type HttpServer } from './server.ts';

const loopback: Binding = { ...loopbackBinding, allowed_hosts: ['core.test'] };
const Body = t.strict({ number: integerBetween(1, 9) });
const answers = { 200: { description: 'ok', content: t.UnknownRecord } };

describe('The HTTP server', () => {
  let root: string;
  let folders: { tokens: string };
  let server: HttpServer;
  let url: string;
  let port: number;
  let log: string[];
  let health: HealthStatus;
  let planner: string;
  let flaky = 0;
  let onStream: (sink: EventSink) => Promise<void>;
  const clients: HttpClient[] = [];

  beforeEach(async () => {
    root = mkdtempSync(join(tmpdir(), 'core-http-'));
    folders = { tokens: join(root, 'tokens') };
    planner = createToken(folders, { name: 'planner', scopes: ['read', 'plan'] }).text;
    health = 'ok';
    flaky = 0;
    await restart(loopback);
  });
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.close()));
    await server.close();
    rmSync(root, { recursive: true, force: true });
  });

  async function restart(binding: Binding): Promise<void> {
    await server?.close();
    log = [];
    const redactor = new Redactor();
    redactor.addSecret('very-secret-value');
    const stream = new Writable({
      write(chunk, _encoding, done) {
        log.push(String(chunk));
        done();
      },
    });
    server = createHttpServer({
      service: 'core-test',
      version: '1',
      binding,
      tokens: openTokens(folders),
      logger: createLogger({ service: 'core-test', level: 'debug', format: 'json', redactor, stream }),
      redactor,
      health: async () => ({ status: health, service: 'core-test', version: '1', checks: {} }),
      routes: [
        route(
          { method: 'GET', path: '/v1/things/{id}', summary: 's', scope: 'read', answers },
          async ({ params }) => ({
            json: { id: params.id },
          }),
        ),
        routeWithBody(
          { method: 'POST', path: '/v1/things', summary: 's', scope: 'plan', body: Body, answers },
          async ({ body, identity }) => ({ json: { number: body.number, by: identity?.name } }),
        ),
        routeWithBody(
          { method: 'POST', path: '/v1/search', summary: 's', scope: 'read', body: Body, answers },
          async () => ({ json: {} }),
        ),
        route({ method: 'POST', path: '/v1/approve', summary: 's', scope: 'approve', answers }, async () => ({
          json: {},
        })),
        route({ method: 'GET', path: '/v1/broken', summary: 's', scope: 'read', answers }, async () => {
          throw new Error('stack with very-secret-value');
        }),
        route({ method: 'GET', path: '/v1/failed', summary: 's', scope: 'read', answers }, async () => {
          throw new Failed('disk_full', 'no space at /home/mira', { hint: 'Make room.' });
        }),
        route({ method: 'GET', path: '/v1/refused', summary: 's', scope: 'read', answers }, async () => {
          throw new InvalidInput('thing_bad', 'it says very-secret-value', {
            errors: [{ pointer: '/a', detail: 'must be b' }],
          });
        }),
        route({ method: 'GET', path: '/v1/flaky', summary: 's', scope: 'read', answers }, async () => {
          if (++flaky < 3) throw new Unavailable('behind_down', 'not now', { retryAfter: 0 });
          return { json: { tries: flaky } };
        }),
        route({ method: 'POST', path: '/v1/flaky', summary: 's', scope: 'plan', answers }, async () => {
          flaky++;
          throw new Unavailable('behind_down', 'not now', { retryAfter: 0 });
        }),
        route({ method: 'GET', path: '/v1/slow', summary: 's', scope: 'read', answers }, async () => {
          await new Promise((resolve) => setTimeout(resolve, 300));
          return { json: {} };
        }),
        route({ method: 'GET', path: '/v1/live', summary: 's', scope: 'read', answers }, async () => ({
          stream: (sink) => onStream(sink),
        })),
      ],
    });
    ({ url, port } = await server.start());
  }

  function client(token?: string, timeoutMs?: number): HttpClient {
    const made = createHttpClient({
      baseUrl: `http://127.0.0.1:${port}`,
      ...(token === undefined ? {} : { token }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
    clients.push(made);
    return made;
  }

  function post(body: string | Uint8Array, headers: Record<string, string> = {}, path = '/v1/things') {
    return fetch(url + path, {
      method: 'POST',
      body: body as string,
      headers: { authorization: `Bearer ${planner}`, 'content-type': 'application/json', ...headers },
    });
  }

  /** Bytes as they are, for what fetch would not send. */
  function raw(text: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => socket.write(text));
      let answer = '';
      socket.setEncoding('utf8');
      socket.on('data', (chunk) => {
        answer += chunk;
      });
      socket.on('close', () => resolve(answer));
      socket.on('error', (error) => (answer === '' ? reject(error) : resolve(answer)));
    });
  }

  async function problem(response: Response): Promise<Record<string, unknown>> {
    expect(response.headers.get('content-type')).to.equal('application/problem+json');
    const body = (await response.json()) as Record<string, unknown>;
    expect(body.status).to.equal(response.status);
    expect(body.type).to.equal('about:blank');
    return body;
  }

  describe('answers', () => {
    it('report health by status', async () => {
      expect((await fetch(`${url}/healthz`)).status).to.equal(200);
      health = 'failing';
      await restart(loopback);
      const response = await fetch(`${url}/healthz`);
      expect(response.status).to.equal(503);
      expect(await response.json()).to.include({ status: 'failing', service: 'core-test' });
    });

    it('carry a request id, which a client may give, and the security headers', async () => {
      const response = await fetch(`${url}/v1/things/a%20b`, { headers: { 'x-request-id': 'given-id-1' } });
      expect(await response.json()).to.deep.equal({ id: 'a b' });
      expect(response.headers.get('x-request-id')).to.equal('given-id-1');
      expect(response.headers.get('x-content-type-options')).to.equal('nosniff');
      const bad = await fetch(`${url}/v1/things/1`, { headers: { 'x-request-id': 'a"b' } });
      expect(bad.headers.get('x-request-id')).to.match(/^[0-9a-f-]{36}$/);
    });

    it('count requests by route', async () => {
      await fetch(`${url}/v1/things/1`);
      await fetch(`${url}/v1/things/2`);
      const text = await (await fetch(`${url}/v1/metrics`)).text();
      expect(text).to.match(/http_requests_total\{.*route="\/v1\/things\/\{id\}",status="200".*\} 2/);
    });

    it('measure the process, already at the first reading', async () => {
      const { bytes } = await measureHttp('core-test', new Registry()).read();
      const lag = Number(/^nodejs_eventloop_lag_min_seconds\{service="core-test"\} (\S+)$/m.exec(bytes)?.[1]);
      expect(lag).to.be.within(0, 60);
      const memory = /^process_resident_memory_bytes\{service="core-test"\} (\d+)$/m.exec(bytes)?.[1];
      expect(Number(memory)).to.be.above(1024 * 1024);
    });

    it('describe every route', async () => {
      const document = (await (await fetch(`${url}/v1/openapi.json`)).json()) as {
        paths: Record<string, object>;
      };
      expect(Object.keys(document.paths)).to.include.members([
        '/healthz',
        '/v1/metrics',
        '/v1/things/{id}',
        '/v1/things',
      ]);
      expect(document.paths['/v1/things']).to.have.nested.property(
        'post.requestBody.content.application/json.schema.properties.number.maximum',
        9,
      );
    });

    it('say which methods a path has', async () => {
      const wrong = await fetch(`${url}/v1/things`, { method: 'DELETE' });
      expect(wrong.headers.get('allow')).to.equal('POST');
      expect(await problem(wrong)).to.include({ status: 405, code: 'method_not_allowed' });
      expect(await problem(await fetch(`${url}/v1/nothing`))).to.include({
        status: 404,
        code: 'path_not_found',
      });
      const options = await fetch(`${url}/v1/things/1`, { method: 'OPTIONS' });
      expect([options.status, options.headers.get('allow')]).to.deep.equal([204, 'GET, HEAD']);
      expect((await fetch(`${url}/v1/things/1`, { method: 'HEAD' })).status).to.equal(200);
    });

    it('are logged at info where they change something or fail, and at debug where they only read', async () => {
      const headers = { authorization: `Bearer ${planner}`, 'content-type': 'application/json' };
      const post = (path: string, body: unknown) =>
        fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
      await post('/v1/search', { number: 1 });
      await post('/v1/search', { number: 'one' });
      await post('/v1/things', { number: 1 });
      const postLines = log
        .map((line) => JSON.parse(line))
        .filter(({ message }) => message.startsWith('POST '));
      expect(postLines.map(({ level, message }) => `${level} ${message}`)).to.deep.equal([
        'debug POST /v1/search 200',
        'info POST /v1/search 400',
        'info POST /v1/things 200',
      ]);
    });

    it('refuse query parameters that they do not know', async () => {
      expect(await problem(await fetch(`${url}/v1/things/1?limit=3`))).to.include({
        status: 400,
        code: 'invalid_query',
      });
    });
  });

  describe('problems', () => {
    it('never show a stack, a secret, or the words of a failure inside', async () => {
      const broken = await problem(await fetch(`${url}/v1/broken`));
      expect(broken).to.include({ status: 500, code: 'internal', title: 'Internal Server Error' });
      expect(JSON.stringify(broken)).not.to.match(/stack|secret/);
      const failed = await problem(await fetch(`${url}/v1/failed`));
      expect(failed).to.include({ code: 'disk_full', hint: 'Make room.' });
      expect(JSON.stringify(failed)).not.to.contain('mira');
      expect(log.join('')).to.contain('stack with [redacted]').and.to.contain(String(broken.request_id));
    });

    it('show what was said on purpose, redacted', async () => {
      expect(await problem(await fetch(`${url}/v1/refused`))).to.deep.include({
        status: 400,
        code: 'thing_bad',
        detail: 'it says [redacted]',
        errors: [{ pointer: '/a', detail: 'must be b' }],
        instance: '/v1/refused',
      });
    });

    it('answer what is no HTTP at all', async () => {
      expect(await raw('no http\r\n\r\n'))
        .to.match(/^HTTP\/1\.1 400 /)
        .and.to.contain('malformed_request');
      expect(await raw(`GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`)).to.contain(
        'headers_too_large',
      );
    });
  });

  describe('bodies', () => {
    it('are decoded, with the place and the rule of what is wrong', async () => {
      expect(await (await post('{"number":3}')).json()).to.deep.equal({ number: 3, by: 'planner' });
      expect(await problem(await post('{"number":12}'))).to.deep.include({
        status: 400,
        errors: [{ pointer: '/number', detail: 'is 12: must be an integer from 1 to 9' }],
      });
      expect(await problem(await post('{"number":1,"nmuber":2}'))).to.include({ status: 400 });
      expect(await problem(await post('{"number":'))).to.include({ status: 400, code: 'invalid_json' });
      expect(await problem(await post(''))).to.include({ status: 400, code: 'invalid_json' });
      expect(await problem(await post(new Uint8Array([0x22, 0xff, 0x22])))).to.include({
        code: 'invalid_json',
      });
      expect(await problem(await post('{"number":1,"__proto__":{"x":1}}'))).to.include({ status: 400 });
    });

    it('may not be nested deeper than a stack can walk', async () => {
      const nested = (levels: number) => `{"number":${'['.repeat(levels)}1${']'.repeat(levels)}}`;
      for (const levels of [100, 200_000]) {
        expect(await problem(await post(nested(levels)))).to.include({ status: 400, code: 'invalid_json' });
      }
      expect(await problem(await post(nested(99)))).to.include({ status: 400, code: 'invalid_input' });
      const brackets = JSON.stringify({ number: '"[{\\'.repeat(200) });
      expect(await problem(await post(brackets))).to.include({ status: 400, code: 'invalid_input' });
    });

    it('must be JSON by their type, and not compressed', async () => {
      for (const headers of [
        { 'content-type': 'text/plain' },
        { 'content-type': 'application/x-www-form-urlencoded' },
        { 'content-type': 'application/json; charset=latin1' },
        { 'content-encoding': 'gzip' },
      ]) {
        expect((await post('{"number":3}', headers)).status).to.equal(415);
      }
      expect(
        (await post('{"number":3}', { 'content-type': 'application/json; charset=utf-8' })).status,
      ).to.equal(200);
    });

    it('may not be larger than the limit, announced or not', async () => {
      const large = `{"number":1,"x":"${'a'.repeat(1024 * 1024)}"}`;
      expect(await problem(await post(large))).to.include({ status: 413, code: 'body_too_large' });
      const head = `POST /v1/things HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${planner}\r\nContent-Type: application/json\r\n`;
      const chunk = `10000\r\n${'a'.repeat(0x10000)}\r\n`;
      expect(await raw(`${head}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(17)}`)).to.match(
        /^HTTP\/1\.1 413 /,
      );
      expect(await raw(`${head}Content-Length: 99999999\r\n\r\n`)).to.match(/^HTTP\/1\.1 413 /);
    });
  });

  describe('access', () => {
    it('is for allowed hosts alone', async () => {
      const ask = (host: string) =>
        raw(`GET /healthz HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      for (const host of ['localhost', `127.0.0.1:${port}`, '[::1]:80', 'CORE.test']) {
        expect(await ask(host), host).to.match(/^HTTP\/1\.1 200 /);
      }
      for (const host of [
        'evil.test',
        '127.0.0.1.evil.test',
        'localhost@evil.test',
        '',
        '[evil]',
        '0.0.0.0',
      ]) {
        expect(await ask(host), host).to.match(/^HTTP\/1\.1 403 [\s\S]*host_not_allowed/);
      }
    });

    it('is not for requests that name two hosts', async () => {
      for (const hosts of [
        ['localhost', 'evil.test'],
        ['localhost', 'localhost'],
        ['evil.test', 'localhost'],
      ]) {
        const lines = hosts.map((host) => `Host: ${host}\r\n`).join('');
        const answer = await raw(`GET /healthz HTTP/1.1\r\n${lines}Connection: close\r\n\r\n`);
        expect(answer).to.match(/^HTTP\/1\.1 400 [\s\S]*host_repeated/);
      }
    });

    it('is not for pages of other origins', async () => {
      for (const origin of [
        'https://evil.test',
        'null',
        'http://127.0.0.1:1',
        'http://localhost',
        'file://',
      ]) {
        const response = await post('{"number":3}', { origin });
        expect(await problem(response), origin).to.include({ status: 403, code: 'origin_not_allowed' });
      }
      expect((await post('{"number":3}', { origin: url })).status).to.equal(200);
    });

    it('needs a token of the scope for changes, and a good one wherever one is sent', async () => {
      expect(await problem(await post('{"number":3}', { authorization: '' }))).to.include({ status: 401 });
      const without = await fetch(`${url}/v1/things`, { method: 'POST' });
      expect(without.headers.get('www-authenticate')).to.equal('Bearer realm="core"');
      expect(await problem(without)).to.include({ code: 'token_required' });
      expect(await problem(await post('', {}, '/v1/approve'))).to.include({
        status: 403,
        code: 'scope_missing',
      });
      const wrong = await fetch(`${url}/v1/things/1`, { headers: { authorization: `Bearer ${planner}x` } });
      expect(await problem(wrong)).to.include({ status: 401, code: 'token_invalid' });
      const empty = await fetch(`${url}/healthz`, { headers: { authorization: 'Bearer ' } });
      const said = await problem(empty);
      expect(said.code).to.equal('token_invalid');
      expect(said.detail).to.contain('has no token');
    });

    it('needs a token for reading where that is required, except for health', async () => {
      await restart({ ...loopback, require_token_for_reads: true });
      expect((await fetch(`${url}/v1/things/1`)).status).to.equal(401);
      expect((await fetch(`${url}/v1/nothing`)).status).to.equal(401);
      expect((await fetch(`${url}/healthz`)).status).to.equal(200);
      expect(await client(planner).get('/v1/things/1', t.UnknownRecord)).to.deep.equal({ id: '1' });
    });

    it('from elsewhere needs TLS or a proxy, or the server does not start', async () => {
      const refusal = await restart({ ...loopback, host: '0.0.0.0' }).catch((error) => error);
      expect(refusal).to.be.instanceOf(CoreError).with.property('code', 'binding_not_allowed');
      await restart({ ...loopback, host: '0.0.0.0', behind_proxy: true });
      expect((await fetch(`http://127.0.0.1:${port}/v1/things/1`)).status).to.equal(401);
    });
  });

  it('says when its port is used already', async () => {
    const second = createHttpServer({
      service: 'second',
      version: '1',
      binding: { ...loopback, port },
      tokens: openTokens(folders),
      logger: createLogger({ service: 'x', level: 'error', format: 'json', redactor: new Redactor() }),
      redactor: new Redactor(),
      routes: [],
      health: () => Promise.reject(new Error('unused')),
    });
    const refusal = await second.start().catch((error) => error);
    expect(refusal).to.be.instanceOf(Failed).with.property('code', 'port_in_use');
  });

  describe('its client', () => {
    it('gets back the errors that were thrown', async () => {
      const error = await client()
        .get('/v1/refused', t.UnknownRecord)
        .catch((thrown) => thrown);
      expect(error).to.be.instanceOf(InvalidInput);
      expect(error).to.include({ code: 'thing_bad', message: 'it says [redacted]' });
      expect(error.errors).to.deep.equal([{ pointer: '/a', detail: 'must be b' }]);
    });

    it('tries GET again, and nothing else', async () => {
      expect(await client().get('/v1/flaky', t.UnknownRecord)).to.deep.equal({ tries: 3 });
      flaky = 0;
      const error = await client(planner)
        .post('/v1/flaky', {}, t.UnknownRecord)
        .catch((thrown) => thrown);
      expect(error).to.be.instanceOf(Unavailable).with.property('code', 'behind_down');
      expect(flaky).to.equal(1);
    });

    it('says that nothing answers, or not in time, or not what was promised', async () => {
      const late = await client(undefined, 50)
        .get('/v1/slow', t.UnknownRecord)
        .catch((thrown) => thrown);
      expect(late).to.be.instanceOf(TimedOut);
      const other = await client()
        .get('/v1/things/1', t.strict({ id: t.number }))
        .catch((thrown) => thrown);
      expect(other).to.have.property('code', 'answer_invalid');
      await server.close();
      const gone = await client()
        .get('/v1/things/1', t.UnknownRecord)
        .catch((thrown) => thrown);
      expect(gone).to.be.instanceOf(Unavailable).with.property('code', 'http_unavailable');
    });

    it('reads live events, and the server ends when they are open', async () => {
      let ended = false;
      onStream = async (sink) => {
        await sink.send({ id: '1', event: 'first', data: { text: 'a\nb' } });
        await sink.send({ id: '2', data: 2 });
        await new Promise<void>((resolve) => sink.signal.addEventListener('abort', () => resolve()));
        ended = true;
      };
      const seen: unknown[] = [];
      for await (const { id, event, data } of client().events('/v1/live')) {
        seen.push([id, event, JSON.parse(data)]);
        if (seen.length === 2) void server.close();
      }
      expect(seen).to.deep.equal([
        ['1', 'first', { text: 'a\nb' }],
        ['2', 'message', 2],
      ]);
      expect(ended).to.equal(true);
    });

    it('ends a stream once its token is revoked or may not read any more, and the stream of others not', async () => {
      let ended = 0;
      onStream = async ({ signal }) => {
        if (!signal.aborted) await once(signal, 'abort');
        ended++;
      };
      const open = (headers: Record<string, string>) =>
        fetch(`${url}/v1/live`, { headers, signal: AbortSignal.timeout(20_000) });
      const limited = createToken(folders, { name: 'limited', scopes: ['read'] }).text;
      const [revoked, shrunk, nobody] = await Promise.all([
        open({ authorization: `Bearer ${planner}` }),
        open({ authorization: `Bearer ${limited}` }),
        open({}),
      ]);
      revokeToken(folders, 'planner');
      await revoked.text();
      const registry = join(folders.tokens, 'registry.json');
      const records = JSON.parse(readFileSync(registry, 'utf8'));
      records.tokens.find(({ name }: { name: string }) => name === 'limited').scopes = ['plan'];
      replaceFile(registry, JSON.stringify(records));
      await shrunk.text();
      expect(ended).to.equal(2);
      await Promise.all([server.close(), nobody.text()]);
    });

    it('lets go of a stream when it stops listening', async () => {
      const gone = new Promise<void>((resolve) => {
        onStream = async (sink) => {
          await sink.send({ data: 1 });
          await new Promise<void>((aborted) => sink.signal.addEventListener('abort', () => aborted()));
          resolve();
        };
      });
      for await (const _ of client().events('/v1/live')) break;
      await gone;
    });
  });
});

describe('Reading an event stream', () => {
  async function* cut(bytes: Uint8Array, sizes: readonly number[]): AsyncIterable<Uint8Array> {
    let from = 0;
    for (const size of sizes) {
      yield bytes.slice(from, from + size);
      from += size;
    }
    yield bytes.slice(from);
  }

  it('gives the same events wherever the bytes are cut', async () => {
    const text = ': hi\nid: 1\nevent: add\ndata: ä\ndata: b\n\ndata:c\n\nid\ndata: d\n\ndata: lost';
    const bytes = new TextEncoder().encode(text);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 12 }), async (sizes) => {
        const events = [];
        for await (const event of readEvents(cut(bytes, sizes))) events.push(event);
        expect(events).to.deep.equal([
          { id: '1', event: 'add', data: 'ä\nb' },
          { id: null, event: 'message', data: 'c' },
          { id: '', event: 'message', data: 'd' },
        ]);
      }),
    );
  });

  it('refuses an event that is too large, before it is whole', async () => {
    const pieces = cut(Buffer.from(`data: ${'x'.repeat(9 * 1024 * 1024)}`), Array(9).fill(1024 * 1024));
    const read = async () => {
      for await (const _ of readEvents(pieces));
    };
    expect(await read().catch(codeOf)).to.equal('event_too_large');
  });
});
