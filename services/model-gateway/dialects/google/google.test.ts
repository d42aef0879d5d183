import { expect } from 'chai';
import { decodeCall, estimateTokens } from '../../calls/decode-call.ts';
import { google } from './google.ts';

const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }];
const bytesOf = (more: object) => Buffer.from(JSON.stringify({ contents, ...more }));
const decoded = (more: object) =>
  decodeCall({ endpoint: 'generateContent', bytes: bytesOf(more), named: 'gemini' });

function sent(more: object, outputLimit: number | null): string {
  const call = { ...decoded(more), outputLimit, signal: new AbortController().signal };
  return google.wire
    .body(call, { model: 'gemini-x', limitMember: 'max_tokens', streamUsage: true })
    .toString();
}

describe('What is set aside for a request of generateContent', () => {
  it('is the limit and the number of answers in either spelling of Google’s', () => {
    const cases: [object, number][] = [
      [{ generationConfig: { maxOutputTokens: 70, candidateCount: 3 } }, 210],
      [{ generation_config: { max_output_tokens: 70, candidate_count: 2 } }, 140],
      [{ generationConfig: { max_output_tokens: 70 } }, 70],
      [{}, 4096],
    ];
    for (const [more, tokens] of cases)
      expect(estimateTokens(decoded(more), { outputLimit: null }).outputTokens).to.equal(tokens);
  });

  it('cannot be made less by what the upstream would read otherwise', () => {
    const cases: [object, RegExp][] = [
      [
        { generationConfig: { maxOutputTokens: 1, max_output_tokens: 9000 } },
        /^generationConfig is an object/,
      ],
      [{ generationConfig: { maxOutputTokens: '9000' } }, /^generationConfig is an object/],
      [{ generationConfig: [] }, /^generationConfig is a list/],
      [{ GenerationConfig: { maxOutputTokens: 9000 } }, /^GenerationConfig is no member/],
      [{ generationConfig: { MaxOutputTokens: 9000 } }, /^generationConfig is an object/],
      [
        { generationConfig: {}, generation_config: { maxOutputTokens: 9000 } },
        /there once, as the object itself/,
      ],
      [{ model: 'models/gemini-large' }, /^model is no member here/],
    ];
    for (const [more, rule] of cases) expect(() => decoded(more), JSON.stringify(more)).to.throw(rule);
  });

  it('stands in the request where a budget binds, and nothing else is changed', () => {
    expect(sent({}, 99)).to.equal(JSON.stringify({ contents, generationConfig: { maxOutputTokens: 99 } }));
    const own = { generation_config: { temperature: 1 } };
    expect(sent(own, 99)).to.equal(
      JSON.stringify({ contents, generation_config: { temperature: 1, maxOutputTokens: 99 } }),
    );
    const limited = { generation_config: { max_output_tokens: 50 } };
    expect(sent(limited, 50)).to.equal(JSON.stringify({ contents, ...limited }));
    expect(sent({}, null)).to.equal(JSON.stringify({ contents }));
  });

  it('counts pictures as such, and what lies elsewhere as a file', () => {
    const inline = { inlineData: { mimeType: 'image/png', data: 'x'.repeat(1_000_000) } };
    const file = { file_data: { file_uri: 'https://generativelanguage.googleapis.com/v1beta/files/a' } };
    const parts = [inline, file];
    const { inputTokens } = estimateTokens(decoded({ contents: [{ parts }], cachedContent: 'c' }), {
      outputLimit: null,
    });
    expect(inputTokens).to.be.within(202_000, 202_200);
  });
});
