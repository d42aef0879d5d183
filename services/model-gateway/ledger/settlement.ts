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
 * hold, at most what was reserved. An answer that ended early used at least the words that were sent. Attempts that were lost
 * count their input, and what they may have written.
 */
export function settlementOf(
  call: LedgerCall,
  result: CallResult,
  priceOf: (upstream: string) => TokenPrice | null,
): Settlement {
  const told = result.usage === null ? null : possibleUsage(result.usage);
  const least = result.usage === null ? result.sentBytes : leastWords(result);
  const output = Math.max(told?.output ?? 0, tokensIn(least, call));
  const answered: Usage = { ...(told ?? { ...noUsage, input: call.inputTokens }), output };
  const lost = (result.lost ?? []).map(({ upstream, written }) => ({
    upstream,
    usage: { ...noUsage, input: call.inputTokens, output: written ? call.outputTokens : 0 },
  }));
  return {
    usage: lost.reduce((sum, { usage }) => added(sum, usage), answered),
    estimated: told === null || output > told.output || lost.length > 0,
    cost: lost.reduce(
      (sum, { upstream, usage }) => sum + costOf(priceOf(upstream), usage),
      costOf(priceOf(result.upstream), answered),
    ),
  };
}

/** Some upstreams count on the way, and begin with 0. */
function leastWords({ outcome, usage, wordBytes }: CallResult): number {
  return outcome !== 'done' || usage?.output === 0 ? (wordBytes ?? 0) : 0;
}

function tokensIn(bytes: number, { outputTokens }: LedgerCall): number {
  return Math.min(outputTokens, Math.ceil(bytes / bytesPerToken));
}

function added(usage: Usage, { input, output }: Usage): Usage {
  return { ...usage, input: usage.input + input, output: usage.output + output };
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
