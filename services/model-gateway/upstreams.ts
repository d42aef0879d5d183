import type { UpstreamEntry } from '../configuration.ts';
import { AnthropicUpstream } from './anthropic/upstream.ts';
import { OpenAiUpstream } from './openai-compatible/upstream.ts';
import type { AdapterParts, Upstream, UpstreamFacts, UpstreamOptions } from './upstream.ts';

const providers: Record<UpstreamEntry['kind'], new (options: UpstreamOptions) => Upstream> = {
  openai: OpenAiUpstream,
  anthropic: AnthropicUpstream,
};

export function liveUpstream(facts: UpstreamFacts, parts: AdapterParts): Upstream {
  const { kind, credential = null } = facts.entry;
  return new providers[kind]({ ...facts, ...parts, credential: parts.credential(credential) });
}
