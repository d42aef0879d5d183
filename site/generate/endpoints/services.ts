import { daemonRoutes } from '../../../services/agentd/http/serve.ts';
import { eventRoutes as bridgeEventRoutes } from '../../../services/bridge/http/event-routes.ts';
import { ingressRoutes } from '../../../services/bridge/http/ingress-routes.ts';
import { otherRoutes } from '../../../services/bridge/http/other-routes.ts';
import { DashboardSource } from '../../../services/bridge/ingress/dashboard-source.ts';
import { ForgeWebhookSource } from '../../../services/bridge/ingress/forge-webhook-source.ts';
import { executionRoutes } from '../../../services/context/execution/execution.ts';
import { adminRoutes } from '../../../services/context/http/admin-routes.ts';
import { cypherRoutes, searchRoutes } from '../../../services/context/http/graph-routes.ts';
import { memoryRoutes } from '../../../services/context/http/memory-routes.ts';
import { webhookForges } from '../../../services/kit/forges/registry.ts';
import type { Route } from '../../../services/kit/http/route.ts';
import { keyRoutes } from '../../../services/model-gateway/http/key-routes.ts';
import { callRoutes, modelListRoutes } from '../../../services/model-gateway/http/model-routes.ts';
import { usageRoutes } from '../../../services/model-gateway/http/usage-routes.ts';
import { absent } from './absent.ts';

export interface DocumentedService {
  /** Its folder in `services/`. */
  readonly folder: string;
  readonly name: string;
  readonly port: number;
  readonly about: string;
  /** As the service composes them, over parts that are never asked; a test compares with the running service. */
  readonly routes: () => readonly Route[];
}

const settings = { agentd: { checkouts: {} } } as never;
const daemon = {
  agent: absent,
  work: { ending: absent },
  settings,
  status: absent,
  tokens: absent,
  folders: { state: '' },
  redactor: absent,
  version: '',
} as never;
const forgeSource = { forges: [], roles: absent, config: absent, roleLabel: null, secret: null } as const;
const bridgeSources = [
  new DashboardSource({ forges: [], roles: absent, config: absent, secret: null, now: Date.now }),
  ...webhookForges.map((kind) => new ForgeWebhookSource({ ...forgeSource, kind })),
];

/** Every service with an HTTP interface. A new one adds its routes here. */
export const services: readonly DocumentedService[] = [
  {
    folder: 'agentd',
    name: 'core-agentd',
    port: 7817,
    about:
      'Plans, approves, executes, recovers. [HTTP API](../http-api.md) says who may, and how an approval is made.',
    routes: () => daemonRoutes(daemon),
  },
  {
    folder: 'context',
    name: 'core-context',
    port: 8090,
    about: 'Graph, memory, search and Cypher. [Graph and memory](../context.md) says what the answers mean.',
    routes: () => [
      ...adminRoutes({ jobs: absent, ingestion: absent, check: absent, nameOf: absent, mirrorOf: absent }),
      ...searchRoutes(absent),
      ...memoryRoutes(absent),
      ...cypherRoutes(absent, 10_000),
      ...executionRoutes(absent),
    ],
  },
  {
    folder: 'model-gateway',
    name: 'core-model-gateway',
    port: 8092,
    about:
      "Models behind OpenAI's interface, and keys of runs. [Models](../models.md) says what happens to a call.",
    routes: () => [
      ...modelListRoutes(() => ({}), absent, 0, absent),
      ...usageRoutes(absent),
      ...keyRoutes(absent, () => []),
      ...callRoutes({ calls: absent, redactor: absent }),
    ],
  },
  {
    folder: 'bridge',
    name: 'core-bridge',
    port: 8093,
    about:
      'Events of dashboards and forges, and schedules. [Dashboards](../bridge.md) says what becomes of an event.',
    routes: () => [
      ...bridgeEventRoutes(absent, absent),
      ...otherRoutes({ roles: absent, sync: absent, schedules: absent, catchUp: absent, ending: absent }),
      ...ingressRoutes(bridgeSources, {
        queue: absent,
        bodyBytes: 0,
        logger: absent,
        stored: absent,
      }),
    ],
  },
];
