import type { UpstreamEntry } from './configuration.ts';
import { isOpenAiHost } from './dialects/openai-host.ts';
import { dialects } from './dialects/registry.ts';
import { SpeakingUpstream } from './dialects/speaking.ts';
import { AnthropicUpstream } from './providers/anthropic/upstream.ts';
import type { DialectName } from './providers/endpoints.ts';
import { PassThroughUpstream } from './providers/pass-through/upstream.ts';
import type { AdapterParts, Upstream, UpstreamFacts, UpstreamOptions } from './providers/upstream.ts';

type Speakers = Readonly<Partial<Record<DialectName, Upstream>>>;

/** The dialects that upstreams of each kind are asked in without a translation by `dialects/`. */
const speakers: Record<UpstreamEntry['kind'], (options: UpstreamOptions) => Speakers> = {
  openai: (options) => ({
    chat: passing(options, 'chat'),
    ...(hasResponses(options.entry) && { responses: passing(options, 'responses') }),
  }),
  anthropic: (options) => ({
    chat: new AnthropicUpstream(options),
    messages: passing(options, 'messages'),
  }),
  google: (options) => ({ google: passing(options, 'google') }),
};

function passing(options: UpstreamOptions, dialect: DialectName): Upstream {
  return new PassThroughUpstream(options, dialects[dialect].wire);
}

export function hasResponses({ base_url, responses }: UpstreamEntry): boolean {
  return responses ?? isOpenAiHost(base_url);
}

export function liveUpstream(facts: UpstreamFacts, parts: AdapterParts): Upstream {
  const { kind, credential = null } = facts.entry;
  const options = { ...facts, ...parts, credential: parts.credential(credential) };
  return new SpeakingUpstream(facts.name, speakers[kind](options));
}
