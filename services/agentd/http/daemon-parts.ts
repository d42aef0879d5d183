import type { Settings } from '#kit/config/settings.ts';
import type { Health, HealthStatus } from '#kit/contracts/health.ts';
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
  /** More for `/healthz`: a check that throws makes the daemon degraded. Resolves with a word for people. */
  readonly checks?: Readonly<Record<string, () => Promise<string>>>;
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
    return problems.length === 0 ? 'readable' : `readable; ${problems.length} things among them are no runs`;
  });
  const names = Object.keys(checks);
  const results = await Promise.all([runs, ...names.map((name) => check('degraded', checks[name]!))]);
  const statuses = results.map(({ status }) => status);
  return {
    status: statuses.includes('failing') ? 'failing' : statuses.includes('degraded') ? 'degraded' : 'ok',
    service: 'core-agentd',
    version,
    checks: Object.fromEntries(['runs', ...names].map((name, index) => [name, results[index]!])),
  };
}

async function check(
  otherwise: HealthStatus,
  work: () => Promise<string>,
): Promise<{ status: HealthStatus; detail: string }> {
  try {
    return { status: 'ok', detail: await work() };
  } catch (error) {
    return { status: otherwise, detail: messageOf(error) };
  }
}
