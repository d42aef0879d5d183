import type { Usage } from '../../calls/usage.ts';
import { openAiUsage } from '../../calls/usage.ts';
import type { ProviderUsage } from './provider.ts';

/** null where the upstream counted nothing. */
export function usageFrom({ inputTokens, outputTokens }: ProviderUsage): Usage | null {
  if (inputTokens.total === undefined && outputTokens.total === undefined) return null;
  return {
    input: inputTokens.total ?? 0,
    output: outputTokens.total ?? 0,
    cached: inputTokens.cacheRead ?? 0,
    cache_writes: inputTokens.cacheWrite ?? 0,
  };
}

/** For the client, with the tokens of thoughts where they were counted. */
export function wireUsage(usage: Usage, provider: ProviderUsage): Record<string, unknown> {
  const reasoning = provider.outputTokens.reasoning;
  return {
    ...openAiUsage(usage),
    ...(reasoning !== undefined && { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}
