import { expect } from 'chai';
import fc from 'fast-check';
import type { LimitMember } from '../../providers/pass-through/wire.ts';
import type { ModelCall } from '../../providers/upstream.ts';
import { chat } from './chat.ts';

interface Change {
  readonly model: string;
  readonly askUsage: boolean;
  readonly outputLimit?: { readonly member: LimitMember; readonly tokens: number };
}

function rewriteRequest(bytes: Buffer, { model, askUsage, outputLimit }: Change): Buffer {
  const call: ModelCall = {
    endpoint: 'chat/completions',
    bytes,
    request: {},
    stream: askUsage,
    includeUsage: false,
    outputLimit: outputLimit?.tokens ?? null,
    signal: new AbortController().signal,
  };
  const limitMember = outputLimit?.member ?? 'max_tokens';
  return chat.wire.body(call, { model, streamUsage: true, limitMember });
}

const rewritten = (text: string, askUsage = false) =>
  rewriteRequest(Buffer.from(text), { model: 'there', askUsage }).toString();

describe('The rewriting of a chat completion', () => {
  it('changes the model and nothing else, to the last digit of a number', () => {
    const text = `{ "a" : 1e400 ,"model": "here" , "n":123456789012345678901234567890, "s":"\\"model\\":\\"x\\"\\\\", "o":{"model":"inner"}}`;
    expect(rewritten(text)).to.equal(
      `{"a":1e400,"model":"there","n":123456789012345678901234567890,"s":"\\"model\\":\\"x\\"\\\\","o":{"model":"inner"}}`,
    );
  });

  it('changes every model, so that none of two can be meant', () => {
    expect(rewritten('{"model":"a","mod\\u0065l":"b"}')).to.equal('{"model":"there"}');
  });

  it('asks for usage wherever the request has room for it', () => {
    const cases: readonly [string, string][] = [
      ['{"model":"m"}', '{"model":"there","stream_options":{"include_usage":true}}'],
      ['{"model":"m","stream_options":null}', '{"model":"there","stream_options":{"include_usage":true}}'],
      ['{"model":"m","stream_options":{ }}', '{"model":"there","stream_options":{"include_usage":true}}'],
      [
        '{"stream_options":{"include_usage":false,"x":1},"model":"m"}',
        '{"stream_options":{"include_usage":true,"x":1},"model":"there"}',
      ],
      [
        '{"stream_options":{"x":[{}]},"model":"m"}\n',
        '{"stream_options":{"x":[{}],"include_usage":true},"model":"there"}',
      ],
    ];
    for (const [given, wanted] of cases) expect(rewritten(given, true)).to.equal(wanted);
  });

  it('means the same as any JSON with these changes', () => {
    const json = fc.dictionary(fc.string(), fc.jsonValue());
    const spaces = fc.constantFrom(undefined, 1, '\t', '\n');
    fc.assert(
      fc.property(json, spaces, fc.boolean(), (value, space, askUsage) => {
        const given = { ...value, model: 'here' };
        const wanted = JSON.parse(JSON.stringify({ ...given, model: 'there' }));
        if (askUsage) {
          const own = wanted.stream_options;
          const isOptions = typeof own === 'object' && own !== null && !Array.isArray(own);
          wanted.stream_options = { ...(isOptions ? own : {}), include_usage: true };
        }
        const text = JSON.stringify(given, null, space);
        expect(JSON.parse(rewritten(text, askUsage))).to.deep.equal(wanted);
      }),
    );
  });

  it('sets the limit of an answer where it is asked to', () => {
    const limited = (text: string) =>
      rewriteRequest(Buffer.from(text), {
        model: 'there',
        askUsage: true,
        outputLimit: { member: 'max_tokens', tokens: 99 },
      }).toString();
    expect(limited('{"model":"here","seed":1e400 }')).to.equal(
      '{"model":"there","seed":1e400,"stream_options":{"include_usage":true},"max_tokens":99}',
    );
    expect(limited('{"max_tokens" : null,"model":"here","stream_options":null}')).to.equal(
      '{"max_tokens":99,"model":"there","stream_options":{"include_usage":true}}',
    );
  });

  it('lets a limit go by the name that the upstream reads', () => {
    const limited = (text: string, member: 'max_tokens' | 'max_completion_tokens') =>
      rewriteRequest(Buffer.from(text), {
        model: 'm',
        askUsage: false,
        outputLimit: { member, tokens: 9 },
      }).toString();
    const newer = '{"model":"m","max_completion_tokens":9}';
    expect(limited(newer, 'max_tokens')).to.equal('{"model":"m","max_tokens":9}');
    expect(limited(newer, 'max_completion_tokens')).to.equal(newer);
    expect(limited('{"max_tokens":9,"model":"m"}', 'max_completion_tokens')).to.equal(
      '{"model":"m","max_completion_tokens":9}',
    );
    expect(limited('{"max_tokens":null,"model":"m","max_completion_tokens":9}', 'max_tokens')).to.equal(
      '{"max_tokens":9,"model":"m"}',
    );
    const both = '{"max_tokens":9,"model":"m","max_completion_tokens":4}';
    expect(limited(both, 'max_tokens')).to.equal(both);
  });
});
