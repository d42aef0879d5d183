import { readSettings } from '#kit/config/settings.ts';
import { environment } from '#kit/environment.ts';
import type { Folders } from '#kit/folders.ts';
import { Probe } from '#kit/health/probe.ts';
import { openConnections, type Proxies } from '#kit/http/client.ts';
import type { Logger } from '#kit/log.ts';
import type { Redactor } from '#kit/redaction/redactor.ts';
import type { Tokens } from '#kit/tokens/tokens.ts';
import { ModelCalls } from './calls/model-calls.ts';
import { modelLanes } from './calls/models.ts';
import { type GatewayConfig, upstreamNames } from './configuration.ts';
import { checkHealth, reachUpstreams, watchConfigFile } from './health.ts';
import { keyRoutes } from './http/key-routes.ts';
import { callRoutes, modelListRoutes, openAiError } from './http/model-routes.ts';
import { usageRoutes } from './http/usage-routes.ts';
import { withRunKeys } from './ledger/accounts.ts';
import { openLedger } from './ledger/ledger.ts';
import type { PriceList } from './ledger/money.ts';
import { createCallMetrics } from './metrics.ts';
import { credentialReader, KnownSecrets } from './providers/credential.ts';
import { liveUpstream } from './providers/registry.ts';
import type { AdapterParts } from './providers/upstream.ts';
import { upstreamsInMode } from './recordings/mode.ts';

export interface GatewayParts {
  readonly folders: Pick<Folders, 'state' | 'secrets' | 'config'>;
  readonly config: GatewayConfig;
  readonly tokens: Tokens;
  readonly logger: Logger;
  readonly redactor: Redactor;
  readonly version: string;
  /** On the way to upstreams. */
  readonly proxies: Proxies;
}

/** For so long, in milliseconds, the settlement of calls that were cut off is waited for. */
const settleMs = 3_000;

/** Others' servers are looked at no oftener than this, in milliseconds. */
const upstreamsEveryMs = 60_000;

/**
 * The composition root of core-model-gateway, without its HTTP server. Its `tokens` are those of the installation and keys of runs.
 * @throws what `openLedger` throws
 */
export function composeGateway(parts: GatewayParts) {
  const { folders, config, logger, redactor, version } = parts;
  const adapters = adapterParts(parts);
  const { mode, recordings } = config;
  const inMode = upstreamsInMode({ mode, recordings, state: folders.state, redactor, logger });
  // What is replayed was paid when it was recorded.
  const prices: PriceList = config.mode === 'replay' ? new Map() : priceList(config);
  const ledger = openLedger(folders.state, { prices, dayBudget: config.budgets.day });
  const file = watchConfigFile(folders);
  const timeoutMs = readSettings({ folders, environment }).answers.seconds * 1000;
  const upstreams = new Probe((signal) => reachUpstreams(config, adapters.connections, signal), {
    timeoutMs,
    everyMs: upstreamsEveryMs,
  });
  const lanes = modelLanes(config, (facts) => inMode(facts.name, () => liveUpstream(facts, adapters)));
  const metrics = createCallMetrics(() => lanes.state());
  const calls = new ModelCalls({
    models: lanes.models,
    ledger,
    metrics,
    logger,
    retries: config.retries,
    totalMs: config.timeouts.total_ms,
  });

  return {
    tokens: withRunKeys(parts.tokens, (text) => ledger.keys.find(text)),
    routes: [
      ...modelListRoutes(config, Date.now()),
      ...usageRoutes(ledger),
      ...keyRoutes(ledger.keys, Object.keys(config.models)),
      ...callRoutes({ calls, redactor }),
    ],
    /** Response for unmatched routes, as clients of OpenAI's interface expect it. */
    refuseUnknown: (error: unknown, id: string) => openAiError(error, id, redactor),
    health: () => checkHealth({ version, config, folders, ledger, file, upstreams }),
    registry: metrics.registry,
    /** Settles what is under way; the server must have ended already. */
    async close(): Promise<void> {
      await Promise.race([calls.settled(), new Promise((resolve) => setTimeout(resolve, settleMs).unref())]);
      await adapters.connections.destroy();
      await ledger.close();
    },
  };
}

/** What adapters need to reach upstreams; also for a check of them without the service. */
export function adapterParts({
  folders,
  config,
  redactor,
  version,
  proxies,
}: Pick<GatewayParts, 'config' | 'redactor' | 'version' | 'proxies'> & {
  readonly folders: Pick<Folders, 'secrets'>;
}): AdapterParts {
  const known = new KnownSecrets();
  const { connect_ms, idle_ms } = config.timeouts;
  return {
    // The time until an answer begins is limited by who asks.
    connections: openConnections({ connectMs: connect_ms, idleMs: idle_ms, beginMs: 0, proxies }),
    credential(name) {
      const read = credentialReader(folders.secrets, name, (value) => redactor.addSecret(value), known);
      // Known before it is used, as another upstream may send it back; what is wrong with it is reported when it is used.
      try {
        read();
      } catch {}
      return read;
    },
    timeouts: config.timeouts,
    userAgent: `core-model-gateway/${version}`,
  };
}

export function priceList({ models }: Pick<GatewayConfig, 'models'>): PriceList {
  return new Map(
    Object.entries(models).map(([name, entry]) => {
      const names = upstreamNames(entry);
      return [name, new Map(entry.upstreams.map(({ price }, position) => [names[position]!, price ?? null]))];
    }),
  );
}
