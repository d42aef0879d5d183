import { fileURLToPath } from 'node:url';
import { readServiceAddress, type ServiceAddress, serviceUrl } from '#kit/config/service-address.ts';
import { describeSettings, readSettings, type Settings } from '#kit/config/settings.ts';
import type { Environment } from '#kit/environment.ts';
import type { Folders } from '#kit/folders.ts';
import type { ServiceDefinition } from './supervised-service.ts';

/** A service of the embedded stack, and where it answers. */
export interface EmbeddedService extends ServiceDefinition {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** What a person sets to give it another port. */
  readonly otherPort: string;
}

export interface EmbeddedStack {
  readonly services: readonly EmbeddedService[];
  /** What is not started, and why. */
  readonly left: readonly { readonly name: string; readonly why: string }[];
}

export interface StackFlags {
  readonly host?: string | undefined;
  readonly port?: string | number | undefined;
  readonly contextPort?: string | number | undefined;
  readonly modelsPort?: string | number | undefined;
}

/** As `./core` has it: less to load, and less memory. */
const compileCache = fileURLToPath(new URL('../../node_modules/.cache/core', import.meta.url));

/** The services of this machine, as flags, environment and files want them. */
export function embeddedStack(folders: Folders, flags: StackFlags, environment: Environment): EmbeddedStack {
  const sources = {
    folders: { config: folders.config },
    flags: { host: flags.host, port: flags.port },
    environment,
  };
  const address = readServiceAddress('context', { folders, environment, flags: { port: flags.contextPort } });
  const url = serviceUrl(address);
  const models = readServiceAddress('models', { folders, environment, flags: { port: flags.modelsPort } });
  const gateway = gatewayService(folders, models);
  const settings = readSettings(sources);
  const wanted = describeSettings(sources).find(({ key }) => key === 'context.url')!;
  const elsewhere = wanted.source !== 'default' && flags.contextPort === undefined && wanted.value !== url;
  if (!elsewhere) {
    const agentd = agentdService(folders, settings, { context: url, models });
    return { services: [contextService(folders, address), gateway, agentd], left: [] };
  }
  const why =
    wanted.value === null
      ? `context.url is null (${wanted.where}): planning does without it`
      : `context.url is ${wanted.value} (${wanted.where}), not ${url}`;
  return {
    services: [gateway, agentdService(folders, settings, { context: settings.context.url, models })],
    left: [{ name: 'core-context', why }],
  };
}

function agentdService(
  folders: Folders,
  { agentd }: Settings,
  others: { readonly context: string | null; readonly models: ServiceAddress },
): EmbeddedService {
  const { host, port, tls } = agentd;
  return {
    name: 'core-agentd',
    args: [fileURLToPath(new URL('../agentd/main.ts', import.meta.url)), 'serve'],
    environment: {
      ...placesOf(folders),
      CORE_AGENTD_HOST: host,
      CORE_AGENTD_PORT: String(port),
      CORE_CONTEXT_URL: others.context ?? 'null',
      CORE_MODELS_URL: serviceUrl(others.models),
    },
    host,
    port,
    tls: tls !== null,
    otherPort: '--port or CORE_AGENTD_PORT',
  };
}

function contextService(folders: Folders, { host, port, tls }: ServiceAddress): EmbeddedService {
  return {
    name: 'core-context',
    args: [fileURLToPath(new URL('../context/main.ts', import.meta.url)), 'serve'],
    environment: { ...placesOf(folders), CORE_CONTEXT_HOST: host, CORE_CONTEXT_PORT: String(port) },
    host,
    port,
    tls: tls !== null,
    otherPort: '--context-port or CORE_CONTEXT_PORT',
  };
}

function gatewayService(folders: Folders, { host, port, tls }: ServiceAddress): EmbeddedService {
  return {
    name: 'core-model-gateway',
    args: [
      '--max-semi-space-size=4',
      fileURLToPath(new URL('../model-gateway/main.ts', import.meta.url)),
      'serve',
    ],
    environment: { ...placesOf(folders), CORE_MODELS_HOST: host, CORE_MODELS_PORT: String(port) },
    host,
    port,
    tls: tls !== null,
    otherPort: '--models-port or CORE_MODELS_PORT',
  };
}

function placesOf({ state, config }: Folders): Record<string, string> {
  return { CORE_STATE_DIR: state, CORE_CONFIG_DIR: config, NODE_COMPILE_CACHE: compileCache };
}
