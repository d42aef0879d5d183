import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { environment } from '#kit/environment.ts';
import { codeOf } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { Redactor } from '#kit/redaction.ts';
import { adapterParts } from '../compose.ts';
import { type GatewayConfig, type UpstreamEntry, upstreamNames } from '../configuration.ts';
import { shortestHidden } from '../providers/mask.ts';
import { liveUpstreams } from '../providers/registry.ts';
import type { Upstream } from '../providers/upstream.ts';

export interface ConfiguredUpstream {
  readonly model: string;
  readonly kind: 'chat' | 'embeddings';
  readonly entry: UpstreamEntry;
  readonly credential: 'present' | 'short' | 'missing' | 'none';
  readonly upstream: Upstream;
}

/** Every upstream of the configuration, ready to be asked without the service; `close` ends its connections. */
export async function openUpstreams(
  config: GatewayConfig,
  folders: Pick<Folders, 'secrets'> & Pick<Folders, 'state'>,
  version: string,
): Promise<{ readonly all: readonly ConfiguredUpstream[]; close(): Promise<void> }> {
  const parts = adapterParts({ folders, config, redactor: new Redactor(), version, proxies: environment });
  const live = await liveUpstreams(config, parts);
  const all = Object.entries(config.models).flatMap(([model, entry]) => {
    const names = upstreamNames(entry);
    return entry.upstreams.map((one, index): ConfiguredUpstream => {
      const facts = { model, name: names[index]!, entry: one, limits: entry.limits };
      return {
        model,
        kind: entry.kind ?? 'chat',
        entry: one,
        credential: credentialState(folders.secrets, one.credential ?? null),
        upstream: live(facts),
      };
    });
  });
  return { all, close: () => parts.dispatcher.destroy() };
}

function credentialState(secrets: string, name: string | null): ConfiguredUpstream['credential'] {
  if (name === null) return 'none';
  try {
    const { length } = readFileSync(join(secrets, name), 'utf8').trim();
    return length < shortestHidden ? 'short' : 'present';
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? 'missing' : 'present';
  }
}
