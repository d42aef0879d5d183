import type { CommandContext } from '../cli/program.ts';
import { type BusAddressSources, busAddress } from '../config/bus-url.ts';
import { answerMs } from '../config/settings.ts';
import { environment } from '../environment.ts';
import { Unavailable } from '../errors.ts';
import { type Folders, resolveFolders } from '../folders.ts';
import { type Logger, silentLogger } from '../log.ts';
import { readSmallFile } from '../small-file.ts';
import { reportBusConnected } from '../supervisor-channel.ts';
import { tokenAtHand } from '../tokens/tokens.ts';
import type { Bus } from './bus.ts';
import { connectBus } from './websocket-bus.ts';

export interface OpenBusOptions {
  readonly folders: Folders;
  readonly environment: BusAddressSources['environment'];
  /** Asked before each connecting, and only for a bus that is ours: another never sees a token. */
  readonly token: () => string;
  /** Name of this process in the bus's lists. */
  readonly name: string;
  readonly logger: Logger;
  /** Called whenever the connection comes or goes; by default the supervisor hears of it. */
  readonly watch?: (connected: boolean) => void;
}

/**
 * The bus of this installation, wherever it is when it is connected to.
 * @throws InvalidInput (`config_invalid`)
 */
export function openBus({
  folders,
  environment,
  token,
  name,
  logger,
  watch = reportBusConnected,
}: OpenBusOptions): Bus {
  const address = () => busAddress({ folders, environment });
  const { certificate_file } = address();
  return connectBus({
    url: () => address().url,
    token: () => (address().wants_token ? token() : null),
    ca: certificate_file === null ? null : readSmallFile(certificate_file),
    name,
    logger,
    watch,
  });
}

/**
 * A command works with the running bus, as the person whose account this is.
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
