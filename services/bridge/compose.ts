import type { Bus } from '#kit/bus/bus.ts';
import type { KnownForge } from '#kit/config/known-forges.ts';
import type { Health } from '#kit/contracts/health.ts';
import { messageOf } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { byWebhookForge } from '#kit/forges/registry.ts';
import { Probe } from '#kit/health/probe.ts';
import type { Route } from '#kit/http/route.ts';
import type { Logger } from '#kit/log.ts';
import type { Registry } from '#kit/prometheus.ts';
import type { Redactor } from '#kit/redaction/redactor.ts';
import { openSecretFile, type SecretFile } from '#kit/webhooks/secret-file.ts';
import type { BridgeStorage } from './bridge-storage.ts';
import type { BridgeConfig } from './configuration.ts';
import type { Daemon } from './daemon.ts';
import { askWorker, checkHealth, storeProbes } from './health.ts';
import { eventRoutes } from './http/event-routes.ts';
import { ingressRoutes } from './http/ingress-routes.ts';
import { otherRoutes } from './http/other-routes.ts';
import { DashboardSource } from './ingress/dashboard-source.ts';
import { ForgeWebhookSource } from './ingress/forge-webhook-source.ts';
import { createBridgeMetrics } from './metrics.ts';
import { Processing } from './processing/processing.ts';
import type { AcceptedEvent } from './queue/accept-event.ts';
import { EventQueue } from './queue/event-queue.ts';
import { beginPruning } from './queue/pruning.ts';
import type { Schedule } from './schedules/configuration.ts';
import { everyMinute, Schedules, tickFunction } from './schedules/schedules.ts';
import { CatchUp } from './sync/catch-up.ts';
import { WebhookDashboard } from './sync/dashboard.ts';
import { Sync } from './sync/sync.ts';
import type { RoleMap } from './targets/role-map.ts';

export interface BridgeParts {
  readonly folders: Pick<Folders, 'secrets'>;
  readonly storage: BridgeStorage;
  readonly config: BridgeConfig;
  readonly roles: RoleMap;
  readonly forges: readonly KnownForge[];
  readonly schedules: readonly Schedule[];
  readonly bus: Bus;
  /** Where it is looked for. */
  readonly busUrl: () => string;
  readonly daemon: Daemon;
  /** Milliseconds for the answer of another service about how it is. */
  readonly answerMs: number;
  readonly logger: Logger;
  readonly redactor: Redactor;
  readonly version: string;
  /** Aborted as soon as this process ends. */
  readonly ending: AbortSignal;
}

export interface BridgeService {
  readonly routes: readonly Route[];
  health(): Promise<Health>;
  readonly registry: Registry;
  /** Starts what is done without being asked for. */
  begin(): void;
  busChanged(): void;
  close(): Promise<void>;
}

/** Interval between two looks for events, in milliseconds. Polled, not notified: a NOTIFY makes all commits of the database wait. */
const lookMs = 1_000;
/** A call of the planning takes so much longer, in seconds, than the planning may. */
const callMarginSeconds = 120;

/** The composition root of core-bridge. */
export function composeBridge(parts: BridgeParts): BridgeService {
  const { storage, config, bus, busUrl, daemon, roles, logger, version } = parts;
  const since = Date.now();
  roles.report(logger);
  const queue = new EventQueue(storage, config.processing);
  let endPruning = (): void => {};
  const metrics = createBridgeMetrics(() => queue.counts());
  const secret = (name: string | null) => secretOf(name, parts);
  const sync = new Sync({
    ...{ deliveries: storage.deliveries, deliveryJobs: storage.deliveryJobs },
    dashboards: config.sync.dashboards.map(
      ({ name, url, secret: signedBy, timeout_s = 10 }) =>
        new WebhookDashboard({
          ...{ name, url, secret: secret(signedBy), timeoutMs: timeout_s * 1000 },
          userAgent: `core-bridge/${version}`,
        }),
    ),
    daemon,
    queue,
    config: config.sync,
    logger,
    observe: (dashboard, outcome) => metrics.delivered(dashboard, outcome),
  });
  const processing = new Processing({
    queue,
    bus,
    config: config.processing,
    rights: config.ingress,
    callMs: () => (roles.planningSeconds + callMarginSeconds) * 1000,
    logger,
    ending: parts.ending,
    lookMs,
    ended(_, outcome, seconds) {
      metrics.attempted(outcome, seconds);
      sync.wake();
    },
  });
  const schedules = new Schedules({
    schedules: parts.schedules,
    rows: storage.schedules,
    daemon,
    queue,
    roles,
    logger,
    made: () => processing.wake(),
  });
  const stored = (accepted: AcceptedEvent): void => {
    metrics.stored(accepted);
    if (!accepted.duplicate) processing.wake();
  };
  const { ingress } = config;
  const { forges } = parts;
  const forgeSources = byWebhookForge((kind) => {
    const own = { kind, config: ingress[kind], secret: secret(ingress[kind].secret) };
    return new ForgeWebhookSource({ ...own, roleLabel: ingress.role_label, forges, roles });
  });
  const signedBy = secret(ingress.dashboard.secret);
  const dashboardSource = new DashboardSource({
    forges,
    roles,
    config: ingress,
    secret: signedBy,
    now: Date.now,
  });
  const catchUp = new CatchUp({
    rows: storage.catchUps,
    daemon,
    queue,
    forges,
    sources: forgeSources,
    stored,
  });
  const { automatic } = config.processing;
  const { answerMs: timeoutMs } = parts;
  const agentd = new Probe((signal) => daemon.reached(signal), { timeoutMs });
  const worker = new Probe((signal) => askWorker(bus, timeoutMs, signal), { timeoutMs });
  const named = [ingress.dashboard, ...Object.values(byWebhookForge((kind) => ingress[kind]))];
  const secrets = Object.fromEntries(
    named.flatMap(({ secret: name }) => {
      const file = secret(name);
      return name === null || file === null ? [] : [[name, file] as const];
    }),
  );
  const store = storeProbes({ queue, sync, schedules, automatic, since });

  return {
    routes: [
      ...eventRoutes(queue, processing),
      ...otherRoutes({ roles, sync, schedules, catchUp, ending: parts.ending }),
      ...ingressRoutes([dashboardSource, ...Object.values(forgeSources)], {
        queue,
        bodyBytes: config.body_bytes,
        logger,
        stored,
      }),
    ],
    health: () => checkHealth({ version, store, bus, busUrl, agentd, worker, secrets }),
    registry: metrics.registry,
    begin() {
      schedules.begin().catch((error) => logger.warn(`schedules cannot begin yet: ${messageOf(error)}`));
      bus.register([tickFunction(schedules)], schedules.any ? [everyMinute] : []);
      processing.begin();
      sync.begin();
      endPruning = beginPruning((removal) => storage.prune(removal), config, logger);
    },
    busChanged: () => processing.wake(),
    async close() {
      endPruning();
      await processing.close();
      await schedules.close();
      await sync.close();
      await bus.close();
      await daemon.close();
      await storage.close();
    },
  };
}

function secretOf(name: string | null, { folders, redactor }: BridgeParts): SecretFile | null {
  return name === null ? null : openSecretFile(folders.secrets, name, (value) => redactor.addSecret(value));
}
