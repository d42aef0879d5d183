import type { CommandContext } from '#kit/cli/program.ts';
import { gatewayUrl } from '#kit/config/running-models.ts';
import { environment } from '#kit/environment.ts';
import { TimedOut, Unavailable } from '#kit/errors.ts';
import { resolveFolders } from '#kit/folders.ts';
import { createHttpClient, type HttpClient } from '#kit/http/client.ts';
import { ownToken } from '#kit/tokens.ts';

/**
 * Does work with a client of the running service, as the person whose account this is.
 * @throws Unavailable (`http_unavailable`) with how to start it
 */
export async function withGateway<T>(
  context: CommandContext,
  work: (client: HttpClient) => Promise<T>,
): Promise<T> {
  const folders = resolveFolders({ home: context.home }, environment);
  const baseUrl = gatewayUrl({ folders, environment });
  const client = createHttpClient({ baseUrl, token: ownToken(folders).text });
  try {
    return await work(client);
  } catch (error) {
    if (!(error instanceof Unavailable) || error instanceof TimedOut || error.code !== 'http_unavailable')
      throw error;
    const start = context.program.endsWith(' model')
      ? `${context.program.replace(/ model$/, '')} up`
      : `${context.program} serve`;
    throw new Unavailable(error.code, `core-model-gateway does not answer at ${baseUrl}`, {
      cause: error,
      hint: `Start it: ${start}`,
    });
  } finally {
    await client.close();
  }
}
