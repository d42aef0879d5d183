import type { Usage } from '../providers/usage.ts';
import { mostTokens, noUsage } from '../providers/usage.ts';
import type { CallResult, LedgerCall, LostAttempt, Settlement } from './ledger.ts';
import { costOf, type Money, type TokenPrice } from './money.ts';

/** Of text in common languages and code; JSON around it makes an estimate too high rather than too low. */
const bytesPerToken = 3.5;

type PriceOf = (upstream: string) => TokenPrice | null;

/**
 * What a call used. Where the upstream told nothing, the input is as estimated before, and the output what the bytes sent could
 * hold, at most what was reserved. An answer that ended early, or went on after its usage was told, used at least the words
 * that were sent. Attempts that were lost count their input, and what they may have written.
 */
export function settlementOf(call: LedgerCall, result: CallResult, priceOf: PriceOf): Settlement {
  const told = result.usage === null ? null : possibleUsage(result.usage);
  const least = result.usage === null ? result.sentBytes : leastWords(result);
  const output = Math.max(told?.output ?? 0, tokensIn(least, call));
  const readNothing = told === null || (told.input === 0 && result.usage !== noUsage);
  const input = readNothing ? call.inputTokens : told.input;
  const answered: Usage = { ...(told ?? noUsage), input, output };
  const lost = (result.lost ?? []).map((attempt) => usageOfLost(call, attempt));
  return {
    usage: lost.reduce(added, answered),
    estimated: readNothing || output > told.output || lost.length > 0,
    cost: costOf(priceOf(result.upstream), answered) + costOfLost(call, result.lost ?? [], priceOf),
  };
}

export function costOfLost(call: LedgerCall, lost: readonly LostAttempt[], priceOf: PriceOf): Money {
  return lost.reduce(
    (sum, attempt) => sum + costOf(priceOf(attempt.upstream), usageOfLost(call, attempt)),
    0,
  );
}

function usageOfLost(call: LedgerCall, { written }: LostAttempt): Usage {
  return { ...noUsage, input: call.inputTokens, output: written ? call.outputTokens : 0 };
}

/** Some upstreams count on the way, and begin with 0; some tell 0 of everything. */
function leastWords({ outcome, usage, usageIsPartial, sentBytes, contentBytes }: CallResult): number {
  if (usage === noUsage) return 0;
  if (usage?.output === 0) return contentBytes ?? (outcome === 'done' ? sentBytes : 0);
  return outcome !== 'done' || usageIsPartial === true ? (contentBytes ?? 0) : 0;
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
