import { isDeepStrictEqual } from 'node:util';
import { LiveConfig } from '#kit/config/live-config.ts';
import { readSettings } from '#kit/config/settings.ts';
import { environment } from '#kit/environment.ts';
import type { Folders } from '#kit/folders.ts';
import { Probe } from '#kit/health/probe.ts';
import { openConnections, type Proxies } from '#kit/http/client.ts';
import type { Logger } from '#kit/log.ts';
import type { Redactor } from '#kit/redaction/redactor.ts';
import type { Tokens } from '#kit/tokens/tokens.ts';
import { ContextWindows } from './calls/context-windows.ts';
import { ModelCalls } from './calls/model-calls.ts';
import { type ModelLanes, modelLanes } from './calls/models.ts';
import { type GatewayConfig, readGatewayConfig, upstreamNames } from './configuration.ts';
import { checkHealth, reachUpstreams } from './health.ts';
import { keyRoutes } from './http/key-routes.ts';
import { callRoutes, errorReply, modelListRoutes } from './http/model-routes.ts';
import { usageRoutes } from './http/usage-routes.ts';
import { Ledger } from './ledger/ledger.ts';
import { type PriceList, priceOf } from './ledger/money.ts';
import { withRunKeys } from './ledger/run-keys.ts';
import { openLedgerStore } from './ledger/store.ts';
import { createCallMetrics } from './metrics.ts';
import { askContextTokens } from './providers/context-window.ts';
import { credentialReader, KnownSecrets } from './providers/credential.ts';
import type { AdapterParts, UpstreamFacts } from './providers/upstream.ts';
import { upstreamsInMode } from './recordings/mode.ts';
import { liveUpstream } from './upstreams.ts';

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

/** Milliseconds for an answer of the ledger, which may be a database. */
const ledgerMs = 10_000;

/** Others' servers are looked at no oftener than this, in milliseconds. */
const upstreamsEveryMs = 60_000;

/** What follows models.json while the gateway runs. */
interface InForce {
  readonly config: GatewayConfig;
  readonly lanes: ModelLanes;
}

/** What of models.json the process is built with: another value counts from the next start on. */
const fixedAtStart = [
  'host',
  'port',
  'allowed_hosts',
  'require_token_for_reads',
  'behind_proxy',
  'tls',
  'timeouts',
  'mode',
  'recordings',
] as const;

/**
 * The composition root of core-model-gateway, without its HTTP server. Its `tokens` are those of the installation and keys of runs.
 * Models, retries, queues and the budget of the day follow models.json.
 * @throws what `openLedgerStore` throws
 */
export async function composeGateway(parts: GatewayParts) {
  const { folders, config: first, logger, redactor, version } = parts;
  const adapters = adapterParts(parts);
  const { mode, recordings } = first;
  const inMode = upstreamsInMode({ mode, recordings, state: folders.state, redactor, logger });
  // What is replayed was paid when it was recorded.
  const spending = (config: GatewayConfig) => ({
    prices: mode === 'replay' ? new Map() : priceList(config),
    dayBudget: config.budgets.day,
  });
  const ledger = new Ledger(await openLedgerStore(folders), spending(first));
  const sources = { folders, environment };
  const asRead = readGatewayConfig(sources);

  function inForce(config: GatewayConfig, before?: InForce): InForce {
    const make = (facts: UpstreamFacts) => inMode(facts.name, () => liveUpstream(facts, adapters));
    return { config, lanes: modelLanes(config, make, before?.lanes) };
  }

  const live = new LiveConfig<InForce>({
    names: ['models'],
    folders,
    read(before) {
      if (before === null) return inForce(first);
      const read = readGatewayConfig(sources);
      const waiting = fixedAtStart.filter((name) => !isDeepStrictEqual(read[name], asRead[name]));
      if (waiting.length > 0) logger.warn(`models.json: ${waiting.join(', ')} count from the next start on`);
      const kept = Object.fromEntries(fixedAtStart.map((name) => [name, first[name]]));
      const next = inForce({ ...read, ...kept }, before);
      ledger.change(spending(next.config));
      return next;
    },
  });
  live.report(logger);
  const models = () => live.current.config.models;

  const timeoutMs = readSettings(sources).answers.seconds * 1000;
  const upstreams = new Probe((signal) => reachUpstreams(live.current.config, adapters.connections, signal), {
    timeoutMs,
    everyMs: upstreamsEveryMs,
  });
  const asked = new Probe(() => ledger.health(), { timeoutMs: ledgerMs, required: true });
  const windows = new ContextWindows(models, async (entry, signal) =>
    mode === 'replay' ? null : askContextTokens(entry, adapters, signal),
  );
  const metrics = createCallMetrics(() => live.current.lanes.state());
  const calls = new ModelCalls({
    configured() {
      const { lanes, config } = live.current;
      return { models: lanes.models, retries: config.retries };
    },
    ledger,
    metrics,
    logger,
    totalMs: first.timeouts.total_ms,
  });

  return {
    tokens: withRunKeys(parts.tokens, ledger.keys),
    routes: [
      ...modelListRoutes(models, windows, Date.now(), redactor),
      ...usageRoutes(ledger),
      ...keyRoutes(ledger.keys, () => Object.keys(models())),
      ...callRoutes({ calls, redactor }),
    ],
    /** Response for unmatched routes, as clients of OpenAI's interface expect it. */
    refuseUnknown: (error: unknown, id: string) => errorReply('chat', error, id, redactor),
    health: () => {
      const { config } = live.current;
      return checkHealth({ version, config, folders, ledger: asked, file: () => live.health(), upstreams });
    },
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
      return [name, new Map(entry.upstreams.map((one, position) => [names[position]!, priceOf(one)]))];
    }),
  );
}
