import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import fc from 'fast-check';
import { readUsage, type Usage } from './usage.ts';

const cases = JSON.parse(
  readFileSync(new URL('../../../test/fixtures/model-upstream/cases/usage.json', import.meta.url), 'utf8'),
) as readonly { usage: object; charge: { input: number; cached: number; output: number } }[];

type Expected = readonly [input: number, output: number, cached?: number, writes?: number];
const openAi = (prompt: number, completion: number, total: number, more: object = {}) => ({
  ...{ prompt_tokens: prompt, completion_tokens: completion, total_tokens: total },
  ...more,
});
const noInput = { inputIsPartial: true } as const;
const noOutput = { outputIsPartial: true } as const;
const thoughts = (reasoning_tokens: number) => ({ completion_tokens_details: { reasoning_tokens } });

/** By what an upstream reports. Numbers in it agree with each other. */
const agreeing: readonly (readonly [title: string, usage: object, expected: Expected])[] = [
  ['OpenAI', openAi(100, 310, 410, thoughts(300)), [100, 310]],
  [
    'OpenAI with a cache',
    openAi(100, 5, 105, { prompt_tokens_details: { cached_tokens: 80 } }),
    [100, 5, 80],
  ],
  ['xAI, which reports thoughts beside', openAi(100, 10, 410, thoughts(300)), [100, 310]],
  ['xAI, where the answer is longer than the thoughts', openAi(100, 500, 900, thoughts(300)), [100, 800]],
  ['Gemini’s compatible endpoint, which hides thoughts', openAi(100, 10, 3_110), [100, 3_010]],
  [
    'DeepSeek',
    openAi(1_000, 5, 1_005, { prompt_cache_hit_tokens: 900, prompt_cache_miss_tokens: 100 }),
    [1_000, 5, 900],
  ],
  ['Moonshot', openAi(1_000, 5, 1_005, { cached_tokens: 800 }), [1_000, 5, 800]],
  ['Mistral', openAi(1_000, 5, 1_005, { num_cached_tokens: 800 }), [1_000, 5, 800]],
  // Without an input, nothing says how much of the total is output: all of it is charged at the price of output.
  ['an output and a total', { completion_tokens: 5, total_tokens: 105 }, [0, 105]],
  ['vectors', { prompt_tokens: 8, total_tokens: 8 }, [8, 0]],
  [
    'Responses',
    {
      ...{ input_tokens: 100, output_tokens: 40, total_tokens: 140 },
      input_tokens_details: { cached_tokens: 60, cache_write_tokens: 20 },
      output_tokens_details: { reasoning_tokens: 30 },
    },
    [100, 40, 60, 20],
  ],
  [
    'Anthropic',
    { input_tokens: 10, cache_read_input_tokens: 100, cache_creation_input_tokens: 5, output_tokens: 30 },
    [115, 30, 100, 5],
  ],
  [
    'Anthropic with a step of compaction',
    {
      ...{ input_tokens: 10, cache_read_input_tokens: 0, output_tokens: 30 },
      iterations: [
        { type: 'compaction', input_tokens: 900, output_tokens: 70 },
        { type: 'message', input_tokens: 10, output_tokens: 30 },
      ],
    },
    [910, 100],
  ],
  [
    'Anthropic with writes by their time to live alone',
    {
      ...{ input_tokens: 10, output_tokens: 5 },
      cache_creation: { ephemeral_5m_input_tokens: 40, ephemeral_1h_input_tokens: 40 },
    },
    [90, 5, 0, 80],
  ],
  ['numbers as texts', openAi('100' as never, '5' as never, '3110' as never), [100, 3_010]],
  [
    'numbers as texts with fractions of zero, spaces and exponents',
    openAi(' 100 ' as never, '10.0' as never, '3.11e3' as never, thoughts('3000.0' as never)),
    [100, 3_010],
  ],
  ['a total alone, at the higher price', { total_tokens: 3_110 }, [0, 3_110]],
  ['Google’s total alone', { totalTokenCount: '3110' }, [0, 3_110]],
  [
    'LiteLLM before Anthropic',
    openAi(115, 30, 145, { cache_read_input_tokens: 100, cache_creation_input_tokens: 5 }),
    [115, 30, 100, 5],
  ],
  [
    'Google',
    {
      ...{ promptTokenCount: 100, cachedContentTokenCount: 60, toolUsePromptTokenCount: 20 },
      ...{ candidatesTokenCount: 18, thoughtsTokenCount: 3, totalTokenCount: 141 },
    },
    [120, 21, 60],
  ],
  [
    'Google in snake case',
    {
      ...{ prompt_token_count: 100, cached_content_token_count: 60, tool_use_prompt_token_count: 20 },
      ...{ candidates_token_count: 18, thoughts_token_count: 3, total_token_count: 141 },
    },
    [120, 21, 60],
  ],
  [
    'Bedrock, whose input leaves the cache out',
    {
      ...{ inputTokens: 10, outputTokens: 30, totalTokens: 145 },
      ...{ cacheReadInputTokens: 100, cacheWriteInputTokens: 5 },
    },
    [115, 30, 100, 5],
  ],
  [
    'OpenAI in camel case',
    { promptTokens: 100, completionTokens: 10, totalTokens: 410, cachedInputTokens: 80 },
    [100, 310, 80],
  ],
  [
    'Google, where the total alone has the thoughts',
    { promptTokenCount: 100, candidatesTokenCount: 18, totalTokenCount: 150 },
    [100, 50],
  ],
  [
    'nulls',
    openAi(1, 2, 3, { prompt_tokens_details: null, cached_tokens: null, ...thoughts(null as never) }),
    [1, 2],
  ],
  [
    'a proxy whose input leaves the cache out',
    openAi(100, 5, 1_005, { cached_tokens: 900 }),
    [1_000, 5, 900],
  ],
];

const contradicting: readonly (readonly [title: string, usage: object, expected: Expected])[] = [
  ['a total below the sum', openAi(100, 50, 120), [100, 50]],
  ['thoughts longer than the output that has them', openAi(100, 10, 110, thoughts(3_000)), [100, 3_010]],
  [
    'the same without a total',
    { prompt_tokens: 100, completion_tokens: 10, ...thoughts(3_000) },
    [100, 3_010],
  ],
  ['two inputs', { prompt_tokens: 100, input_tokens: 120, completion_tokens: 5 }, [120, 5]],
  ['two outputs', { prompt_tokens: 100, completion_tokens: 5, output_tokens: 9 }, [100, 9]],
  [
    'two caches',
    openAi(100, 5, 105, { cached_tokens: 80, prompt_tokens_details: { cached_tokens: 0 } }),
    [100, 5, 0],
  ],
  [
    'hits and misses that are not the input',
    openAi(500, 5, 505, { prompt_cache_hit_tokens: 900, prompt_cache_miss_tokens: 100 }),
    [1_000, 5, 900],
  ],
  ['more from a cache than was read', openAi(100, 5, 105, { cached_tokens: 900 }), [1_000, 5, 900]],
  ['a negative number', openAi(100, -5, 100), [100, 0]],
  ['a total beside impossible numbers', openAi(-1, Number.NaN, 5), [0, 5]],
  // The input may be 0, and then all the rest of the total is output, which costs more.
  ['a total beside an impossible input', openAi(-1, 10, 3_110), [0, 3_110]],
  ['a text that is not a number', openAi(100, '5 tokens' as never, 105), [100, 5]],
  ['a number that is not whole', openAi(100, 5, 105, { cached_tokens: 0.5 }), [100, 5]],
  ['a number without end', openAi(100, 5, 1e300), [100, 5]],
  ['a total that is not whole', openAi(100, 10, 5_110.5), [100, 5_011]],
  ['an input that is not whole', openAi(100.5, 5_000, 5_101), [101, 5_000]],
  ['thoughts that are not whole', openAi(100, 10, 110, thoughts('4999.5' as never)), [100, 5_010]],
  ['thinking_tokens', openAi(100, 10, 110, { thinking_tokens: 3_000 }), [100, 3_010]],
  [
    'thinking_tokens in the details',
    {
      ...{ input_tokens: 100, output_tokens: 10, total_tokens: 110 },
      output_tokens_details: { thinking_tokens: 3_000 },
    },
    [100, 3_010],
  ],
  ['two spellings', { prompt_tokens: 100, promptTokens: 120, completion_tokens: 5 }, [120, 5]],
  ['an impossible name beside a possible one', { ...openAi(-1, 5, 105), input_tokens: 100 }, [100, 5]],
];

/** By what is left to estimate: no number states that side, so what was read of it is only a part. */
const incomplete: readonly (readonly [
  title: string,
  usage: object,
  expected: Expected,
  missing: Partial<Usage>,
])[] = [
  ['a negative input', { prompt_tokens: -1, completion_tokens: 5_000 }, [0, 5_000], noInput],
  ['an input that is a text', { prompt_tokens: 'n/a', completion_tokens: 5_000 }, [0, 5_000], noInput],
  ['an empty input', { prompt_tokens: '', completion_tokens: 5_000 }, [0, 5_000], noInput],
  ['an input without end', { prompt_tokens: Infinity, completion_tokens: 5_000 }, [0, 5_000], noInput],
  ['an input that is true', { prompt_tokens: true, completion_tokens: 5_000 }, [0, 5_000], noInput],
  ['an input with a comma', { prompt_tokens: '1,000', completion_tokens: 5_000 }, [0, 5_000], noInput],
  ['an input of objects', { prompt_tokens: {}, completion_tokens: 5_000 }, [0, 5_000], noInput],
  [
    'an impossible input beside thoughts',
    { prompt_tokens: 'n/a', completion_tokens: 10, ...thoughts(5_000) },
    [0, 5_010],
    noInput,
  ],
  [
    'an impossible input beside a cache',
    { prompt_tokens: -1, completion_tokens: 10, cached_tokens: 900 },
    [900, 10, 900],
    noInput,
  ],
  ['an impossible input, and an impossible total', openAi(-1, 5_000, Number.NaN), [0, 5_000], noInput],
  [
    'an impossible input beside a cache, and a total of 0',
    openAi(-1, 10, 0, { cached_tokens: 900 }),
    [900, 10, 900],
    noInput,
  ],
  ['a negative output', { prompt_tokens: 90_000, completion_tokens: -1 }, [90_000, 0], noOutput],
  ['an output that is a text', { prompt_tokens: 90_000, completion_tokens: 'x' }, [90_000, 0], noOutput],
  [
    'an impossible output beside thoughts',
    { prompt_tokens: 100, completion_tokens: -1, ...thoughts(3_000) },
    [100, 3_000],
    noOutput,
  ],
  [
    'Google’s impossible thoughts',
    { promptTokenCount: 100, candidatesTokenCount: 10, thoughtsTokenCount: -1 },
    [100, 10],
    noOutput,
  ],
  [
    'Google’s impossible input of tools',
    { promptTokenCount: 100, candidatesTokenCount: 10, toolUsePromptTokenCount: -1 },
    [100, 10],
    noInput,
  ],
  [
    'Anthropic’s impossible cache, which stands beside the input',
    { input_tokens: 10, cache_read_input_tokens: -1, output_tokens: 30 },
    [10, 30],
    noInput,
  ],
  [
    'Anthropic’s impossible input',
    { input_tokens: -1, cache_read_input_tokens: 100, output_tokens: 30 },
    [100, 30, 100],
    noInput,
  ],
  [
    'a step that is impossible',
    { input_tokens: 10, output_tokens: 30, iterations: [{ input_tokens: -1, output_tokens: 70 }] },
    [10, 70],
    noInput,
  ],
  ['both sides', { prompt_tokens: -1, completion_tokens: 'x' }, [0, 0], { ...noInput, ...noOutput }],
  ['a total alone that is impossible', { total_tokens: -5 }, [0, 0], { ...noInput, ...noOutput }],
];

const usageOf = ([input, output, cached = 0, cache_writes = 0]: Expected): Usage => ({
  input,
  output,
  cached,
  cache_writes,
});

describe('What an upstream reports of tokens', () => {
  for (const { usage, charge } of cases)
    it(`is charged as ${JSON.stringify(charge)} for ${JSON.stringify(usage)}`, () => {
      const { input, cached, output } = readUsage(usage)!;
      expect({ input: input - cached, cached, output }).to.deep.equal(charge);
    });

  for (const [title, usage, expected] of agreeing)
    it(`is read as it is meant: ${title}`, () => {
      expect(readUsage(usage)).to.deep.equal(usageOf(expected));
    });

  for (const [title, usage, expected] of contradicting)
    it(`is read so that it costs most, and marked, where it contradicts itself: ${title}`, () => {
      expect(readUsage(usage)).to.deep.equal({ ...usageOf(expected), contradictory: true });
    });

  for (const [title, usage, expected, missing] of incomplete)
    it(`is read without its impossible number, marked, and leaves only that side to an estimate: ${title}`, () => {
      expect(readUsage(usage)).to.deep.equal({ ...usageOf(expected), contradictory: true, ...missing });
    });

  it('is read from thoughts, a cache or steps alone, which leave the rest to an estimate', () => {
    const both = { ...noInput, ...noOutput };
    expect(readUsage(thoughts(5_000))).to.deep.include({ input: 0, output: 5_000, ...both });
    expect(readUsage({ cached_tokens: 900 })).to.deep.include({ input: 900, cached: 900, ...both });
    expect(readUsage({ prompt_tokens: 100 })).to.deep.equal({ ...usageOf([100, 0]), ...noOutput });
    const iterations = [{ input_tokens: 10, output_tokens: 5_000 }];
    expect(readUsage({ iterations })).to.deep.equal(usageOf([10, 5_000]));
  });

  it('takes from a later event of a stream what an earlier one could not say', () => {
    const impossible = readUsage({ prompt_tokens: -1, completion_tokens: 5 });
    const marked = { contradictory: true } as const;
    expect(readUsage(openAi(100, 9, 109), impossible)).to.deep.equal({ ...usageOf([100, 9]), ...marked });
    expect(readUsage({ completion_tokens: 9 }, impossible)).to.deep.equal({
      ...{ ...usageOf([0, 9]), ...marked },
      ...noInput,
    });
    expect(readUsage({ prompt_tokens: -1, completion_tokens: 9 }, usageOf([100, 5]))).to.deep.equal({
      ...{ ...usageOf([100, 9]), ...marked },
    });
  });

  it('is nothing where no member of it is known', () => {
    for (const value of [null, undefined, 'x', [], {}, { prompt_tokens: null }, { cost: 5 }])
      expect(readUsage(value), JSON.stringify(value)).to.equal(null);
  });

  it('only grows over the events of a stream, whichever of them reports it', () => {
    const running = [openAi(100, 0, 100), openAi(100, 7, 107), openAi(100, 9, 109, { cached_tokens: 50 })];
    const last = usageOf([100, 9, 50]);
    expect(running.reduce<Usage | null>((before, now) => readUsage(now, before), null)).to.deep.equal(last);
    const zeros = openAi(0, 0, 0);
    expect(readUsage(zeros, last)).to.deep.equal(last);
    expect(readUsage(openAi(100, 4, 104), last)).to.deep.equal({ ...last, contradictory: true });
    expect(readUsage({ total_tokens: 120 }, last)).to.deep.equal(usageOf([100, 20, 50]));
    expect(readUsage({ output_tokens: 5 }, usageOf([30, 1, 20]), { cacheBeside: true })).to.deep.equal(
      usageOf([30, 5, 20]),
    );
  });

  it('never counts fewer tokens than any of its numbers, and a cache never has more than the input', () => {
    const tokens = fc.option(fc.nat(5_000), { nil: undefined });
    const reported = fc.record({
      ...{ prompt_tokens: tokens, completion_tokens: tokens, total_tokens: tokens, cached_tokens: tokens },
      completion_tokens_details: fc.record({ reasoning_tokens: tokens }),
    });
    fc.assert(
      fc.property(reported, (usage) => {
        const read = readUsage(usage);
        if (read === null) return;
        const {
          prompt_tokens = 0,
          completion_tokens = 0,
          total_tokens = 0,
          completion_tokens_details,
        } = usage;
        expect(read.input).to.be.at.least(Math.max(prompt_tokens, read.cached + read.cache_writes));
        expect(read.output).to.be.at.least(
          Math.max(completion_tokens, completion_tokens_details.reasoning_tokens ?? 0),
        );
        expect(read.input + read.output).to.be.at.least(total_tokens);
      }),
      { numRuns: 2_000 },
    );
  });
});
