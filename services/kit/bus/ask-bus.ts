import type { CommandContext } from '../cli/program.ts';
import { answerMs } from '../config/answer-ms.ts';
import { environment } from '../environment.ts';
import { Unavailable } from '../errors.ts';
import { resolveFolders } from '../folders.ts';
import { silentLogger } from '../silent-logger.ts';
import { tokenAtHand } from '../tokens.ts';
import type { Bus } from './bus.ts';
import { openBus } from './open-bus.ts';

/**
 * A command does work with the running bus, as the person whose account this is.
 * @throws Unavailable (`bus_unavailable`), and what the work throws
 */
export async function askBus<T>(
  { home }: Pick<CommandContext, 'home'>,
  work: (bus: Bus) => Promise<T>,
): Promise<T> {
  const folders = resolveFolders({ home }, environment);
  const bus = openBus({
    folders,
    environment,
    token: () => tokenAtHand(folders),
    name: 'core command line',
    logger: silentLogger,
    watch: () => {},
  });
  try {
    await bus.whenConnected(answerMs({ folders, environment })).catch((cause: Error) => {
      throw new Unavailable('bus_unavailable', `the bus cannot be used: ${cause.message}`, {
        cause,
        hint: 'Start it: ./core up',
      });
    });
    return await work(bus);
  } finally {
    await bus.close();
  }
}
