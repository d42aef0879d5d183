import type { Settings } from '#kit/config/settings.ts';
import type { Health, HealthStatus } from '#kit/contracts/health.ts';
import { messageOf } from '#kit/errors.ts';
import type { Route } from '#kit/http/route.ts';
import { createHttpServer } from '#kit/http/server.ts';
import type { Logger } from '#kit/log.ts';
import type { Redactor } from '#kit/redaction.ts';
import type { Tokens } from '#kit/tokens.ts';
import type { Agent } from '../agent.ts';
import { BackgroundWork } from './background-work.ts';
import { eventRoutes } from './event-routes.ts';
import { issueRoutes } from './issue-routes.ts';
import { readRoutes } from './read-routes.ts';
import type { StatusCommand } from './status-command.ts';
import { statusRoutes } from './status-routes.ts';
import { writeRoutes } from './write-routes.ts';

export interface DaemonOptions {
  readonly agent: Agent;
  readonly tokens: Tokens;
  readonly settings: Settings;
  readonly logger: Logger;
  readonly redactor: Redactor;
  readonly version: string;
  readonly status: StatusCommand;
  /** More for `/healthz`: a check that throws makes the daemon degraded. Resolves with a word for people. */
  readonly checks?: Readonly<Record<string, () => Promise<string>>>;
}

export interface Daemon {
  /** @throws Failed (`port_in_use`), Refused (`binding_not_allowed`) */
  start(): Promise<{ readonly url: string; readonly port: number }>;
  /** Stops all work, then the server. */
  close(): Promise<void>;
}

const service = 'core-agentd';

/** core-agentd's HTTP interface over the use cases. */
export function createDaemon(options: DaemonOptions): Daemon {
  const { tokens, settings, logger, redactor, version } = options;
  const work = new BackgroundWork(logger);
  const server = createHttpServer({
    service,
    version,
    binding: settings.agentd,
    tokens,
    logger,
    redactor,
    routes: daemonRoutes(options, work),
    health: () => checkHealth(options),
  });
  return {
    start: () => server.start(),
    async close() {
      await work.close();
      await server.close();
    },
  };
}

/** What the daemon answers besides the standard routes. */
export function daemonRoutes(
  { agent, settings, redactor, version, status }: DaemonOptions,
  work: BackgroundWork,
): Route[] {
  return [
    ...readRoutes(agent, version),
    ...issueRoutes(agent, work.ending),
    ...eventRoutes(agent, work, redactor),
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
    service,
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
