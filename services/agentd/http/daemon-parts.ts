import type { Settings } from '#kit/config/settings.ts';
import { type Health, type HealthCheck, type HealthStatus, healthOf } from '#kit/contracts/health.ts';
import { messageOf } from '#kit/errors.ts';
import type { Route } from '#kit/http/route.ts';
import type { ServedParts } from '#kit/http/serve-service.ts';
import type { Redactor } from '#kit/redaction.ts';
import type { Agent } from '../agent.ts';
import { artifactRoutes } from './artifact-routes.ts';
import type { BackgroundWork } from './background-work.ts';
import { eventRoutes } from './event-routes.ts';
import { issueRoutes } from './issue-routes.ts';
import { readRoutes } from './read-routes.ts';
import { runFeedRoutes } from './run-feed.ts';
import type { StatusCommand } from './status-command.ts';
import { statusRoutes } from './status-routes.ts';
import { writeRoutes } from './write-routes.ts';

export interface DaemonOptions {
  readonly agent: Agent;
  readonly settings: Settings;
  readonly redactor: Redactor;
  readonly version: string;
  readonly status: StatusCommand;
  /** More for `/healthz`: a check that throws makes the daemon degraded. */
  readonly checks?: Readonly<Record<string, () => Promise<HealthCheck>>>;
}

/** core-agentd's HTTP interface over the use cases. */
export function daemonParts(
  options: DaemonOptions,
  work: BackgroundWork,
): Pick<ServedParts, 'routes' | 'health'> {
  return { routes: daemonRoutes(options, work), health: () => checkHealth(options) };
}

/** What the daemon answers besides the standard routes. */
export function daemonRoutes(
  { agent, settings, redactor, version, status }: DaemonOptions,
  work: BackgroundWork,
): Route[] {
  return [
    ...readRoutes({ agent, version, checkouts: Object.keys(settings.agentd.checkouts) }),
    ...artifactRoutes(agent),
    ...issueRoutes(agent, work.ending),
    ...eventRoutes(agent, work, redactor),
    ...runFeedRoutes(agent),
    ...statusRoutes(agent, status),
    ...writeRoutes({ agent, work, checkouts: settings.agentd.checkouts }),
  ];
}

/** Without its runs the daemon can do nothing; without anything else it can do less. */
async function checkHealth({ agent, version, checks = {} }: DaemonOptions): Promise<Health> {
  const runs = check('failing', async () => {
    const { problems } = await agent.runs({ limit: 1 });
    const others = problems.length === 0 ? '' : `; ${problems.length} things among them are no runs`;
    return { status: 'ok', detail: `readable${others}` };
  });
  const names = Object.keys(checks);
  const results = await Promise.all([runs, ...names.map((name) => check('degraded', checks[name]!))]);
  const all = Object.fromEntries(['runs', ...names].map((name, index) => [name, results[index]!]));
  return healthOf('core-agentd', version, all);
}

async function check(otherwise: HealthStatus, work: () => Promise<HealthCheck>): Promise<HealthCheck> {
  try {
    return await work();
  } catch (error) {
    return { status: otherwise, detail: messageOf(error) };
  }
}
