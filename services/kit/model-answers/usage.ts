import { isObject } from '../is-object.ts';

/** Tokens of one call; `cached` and `cache_writes` are parts of `input`. */
export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly cache_writes: number;
  /** The upstream's numbers contradict each other; these are the highest that they can mean. */
  readonly contradictory?: true;
}

/** More than any model reads or writes. Clients and upstreams may say anything. */
export const maxTokens = 100_000_000;

/** Of text in common languages and code, on the low side: JSON around it makes an estimate too high rather than too low. */
export const bytesPerToken = 3.5;

/** Of a call that no upstream answered. */
export const noUsage = { input: 0, output: 0, cached: 0, cache_writes: 0 } as const satisfies Usage;

/** Names of one count, of all that report it. A dot leads into an object. */
const names = {
  input: ['prompt_tokens', 'input_tokens', 'promptTokenCount'],
  /** Beside the input. */
  toolInput: ['toolUsePromptTokenCount'],
  output: ['completion_tokens', 'output_tokens', 'candidatesTokenCount', 'responseTokenCount'],
  /** Beside the output. */
  thoughts: ['thoughtsTokenCount'],
  /** Within the output, or beside it. */
  reasoning: [
    ...['completion_tokens_details.reasoning_tokens', 'output_tokens_details.reasoning_tokens'],
    ...['reasoning_tokens', 'reasoning_token_count'],
  ],
  total: ['total_tokens', 'totalTokenCount'],
  cached: [
    ...['prompt_tokens_details.cached_tokens', 'input_tokens_details.cached_tokens', 'cached_tokens'],
    ...['prompt_cache_hit_tokens', 'num_cached_tokens', 'cache_read_input_tokens'],
    ...['prompt_tokens_details.cache_read_tokens', 'cachedContentTokenCount'],
  ],
  notCached: ['prompt_cache_miss_tokens'],
  writes: [
    ...['prompt_tokens_details.cache_write_tokens', 'input_tokens_details.cache_write_tokens'],
    ...['prompt_tokens_details.cache_creation_tokens', 'cache_write_tokens', 'cache_creation_input_tokens'],
  ],
  /** By time to live, beside each other. */
  writesByTime: ['cache_creation.ephemeral_5m_input_tokens', 'cache_creation.ephemeral_1h_input_tokens'],
} as const;

/**
 * What any upstream reports of its tokens, in the dialects of OpenAI, Anthropic and Google and as servers that are compatible with
 * them do; null if it names neither input, output nor a total. A total alone counts as output. Numbers that contradict each other are read so that they cost most.
 * @param before what earlier events of the same stream reported: such numbers only grow, and some servers leave out later, or
 * report as 0, what they reported before
 * @param cacheBeside the input does not include what a cache had, as Anthropic counts; else the names decide
 */
export function readUsage(
  value: unknown,
  before: Usage | null = null,
  { cacheBeside = false }: { readonly cacheBeside?: boolean } = {},
): Usage | null {
  if (!isObject(value)) return null;
  const usage = readOnce(value, before, cacheBeside);
  if (usage === null || !Array.isArray(value.iterations)) return usage;
  // Anthropic leaves some of a call's steps out of its sums.
  const steps = value.iterations.flatMap(
    (step) => readOnce(isObject(step) ? step : {}, null, cacheBeside) ?? [],
  );
  const sum = (member: keyof typeof noUsage) =>
    steps.reduce((all, step) => all + (step[member] as number), 0);
  return highest(usage, {
    input: sum('input'),
    output: sum('output'),
    cached: sum('cached'),
    cache_writes: sum('cache_writes'),
  });
}

function readOnce(
  value: Readonly<Record<string, unknown>>,
  before: Usage | null,
  cacheBeside: boolean,
): Usage | null {
  const said = (count: keyof typeof names) => readings(value, names[count]);
  const [inputs, outputs, cachedReadings, missed] = [
    said('input'),
    said('output'),
    said('cached'),
    said('notCached'),
  ];
  if (missed.length > 0 && cachedReadings.length > 0) inputs.push(missed[0]! + cachedReadings[0]!);
  const hasTotal = said('total').length > 0;
  const isTotalAlone = inputs.length === 0 && outputs.length === 0;
  if (isTotalAlone && !hasTotal) return null;
  const isNoCount = (some: readonly string[]) => some.some((name) => isImpossible(at(value, name)));
  if (inputs.length === 0 && !hasTotal && isNoCount(names.input)) return null;
  if (outputs.length === 0 && !hasTotal && isNoCount(names.output)) return null;
  let isContradictory =
    [...new Set(inputs)].length > 1 ||
    [outputs, cachedReadings, said('total')].some((one) => one.length > 1) ||
    Object.values(names).some(isNoCount);

  // What a cache had is the cheapest input.
  const writtenByTime = names.writesByTime.reduce((sum, name) => sum + (count(at(value, name)) ?? 0), 0);
  const [cached, writes] = [least(cachedReadings), Math.max(most(said('writes')), writtenByTime)];
  const total = hasTotal ? most(said('total')) : null;
  let input = most(inputs) + most(said('toolInput'));
  const isBeside = cacheBeside || (value.prompt_tokens == null && isAnthropic(value));
  if (isBeside)
    input =
      Math.max(input, plainOf(before)) +
      Math.max(cached, before?.cached ?? 0) +
      Math.max(writes, before?.cache_writes ?? 0);

  const written = most(outputs) + most(said('thoughts'));
  if (isTotalAlone) input = before?.input ?? 0;
  else if (inputs.length === 0 && total !== null) input = Math.max(before?.input ?? 0, total - written);
  if (!isBeside && cached + writes > input) {
    input += cached + writes;
    isContradictory ||= total === null || total < input + written;
  }
  const missing = total === null ? 0 : Math.max(0, total - input - written);
  const reasoning = most(said('reasoning'));
  const withReasoning = reasoning > written ? written + reasoning : written;
  const output = Math.max(written + missing, withReasoning);
  isContradictory ||= output > written + missing || (total !== null && total < input + output);
  const now: Usage = {
    ...{ input, output, cached, cache_writes: writes },
    ...(isContradictory && { contradictory: true as const }),
  };
  return before === null ? now : highest(before, now);
}

function isAnthropic({
  cache_read_input_tokens: read,
  cache_creation_input_tokens: written,
  cache_creation: created,
}: Readonly<Record<string, unknown>>): boolean {
  return [read, written, created].some((one) => one !== undefined);
}

/** The input that no cache had and none took. */
function plainOf(usage: Usage | null): number {
  return usage === null ? 0 : usage.input - usage.cached - usage.cache_writes;
}

function highest(before: Usage, now: Usage): Usage {
  const isLess =
    (now.input > 0 && now.input < before.input) || (now.output > 0 && now.output < before.output);
  const isContradictory = isLess || before.contradictory === true || now.contradictory === true;
  return {
    input: Math.max(before.input, now.input),
    output: Math.max(before.output, now.output),
    cached: Math.max(before.cached, now.cached),
    cache_writes: Math.max(before.cache_writes, now.cache_writes),
    ...(isContradictory && { contradictory: true as const }),
  };
}

/** Tokens of thoughts in an answer of OpenAI's kind. */
export function reasoningIn(usage: unknown): number {
  return isObject(usage) ? most(readings(usage, names.reasoning)) : 0;
}

/** Each number once. */
function readings(value: Readonly<Record<string, unknown>>, some: readonly string[]): number[] {
  return [...new Set(some.flatMap((name) => count(at(value, name)) ?? []))];
}

function at(value: Readonly<Record<string, unknown>>, name: string): unknown {
  const [first, second] = name.split('.') as [string, string | undefined];
  const found = value[first];
  if (second === undefined) return found;
  return isObject(found) ? found[second] : undefined;
}

const most = (counts: readonly number[]) => Math.max(0, ...counts);
const least = (counts: readonly number[]) => (counts.length === 0 ? 0 : Math.min(...counts));

/** The same in OpenAI's words, for adapters that translate. */
export function openAiUsage({ input, output, cached, cache_writes }: Usage): Record<string, unknown> {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: cache_writes },
  };
}

/** null for what cannot be a count of tokens. Some servers write numbers as texts. */
export function count(value: unknown): number | null {
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) && number >= 0 && number <= maxTokens
    ? number
    : null;
}

function isImpossible(value: unknown): boolean {
  return value != null && count(value) === null;
}
