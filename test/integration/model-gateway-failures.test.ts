import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { oneModel, startGateway, type TestGateway } from '../fixtures/model-upstream/gateway.ts';
import {
  chunk,
  completion,
  eventOf,
  greeting,
  greetingChunks,
  sendEvents,
  sendJson,
} from '../fixtures/model-upstream/openai-answers.ts';
import {
  type ModelUpstream,
  type Script,
  startModelUpstream,
} from '../fixtures/model-upstream/openai-server.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { makeSelfSigned } from '../fixtures/self-signed.ts';
import { itWith } from '../needs.ts';

const hello = { model: 'small', messages: [{ role: 'user' as const, content: 'Hello' }] };
const patient = { connect_ms: 100_000, first_token_ms: 100_000, idle_ms: 100_000, total_ms: 200_000 };
const soonIdle = { ...patient, first_token_ms: 300, idle_ms: 300 };

interface Failure {
  readonly status: number;
  readonly headers: Headers;
  readonly error: { readonly message: string; readonly type: string; readonly code: string };
}

function failing(status: number, headers: Record<string, string> = {}): Script {
  return (_request, response) =>
    sendJson(
      response,
      status,
      { error: { message: `no ${status}`, type: 't', param: null, code: 'c' } },
      headers,
    );
}

describe('The model gateway and failing upstreams', () => {
  let first: ModelUpstream;
  let second: ModelUpstream;
  let gateway: TestGateway;
  const opened: { stop(): Promise<void> }[] = [];

  beforeEach(async () => {
    [first, second] = await Promise.all([startModelUpstream(), startModelUpstream()]);
    gateway = await open(oneModel(first.url, {}, { timeouts: patient }));
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((one) => one.stop()));
    await Promise.all([first.close(), second.close()]);
  });

  async function open(config: object, secrets = {}): Promise<TestGateway> {
    const started = await startGateway(config, secrets);
    opened.push(started);
    return started;
  }

  async function failureOf(body: object = hello, at = gateway): Promise<Failure> {
    const answer = await at.ask('/v1/chat/completions', { body });
    const { error } = (await answer.json()) as Pick<Failure, 'error'>;
    return { status: answer.status, headers: answer.headers, error };
  }

  /** What came of a stream, and whether it ended as a whole one does. */
  async function streamed(at = gateway): Promise<{ text: string; whole: boolean }> {
    const answer = await at.ask('/v1/chat/completions', { body: { ...hello, stream: true } });
    expect(answer.status).to.equal(200);
    let text = '';
    try {
      for await (const piece of answer.body!.pipeThrough(new TextDecoderStream() as never)) text += piece;
      return { text, whole: true };
    } catch {
      return { text, whole: false };
    }
  }

  it('goes on after the process goes on', async () => {
    const answer = await gateway.client.chat.completions.create(hello);
    expect(answer.choices[0]!.message.content).to.equal(greeting.join(''));
  });

  for (const status of [408, 409, 429, 500, 502, 503, 529]) {
    it(`asks again after ${status}, and the client sees nothing of it`, async () => {
      first.next(failing(status), failing(status));
      const answer = await gateway.client.chat.completions.create(hello);
      expect(answer.choices[0]!.message.content).to.equal(greeting.join(''));
      expect(first.requests).to.have.length(3);
      expect(new Set(first.requests.map(({ body }) => body)).size).to.equal(1);
    });
  }

  it('waits as long as the upstream asks', async () => {
    first.next(failing(429, { 'retry-after': '1' }));
    const started = performance.now();
    await gateway.client.chat.completions.create(hello);
    expect(performance.now() - started).to.be.greaterThan(990);
  });

  it('gives the status and the Retry-After of an upstream that stays so', async () => {
    first.always(failing(429, { 'retry-after': '77' }));
    const { status, headers, error } = await failureOf();
    expect({ status, message: error.message }).to.deep.equal({ status: 429, message: 'no 429' });
    expect(headers.get('retry-after')).to.equal('77');
    expect(first.requests).to.have.length(1);
  });

  it('does not ask again what the client did wrong', async () => {
    first.always(failing(422));
    expect((await failureOf()).status).to.equal(422);
    expect(first.requests).to.have.length(1);
  });

  it('asks the next upstream when one stays broken, refuses our credential or does not know the model', async () => {
    for (const status of [500, 401, 404]) {
      const both = await open({
        retries: 1,
        models: {
          small: {
            upstreams: [
              { kind: 'openai', base_url: first.url, model: 'a' },
              { kind: 'openai', base_url: second.url, model: 'b' },
            ],
          },
        },
      });
      first.always(failing(status));
      const before = second.requests.length;
      const answer = await both.client.chat.completions.create(hello);
      expect(answer.model).to.equal('b');
      expect(second.requests.length - before).to.equal(1);
      const metrics = await (await both.ask('/v1/metrics')).text();
      expect(metrics).to.match(/model_upstream_errors_total\{[^}]*upstream="127\.0\.0\.1:\d+\/a"/);
    }
    expect(first.requests.map(({ json }) => json.model)).to.deep.equal(['a', 'a', 'a', 'a']);
  });

  it('follows no redirect', async () => {
    for (const status of [301, 302, 307, 308]) {
      first.next((_request, response) => {
        response.writeHead(status, { location: `${second.url}/chat/completions` }).end();
      });
      const { status: given, error } = await failureOf();
      expect(given).to.equal(502);
      expect(error.message).to.contain(`answered ${status}, a redirect`);
    }
    first.always((_request, response) => void response.writeHead(302, { location: first.url }).end());
    for (let asked = 0; asked < 100; asked++) expect((await failureOf()).status).to.equal(502);
    expect(first.requests).to.have.length(104);
    expect(second.requests).to.have.length(0);
  });

  it('takes HTML with status 200 for no answer', async () => {
    first.always((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html><title>Sign in</title></html>');
    });
    const { status, error } = await failureOf();
    expect(status).to.equal(502);
    expect(error.message).to.match(/answered 200 with text\/html that is not a JSON object/);
    const stream = await failureOf({ ...hello, stream: true });
    expect(stream.status).to.equal(502);
    expect(stream.error.message).to.match(/answered text\/html where an event stream was asked for/);
  });

  it('takes no answer in a content encoding, as it asked for none', async () => {
    first.always((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      response.end(gzipSync(JSON.stringify(completion('tiny-1'))));
    });
    const { status, error } = await failureOf();
    expect({ status, code: error.code }).to.deep.equal({ status: 502, code: 'upstream_answer_invalid' });
    expect(error.message).to.contain('answered in a content encoding, though none was asked for');
  });

  it('reports an answer that stops before it is complete', async () => {
    first.always((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"choices": [');
      setTimeout(() => response.destroy(), 20);
    });
    const { status, error } = await failureOf();
    expect({ status, code: error.code }).to.deep.equal({ status: 502, code: 'upstream_broke_off' });
    expect(first.requests).to.have.length(1);
  });

  it('reports an answer that is not HTTP, and headers with line breaks', async () => {
    for (const head of ['garbage\r\n\r\n', 'HTTP/1.1 200 OK\r\nx-a: b\nc\r\n\r\n{}']) {
      const server = await rawServer(head);
      const other = await open(oneModel(`http://127.0.0.1:${server.port}/v1`, {}, { retries: 0 }));
      const { status, error } = await failureOf(hello, other);
      expect(status).to.equal(502);
      expect(error.message).to.match(/upstream 127\.0\.0\.1:\d+\/tiny-1 /);
      server.close();
    }
  });

  it('ends a stream that breaks with an error, and never as a whole one', async () => {
    const breaking: readonly [string, Script][] = [
      [
        'upstream_broke_off',
        (_request, response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.write(eventOf(chunk('tiny-1', { content: 'Hel' })));
          setTimeout(() => response.destroy(), 20);
        },
      ],
      [
        'upstream_stream_broken',
        (_request, response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.end(eventOf(chunk('tiny-1', { content: 'Hel' })));
        },
      ],
      [
        'upstream_stream_broken',
        (_request, response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.write(eventOf(chunk('tiny-1', { content: 'Hel' })));
          setTimeout(() => response.end('data: {"choices": [{"del\n\n<p>oops</p>\n\ndata: [DONE]\n\n'), 20);
        },
      ],
      [
        'upstream_timeout',
        (_request, response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.write(eventOf(chunk('tiny-1', { content: 'Hel' })));
        },
      ],
    ];
    const gateway = await open(
      oneModel(first.url, {}, { timeouts: { ...soonIdle, first_token_ms: 100_000 } }),
    );
    for (const [code, script] of breaking) {
      first.next(script);
      const { text, whole } = await streamed(gateway);
      expect(whole).to.equal(false);
      expect(text).to.contain('"content":"Hel"').and.to.contain(`"code":"${code}"`);
      expect(text).to.not.contain('[DONE]');

      first.next(script);
      const error = await (async () => {
        for await (const _chunk of await gateway.client.chat.completions.create({ ...hello, stream: true }));
      })().catch((error: Error) => error);
      expect(error).to.be.instanceOf(Error);
    }
    const metrics = await (await gateway.ask('/v1/metrics')).text();
    expect(metrics).to.match(/model_calls_total\{[^}]*outcome="failed"[^}]*\} 8\n/);
  });

  it('asks again where a stream breaks before its first event', async () => {
    first.next((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      setTimeout(() => response.end(), 10);
    });
    const { text, whole } = await streamed();
    expect(whole).to.equal(true);
    expect(text).to.contain('[DONE]');
    expect(first.requests).to.have.length(2);
  });

  it('tries another upstream if the first event of a stream is an error, and passes on a later error', async () => {
    const entry = { kind: 'openai', model: 'tiny-1' };
    const two = { upstreams: [first, second].map(({ url }) => ({ ...entry, base_url: url })) };
    const pair = await open({ models: { small: two }, retries: 0, timeouts: patient });
    const error = { code: 503, message: 'provider died' };
    const stream = { ...hello, stream: true };
    first.next((_, response) => sendEvents(response, [{ error }]));
    const elsewhere = await pair.ask('/v1/chat/completions', { body: stream });
    expect(await elsewhere.text())
      .to.contain('[DONE]')
      .and.not.contain('died');
    expect(second.requests).to.have.length(1);

    first.next((_, response) => sendEvents(response, [{ error: { ...error, code: 400 } }]));
    const refused = await pair.ask('/v1/chat/completions', { body: stream });
    expect(refused.status).to.equal(400);
    expect(await refused.text()).to.contain('provider died');

    let seen = () => {};
    const begun = new Promise<void>((resolve) => {
      seen = resolve;
    });
    first.next(async (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(eventOf(chunk('m', { content: 'Hel' })));
      await begun;
      response.write(eventOf({ ...chunk('m', { content: '' }, 'error'), error }));
      response.end('data: [DONE]\n\n');
    });
    const later = await pair.ask('/v1/chat/completions', { body: stream });
    let text = '';
    const ended = await (async () => {
      for await (const piece of later.body!) {
        text += Buffer.from(piece).toString();
        seen();
      }
    })().then(
      () => 'well',
      () => 'broken',
    );
    expect([ended, text.includes('[DONE]')]).to.deep.equal(['broken', false]);
    expect(text).to.contain('provider died').and.contain('upstream_stream_broken');
  });

  it('takes comments for no token, and asks again where only they come', async () => {
    const comments: Script = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const timer = setInterval(() => response.write(': PROCESSING\n\n'), 50);
      response.once('close', () => clearInterval(timer));
    };
    first.next(comments);
    const hasty = await open(oneModel(first.url, {}, { timeouts: { ...patient, first_token_ms: 1_000 } }));
    const { text, whole } = await streamed(hasty);
    expect(whole).to.equal(true);
    expect(text).to.contain('[DONE]').and.to.not.contain('PROCESSING');
    expect(first.requests).to.have.length(2);
    first.next((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(': PROCESSING\n\n');
      const rest = `${eventOf(chunk('tiny-1', { content: 'Hi' }))}${eventOf(chunk('tiny-1', {}, 'stop'))}data: [DONE]\n\n`;
      setTimeout(() => response.end(rest), 50);
    });
    expect((await streamed()).text).to.match(/^: PROCESSING\n\ndata: [\s\S]*Hi[\s\S]*\[DONE\]/);
  });

  it('gives neither statuses nor waits on that HTTP does not know', async () => {
    first.always(failing(999));
    expect(await failureOf()).to.include({ status: 502 });
    first.always(failing(429, { 'retry-after': '9'.repeat(400) }));
    expect((await failureOf()).headers.get('retry-after')).to.equal('31536000');
  });

  it('keeps characters whole that come in two pieces, and events in any', async () => {
    const bytes = Buffer.from(`${greetingChunks('tiny-1').map(eventOf).join('')}data: [DONE]\n\n`);
    first.always(async (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (let at = 0; at < bytes.length; at += 7) {
        response.write(bytes.subarray(at, at + 7));
        await new Promise((resolve) => setImmediate(resolve));
      }
      response.end();
    });
    const { text, whole } = await streamed();
    expect({ text, whole }).to.deep.equal({ text: bytes.toString(), whole: true });
  });

  it('keeps its limits of time', async () => {
    const silent: Script = () => {};
    first.always(silent);
    const soon = await open(oneModel(first.url, {}, { timeouts: soonIdle }));
    const stream = await failureOf({ ...hello, stream: true }, soon);
    expect(stream.status).to.equal(504);
    expect(stream.error.message).to.match(/did not send the first token within 0\.3 s/);
    const timeouts = { ...patient, first_token_ms: 1_000, idle_ms: 1_000, total_ms: 1_000 };
    const whole = await failureOf(hello, await open(oneModel(first.url, {}, { timeouts })));
    expect(whole.status).to.equal(504);
    expect(whole.error.message).to.match(/did not (begin to|end its) answer within 1 s/);
    first.always((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).write('{');
    });
    const idle = await failureOf(hello, soon);
    expect(idle.error.message).to.match(/sent nothing more for 0\.3 s/);
    await first.requests[0]!.left;
  });

  it('says what is wrong with an address', async () => {
    const nobody = await rawServer('');
    nobody.close();
    const cases: readonly [string, RegExp][] = [
      [`http://127.0.0.1:${nobody.port}/v1`, /refuses connections/],
      ['http://no-such-host.invalid/v1', /has a name that does not resolve/],
    ];
    for (const [address, message] of cases) {
      const other = await open(oneModel(address, {}, { retries: 0 }));
      const { status, error } = await failureOf(hello, other);
      expect(status).to.equal(502);
      expect(error.message).to.match(message);
    }
  });

  itWith(['openssl'], 'says what is wrong with a certificate', async () => {
    const { key_file, certificate_file } = makeSelfSigned(temporaryFolder());
    const tls = { key: readFileSync(key_file, 'utf8'), cert: readFileSync(certificate_file, 'utf8') };
    const secure = await startModelUpstream(tls);
    try {
      const other = await open(oneModel(secure.url));
      const { status, error } = await failureOf(hello, other);
      expect(status).to.equal(502);
      expect(error.message).to.match(/has a certificate that it signed itself/);
      expect(secure.requests).to.have.length(0);
    } finally {
      await secure.close();
    }
  });

  it('says what is wrong with a credential, and never what it is', async () => {
    const cases: readonly [Record<string, string>, RegExp][] = [
      [{}, /secret file key is missing/],
      [{ key: ' \n' }, /secret file key is empty/],
      [{ key: 'sk-first\nsk-second' }, /secret file key has spaces, line breaks/],
    ];
    for (const [secrets, message] of cases) {
      const other = await open(oneModel(first.url, { credential: 'key' }), secrets);
      const { status, error } = await failureOf(hello, other);
      expect({ status, code: error.code }).to.deep.equal({ status: 502, code: 'credential_unusable' });
      expect(error.message).to.match(message).and.to.not.contain('sk-');
    }
    expect(first.requests).to.have.length(0);
  });

  it('hides the credential wherever the upstream echoes it', async () => {
    const key = 'sk-planted-0123456789/abcdef+xyz';
    const forms = [key, encodeURIComponent(key), Buffer.from(`user:${key}`).toString('base64')];
    const other = await open(oneModel(first.url, { credential: 'key' }), { key });
    const echo = forms.join(' ');
    const scripts: readonly Script[] = [
      (_request, response) =>
        sendJson(
          response,
          200,
          { ...completion('m'), system_fingerprint: echo },
          { 'x-ratelimit-limit-requests': key, 'x-request-id': key },
        ),
      (_request, response) =>
        sendJson(response, 401, { error: { message: `Incorrect API key: ${echo}`, type: key, code: key } }),
      (_request, response) => sendJson(response, 500, { detail: echo }),
      (_request, response) =>
        void response.writeHead(500, { 'content-type': 'text/plain', 'retry-after': '30' }).end(echo),
    ];
    for (const script of scripts) {
      first.always(script);
      const answer = await other.ask('/v1/chat/completions', { body: hello });
      const all = JSON.stringify([...answer.headers]) + (await answer.text());
      for (const form of forms) expect(all).to.not.contain(form);
      expect(all).to.contain('*****');
    }
    first.always(async (_request, response) => {
      const bytes = Buffer.from(
        `${eventOf(chunk('m', { content: echo }))}${eventOf(chunk('m', {}, 'stop'))}data: [DONE]\n\n`,
      );
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (let at = 0; at < bytes.length; at += 11) {
        response.write(bytes.subarray(at, at + 11));
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      response.end();
    });
    const { text, whole } = await streamed(other);
    expect(whole).to.equal(true);
    for (const form of forms) expect(text).to.not.contain(form);
    for (const form of forms) expect(other.logged()).to.not.contain(form);
    const metrics = await (await other.ask('/v1/metrics')).text();
    for (const form of forms) expect(metrics).to.not.contain(form);
  });

  it('lets so many calls in at once, and the others wait in turn', async () => {
    const other = await open(
      oneModel(first.url, { concurrency: 2 }, { queue: { waiting: 2, wait_ms: 100_000 }, retries: 0 }),
    );
    let now = 0;
    let most = 0;
    const { promise: full, resolve: tellFull } = Promise.withResolvers<void>();
    first.always(async ({ json }, response) => {
      most = Math.max(most, ++now);
      await full;
      now--;
      sendEvents(response, greetingChunks(json.model));
    });
    const body = { ...hello, stream: true };
    const answers = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const answer = await other.ask('/v1/chat/completions', { body });
        if (answer.status === 429) tellFull();
        return { status: answer.status, text: await answer.text(), wait: answer.headers.get('retry-after') };
      }),
    );
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 200, 200, 200, 429]);
    const refused = answers.find(({ status }) => status === 429)!;
    expect(refused.text).to.contain('queue_full');
    expect(refused.wait).to.equal('1');
    expect(most).to.equal(2);
    const next = await other.ask('/v1/chat/completions', { body });
    expect(await next.text()).to.contain('[DONE]');
  });
});

async function rawServer(answer: string): Promise<{ readonly port: number; close(): void }> {
  const server: Server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return { port, close: () => void server.close() };
}
