import { platformServices } from '#kit/contracts/platform-services.ts';
import { Unavailable } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import type { StatusConfig } from '../configuration.ts';
import { dockerCompose } from './docker-compose.ts';
import { embeddedStack, readStackNote } from './embedded-stack.ts';
import type { ServiceManager, Unit } from './service-manager.ts';

export interface Managed {
  readonly manager: ServiceManager;
  readonly units: ReadonlyMap<string, Unit>;
  /** Why it could not be asked, or is not well; null where neither is. */
  readonly problem: { readonly detail: string; readonly fix: string | null } | null;
}

/**
 * The one that is configured; else the supervisor where one runs with this state folder, else a compose project with services of the
 * platform, else the embedded stack, of which then nothing runs.
 */
export async function chooseManager(
  config: StatusConfig,
  folders: Pick<Folders, 'state'>,
  signal: AbortSignal,
): Promise<Managed> {
  const embedded = embeddedStack(folders);
  const compose = dockerCompose(config.compose);
  if (config.manager === 'embedded') return ask(embedded, signal);
  if (config.manager === 'compose') return ask(compose, signal);
  if (config.manager === 'none') return ask(noManager, signal);
  if (readStackNote(folders) !== null) return ask(embedded, signal);
  const found = await ask(compose, signal);
  const ours = [...found.units.keys()].some((name) => name.startsWith('core-'));
  return ours ? found : ask(embedded, signal);
}

async function ask(manager: ServiceManager, signal: AbortSignal): Promise<Managed> {
  try {
    return { manager, units: await manager.units(signal), problem: manager.problem?.() ?? null };
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    const problem = { detail: error.message, fix: error.hint ?? null };
    return { manager, units: new Map(), problem };
  }
}

const unknown: Unit = {
  state: 'unknown',
  pid: null,
  restarts: null,
  since: null,
  detail: 'not known from here; what it answers is under http',
  fix: null,
};

/** In a container nobody can be asked who runs the others: what they answer is all there is. */
export const noManager: ServiceManager = {
  kind: 'none',
  detail: 'nobody is asked who runs the services, only the services themselves',
  units: async () => new Map(platformServices.map((name) => [name, unknown])),
  environment: async () => null,
};
