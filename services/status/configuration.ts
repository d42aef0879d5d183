import * as t from 'io-ts';
import { AbsolutePath, HttpUrl } from '#kit/config/address.ts';
import { readConcern } from '#kit/config/concern.ts';
import { platformServices } from '#kit/contracts/platform-services.ts';
import { NonEmptyString, nullable, oneOf } from '#kit/decode.ts';
import type { Folders } from '#kit/folders.ts';

export const managerKinds = ['auto', 'embedded', 'compose', 'none'] as const;

/** What `config/status.json` holds. */
export const StatusConfig = t.strict({
  /** Who runs the services; `auto` looks for the embedded stack of this state folder, then for a compose project; `none`:
   * nobody who can be asked from here, as in a container, so that what the services answer is all there is. */
  manager: oneOf(managerKinds),
  /** Of the compose project. */
  compose: t.strict({
    /** null: as `docker compose` finds it from the folder in which the command runs. */
    file: nullable(AbsolutePath),
    /** null: the name that the file or its folder gives. */
    project: nullable(NonEmptyString),
  }),
  /** Whether stores in memory, telemetry, and facts that cannot be read are problems; `auto`: with compose. */
  production_like: oneOf(['auto', 'yes', 'no']),
  /** Services that may be away. */
  optional: t.array(oneOf(platformServices)),
  /** Addresses of this machine that are shown a token although no service of this state folder says that it listens there, as of a
   * tunnel or a port that a container publishes. */
  vouched: t.array(HttpUrl),
});
export type StatusConfig = t.TypeOf<typeof StatusConfig>;

/** @throws InvalidInput (`config_invalid`) */
export function readStatusConfig(folders: Pick<Folders, 'config'>): StatusConfig {
  return readConcern(StatusConfig, 'status', folders);
}
