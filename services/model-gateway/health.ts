import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Health, type HealthCheck, healthOf } from '#kit/contracts/health.ts';
import { messageOf } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import type { Probe } from '#kit/health/probe.ts';
import { type GatewayConfig, readGatewayConfig } from './configuration.ts';
import type { Ledger } from './ledger/ledger.ts';

export interface HealthParts {
  readonly version: string;
  readonly config: Pick<GatewayConfig, 'models' | 'mode'>;
  readonly folders: Pick<Folders, 'secrets'>;
  readonly ledger: Pick<Ledger, 'health'>;
  readonly upstreams: Pick<Probe, 'check'>;
  readonly file: () => ConfigFileState;
}

/** Without its ledger the gateway refuses every call; without a model it has none to make. No upstream is asked a question. */
export async function checkHealth(parts: HealthParts): Promise<Health> {
  return healthOf('core-model-gateway', parts.version, {
    models: modelsCheck(parts.config),
    configuration: fileCheck(parts.file()),
    credentials: credentialsCheck(parts),
    upstreams: await parts.upstreams.check(),
    ledger: parts.ledger.health(),
  });
}

function modelsCheck({ models, mode }: HealthParts['config']): HealthCheck {
  const names = Object.keys(models);
  if (names.length === 0)
    return { status: 'degraded', detail: 'no model is configured; ./core model add configures one' };
  const how = mode === 'live' ? '' : `, mode ${mode}`;
  return { status: 'ok', detail: `${names.join(', ')}${how}` };
}

function fileCheck(found: ConfigFileState): HealthCheck {
  switch (found.state) {
    case 'same':
      return { status: 'ok', detail: 'as in models.json' };
    case 'changed':
      return {
        status: 'ok',
        detail: 'models.json was changed since the start, which the next start goes by',
      };
    case 'invalid':
      return {
        status: 'degraded',
        detail: `models.json was changed since the start, and the next start would fail: ${found.why}`,
      };
  }
}

function credentialsCheck({ config, folders }: HealthParts): HealthCheck {
  if (config.mode === 'replay') return { status: 'ok', detail: 'none needed, nothing is sent' };
  const named = Object.values(config.models).flatMap(({ upstreams }) =>
    upstreams.flatMap(({ credential }) => (credential == null ? [] : [credential])),
  );
  const missing = [...new Set(named)].filter((name) => !existsSync(join(folders.secrets, name)));
  if (missing.length === 0) return { status: 'ok', detail: 'every secret file is there' };
  return { status: 'degraded', detail: `missing in ${folders.secrets}: ${missing.join(', ')}` };
}

/** What has become of models.json since the gateway read it. */
type ConfigFileState =
  | { readonly state: 'same' | 'changed' }
  | { readonly state: 'invalid'; readonly why: string };

/** From now on; a gateway goes on with what it read at its start. */
export function watchConfigFile(folders: Pick<Folders, 'config'>): () => ConfigFileState {
  const path = join(folders.config, 'models.json');
  const began = versionOf(path);
  return () => {
    if (versionOf(path) === began) return { state: 'same' };
    try {
      readGatewayConfig({ folders, environment: {} });
      return { state: 'changed' };
    } catch (error) {
      return { state: 'invalid', why: messageOf(error) };
    }
  };
}

function versionOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? '' : `${stats.ino} ${stats.size} ${stats.mtimeMs}`;
}
