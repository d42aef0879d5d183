import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { busAddress, engineHttpPort } from '#kit/config/bus-url.ts';
import { agentdUrl, bridgeUrl, gatewayUrl, givenUrl, ownUrl } from '#kit/config/client-urls.ts';
import { runningService } from '#kit/config/running-service.ts';
import { readSettings } from '#kit/config/settings.ts';
import type { Environment } from '#kit/environment.ts';
import type { Folders } from '#kit/folders.ts';
import { readSmallFile } from '#kit/small-file.ts';
import { registryPath } from '#kit/tokens/token-files.ts';
import type { Endpoint } from './endpoints.ts';
import { readStackNote } from './managers/embedded-stack.ts';
import type { Deployment } from './managers/service-manager.ts';

export interface Places {
  readonly agentd: string;
  readonly bridge: string;
  readonly endpoints: readonly Endpoint[];
  /** Services that run here while clients reach them at another address, which `endpoints` has. */
  readonly here: readonly Endpoint[];
  /** `ca`: PEM of the certificate that it serves with, where it is our own engine with TLS. */
  readonly bus: { readonly url: string; readonly wants_token: boolean; readonly ca: string | null };
  /** Services that this installation does without, with the reason. */
  readonly unused: ReadonlyMap<string, string>;
}

/** @throws InvalidInput (`config_invalid`) */
export function findPlaces(folders: Folders, environment: Environment): Places {
  const sources = { folders, environment };
  const agentd = agentdUrl(sources);
  const bridge = bridgeUrl(sources);
  const context = readSettings(sources).context.url?.replace(/\/+$/, '') ?? null;
  const { url: busUrl, wants_token, certificate_file } = busAddress(sources);
  const ca = certificateIn(certificate_file);
  const engineUrl = readStackNote(folders)?.services['core-bus-engine']?.url;
  const clients = [
    ...(context === null ? [] : [{ service: 'core-context' as const, url: context }]),
    { service: 'core-model-gateway' as const, url: gatewayUrl(sources) },
    { service: 'core-agentd' as const, url: agentd },
    { service: 'core-bridge' as const, url: bridge },
  ];
  return {
    agentd,
    bridge,
    bus: { url: busUrl, wants_token, ca },
    endpoints: [
      { service: 'core-bus-engine', url: engineUrl ?? engineHttpUrl(busUrl, sources), health: false, ca },
      ...clients.map(({ service, url }) => {
        const isGiven = givenUrl(service, sources) !== null && url !== ownUrl(service, sources);
        return { service, url, health: true, isGiven };
      }),
    ],
    here: clients.flatMap(({ service, url }) => {
      const own = runningService(service, folders)?.url;
      return own === undefined || own === url ? [] : [{ service, url: own, health: true }];
    }),
    unused: new Map(
      context === null ? [['core-context', 'context.url is null: planning does without it']] : [],
    ),
  };
}

/** null where there is none to read: its service says so when it starts. */
function certificateIn(file: string | null): string | null {
  try {
    return file === null ? null : readSmallFile(file);
  } catch {
    return null;
  }
}

/** On the host of the websocket, with the same kind of encryption. */
function engineHttpUrl(
  busUrl: string,
  { folders, environment }: { readonly folders: Folders; readonly environment: Environment },
): string {
  const url = new URL(busUrl.replace(/^ws/, 'http'));
  url.port = String(engineHttpPort(folders, environment));
  return url.origin;
}

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
