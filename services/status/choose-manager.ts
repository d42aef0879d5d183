import { Unavailable } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { dockerCompose } from './adapters/docker-compose.ts';
import { embeddedStack, readStackNote } from './adapters/embedded-stack.ts';
import { noManager } from './adapters/no-manager.ts';
import type { StatusConfig } from './configuration.ts';
import type { ServiceManager, Unit } from './service-manager.ts';

/** The manager that was chosen, with what it says. */
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
