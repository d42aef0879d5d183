import type { Usage } from '../calls/usage.ts';
import { noUsage } from '../calls/usage.ts';
import type { CallResult, LedgerCall, Settlement } from './ledger.ts';
import { costOf, type TokenPrice } from './money.ts';

/** Of text in common languages and code; JSON around it makes an estimate too high rather than too low. */
const bytesPerToken = 3.5;

/**
 * What a call used. Where the upstream told nothing, the input is as estimated before, and the output what the bytes sent could
 * hold, at most what was reserved.
 */
export function settlementOf(call: LedgerCall, result: CallResult, price: TokenPrice | null): Settlement {
  const usage = result.usage ?? estimateOf(call, result);
  return { usage, estimated: result.usage === null, cost: costOf(price, usage) };
}

function estimateOf({ inputTokens, outputTokens }: LedgerCall, { outcome, sentBytes }: CallResult): Usage {
  if (outcome === 'failed' && sentBytes === 0) return noUsage;
  const output = Math.min(outputTokens, Math.ceil(sentBytes / bytesPerToken));
  return { input: inputTokens, output, cached: 0, cache_writes: 0 };
}
