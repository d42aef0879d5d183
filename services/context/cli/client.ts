import type { CommandContext, RunCommand } from '#kit/cli/program.ts';
import { askService } from '#kit/cli/service-client.ts';
import { runningService } from '#kit/config/running-service.ts';
import { readServiceAddress, serviceUrl } from '#kit/config/service-address.ts';
import { readSettings } from '#kit/config/settings.ts';
import { environment } from '#kit/environment.ts';
import { resolveFolders } from '#kit/folders.ts';
import type { HttpClient } from '#kit/http/client.ts';

/** Milliseconds for an answer: a refresh that is waited for, or a check of a large record. */
const timeoutMs = 600_000;

/** @throws Unavailable (`http_unavailable`) with how to start it */
export function withService(
  context: CommandContext,
  work: (client: HttpClient) => Promise<number>,
): Promise<number> {
  const folders = resolveFolders({ home: context.home }, environment);
  const sources = { folders, environment };
  const baseUrl =
    readSettings(sources).context.url ??
    runningService('core-context', folders)?.url ??
    serviceUrl(readServiceAddress('context', sources));
  const service = { name: 'core-context', baseUrl, timeoutMs } as const;
  return askService(context, { folders, service }, work);
}

/** Runs a command that asks the running service. @param work resolves with the exit code */
export function runWithService(
  run: RunCommand,
  work: (client: HttpClient, context: CommandContext) => Promise<number>,
): Promise<void> {
  return run((context) => withService(context, (client) => work(client, context)));
}
