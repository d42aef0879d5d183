import type { CommandContext } from '#kit/cli/program.ts';
import { askService } from '#kit/cli/service-client.ts';
import { gatewayUrl } from '#kit/config/client-urls.ts';
import { environment } from '#kit/environment.ts';
import { resolveFolders } from '#kit/folders.ts';
import type { HttpClient } from '#kit/http/client.ts';

/** @throws Unavailable (`http_unavailable`) with how to start it */
export function withGateway<T>(
  context: CommandContext,
  work: (client: HttpClient) => Promise<T>,
): Promise<T> {
  const folders = resolveFolders({ home: context.home }, environment);
  const service = { name: 'core-model-gateway', baseUrl: gatewayUrl({ folders, environment }) } as const;
  return askService(context, { folders, word: 'model', service }, work);
}
