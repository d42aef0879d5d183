import { gatewayUrl } from '#kit/config/client-urls.ts';
import { readKnownModels } from '#kit/config/known-models.ts';
import type { Settings } from '#kit/config/settings.ts';
import { backlogInWords, type HealthCheck } from '#kit/contracts/health.ts';
import type { Environment } from '#kit/environment.ts';
import type { Folders } from '#kit/folders.ts';
import { Probe, type Question } from '#kit/health/probe.ts';
import { takesToken } from '#kit/health/takes-token.ts';
import { reresolvingClient } from '#kit/http/reresolving-client.ts';
import { serviceToken } from '#kit/tokens.ts';
import type { Agent } from '../agent.ts';

export interface ArrowParts {
  readonly folders: Folders;
  readonly environment: Environment;
  readonly settings: Settings;
  readonly agent: Pick<Agent, 'contextBacklog'>;
}

export type Checks = Readonly<Record<string, () => Promise<HealthCheck>>>;

/** The backlog is looked at every minute; what waits longer than this many seconds is not taken. */
const patienceSeconds = 180;

/** What the daemon needs of others, proved with its own token, and what it has still to tell. */
export function arrowChecks({ folders, environment, settings, agent }: ArrowParts): {
  readonly checks: Checks;
  close(): Promise<void>;
} {
  const timeoutMs = settings.answers.seconds * 1000;
  const follow = (url: () => string) =>
    reresolvingClient(() => ({ baseUrl: url(), token: serviceToken(folders, 'agentd') }), { timeoutMs });
  const { url } = settings.context;
  const gateway = follow(() => gatewayUrl({ folders, environment }));
  const context = url === null ? null : follow(() => url);
  const probe = (ask: Question) => new Probe(ask, { timeoutMs });
  const gatewayProbe = probe((signal) => takesToken(gateway.now(), ['mint'], signal));
  const contextProbe = probe(async (signal) =>
    context === null
      ? 'planning does without core-context: context.url is null'
      : takesToken(context.now(), ['read', 'plan'], signal),
  );
  const outboxProbe = probe(async () => {
    const backlog = await agent.contextBacklog();
    if (backlog === null) return 'nobody is told of runs';
    const status = backlog.oldest_seconds > patienceSeconds ? 'degraded' : 'ok';
    return { status, detail: `runs that core-context is to be told of: ${backlogInWords(backlog)}`, backlog };
  });

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
