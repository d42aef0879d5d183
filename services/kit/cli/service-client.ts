import type { ServiceName } from '../config/running-service.ts';
import { TimedOut, Unavailable } from '../errors.ts';
import type { Folders } from '../folders.ts';
import { createHttpClient, type HttpClient } from '../http/client.ts';
import { shellWord } from '../shell-word.ts';
import { ownToken } from '../tokens/tokens.ts';
import { isCore, launcherOf } from './own-names.ts';
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
 * @throws Unavailable (`http_unavailable`) with how to start it
 */
export async function askService<T>(
  { program, home }: Pick<CommandContext, 'program' | 'home'>,
  { folders, service }: { readonly folders: Folders; readonly service: AskedService },
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
    const launcher = launcherOf(program);
    const start = isCore(launcher) ? `${launcher} up` : `${program} serve`;
    const elsewhere = home === undefined ? '' : ` --home ${shellWord(home)}`;
    throw new Unavailable(error.code, `${name} does not answer at ${baseUrl}`, {
      cause: error,
      hint: `Start it: ${start}${elsewhere}`,
    });
  } finally {
    await client.close();
  }
}
