import type { CommandContext } from '#kit/cli/program.ts';
import { askService } from '#kit/cli/service-client.ts';
import { bridgeUrl } from '#kit/config/client-urls.ts';
import { environment } from '#kit/environment.ts';
import { resolveFolders } from '#kit/folders.ts';
import type { HttpClient } from '#kit/http/client.ts';

/** @throws Unavailable (`http_unavailable`) with how to start it */
export function withBridge<T>(
  context: CommandContext,
  work: (client: HttpClient) => Promise<T>,
  /** Milliseconds for an answer. */
  timeoutMs = 30_000,
): Promise<T> {
  const folders = resolveFolders({ home: context.home }, environment);
  const baseUrl = bridgeUrl({ folders, environment });
  const service = { name: 'core-bridge', baseUrl, timeoutMs } as const;
  return askService(context, { folders, word: 'bridge', service }, work);
}
