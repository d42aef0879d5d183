import type { GatewayConfig, UpstreamEntry } from '../configuration.ts';
import type { AdapterParts, MakeUpstream } from './model-lanes.ts';

/** The registry of adapters: an upstream for each kind of entry. Only adapters of configured kinds are loaded. */
export async function liveUpstreams(
  { models }: Pick<GatewayConfig, 'models'>,
  parts: AdapterParts,
): Promise<MakeUpstream> {
  const entries = Object.values(models).flatMap(({ upstreams }) => upstreams);
  const kinds = new Set<UpstreamEntry['kind']>(entries.map(({ kind }) => kind));
  const openAi = kinds.has('openai') ? await import('./openai-compatible/upstream.ts') : null;
  const anthropic = kinds.has('anthropic') ? await import('./anthropic/upstream.ts') : null;
  const { dispatcher, timeouts, userAgent } = parts;

  return ({ name, entry, limits }) => {
    const { base_url, model } = entry;
    const credential = parts.credential(entry.credential ?? null);
    const common = { name, base_url, model, dispatcher, credential, timeouts };
    switch (entry.kind) {
      case 'openai':
        return openAi!.createOpenAiUpstream({
          ...common,
          streamUsage: entry.stream_usage ?? true,
          limitMember: entry.limit_member ?? null,
          userAgent,
        });
      case 'anthropic':
        return anthropic!.anthropicUpstream({ ...common, output_tokens: limits?.output_tokens ?? null });
    }
  };
}
