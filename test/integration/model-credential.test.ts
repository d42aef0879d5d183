import { expect } from 'chai';
import { oneModel, startGateway, type TestGateway } from '../fixtures/model-upstream/gateway.ts';
import { chunk, completion, eventOf, sendJson } from '../fixtures/model-upstream/openai-answers.ts';
import {
  type ModelUpstream,
  type Script,
  startModelUpstream,
} from '../fixtures/model-upstream/openai-server.ts';

const key = 'sk-planted-0123456789/abcdef+XYZ==';
const hello = { model: 'small', messages: [{ role: 'user' as const, content: 'Hello' }] };

function escaped(characters: RegExp, upper = false): string {
  return key.replaceAll(characters, (character) => {
    const hex = character.charCodeAt(0).toString(16).padStart(4, '0');
    return `\\u${upper ? hex.toUpperCase() : hex}`;
  });
}

/** As a JSON writer could put the key into a text. */
const writings = [
  key,
  escaped(/-/g),
  escaped(/=/g),
  escaped(/[+=]/g, true),
  escaped(/./g),
  key.replaceAll('/', '\\/'),
  encodeURIComponent(key),
  encodeURIComponent(key).toLowerCase().replace('xyz', 'XYZ'),
  key.slice(0, -1),
  escaped(/[-/]/g).slice(0, -1),
];

const json =
  (status: number, text: string, headers: Record<string, string> = {}): Script =>
  (_request, response) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);

/** What a reader could make of an answer by undoing its escapes, even twice. */
function unescaped(text: string): string {
  let read = text;
  for (let times = 0; times < 2; times++) {
    read = read
      .replaceAll(/\\+u([\da-f]{4})/gi, (_all, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
      .replaceAll(/%([2-7][\da-f])/gi, (_all, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
      .replaceAll('\\/', '/');
  }
  return read;
}

describe('The credential of a model', () => {
  let upstream: ModelUpstream;
  let gateway: TestGateway;

  before(async () => {
    upstream = await startModelUpstream();
    gateway = await startGateway(oneModel(upstream.url, { credential: 'key' }, { retries: 0 }), { key });
  });
  after(async () => {
    await gateway.stop();
    await upstream.close();
  });

  async function answerTo(script: Script, stream = false): Promise<string> {
    upstream.next(script);
    const answer = await gateway.ask('/v1/chat/completions', { body: { ...hello, stream } });
    return `${JSON.stringify([...answer.headers])} ${await answer.text()}`;
  }

  function expectHidden(text: string, writing: string): void {
    const read = unescaped(text);
    expect(read, writing).to.contain('********');
    for (const part of [key.slice(0, 19), key.slice(11, 30), '/abcdef', 'XYZ'])
      expect(read.includes(part), `${part} of ${writing} in ${text}`).to.equal(false);
  }

  for (const writing of writings) {
    it(`does not come out of ${writing}`, async () => {
      const member = (name: string) => `{"error":{"message":"no","type":"t","${name}":"bad ${writing}"}}`;
      for (const name of ['message', 'type', 'param', 'code'])
        expectHidden(await answerTo(json(400, member(name))), writing);
      expectHidden(await answerTo(json(500, `{"detail":"${writing}"}`)), writing);
      expectHidden(await answerTo(json(200, member('message')), true), writing);
      const whole = JSON.stringify(completion('m')).replace('"stop"', `"${writing}"`);
      expectHidden(await answerTo(json(200, whole)), writing);
      expectHidden(await answerTo(json(200, whole.replace('wörld', 'w'.repeat(300_000)))), writing);
    });

    it(`does not come out of a stream with ${writing}, whatever its pieces`, async () => {
      const event = eventOf(chunk('m', { content: '@' })).replace('@', () => `a ${writing}`);
      const bytes = Buffer.from(`${event}${eventOf(chunk('m', {}, 'stop'))}data: [DONE]\n\n`);
      const script: Script = async (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (let at = 0; at < bytes.length; at += 13) {
          response.write(bytes.subarray(at, at + 13));
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
        response.end();
      };
      const text = await answerTo(script, true);
      expectHidden(text, writing);
      expect(text).to.contain('[DONE]');
    });
  }

  it('is no name and no value of a header that goes on', async () => {
    const text = await answerTo((_request, response) =>
      sendJson(response, 200, completion('m'), {
        'x-ratelimit-sk-planted-0123456789': '1',
        'x-ratelimit-remaining-requests': '7',
        'x-ratelimit-reset-tokens': key,
      }),
    );
    expect(text.toLowerCase()).to.not.contain('sk-planted-0');
    expect(text).to.contain('["x-ratelimit-remaining-requests","7"]').and.to.contain('***');
  });

  it('is not logged as a part that an upstream gives for its code', async () => {
    const tail = key.slice(-12).replaceAll(/[^\w]/g, '');
    await answerTo(json(400, `{"error":{"message":"no","code":"${tail}"}}`));
    await answerTo(json(400, '{"error":{"message":"no","code":"context_length_exceeded"}}'));
    expect(gateway.logged()).to.contain('context_length_exceeded').and.not.contain(tail);
  });

  it('is not returned as the content type, streamed or not', async () => {
    for (const stream of [false, true]) {
      const script: Script = (_request, response) =>
        void response.writeHead(200, { 'content-type': `text/${key}` }).end('nothing');
      const text = await answerTo(script, stream);
      expect(text.toLowerCase()).to.contain('text/***').and.to.not.contain('sk-planted-0');
    }
  });

  it('leaves words alone that only begin like it', async () => {
    const text = 'A key begins with sk-planted- or with sk-pl, and 100% of \\u00fc are ü \\/ sk';
    expect(await answerTo(json(200, `{"choices":[],"text":"${text}"}`))).to.contain(text);
  });
});
