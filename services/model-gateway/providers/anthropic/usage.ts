import { count, openAiUsage, type Usage } from '../usage.ts';
import type { ProviderUsage } from './provider.ts';

/** null where the upstream counted nothing, or what cannot be. */
export function usageFrom({ inputTokens, outputTokens }: ProviderUsage): Usage | null {
  if (inputTokens.total === undefined && outputTokens.total === undefined) return null;
  return possible({
    input: inputTokens.total ?? 0,
    output: outputTokens.total ?? 0,
    cached: inputTokens.cacheRead ?? 0,
    cache_writes: inputTokens.cacheWrite ?? 0,
  });
}

/** What Anthropic counts before its first word; the rest is known at the end. */
export function usageAtStart(told: Readonly<Record<string, unknown>> | undefined): Usage | null {
  const of = (name: string): number => (typeof told?.[name] === 'number' ? told[name] : 0);
  const cached = of('cache_read_input_tokens');
  const cache_writes = of('cache_creation_input_tokens');
  return possible({
    input: of('input_tokens') + cached + cache_writes,
    output: of('output_tokens'),
    cached,
    cache_writes,
  });
}

/** For the client, with the tokens of thoughts where they were counted. */
export function wireUsage(usage: Usage, provider: ProviderUsage): Record<string, unknown> {
  const reasoning = provider.outputTokens.reasoning;
  return {
    ...openAiUsage(usage),
    ...(reasoning !== undefined && { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}

function possible(usage: Usage): Usage | null {
  const counts = Object.values(usage);
  return counts.every((tokens) => count(tokens) !== null) && usage.cached + usage.cache_writes <= usage.input
    ? usage
    : null;
}
