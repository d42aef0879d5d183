import type { GatewayConfig, UpstreamEntry } from '../configuration.ts';
import type { AdapterParts, MakeUpstream, Upstream, UpstreamFacts } from './upstream.ts';

type Kind = UpstreamEntry['kind'];

/** Loads what makes an upstream of a kind. */
const providers: Record<Kind, () => Promise<(facts: UpstreamFacts, parts: AdapterParts) => Upstream>> = {
  async openai() {
    const { OpenAiUpstream } = await import('./openai-compatible/upstream.ts');
    return (facts, parts) => {
      const { stream_usage = true, limit_member = null } = facts.entry;
      return new OpenAiUpstream({
        ...common(facts, parts),
        streamUsage: stream_usage,
        limitMember: limit_member,
        userAgent: parts.userAgent,
      });
    };
  },
  async anthropic() {
    const { AnthropicUpstream } = await import('./anthropic/upstream.ts');
    return (facts, parts) =>
      new AnthropicUpstream({
        ...common(facts, parts),
        output_tokens: facts.limits?.output_tokens ?? null,
      });
  },
};

function common({ name, entry }: UpstreamFacts, { dispatcher, credential, timeouts }: AdapterParts) {
  const { base_url, model } = entry;
  return { name, base_url, model, dispatcher, timeouts, credential: credential(entry.credential ?? null) };
}

/** An upstream for each entry of the configuration; only the providers that it names are loaded. */
export async function liveUpstreams(
  { models }: Pick<GatewayConfig, 'models'>,
  parts: AdapterParts,
): Promise<MakeUpstream> {
  const entries = Object.values(models).flatMap(({ upstreams }) => upstreams);
  const kinds = [...new Set(entries.map(({ kind }) => kind))];
  const loaded = new Map(
    await Promise.all(kinds.map(async (kind) => [kind, await providers[kind]()] as const)),
  );
  return (facts) => loaded.get(facts.entry.kind)!(facts, parts);
}
