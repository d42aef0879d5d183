import { isObject } from '../is-object.ts';

/** Tokens of one call; `cached` and `cache_writes` are parts of `input`. */
export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly cache_writes: number;
  /** The upstream's numbers are impossible or contradict each other; these are the highest that they can mean. */
  readonly contradictory?: true;
  /** No number states the input or the output as a whole, so that `input` or `output` is only what is known of it. */
  readonly inputIsPartial?: true;
  readonly outputIsPartial?: true;
}

/** More than any model reads or writes. Clients and upstreams may say anything. */
export const maxTokens = 100_000_000;

/** Of text in common languages and code, on the low side: JSON around it makes an estimate too high rather than too low. */
export const bytesPerToken = 3.5;

/** Of a call that no upstream answered. */
export const noUsage = { input: 0, output: 0, cached: 0, cache_writes: 0 } as const satisfies Usage;

/** Names of one count, of all that report it, in any casing and with or without `_`. A dot leads into an object. */
const names = foldedLists({
  input: ['prompt_tokens', 'input_tokens', 'prompt_token_count'],
  /** Beside the input. */
  toolInput: ['tool_use_prompt_token_count'],
  output: ['completion_tokens', 'output_tokens', 'candidates_token_count', 'response_token_count'],
  /** Beside the output. */
  thoughts: ['thoughts_token_count'],
  /** Within the output, or beside it. */
  reasoning: [
    ...['completion_tokens_details.reasoning_tokens', 'output_tokens_details.reasoning_tokens'],
    ...['completion_tokens_details.thinking_tokens', 'output_tokens_details.thinking_tokens'],
    ...['reasoning_tokens', 'reasoning_token_count', 'thinking_tokens'],
  ],
  total: ['total_tokens', 'total_token_count'],
  cached: [
    ...['prompt_tokens_details.cached_tokens', 'input_tokens_details.cached_tokens', 'cached_tokens'],
    ...['prompt_cache_hit_tokens', 'num_cached_tokens', 'cache_read_input_tokens', 'cached_input_tokens'],
    ...['prompt_tokens_details.cache_read_tokens', 'cached_content_token_count'],
  ],
  notCached: ['prompt_cache_miss_tokens'],
  writes: [
    ...['prompt_tokens_details.cache_write_tokens', 'input_tokens_details.cache_write_tokens'],
    ...['prompt_tokens_details.cache_creation_tokens', 'cache_write_tokens'],
    ...['cache_creation_input_tokens', 'cache_write_input_tokens'],
  ],
  /** By time to live, beside each other. */
  shortWrites: ['cache_creation.ephemeral_5m_input_tokens'],
  longWrites: ['cache_creation.ephemeral_1h_input_tokens'],
});
type Count = keyof typeof names;
const counts = Object.keys(names) as Count[];

const { promptTokens, besideInput } = foldedLists({
  promptTokens: ['prompt_tokens'],
  /** Names of Anthropic and Bedrock for what a cache had, which their input leaves out. */
  besideInput: [
    ...['cache_read_input_tokens', 'cache_creation_input_tokens', 'cache_write_input_tokens'],
    'cache_creation',
  ],
});

/**
 * What any upstream reports of its tokens, in the dialects of OpenAI, Anthropic and Google and as servers that are compatible with
 * them do; null if it has none of their members. Numbers that contradict each other are read so that they cost most. A number that
 * cannot be one, such as -1 or a text, counts as a contradiction and is left out: the others are read without it. What a total has
 * beyond the input and output that are stated counts as output, which costs more.
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
  // Anthropic leaves some of a call's steps out of its sums.
  const steps = (Array.isArray(value.iterations) ? value.iterations : []).flatMap(
    (step) => readOnce(isObject(step) ? step : {}, null, cacheBeside) ?? [],
  );
  if (steps.length === 0) return usage;
  const sum = steps.reduce(added);
  const known = usage ?? before;
  if (known === null) return sum;
  return { ...highest(known, sum), ...(sum.inputIsPartial && { inputIsPartial: true }) };
}

function readOnce(
  value: Readonly<Record<string, unknown>>,
  before: Usage | null,
  cacheBeside: boolean,
): Usage | null {
  const members = membersOf(value);
  const reported = (count: Count) => valuesOf(members, names[count]);
  if (counts.every((count) => reported(count).length === 0)) return null;
  const said = (count: Count) => readings(members, names[count]);
  const isLost = (count: Count) => said(count).length === 0 && reported(count).length > 0;
  const [inputs, outputs, cachedReadings, missed, totals] = [
    said('input'),
    said('output'),
    said('cached'),
    said('notCached'),
    said('total'),
  ];
  if (missed.length > 0 && cachedReadings.length > 0) inputs.push(missed[0]! + cachedReadings[0]!);
  let isContradictory =
    [...new Set(inputs)].length > 1 ||
    [outputs, cachedReadings, totals].some((one) => one.length > 1) ||
    counts.some((count) => reported(count).some((one) => !Number.isInteger(tokens(one))));

  // What a cache had is the cheapest input.
  const writtenByTime = most(said('shortWrites')) + most(said('longWrites'));
  const [cached, writes] = [least(cachedReadings), Math.max(most(said('writes')), writtenByTime)];
  const total = totals.length > 0 ? most(totals) : null;
  let input = most(inputs) + most(said('toolInput'));
  const isBeside =
    cacheBeside ||
    (valuesOf(members, promptTokens).length === 0 && valuesOf(members, besideInput).length > 0);
  if (isBeside)
    input =
      Math.max(input, plainOf(before)) +
      Math.max(cached, before?.cached ?? 0) +
      Math.max(writes, before?.cache_writes ?? 0);
  if (inputs.length === 0) input = Math.max(input, before?.input ?? 0);
  if (!isBeside && cached + writes > input) {
    input += cached + writes;
    isContradictory ||= total === null;
  }

  const written = most(outputs) + most(said('thoughts'));
  const missing = total === null ? 0 : Math.max(0, total - input - written);
  const reasoning = most(said('reasoning'));
  const withReasoning = reasoning > written ? written + reasoning : written;
  const output = Math.max(written + missing, withReasoning);
  isContradictory ||= output > written + missing || (total !== null && total < input + output);

  const isCovered = total !== null && total >= input + output;
  const partsOfInput: readonly Count[] = isBeside
    ? ['toolInput', 'cached', 'writes', 'shortWrites', 'longWrites']
    : ['toolInput'];
  const isPartial = (whole: readonly number[], parts: readonly Count[]) =>
    !isCovered && (whole.length === 0 || parts.some(isLost));
  const now = withMarks(
    { input, output, cached, cache_writes: writes },
    isContradictory,
    isPartial(inputs, partsOfInput),
    isPartial(outputs, ['thoughts']),
  );
  return before === null ? now : highest(before, now);
}

/** The input that no cache had and none took. */
function plainOf(usage: Usage | null): number {
  return usage === null ? 0 : usage.input - usage.cached - usage.cache_writes;
}

/** An input that one event stated stays stated. The output grows, so only the last event can state it. */
function highest(before: Usage, now: Usage): Usage {
  const isLess =
    (now.input > 0 && now.input < before.input) || (now.output > 0 && now.output < before.output);
  const most = {
    input: Math.max(before.input, now.input),
    output: Math.max(before.output, now.output),
    cached: Math.max(before.cached, now.cached),
    cache_writes: Math.max(before.cache_writes, now.cache_writes),
  };
  return withMarks(
    most,
    isLess || before.contradictory === true || now.contradictory === true,
    before.inputIsPartial === true && now.inputIsPartial === true,
    now.outputIsPartial === true,
  );
}

function added(one: Usage, other: Usage): Usage {
  const sum = {
    input: one.input + other.input,
    output: one.output + other.output,
    cached: one.cached + other.cached,
    cache_writes: one.cache_writes + other.cache_writes,
  };
  const either = (mark: 'contradictory' | 'inputIsPartial' | 'outputIsPartial') =>
    one[mark] === true || other[mark] === true;
  return withMarks(sum, either('contradictory'), either('inputIsPartial'), either('outputIsPartial'));
}

function withMarks(usage: Usage, isContradictory: boolean, noInput: boolean, noOutput: boolean): Usage {
  return {
    ...usage,
    ...(isContradictory && { contradictory: true }),
    ...(noInput && { inputIsPartial: true }),
    ...(noOutput && { outputIsPartial: true }),
  };
}

/** True if numbers state the input and the output. */
export function isWhole({ inputIsPartial, outputIsPartial }: Usage): boolean {
  return inputIsPartial !== true && outputIsPartial !== true;
}

/** Tokens of thoughts in an answer of OpenAI's kind. */
export function reasoningIn(usage: unknown): number {
  return isObject(usage) ? most(readings(membersOf(usage), names.reasoning)) : 0;
}

/** Values by folded name, those of nested objects too. A name may stand there in two spellings. */
type Members = ReadonlyMap<string, readonly unknown[]>;

function membersOf(value: Readonly<Record<string, unknown>>): Members {
  const members = new Map<string, unknown[]>();
  const add = (name: string, one: unknown) => {
    if (one != null) members.set(name, [...(members.get(name) ?? []), one]);
  };
  for (const [name, one] of Object.entries(value)) {
    add(folded(name), one);
    if (!isObject(one)) continue;
    for (const [inner, part] of Object.entries(one)) add(`${folded(name)}.${folded(inner)}`, part);
  }
  return members;
}

function foldedLists<Name extends string>(
  lists: Readonly<Record<Name, readonly string[]>>,
): Readonly<Record<Name, readonly string[]>> {
  const entries = Object.entries<readonly string[]>(lists).map(([name, list]) => [name, list.map(folded)]);
  return Object.fromEntries(entries);
}

function folded(name: string): string {
  return name.replaceAll('_', '').toLowerCase();
}

function valuesOf(members: Members, some: readonly string[]): unknown[] {
  return some.flatMap((name) => members.get(name) ?? []);
}

/** Each number once. */
function readings(members: Members, some: readonly string[]): number[] {
  return [...new Set(valuesOf(members, some).flatMap((value) => tokens(value) ?? []))];
}

/** A fraction is read as the whole number that costs more. */
const most = (some: readonly number[]) => Math.ceil(Math.max(0, ...some));
const least = (some: readonly number[]) => (some.length === 0 ? 0 : Math.floor(Math.min(...some)));

/** The same in OpenAI's words, for adapters that translate. */
export function openAiUsage({ input, output, cached, cache_writes }: Usage): Record<string, unknown> {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: cache_writes },
  };
}

/** null for what cannot be a number of tokens. Some servers write numbers as texts, such as `12` and `12.0`. */
function tokens(value: unknown): number | null {
  const number = typeof value === 'string' && /\d/.test(value) ? Number(value) : value;
  return typeof number === 'number' && number >= 0 && number <= maxTokens ? number : null;
}
