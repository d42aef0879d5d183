import { request as ask, createServer as createHttpServer, type Server } from 'node:http';
import { type AddressInfo, connect, createServer } from 'node:net';
import { expect } from 'chai';
import { MintedKey } from '#kit/contracts/model-gateway/keys.ts';
import { resolveFolders } from '#kit/folders.ts';
import { createHttpClient } from '#kit/http/client.ts';
import { serviceToken } from '#kit/tokens/tokens.ts';
import { oneModel, startGateway, type TestGateway } from '../fixtures/model-upstream/gateway.ts';
import {
  chunk,
  completion,
  eventOf,
  greeting,
  greetingChunks,
  sendJson,
} from '../fixtures/model-upstream/openai-answers.ts';
import {
  type ModelUpstream,
  type Script,
  startModelUpstream,
} from '../fixtures/model-upstream/openai-server.ts';

const hello = { model: 'small', messages: [{ role: 'user' as const, content: 'Hello' }] };

interface Failure {
  readonly status: number;
  readonly error: { readonly message: string; readonly code: string };
}

describe('The model gateway among odd peers', () => {
  let upstream: ModelUpstream;
  const opened: { stop(): Promise<void> }[] = [];

  before(async () => {
    upstream = await startModelUpstream();
  });
  afterEach(() => Promise.all(opened.splice(0).map((one) => one.stop())));
  after(() => upstream.close());

  async function open(config: object, secrets = {}): Promise<TestGateway> {
    const gateway = await startGateway(config, secrets);
    opened.push(gateway);
    return gateway;
  }

  async function listening(server: Server | ReturnType<typeof createServer>): Promise<number> {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    opened.push({ stop: () => new Promise((resolve) => server.close(() => resolve())) });
    return (server.address() as AddressInfo).port;
  }

  async function failureOf(
    gateway: TestGateway,
    path: string,
    body?: object,
    token?: string | null,
  ): Promise<Failure> {
    const options = { ...(body === undefined ? {} : { body }), ...(token === undefined ? {} : { token }) };
    const answer = await gateway.ask(path, options);
    return { status: answer.status, ...((await answer.json()) as Pick<Failure, 'error'>) };
  }

  /** An upstream that answers each request with these bytes, and how many it got. */
  async function scripted(answer: string): Promise<{ readonly url: string; readonly asked: () => number }> {
    let asked = 0;
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => {
        asked++;
        socket.end(answer);
      });
    });
    return { url: `http://127.0.0.1:${await listening(server)}/v1`, asked: () => asked };
  }

  const whole = JSON.stringify(completion('tiny-1'));
  const answer = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(whole)}\r\n\r\n${whole}`;

  it('goes past early hints of an upstream', async () => {
    const { url } = await scripted(`HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\n${answer}`);
    const gateway = await open(oneModel(url, {}, { retries: 0 }));
    const { choices } = await gateway.client.chat.completions.create(hello);
    expect(choices[0]!.message.content).to.equal(greeting.join(''));
  });

  it('says of a 100 Continue that nobody asked for it, and does not ask for it again', async () => {
    const { url, asked } = await scripted(`HTTP/1.1 100 Continue\r\n\r\n${answer}`);
    const gateway = await open(oneModel(url, {}, { retries: 2 }));
    const { status, error } = await failureOf(gateway, '/v1/chat/completions', hello);
    expect(status).to.equal(502);
    expect(error.message).to.match(/^upstream 127\.0\.0\.1:\d+\/tiny-1 answered 100 Continue, which was not/);
    expect(asked()).to.equal(1);
  });

  it('reads a stream whose lines end with returns alone, and gives it on with newlines', async () => {
    const gateway = await open(oneModel(upstream.url));
    const bytes = `${greetingChunks('tiny-1').map(eventOf).join('')}data: [DONE]\n\n`;
    upstream.next(async (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const pieces = Buffer.from(bytes.replaceAll('\n', '\r'));
      for (let at = 0; at < pieces.length; at += 50) {
        response.write(pieces.subarray(at, at + 50));
        await new Promise((resolve) => setImmediate(resolve));
      }
      response.end();
    });
    const text = await (
      await gateway.ask('/v1/chat/completions', { body: { ...hello, stream: true } })
    ).text();
    expect(text.replaceAll('\r\n', '\n')).to.equal(bytes);
  });

  it('refuses a call that comes back to it, once, whatever lies between', async () => {
    let passed = 0;
    let back = '';
    const between = createHttpServer((incoming, outgoing) => {
      passed++;
      const { method = '', headers, url } = incoming;
      const { host } = new URL(back);
      const onward = ask(`${back}${url}`, { method, headers: { ...headers, host } }, (reply) => {
        outgoing.writeHead(reply.statusCode!, reply.headers);
        reply.pipe(outgoing);
      });
      incoming.pipe(onward);
    });
    const url = `http://127.0.0.1:${await listening(between)}/v1`;
    const config = oneModel(url, { model: 'small', credential: 'own' }, { retries: 2 });
    const gateway = await open(config);
    back = gateway.url;
    gateway.secret('own', gateway.token);
    const { status, error } = await failureOf(gateway, '/v1/chat/completions', hello);
    expect({ status, code: error.code }).to.deep.equal({ status: 508, code: 'call_loop' });
    expect(error.message).to.contain('has been here already').and.to.contain('Correct base_url');
    expect(passed).to.equal(1);
  });

  for (const stream of [true, false]) {
    it(`hides the key of a call under way after it was rotated, ${stream ? '' : 'not '}streaming`, async () => {
      const keys = Array.from(
        { length: 6 },
        (_, turn) => `sk-rotated-${'0123456789abcdef'.repeat(turn + 1)}`,
      );
      const gateway = await open(oneModel(upstream.url, { credential: 'key' }), { key: keys[0]! });
      let begun: () => void = () => {};
      let go: () => void = () => {};
      const waiting = new Promise<void>((resolve) => {
        begun = resolve;
      });
      const rotated = new Promise<void>((resolve) => {
        go = resolve;
      });
      const echo: Script = async ({ headers }, response) => {
        const said = chunk('m', { content: `you sent ${headers.authorization}` });
        const type = stream ? 'text/event-stream' : 'application/json';
        if (stream) {
          response.writeHead(200, { 'content-type': type });
          response.write(eventOf(chunk('m', { content: 'one moment' })));
        }
        begun();
        await rotated;
        if (stream) response.end(`${eventOf(said)}${eventOf(chunk('m', {}, 'stop'))}data: [DONE]\n\n`);
        else sendJson(response, 200, { ...completion('m'), system_fingerprint: headers.authorization });
      };
      upstream.next(echo);
      const slow = gateway.ask('/v1/chat/completions', { body: { ...hello, stream } });
      await waiting;
      for (const key of keys.slice(1)) {
        gateway.secret('key', key);
        await gateway.client.chat.completions.create(hello);
        expect(upstream.requests.at(-1)!.headers.authorization).to.equal(`Bearer ${key}`);
      }
      go();
      const text = await (await slow).text();
      expect(text).to.contain('Bearer ****').and.to.not.contain(keys[0]);
    });
  }

  it('takes the address in a request line for the host, and answers as to any other', async () => {
    const gateway = await open(oneModel(upstream.url));
    const { host, port } = new URL(gateway.url);
    const line = async (target: string, hostLine: string) => {
      const socket = connect(Number(port), '127.0.0.1');
      socket.write(
        `GET ${target} HTTP/1.1\r\nHost: ${hostLine}\r\nAuthorization: Bearer ${gateway.token}\r\nConnection: close\r\n\r\n`,
      );
      let text = '';
      for await (const piece of socket) text += piece;
      return text;
    };
    expect(await line(`http://${host}/v1/models`, 'evil.test')).to.match(/^HTTP\/1\.1 200 [\s\S]*"small"/);
    expect(await line('http://evil.test/v1/models', host)).to.match(
      /^HTTP\/1\.1 403 [\s\S]*host_not_allowed/,
    );
    expect(await line(`http://x@${host}/v1/models`, host)).to.match(/^HTTP\/1\.1 403 /);
  });

  it('shows what calls cost to those with a token, and keeps runs apart from tokens', async () => {
    const gateway = await open(oneModel(upstream.url));
    const nobody = await failureOf(gateway, '/v1/usage', undefined, null);
    expect({ status: nobody.status, code: (nobody as unknown as { code: string }).code }).to.deep.equal({
      status: 401,
      code: 'token_required',
    });
    expect((await gateway.ask('/v1/usage')).status).to.equal(200);
    const token = serviceToken(resolveFolders({ home: gateway.home }, {} as never), 'agentd');
    const agentd = createHttpClient({ baseUrl: gateway.url, token });
    const expires_at = new Date(Date.now() + 600_000).toISOString();
    const minted = (run: string) => agentd.post('/v1/keys', { run, expires_at }, MintedKey);
    const refused = await minted('token:root').catch((error: Error) => error);
    expect((refused as Error).message).to.contain('does not begin with token:');
    expect((await minted('tokens:root')).run).to.equal('tokens:root');
    await agentd.close();
  });
});
