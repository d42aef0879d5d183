import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '#kit/environment.ts';
import type { Folders } from '#kit/folders.ts';
import { registryPath } from '#kit/tokens/token-files.ts';
import { findPlaces, type Places } from './places.ts';
import type { Deployment } from './service-manager.ts';

/** The port that each service has in its container, and the variable that says where it is instead. */
const services = {
  7817: 'CORE_AGENTD_URL',
  8090: 'CORE_CONTEXT_URL',
  8092: 'CORE_MODELS_URL',
  8093: 'CORE_BRIDGE_URL',
} as const;
const busPort = 49_134;
const busHttpPort = 3_111;

/**
 * Where a deployment is reached from this machine: what the environment names stays, else where its ports are published.
 * @returns `origins` are those published addresses
 */
export function publishedPlaces(
  { published }: Deployment,
  folders: Folders,
  environment: Environment,
): { readonly places: Places; readonly origins: readonly string[] } {
  const found = Object.entries(services).flatMap(([port, variable]) => {
    const place = published.get(Number(port));
    return place === undefined || environment[variable] ? [] : [[variable, `http://${place}`] as const];
  });
  const places = findPlaces(folders, { ...environment, ...Object.fromEntries(found) });
  const bus = environment.CORE_BUS_URL ? undefined : published.get(busPort);
  const http = published.get(busHttpPort);
  const origins = [...found.map(([, url]) => url), ...(bus === undefined ? [] : [`http://${bus}`])];
  return {
    origins,
    places: {
      ...places,
      // What is published asks for a token, whichever engine is behind it.
      bus: bus === undefined ? places.bus : { url: `ws://${bus}`, wants_token: true, ca: null },
      endpoints: places.endpoints.map((endpoint) =>
        endpoint.service === 'core-bus-engine' && http !== undefined
          ? { ...endpoint, url: `http://${http}`, ca: null }
          : endpoint,
      ),
    },
  };
}

/** The tokens of the project beside this one's own, where it has them and the environment names none. */
export function deployedTokens(
  { folder }: Deployment,
  own: Folders,
  environment: Pick<Environment, 'CORE_TOKENS_DIR'>,
): Pick<Folders, 'tokens' | 'registry'> {
  const registry = folder === null ? null : join(folder, 'secrets/registry');
  if (registry === null || environment.CORE_TOKENS_DIR || !existsSync(registryPath(registry))) return own;
  return { tokens: join(folder!, 'secrets/tokens'), registry };
}
