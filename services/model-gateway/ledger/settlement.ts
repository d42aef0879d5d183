import { bytesPerToken, maxTokens, noUsage, type Usage } from '#kit/model-answers/usage.ts';
import type { Price } from '../configuration.ts';
import { costOf, type Money, type PricedCall } from './money.ts';

export interface LedgerCall extends PricedCall {
  /** Where it goes first. */
  readonly upstream: string;
}

export interface LostAttempt {
  readonly upstream: string;
  /** The upstream may have generated all the reserved output, not only read the input. */
  readonly mayHaveOutput: boolean;
}

export interface CallResult {
  /** Where it was answered, or failed last. */
  readonly upstream: string;
  /** Of the answer; null where the upstream reported none: it is estimated. */
  readonly usage: Usage | null;
  /** More text arrived after this usage was reported, so it is too low. */
  readonly usageIsPartial?: boolean;
  /** Failed attempts that the provider may still bill. */
  readonly lost?: readonly LostAttempt[];
  readonly outcome: 'done' | 'aborted' | 'failed';
  /** The upstream's answer was read to its end, even if the client left before; absent: what `outcome` says. */
  readonly readToEnd?: boolean;
  /** As of a lost attempt: the end of the answer was not seen. */
  readonly mayHaveOutput?: boolean;
  /** Bytes of answer that the client was sent. */
  readonly sentBytes: number;
  /** Those of them that are the model's text, where known: at least so much was generated. */
  readonly contentBytes?: number | null | undefined;
  readonly ms: number;
  readonly firstTokenMs: number | null;
}

export interface Settlement {
  readonly usage: Usage;
  readonly estimated: boolean;
  readonly cost: Money;
}

type PriceOf = (upstream: string) => Price | null;

/**
 * What a call used. Where the upstream reported nothing, the input is as estimated before, and the output what the bytes sent could
 * hold, at most what was reserved; the same for the side that it reported only in part, unless that part is more. An answer that ended early, or went on after its usage was reported, used at least the words
 * that were sent, or all that was reserved if it may have. Attempts that were lost count their input, and what they may have written.
 */
export function settlementOf(call: LedgerCall, result: CallResult, priceOf: PriceOf): Settlement {
  const reported = result.usage === null ? null : clampedUsage(result.usage);
  const least = statesOutput(result.usage) ? leastWords(result) : (result.contentBytes ?? result.sentBytes);
  const possible = result.mayHaveOutput === true ? call.outputTokens : tokensIn(least, call);
  const output = Math.max(reported?.output ?? 0, possible);
  const inputNotReported =
    reported === null ||
    result.usage?.inputIsPartial === true ||
    (reported.input === 0 && result.usage !== noUsage);
  const input = inputNotReported ? Math.max(call.inputTokens, reported?.input ?? 0) : reported.input;
  const answered: Usage = { ...(reported ?? noUsage), input, output };
  const lost = (result.lost ?? []).map((attempt) => usageOfLost(call, attempt));
  return {
    usage: lost.reduce(added, answered),
    estimated: inputNotReported || output > reported.output || lost.length > 0,
    cost: costOf(priceOf(result.upstream), answered) + costOfLost(call, result.lost ?? [], priceOf),
  };
}

export function costOfLost(call: LedgerCall, lost: readonly LostAttempt[], priceOf: PriceOf): Money {
  return lost.reduce(
    (sum, attempt) => sum + costOf(priceOf(attempt.upstream), usageOfLost(call, attempt)),
    0,
  );
}

function usageOfLost(call: LedgerCall, { mayHaveOutput }: LostAttempt): Usage {
  return { ...noUsage, input: call.inputTokens, output: mayHaveOutput ? call.outputTokens : 0 };
}

/** False if the output must be estimated, and what is known of it is the least that it can be. */
export function statesOutput(usage: Usage | null): usage is Usage {
  return usage !== null && usage.outputIsPartial !== true;
}

/** Bytes of output that were sent beyond doubt. Some upstreams report a running count that starts at 0; others always report 0. */
function leastWords(result: CallResult): number {
  const { outcome, readToEnd = outcome === 'done', usage, usageIsPartial, sentBytes, contentBytes } = result;
  if (usage?.output === 0) return contentBytes ?? (readToEnd ? sentBytes : 0);
  return !readToEnd || usageIsPartial === true ? (contentBytes ?? 0) : 0;
}

function tokensIn(bytes: number, { outputTokens }: LedgerCall): number {
  return Math.min(outputTokens, Math.ceil(bytes / bytesPerToken));
}

function added(usage: Usage, { input, output }: Usage): Usage {
  return { ...usage, input: usage.input + input, output: usage.output + output };
}

function clampedUsage({ input, output, cached, cache_writes, contradictory }: Usage): Usage {
  return {
    ...(contradictory && { contradictory }),
    input: possibleTokens(input),
    output: possibleTokens(output),
    cached: possibleTokens(cached),
    cache_writes: possibleTokens(cache_writes),
  };
}

/** A whole number that can be summed. */
export function possibleTokens(tokens: number): number {
  return tokens > 0 ? Math.min(Math.ceil(tokens), maxTokens) : 0;
}
