import type { Usage } from '../calls/usage.ts';
import { noUsage } from '../calls/usage.ts';
import type { CallResult, LedgerCall, Settlement } from './ledger.ts';
import { costOf, type TokenPrice } from './money.ts';

/** More than any model reads or writes. Clients and upstreams may say anything. */
const mostTokens = 1e9;

/** Of text in common languages and code; JSON around it makes an estimate too high rather than too low. */
const bytesPerToken = 3.5;

/**
 * What a call used. Where the upstream told nothing, the input is as estimated before, and the output what the bytes sent could
 * hold, at most what was reserved.
 */
export function settlementOf(call: LedgerCall, result: CallResult, price: TokenPrice | null): Settlement {
  const usage = result.usage === null ? estimateOf(call, result) : possibleUsage(result.usage);
  return { usage, estimated: result.usage === null, cost: costOf(price, usage) };
}

function estimateOf({ inputTokens, outputTokens }: LedgerCall, { outcome, sentBytes }: CallResult): Usage {
  if (outcome === 'failed' && sentBytes === 0) return noUsage;
  const output = Math.min(outputTokens, Math.ceil(sentBytes / bytesPerToken));
  return { input: inputTokens, output, cached: 0, cache_writes: 0 };
}

function possibleUsage({ input, output, cached, cache_writes }: Usage): Usage {
  return {
    input: possibleTokens(input),
    output: possibleTokens(output),
    cached: possibleTokens(cached),
    cache_writes: possibleTokens(cache_writes),
  };
}

/** A whole number that can be summed. */
export function possibleTokens(tokens: number): number {
  return tokens > 0 ? Math.min(Math.ceil(tokens), mostTokens) : 0;
}
