import { readFileSync } from 'node:fs';
import { type BusAddressSources, busAddress } from '../config/bus-url.ts';
import type { Folders } from '../folders.ts';
import type { Logger } from '../log.ts';
import { tellSupervisor } from '../supervisor-channel.ts';
import type { Bus } from './bus.ts';
import { connectBus } from './websocket-bus.ts';

export interface OpenBusOptions {
  readonly folders: Folders;
  readonly environment: BusAddressSources['environment'];
  /** Asked before each connecting, and only for a bus that is ours: another never sees a token. */
  readonly token: () => string;
  /** What this process is called in the bus's lists. */
  readonly name: string;
  readonly logger: Logger;
  /** Told whenever the connection comes or goes; without it the supervisor is. */
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
  watch = tellSupervisor,
}: OpenBusOptions): Bus {
  const address = () => busAddress({ folders, environment });
  const { certificate_file } = address();
  return connectBus({
    url: () => address().url,
    token: () => (address().wants_token ? token() : null),
    ca: certificate_file === null ? null : readFileSync(certificate_file, 'utf8'),
    name,
    logger,
    watch,
  });
}
