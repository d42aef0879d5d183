import { type Bus, BusError } from '#kit/bus/bus.ts';
import { openBus } from '#kit/bus/open-bus.ts';
import type { CommandContext } from '#kit/cli/program.ts';
import { environment } from '#kit/environment.ts';
import { resolveFolders } from '#kit/folders.ts';
import { silentLogger } from '#kit/silent-logger.ts';
import { tokenAtHand } from '#kit/tokens.ts';

/** Milliseconds for a connection. */
const patienceMs = 3_000;

/** Does work with the running bus, as the person whose account this is, or as the service in whose container it is asked. @throws BusError (`not_connected`) */
export async function askBus<T>({ home }: CommandContext, work: (bus: Bus) => Promise<T>): Promise<T> {
  const folders = resolveFolders({ home }, environment);
  const token = () => tokenAtHand(folders);
  const bus = openBus({ folders, environment, token, name: 'core command line', logger: silentLogger });
  try {
    await bus.whenConnected(patienceMs);
    return await work(bus);
  } catch (error) {
    if (!(error instanceof BusError) || error.code !== 'not_connected') throw error;
    throw new BusError(error.code, `the bus: ${error.message}`, {
      cause: error,
      hint: 'Start it: ./core up',
    });
  } finally {
    await bus.close();
  }
}
