import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { type Connections, openConnections } from '#kit/http/client.ts';
import { noUsage } from '#kit/model-answers/usage.ts';
import { eventsOf, messageOf } from '../../../../test/fixtures/model-upstream/anthropic-answers.ts';
import type { UpstreamFailure } from '../failure.ts';
import { Mask } from '../mask.ts';
import type { UpstreamAnswer } from '../upstream.ts';
import { AnthropicUpstream } from './upstream.ts';

const answer = { text: 'the answer' };

describe('What reached an Anthropic upstream', () => {
  let server: Server;
  let connections: Connections;
  let port: number;
  let respond: (response: ServerResponse) => unknown;

  beforeEach(async () => {
    server = createServer(async (request, response) => {
      for await (const _ of request);
      await respond(response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    ({ port } = server.address() as AddressInfo);
  });
  afterEach(async () => {
    await connections.destroy();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  function send(stream: boolean, idle_ms = 60_000): Promise<UpstreamAnswer> {
    const request = { model: 'large', messages: [{ role: 'user', content: 'hello' }], stream };
    connections = openConnections({ beginMs: 0, idleMs: idle_ms });
    const upstream = new AnthropicUpstream({
      name: 'there',
      entry: { kind: 'anthropic', base_url: `http://127.0.0.1:${port}/v1`, model: 'claude-sonnet-4-5' },
      limits: undefined,
      userAgent: 'test',
      connections,
      credential: () => ({ text: null, mask: new Mask([]) }),
      timeouts: { first_token_ms: 60_000, idle_ms },
    });
    return upstream.send({
      endpoint: 'chat/completions',
      bytes: Buffer.from(JSON.stringify(request)),
      request,
      stream,
      includeUsage: true,
      signal: new AbortController().signal,
    });
  }

  async function failureOf(stream: boolean): Promise<UpstreamFailure> {
    return send(stream).then(
      () => expect.fail('it was expected to fail'),
      (error) => error,
    );
  }

  async function textOf({ body }: UpstreamAnswer): Promise<string> {
    const pieces: Uint8Array[] = [];
    for await (const piece of body) pieces.push(piece);
    return Buffer.concat(pieces).toString();
  }

  const streamed = (response: ServerResponse, text: string) =>
    response.writeHead(200, { 'content-type': 'text/event-stream', connection: 'close' }).end(text);

  it('is charged and not asked again when the answer had begun', async () => {
    respond = (response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{"id":', () => response.destroy());
    };
    expect(await failureOf(false)).to.include({ charged: true, remedy: 'none', code: 'upstream_broke_off' });
    respond = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(': hello\n\n', () => response.destroy());
    };
    expect(await failureOf(true)).to.include({ charged: true, remedy: 'none', code: 'upstream_broke_off' });
    const [start, ...rest] = eventsOf('m', answer);
    respond = (response) =>
      streamed(response, start!.replace(/"input_tokens":\d+/, '"input_tokens":"10"') + rest.join(''));
    expect(await failureOf(true)).to.include({ charged: true });
  });

  it('is charged when the request was sent and the connection ended, and free when there was none', async () => {
    respond = (response) => response.destroy();
    for (const stream of [false, true]) {
      expect(await failureOf(stream)).to.include({
        charged: true,
        remedy: 'retry',
        code: 'upstream_broke_off',
      });
    }
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    const refused = await failureOf(false);
    expect(refused).to.include({ charged: false, remedy: 'retry', code: 'upstream_unreachable' });
  });

  it('is not charged for a redirect, which has a code of its own', async () => {
    respond = (response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
    expect(await failureOf(false)).to.include({
      charged: false,
      remedy: 'next',
      code: 'upstream_redirected',
    });
  });

  it('is alive while it sends pings', async () => {
    const events = eventsOf('m', answer);
    respond = async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', connection: 'close' });
      response.write(events[0]!);
      for (let sent = 0; sent < 35; sent++) {
        await delay(100);
        response.write('event: ping\ndata: {"type":"ping"}\n\n');
      }
      response.end(events.slice(1).join(''));
    };
    expect(await textOf(await send(true, 3_000))).to.contain('[DONE]');
  });

  it('may answer with kinds of content that are new, whole and streamed', async () => {
    const block = { type: 'hologram', light: 1 };
    const whole = messageOf('m', answer) as { content: object[] };
    respond = (response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ ...whole, content: [block, ...whole.content] }));
    };
    expect(await textOf(await send(false))).to.contain('the answer');
    const [start, ping, ...rest] = eventsOf('m', answer);
    const event = (value: { readonly type: string }) =>
      `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
    const news = [
      { type: 'content_block_start', index: 7, content_block: block },
      { type: 'content_block_delta', index: 7, delta: { type: 'hologram_delta', light: 2 } },
      { type: 'content_block_stop', index: 7 },
    ].map(event);
    respond = (response) => streamed(response, [start, ping, ...news, ...rest].join(''));
    const text = await textOf(await send(true));
    expect(text).to.contain('"finish_reason":"stop"').and.contain('[DONE]');
  });

  // Discarding all of the usage for one impossible number charged an estimate that was far too low.
  it('has the usage that is left without its impossible numbers, and gives the client only a whole one', async () => {
    const marked = { ...noUsage, contradictory: true };
    const usages = [
      [
        { input_tokens: 1e15, output_tokens: 5 },
        { ...marked, output: 5, inputIsPartial: true },
      ],
      [
        { input_tokens: 10, output_tokens: -5 },
        { ...marked, input: 10, outputIsPartial: true },
      ],
      [{ input_tokens: 1.5, output_tokens: 5 }, { ...marked, input: 2, output: 5 }, { prompt_tokens: 2 }],
    ] as const;
    for (const [usage, expected, given] of usages) {
      respond = (response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ ...(messageOf('m', answer) as object), usage }));
      };
      const answered = await send(false);
      expect(answered.usage(), JSON.stringify(usage)).to.deep.equal(expected);
      const { usage: sent } = JSON.parse(await textOf(answered)) as { usage?: object };
      if (given === undefined) expect(sent).to.equal(undefined);
      else expect(sent).to.include(given);
    }
    const events = eventsOf('m', answer).map((event) =>
      event.replace(/"output_tokens":20/, '"output_tokens":-20'),
    );
    respond = (response) => streamed(response, events.join(''));
    const spoilt = await send(true);
    expect(await textOf(spoilt))
      .to.contain('[DONE]')
      .and.not.contain('-20');
    expect(spoilt.usage()).to.deep.equal({ ...marked, input: 100, output: 1, outputIsPartial: true });
    expect(spoilt.usageIsPartial!()).to.equal(true);
  });
});
