import { anthropicUpstream } from './adapters/anthropic/anthropic-upstream.ts';
import type { Upstream } from './calls/upstream-answer.ts';
import type { AdapterParts, UpstreamFacts } from './upstreams/model-lanes.ts';
import { createOpenAiUpstream } from './upstreams/openai-upstream.ts';

/** The registry of adapters: an upstream for each kind of entry. */
export function liveUpstream({ name, entry, limits }: UpstreamFacts, parts: AdapterParts): Upstream {
  const { dispatcher, timeouts, userAgent } = parts;
  const { base_url, model } = entry;
  const credential = parts.credential(entry.credential ?? null);
  const common = { name, base_url, model, dispatcher, credential, timeouts };
  switch (entry.kind) {
    case 'openai':
      return createOpenAiUpstream({
        ...common,
        streamUsage: entry.stream_usage ?? true,
        limitMember: entry.limit_member ?? null,
        userAgent,
      });
    case 'anthropic':
      return anthropicUpstream({ ...common, output_tokens: limits?.output_tokens ?? null });
  }
}
