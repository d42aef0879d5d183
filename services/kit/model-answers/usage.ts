import { isObject } from '../is-object.ts';

/** Tokens of one call; `cached` and `cache_writes` are parts of `input`. */
export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly cache_writes: number;
}

/** More than any model reads or writes. Clients and upstreams may say anything. */
export const maxTokens = 100_000_000;

/** Of text in common languages and code, on the low side: JSON around it makes an estimate too high rather than too low. */
export const bytesPerToken = 3.5;

/** Of a call that no upstream answered. */
export const noUsage: Usage = { input: 0, output: 0, cached: 0, cache_writes: 0 };

/** The `usage` of an OpenAI answer, of chat completions or Responses; null where it is none or has no number that could be right. */
export function usageOf(value: unknown): Usage | null {
  if (!isObject(value)) return null;
  const input = count(value.prompt_tokens ?? value.input_tokens);
  if (input === null) return null;
  const written = value.completion_tokens ?? value.output_tokens;
  const total = count(value.total_tokens);
  // Vectors have no output, and only a total says so.
  const output = written == null && total !== null && total >= input ? total - input : count(written);
  if (output === null) return null;
  const said = value.prompt_tokens_details ?? value.input_tokens_details;
  const details = isObject(said) ? said : {};
  return {
    input,
    output,
    cached: Math.min(input, count(details.cached_tokens) ?? 0),
    cache_writes: Math.min(input, count(details.cache_write_tokens) ?? 0),
  };
}

/** The same in OpenAI's words, for adapters that translate. */
export function openAiUsage({ input, output, cached, cache_writes }: Usage): Record<string, unknown> {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: cache_writes },
  };
}

/** null for what no count of tokens can be. */
export function count(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= maxTokens
    ? value
    : null;
}
