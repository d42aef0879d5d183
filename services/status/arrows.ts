import type { HealthCheck } from '#kit/contracts/health.ts';
import type { EndpointReport, StatusReport } from '#kit/contracts/status.ts';

type Arrow = StatusReport['arrows'][number];

/** The checks of each service that prove its way to another, and what the other is called. */
const proved: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'core-agentd': { context: 'core-context', model_gateway: 'core-model-gateway' },
  'core-context': { neo4j: 'neo4j' },
  'core-model-gateway': { upstreams: 'upstreams of its models' },
  'core-bridge': { agentd: 'core-agentd', bus: 'core-bus-engine', worker: 'core-bus-worker' },
  'core-bus-worker': { agentd: 'core-agentd', context: 'core-context', bridge: 'core-bridge' },
};

type Endpoints = Readonly<Record<string, Pick<EndpointReport, 'health'>>>;

/** The ways between services, as each of them says that it goes them with its own token. */
export function arrowsIn(http: Endpoints): Arrow[] {
  return Object.entries(http).flatMap(([from, { health }]) =>
    Object.entries(proved[from] ?? {}).flatMap(([check, to]): Arrow[] => {
      const found = health?.checks[check];
      return found === undefined ? [] : [{ from, to, ok: found.status === 'ok', detail: found.detail }];
    }),
  );
}

/** What waits in each outbox and queue. */
export function backlogsIn(http: Endpoints): StatusReport['backlogs'] {
  return Object.entries(http).flatMap(([service, { health }]) =>
    Object.entries(health?.checks ?? {}).flatMap(([queue, { backlog }]: [string, HealthCheck]) =>
      backlog === undefined ? [] : [{ service, queue, ...backlog }],
    ),
  );
}
