import type { CommandContext } from '#kit/cli/program.ts';
import { contextUrl, readContextAddress } from '#kit/config/context-address.ts';
import { runningService } from '#kit/config/running-service.ts';
import { readSettings } from '#kit/config/settings.ts';
import { environment } from '#kit/environment.ts';
import { TimedOut, Unavailable } from '#kit/errors.ts';
import { resolveFolders } from '#kit/folders.ts';
import { createHttpClient, type HttpClient } from '#kit/http/client.ts';
import { ownToken } from '#kit/tokens.ts';

/** Milliseconds for an answer: a refresh that is waited for, or a check of a large record. */
const timeoutMs = 600_000;

/**
 * Does work with a client of the running service, as the person whose account this is.
 * @throws Unavailable (`http_unavailable`) with how to start it
 */
export async function withService<T>(
  context: CommandContext,
  work: (client: HttpClient) => Promise<T>,
): Promise<T> {
  const folders = resolveFolders({ home: context.home }, environment);
  const sources = { folders, environment };
  const baseUrl =
    readSettings(sources).context.url ??
    runningService('core-context', folders)?.url ??
    contextUrl(readContextAddress(sources));
  const client = createHttpClient({ baseUrl, token: ownToken(folders).text, timeoutMs });
  try {
    return await work(client);
  } catch (error) {
    if (!(error instanceof Unavailable) || error instanceof TimedOut || error.code !== 'http_unavailable')
      throw error;
    throw new Unavailable(error.code, `core-context does not answer at ${baseUrl}`, {
      cause: error,
      hint: `Start it: ${context.program.replace(/ context$/, '')} up`.replace(
        'core-context up',
        'core-context serve',
      ),
    });
  } finally {
    await client.close();
  }
}
