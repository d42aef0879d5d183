import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { expect } from 'chai';
import { until } from '../../../../../test/fixtures/until.ts';
import { type Door, openModelDoor } from './model-door.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

describe('The door to the models', () => {
  let folder: string;
  let socket: string;
  let gateway: Server;
  let door: Door;
  let seen: IncomingMessage[];
  let answer: Answer;
  let refusals: string[];
  let losses: string[];

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'core-door-'));
    socket = join(folder, 'model.sock');
    seen = [];
    refusals = [];
    losses = [];
    answer = (_, response) => response.end('answered');
    gateway = createServer((request, response) => {
      seen.push(request);
      answer(request, response);
    }).listen(0, '127.0.0.1');
    await once(gateway, 'listening');
    const { port } = gateway.address() as AddressInfo;
    door = await openModelDoor({
      socket,
      gatewayUrl: `http://127.0.0.1:${port}`,
      key: 'run-key',
      onRefused: (body) => refusals.push(body),
      onLost: (message) => losses.push(message),
    });
  });

  afterEach(async () => {
    await door.close();
    gateway.closeAllConnections();
    gateway.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function ask(
    method: string,
    path: string,
    { headers = {}, body }: { headers?: OutgoingHttpHeaders; body?: string | Buffer } = {},
  ): Promise<IncomingMessage> {
    const sent = httpRequest({ socketPath: socket, method, path, headers, agent: false }).end(body);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return response;
  }

  it('lets so many calls through at once, and the others when those have ended', async () => {
    const waiting: ServerResponse[] = [];
    answer = (_, response) => waiting.push(response);
    const asked = Array.from({ length: 20 }, () => ask('POST', '/v1/messages', { body: '{}' }));
    await until('the first calls', () => waiting.length === 16);
    answer = (_, response) => response.end('answered');
    // Refused by the door itself, so that all before it have arrived there.
    expect((await ask('POST', '/elsewhere')).statusCode).to.equal(403);
    expect(seen).to.have.length(16);
    for (const response of waiting) response.end('answered');
    for (const response of await Promise.all(asked)) expect(await text(response)).to.equal('answered');
    expect(seen).to.have.length(20);
  });

  it('leads to what asks a model, in each dialect, and to the list of models', async () => {
    const paths = [
      ['POST', '/v1/chat/completions'],
      ['POST', '/v1/messages?beta=true'],
      ['POST', '/v1/messages/count_tokens'],
      ['POST', '/v1/responses'],
      ['POST', '/v1beta/models/some-model:generateContent'],
      ['POST', '/v1beta/models/some-model:streamGenerateContent?alt=sse'],
      ['POST', '/v1beta/models/some-model:countTokens'],
      ['GET', '/v1/models'],
      ['GET', '/v1/models/vendor%2Fmodel'],
    ] as const;
    for (const [method, path] of paths) {
      const response = await ask(method, path, method === 'POST' ? { body: '{}' } : {});
      expect(await text(response), path).to.equal('answered');
    }
    expect(seen.map(({ method, url }) => [method, url])).to.deep.equal(paths);
    expect((await ask('HEAD', '/')).statusCode).to.equal(200);
  });

  it('refuses everything else and says so, without a word to the gateway', async () => {
    for (const [method, path] of [
      ['GET', '/'],
      ['GET', '/healthz'],
      ['GET', '/v1/usage'],
      ['POST', '/v1/keys'],
      ['DELETE', '/v1/keys/1'],
      ['GET', '/v1/chat/completions'],
      ['POST', '/v1/messages/../keys'],
      ['POST', '/v1/messages/%2e%2e/keys'],
      ['POST', '//other.example/v1/messages'],
      ['POST', 'http://other.example/v1/keys'],
      ['POST', '/v1beta/models/a/b:generateContent'],
      ['POST', '/v1/messages/'],
      ['PUT', '/v1/responses'],
    ] as const) {
      const response = await ask(method, path);
      expect(response.statusCode, `${method} ${path}`).to.equal(403);
      const { error } = JSON.parse(await text(response)) as { error: { message: string } };
      expect(error.message).to.contain(`does not lead to ${method}`);
    }
    expect(seen).to.deep.equal([]);
  });

  it('opens no tunnel and no other protocol', async () => {
    for (const head of [
      'CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: x\r\n\r\n',
      'GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n',
    ]) {
      const peer = connect(socket);
      peer.end(head);
      expect(await text(peer)).not.to.match(/^HTTP\/1.1 101|^HTTP\/1.1 200 Connection/);
    }
    expect(seen.filter(({ headers }) => headers.upgrade !== undefined)).to.deep.equal([]);
  });

  it('puts the key of the run in the place of every credential that came', async () => {
    const headers = {
      authorization: 'Bearer stolen',
      'x-api-key': 'stolen',
      'X-Goog-Api-Key': 'stolen',
      'proxy-authorization': 'stolen',
      cookie: 'stolen',
    };
    await text(
      await ask('POST', '/v1beta/models/m:generateContent?key=stolen&alt=sse', { headers, body: '{}' }),
    );
    const [request] = seen;
    expect(request!.headers.authorization).to.equal('Bearer run-key');
    expect(JSON.stringify([request!.rawHeaders, request!.url])).not.to.contain('stolen');
    expect(request!.url).to.equal('/v1beta/models/m:generateContent?alt=sse');
  });

  it('passes on headers and bodies that it does not know, in both directions', async () => {
    const body = Buffer.from([0, 1, 255, 10, 13, 0x7b]);
    answer = async (request, response) => {
      response.writeHead(418, {
        'anthropic-ratelimit-left': '7',
        'set-cookie': 'a=b',
        'content-encoding': 'x',
      });
      response.end(await buffer(request));
    };
    const response = await ask('POST', '/v1/messages', {
      headers: { 'anthropic-beta': 'a,b', 'X-Own': ['1', '2'], connection: 'x-hop', 'x-hop': 'hop' },
      body,
    });
    expect(await buffer(response)).to.deep.equal(body);
    expect(response.statusCode).to.equal(418);
    expect(response.headers).to.include({ 'anthropic-ratelimit-left': '7', 'content-encoding': 'x' });
    expect(response.headers).not.to.have.property('set-cookie');
    expect(seen[0]!.headers).to.include({ 'anthropic-beta': 'a,b', 'x-own': '1, 2' });
    expect(seen[0]!.headers).not.to.have.property('x-hop');
  });

  it('passes on each piece of an answer before the next is made', async () => {
    let writer: ServerResponse | undefined;
    answer = (_, response) => {
      writer = response;
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('one');
    };
    const response = await ask('POST', '/v1/messages', { body: '{}' });
    const pieces: string[] = [];
    for await (const piece of response.setEncoding('utf8') as AsyncIterable<string>) {
      pieces.push(piece);
      if (piece === 'one') writer!.write('two');
      else writer!.end();
    }
    expect(pieces).to.deep.equal(['one', 'two']);
  });

  it('passes on a request of 20 MB', async () => {
    answer = async (request, response) => response.end(String((await buffer(request)).length));
    const response = await ask('POST', '/v1/responses', { body: Buffer.alloc(20_000_000, 'x') });
    expect(await text(response)).to.equal('20000000');
  });

  it('ends the request to the gateway when the agent leaves', async () => {
    let closed = false;
    answer = (_, response) => {
      response.once('close', () => {
        closed = true;
      });
      response.write('begun');
    };
    const response = await ask('POST', '/v1/messages', { body: '{}' });
    await once(response, 'data');
    response.destroy();
    await until('the end of the request', () => closed);
    expect(losses).to.deep.equal([]);
  });

  it('breaks off an answer if the gateway dies in the middle of it, and reports that', async () => {
    answer = (request, response) => {
      response.write('half', () => request.socket.destroy());
    };
    const response = await ask('POST', '/v1/messages', { body: '{}' });
    const outcome = await text(response).catch(() => 'broken');
    expect(outcome).to.equal('broken');
    expect(losses).to.have.length(1);
    expect(losses[0]).to.contain('core-model-gateway broke an answer off');
  });

  it('reports what the gateway says when a budget is used up, and passes it on', async () => {
    answer = (request, response) => {
      response.writeHead(request.url === '/v1/messages' ? 402 : 400).end('the budget of the run is used up');
    };
    for (const path of ['/v1/messages', '/v1/responses']) {
      expect(await text(await ask('POST', path, { body: '{}' }))).to.equal(
        'the budget of the run is used up',
      );
    }
    expect(refusals).to.deep.equal(['the budget of the run is used up']);
  });

  it('answers that the gateway does not respond, and reports that', async () => {
    gateway.closeAllConnections();
    gateway.close();
    await once(gateway, 'close');
    const response = await ask('POST', '/v1/messages', { body: '{}' });
    expect(response.statusCode).to.equal(502);
    const { error } = JSON.parse(await text(response)) as { error: { message: string } };
    expect(error.message).to.contain('core-model-gateway did not answer');
    expect(losses).to.deep.equal([error.message]);
  });

  it('closes with connections open, and removes its socket', async () => {
    answer = (_, response) => void response.write('begun');
    const response = await ask('POST', '/v1/messages', { body: '{}' });
    await once(response, 'data');
    const outcome = text(response).catch(() => 'broken');
    await door.close();
    expect(await outcome).to.equal('broken');
    expect(existsSync(socket)).to.equal(false);
  });
});
