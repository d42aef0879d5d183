import type { CommandContext, RunCommand } from '#kit/cli/program.ts';
import { askService } from '#kit/cli/service-client.ts';
import { bridgeUrl } from '#kit/config/client-urls.ts';
import { environment } from '#kit/environment.ts';
import { resolveFolders } from '#kit/folders.ts';
import type { HttpClient } from '#kit/http/client.ts';

/**
 * The action of a command that asks the running service.
 * @param work gets what the command line gives; @returns the exit code @throws Unavailable (`http_unavailable`) with how to start it
 * @param timeoutMs for an answer
 */
export function asking<Given extends unknown[]>(
  run: RunCommand,
  work: (context: CommandContext, client: HttpClient, ...given: Given) => Promise<number>,
  timeoutMs = 30_000,
): (...given: Given) => Promise<void> {
  return (...given) =>
    run((context) => {
      const folders = resolveFolders({ home: context.home }, environment);
      const service = {
        name: 'core-bridge',
        baseUrl: bridgeUrl({ folders, environment }),
        timeoutMs,
      } as const;
      return askService(context, { folders, service }, (client) => work(context, client, ...given));
    });
}
