import type { ServiceName } from '../config/running-service.ts';
import { TimedOut, Unavailable } from '../errors.ts';
import type { Folders } from '../folders.ts';
import { createHttpClient, type HttpClient } from '../http/client.ts';
import { ownToken } from '../tokens/tokens.ts';
import type { CommandContext } from './program.ts';

/** A service that commands ask. */
export interface AskedService {
  readonly name: ServiceName;
  readonly baseUrl: string;
  /** Milliseconds for an answer; the client's own default without it. */
  readonly timeoutMs?: number;
}

/**
 * Does work with a client of the running service, as the person whose account this is.
 * @param word what `./core` calls the service, as in `./core context`
 * @throws Unavailable (`http_unavailable`) with how to start it
 */
export async function askService<T>(
  { program }: Pick<CommandContext, 'program'>,
  {
    folders,
    word,
    service,
  }: { readonly folders: Folders; readonly word: string; readonly service: AskedService },
  work: (client: HttpClient) => Promise<T>,
): Promise<T> {
  const { name, baseUrl, timeoutMs } = service;
  const client = createHttpClient({
    baseUrl,
    token: ownToken(folders).text,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
  try {
    return await work(client);
  } catch (error) {
    if (!(error instanceof Unavailable) || error instanceof TimedOut || error.code !== 'http_unavailable')
      throw error;
    const start = program.endsWith(` ${word}`)
      ? `${program.slice(0, -word.length - 1)} up`
      : `${program} serve`;
    throw new Unavailable(error.code, `${name} does not answer at ${baseUrl}`, {
      cause: error,
      hint: `Start it: ${start}`,
    });
  } finally {
    await client.close();
  }
}
