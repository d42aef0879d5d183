import type { UpstreamEntry } from '../configuration.ts';
import { AnthropicUpstream } from './anthropic/upstream.ts';
import { OpenAiUpstream } from './openai-compatible/upstream.ts';
import type { AdapterParts, Upstream, UpstreamFacts, UpstreamOptions } from './upstream.ts';

type MakeUpstream = (options: UpstreamOptions, facts: UpstreamFacts, parts: AdapterParts) => Upstream;

const providers: Record<UpstreamEntry['kind'], MakeUpstream> = {
  openai: (options, { entry }, { userAgent }) =>
    new OpenAiUpstream({
      ...options,
      streamUsage: entry.stream_usage ?? true,
      limitMember: entry.limit_member ?? null,
      userAgent,
    }),
  anthropic: (options, { limits }) =>
    new AnthropicUpstream({ ...options, output_tokens: limits?.output_tokens ?? null }),
};

/** The upstream of an entry of the configuration. */
export function liveUpstream(facts: UpstreamFacts, parts: AdapterParts): Upstream {
  const { base_url, model, credential: secret = null, kind } = facts.entry;
  const { connections, timeouts } = parts;
  const credential = parts.credential(secret);
  const options = { name: facts.name, base_url, model, connections, timeouts, credential };
  return providers[kind](options, facts, parts);
}
