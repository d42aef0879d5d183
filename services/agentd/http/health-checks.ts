import { gatewayUrl } from '#kit/config/client-urls.ts';
import { readKnownModels } from '#kit/config/known-models.ts';
import type { LiveConfig } from '#kit/config/live-config.ts';
import type { Settings } from '#kit/config/settings.ts';
import { backlogInWords, type Health, type HealthCheck, healthOf } from '#kit/contracts/health.ts';
import type { Environment } from '#kit/environment.ts';
import { messageOf } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { Probe, takesToken } from '#kit/health/probe.ts';
import { createHttpClient } from '#kit/http/client.ts';
import { askBucket } from '#kit/objects/ask-bucket.ts';
import type { ObjectStore } from '#kit/objects/object-store.ts';
import { serviceToken } from '#kit/tokens/tokens.ts';
import type { CoreAgent } from '../core-agent.ts';
import type { IdentityProvider } from '../review/oidc/provider.ts';

export type Checks = Readonly<Record<string, () => Promise<HealthCheck>>>;

/** Milliseconds for an answer of the store of runs. */
const runsMs = 10_000;

/** Asks the store of runs, which may be a database. */
export function runsCheck(
  agent: Pick<CoreAgent, 'recordedRuns'>,
  timeoutMs = runsMs,
): () => Promise<HealthCheck> {
  const ask = async () => {
    const { problems } = await agent.recordedRuns({ limit: 1 });
    return ['readable', ...problems].join('; ');
  };
  const probe = new Probe(ask, { timeoutMs, required: true });
  return () => probe.check();
}

/** Without its runs the daemon can do nothing; a dependency that fails makes it degraded. */
export async function checkHealth(
  version: string,
  runs: () => Promise<HealthCheck>,
  checks: Checks,
): Promise<Health> {
  const all = [
    ['runs', runs()] as const,
    ...Object.entries(checks).map(([name, check]) => [name, checked(check)] as const),
  ];
  const results = await Promise.all(all.map(async ([name, check]) => [name, await check] as const));
  return healthOf('core-agentd', version, Object.fromEntries(results));
}

async function checked(check: () => Promise<HealthCheck>): Promise<HealthCheck> {
  try {
    return await check();
  } catch (error) {
    return { status: 'degraded', detail: messageOf(error) };
  }
}

export interface DependencyParts {
  readonly folders: Folders;
  readonly environment: Environment;
  readonly settings: Settings;
  readonly agent: Pick<CoreAgent, 'contextBacklog'>;
}

/** Deliveries are tried every minute: one that waits longer than this many seconds is stuck. */
const maxBacklogSeconds = 180;

/** Checks of the services that the daemon calls, with its own token, and of deliveries that wait. */
export function dependencyChecks({ folders, environment, settings, agent }: DependencyParts): {
  readonly checks: Checks;
  close(): Promise<void>;
} {
  const timeoutMs = settings.answers.seconds * 1000;
  const follow = (baseUrl: () => string) =>
    createHttpClient({ baseUrl, token: () => serviceToken(folders, 'agentd'), timeoutMs });
  const { url } = settings.context;
  const gateway = follow(() => gatewayUrl({ folders, environment }));
  const context = url === null ? null : follow(() => url);
  const gatewayProbe = new Probe((signal) => takesToken(gateway, ['mint'], signal), { timeoutMs });
  const contextProbe = new Probe(
    async (signal) =>
      context === null
        ? 'planning does without core-context: context.url is null'
        : takesToken(context, ['read', 'plan'], signal),
    { timeoutMs },
  );
  const outboxProbe = new Probe(
    async () => {
      const backlog = await agent.contextBacklog();
      if (backlog === null) return 'runs are delivered nowhere';
      const status = backlog.oldest_seconds > maxBacklogSeconds ? 'degraded' : 'ok';
      return { status, detail: `runs to deliver to core-context: ${backlogInWords(backlog)}`, backlog };
    },
    { timeoutMs },
  );
  return {
    checks: {
      context: () => contextProbe.check(),
      async model_gateway() {
        const found = await gatewayProbe.check();
        if (found.status === 'ok' || readKnownModels(folders).length > 0) return found;
        return { status: 'ok', detail: `not needed while no model is configured: ${found.detail}` };
      },
      context_outbox: () => outboxProbe.check(),
    },
    async close() {
      await Promise.all([gateway.close(), context?.close()]);
    },
  };
}

/** How long a good answer of the provider counts, in milliseconds: it is somebody else's server. */
const providerMs = 60_000;

/** Whether the identity provider answers. Without it people still sign in by links, so that the daemon is degraded at most. */
export function identityProviderCheck(
  provider: Pick<IdentityProvider, 'ask'>,
  configuration: Pick<LiveConfig<unknown>, 'health'>,
  timeoutMs: number,
): () => Promise<HealthCheck> {
  const probe = new Probe(() => provider.ask(), { timeoutMs, everyMs: providerMs });
  return async () => {
    const configured = configuration.health();
    return configured.status === 'ok' ? probe.check() : configured;
  };
}

/** How long a good answer of the bucket counts, in milliseconds: each question is three requests that may be paid for. */
const bucketMs = 60_000;

/** Whether the bucket keeps, gives back and deletes an object. Without it only work with large artifacts waits. */
export function bucketCheck(
  store: Pick<ObjectStore, 'name' | 'put' | 'get' | 'delete'>,
  timeoutMs: number,
  everyMs = bucketMs,
): () => Promise<HealthCheck> {
  const probe = new Probe(() => askBucket(store, 'agentd'), { timeoutMs, everyMs });
  return () => probe.check();
}
