import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Health, type HealthCheck, healthOf } from '#kit/contracts/health.ts';
import { messageOf, Unavailable } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import type { Probe } from '#kit/health/probe.ts';
import type { Connections } from '#kit/http/client.ts';
import type { GatewayConfig } from './configuration.ts';

export interface HealthParts {
  readonly version: string;
  readonly config: Pick<GatewayConfig, 'models' | 'mode'>;
  readonly folders: Pick<Folders, 'secrets'>;
  readonly ledger: Pick<Probe, 'check'>;
  readonly upstreams: Pick<Probe, 'check'>;
  readonly file: () => HealthCheck;
}

/** Without its ledger the gateway refuses every call; without a model it has none to make. No upstream is asked a question. */
export async function checkHealth(parts: HealthParts): Promise<Health> {
  const [upstreams, ledger] = await Promise.all([parts.upstreams.check(), parts.ledger.check()]);
  return healthOf('core-model-gateway', parts.version, {
    models: modelsCheck(parts.config),
    configuration: parts.file(),
    credentials: credentialsCheck(parts),
    upstreams,
    ledger,
  });
}

function modelsCheck({ models, mode }: HealthParts['config']): HealthCheck {
  const names = Object.keys(models);
  if (names.length === 0)
    return { status: 'degraded', detail: 'no model is configured; ./core model add configures one' };
  const how = mode === 'live' ? '' : `, mode ${mode}`;
  return { status: 'ok', detail: `${names.join(', ')}${how}` };
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

/**
 * Whether each upstream's address answers at all: a request without a credential, whose answer is not looked at and costs nothing.
 * @returns a word for people
 * @throws Unavailable (`upstream_unreachable`) naming those that do not
 */
export async function reachUpstreams(
  { models, mode }: Pick<GatewayConfig, 'models' | 'mode'>,
  connections: Connections,
  signal: AbortSignal,
): Promise<string> {
  const entries = Object.values(models).flatMap(({ upstreams }) => upstreams);
  const origins = [...new Set(entries.map(({ base_url }) => new URL(base_url).origin))];
  if (mode === 'replay' || origins.length === 0) return 'none is needed';
  const failures = await Promise.all(
    origins.map(async (origin) => {
      try {
        const { body } = await connections.request(origin, { method: 'HEAD', signal });
        await body.dump();
        return null;
      } catch (error) {
        return signal.aborted ? `${origin} did not answer in time` : `${origin}: ${messageOf(error)}`;
      }
    }),
  );
  const failed = failures.filter((failure) => failure !== null);
  if (failed.length === 0) return `${origins.join(', ')} can be reached`;
  throw new Unavailable('upstream_unreachable', `not reached: ${failed.join('; ')}`);
}
