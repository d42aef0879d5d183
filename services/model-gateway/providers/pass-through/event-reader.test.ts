import { expect } from 'chai';
import fc from 'fast-check';
import { chat } from '../../dialects/chat/chat.ts';
import { Mask } from '../mask.ts';
import { BrokenStream, EventReader } from './event-reader.ts';

const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const word = event({
  choices: [{ delta: { content: 'wörd "usage":{ "finish_reason":"x"' }, finish_reason: null }],
});
const stop = event({ choices: [{ delta: {}, finish_reason: 'stop' }] });
const usageEvent = event({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 2 } });
const done = 'data: [DONE]\n\n';

function read(text: string, hideUsage: boolean, cuts: readonly number[] = []) {
  const reader = new EventReader({ wire: chat.wire.events, hideUsage, mask: new Mask([]) });
  const bytes = Buffer.from(text);
  let out = '';
  let at = 0;
  for (const cut of [...cuts, bytes.length]) {
    out += reader.push(bytes.subarray(at, at + cut));
    at = Math.min(bytes.length, at + cut);
  }
  out += reader.end();
  return { text: out, reader };
}

describe('The reader of a stream', () => {
  it('reads usage and hides its chunk, in whatever pieces the stream comes', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 40 })), fc.boolean(), (cuts, hideUsage) => {
        const { text, reader } = read(
          `: hello\n\n${word}${word}${stop}${usageEvent}${done}`,
          hideUsage,
          cuts,
        );
        expect(text).to.equal(`: hello\n\n${word}${word}${stop}${hideUsage ? '' : usageEvent}${done}`);
        expect(reader.usage).to.deep.equal({ input: 5, output: 2, cached: 0, cache_writes: 0 });
        expect(reader.done).to.equal(true);
      }),
    );
  });

  it('takes line ends of all kinds and gives newlines, and takes an end without an empty line', () => {
    for (const end of ['\r\n', '\r']) {
      const other = `${word}${stop}${usageEvent}${done}`.replaceAll('\n', end);
      expect(read(other, true).text).to.equal(`${word}${stop}${done}`);
      expect(
        read(
          other,
          true,
          [...other].map(() => 1),
        ).text,
      ).to.equal(`${word}${stop}${done}`);
    }
    expect(read(`${word}${stop}data: [DONE]`, true).reader.done).to.equal(true);
  });

  it('ignores fields that it does not know', () => {
    const other = `foo: bar\nevent\n${word}retry: x\nfoo\n${stop}${done}`;
    expect(read(other, true).text).to.equal(`${word}${stop}${done}`);
  });

  it('gives usage on that comes with words', () => {
    const last = event({
      choices: [{ delta: {}, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 2 },
    });
    const { text, reader } = read(word + last, true);
    expect(text).to.equal(word + last);
    expect(reader.usage!.input).to.equal(1);
  });

  it('takes a byte order mark, and nothing that follows the end', () => {
    const whole = `\uFEFF${word}${stop}${done}`;
    for (const more of ['', '<html>\n\n', 'oops', word])
      expect(read(whole + more, true).text).to.equal(whole.slice(1));
  });

  it('has not begun with comments', () => {
    const reader = new EventReader({ wire: chat.wire.events, hideUsage: false, mask: new Mask([]) });
    reader.push(Buffer.from(': PROCESSING\n\n: PROCESSING\n\nevent: ping\n\n'));
    expect(reader.begun).to.equal(false);
    reader.push(Buffer.from(word));
    expect(reader.begun).to.equal(true);
  });

  it('counts words without what is around them', () => {
    const { reader } = read(word.repeat(10) + stop + done, true);
    expect(reader.contentBytes()).to.equal(10 * Buffer.byteLength('wörd "usage":{ "finish_reason":"x"'));
  });

  it('counts words of events that are equally long, of one alone, and of every kind', () => {
    const said = (delta: object) => event({ choices: [{ index: 0, delta, finish_reason: null }] });
    const long = said({ role: 'assistant', content: 'word '.repeat(2_000) });
    expect(read(long + stop, true).reader.contentBytes()).to.equal(10_000);
    expect(read(long.repeat(20) + stop, true).reader.contentBytes()).to.equal(200_000);
    const called = said({ tool_calls: [{ index: 0, id: 'call_1', function: { arguments: '{"a":"b"}' } }] });
    const thought = said({ reasoning_content: 'so it is', content: [{ type: 'text', text: 'yes' }] });
    expect(read(called + thought + stop, true).reader.contentBytes()).to.equal(9 + 8 + 3);
    expect(read(said({ content: 'a' }).repeat(7) + stop, true).reader.contentBytes()).to.equal(28);
    const escaped = 'data: {"choices":[{"delta":{"content":"\\u4e2d\\u6587\\n\\"delta\\""}}]}\n\n';
    expect(read(escaped + stop, true).reader.contentBytes()).to.equal(3 + 3 + 1 + 7);
  });

  it('knows whether words came after the usage', () => {
    expect(read(word + usageEvent + stop + done, false).reader.usageIsPartial).to.equal(false);
    expect(read(word + usageEvent + word + stop + done, false).reader.usageIsPartial).to.equal(true);
    expect(read(word + stop + done, false).reader.usageIsPartial).to.equal(false);
  });

  it('reads data that stands on several lines', () => {
    const lines = (text: string) => text.replaceAll(',"', ',\ndata: "');
    const { text, reader } = read(lines(word) + lines(stop) + lines(usageEvent) + done, true);
    expect(text).to.equal(lines(word) + lines(stop) + done);
    expect(reader.usage).to.include({ input: 5, output: 2 });
    expect(reader.contentBytes()).to.be.above(30);
  });

  it('finds an error wherever it stands, and gives nothing that follows it', () => {
    const choices = [{ index: 0, delta: { content: '' }, finish_reason: 'error' }];
    const error = { code: 502, message: 'provider died' };
    const failures = [
      event({ error }),
      event({ id: 'c', choices, error }),
      event({ id: 'c', choices }),
      'data: { "error": "x" }\n\n',
    ];
    for (const failure of failures) {
      const { text, reader } = read(word + failure + word + done, true);
      expect(text).to.equal(word + failure);
      expect(reader.done).to.equal(false);
      expect(reader.failure).to.equal(failure.slice(6, -2));
    }
    const said = event({
      error: null,
      choices: [{ delta: { content: '"error"', error: 1 }, finish_reason: 'stop' }],
    });
    expect(read(said + done, true).reader).to.include({ failure: null, done: true });
  });

  it('gives on names, ids and comments of events, and hides secrets in all of them', () => {
    const key = 'sk-planted-0123456789abcdef';
    const reader = new EventReader({ wire: chat.wire.events, hideUsage: true, mask: new Mask([key]) });
    const given = `: ${key}\n\nevent: ${key}\nid: ${key}\ndata: {"choices":[],"x":"${key}"}\n\n`;
    const hidden = given.replaceAll(key, '*'.repeat(key.length));
    const bytes = Buffer.from(given);
    const out = Array.from({ length: bytes.length }, (_, at) => reader.push(bytes.subarray(at, at + 1)));
    expect(out.join('')).to.equal(hidden);
  });

  it('hides secrets of anybody in what an upstream reports of an error', () => {
    const secret = ['ghp', 'aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fG3hJ6'].join('_');
    const { text, reader } = read(word + event({ error: { message: `bad ${secret}` } }), true);
    expect(text).to.equal(word + event({ error: { message: 'bad [redacted github_token]' } }));
    expect(reader.failure).to.not.contain(secret);
    const filled = `${'bad '.repeat(13)}${secret}`;
    for (const wrong of [`data: ${filled}\n\n`, `${filled}\n\n`])
      expect(() => read(word + wrong, true))
        .to.throw(BrokenStream)
        .with.property('message')
        .that.does.not.contain(secret.slice(0, 8));
  });

  it('says what is wrong with a stream that is none', () => {
    const wrong = [
      'data: {"choices": [{"del\n\n',
      'data: nothing\n\n',
      '<html>\n\n',
      word,
      `${word}data: {"choices":[{"finish`,
    ];
    for (const text of wrong) expect(() => read(text, true)).to.throw(BrokenStream);
  });
});
