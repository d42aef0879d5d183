import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { urlOf } from '#kit/config/address.ts';
import { busAddress, engineHttpPort } from '#kit/config/bus-url.ts';
import { type ClientService, clientConcerns, type GivenUrl, givenUrl } from '#kit/config/client-urls.ts';
import { readServiceAddress } from '#kit/config/service-address.ts';
import { readSettings } from '#kit/config/settings.ts';
import { sharesContextRecord } from '#kit/config/storage.ts';
import { type PlatformService, platformServices } from '#kit/contracts/platform-services.ts';
import type { Environment } from '#kit/environment.ts';
import { InvalidInput } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import type { ServiceDefinition } from './supervised-service.ts';

/** One address at which a service answers. */
export interface ServicePort {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** What a person sets to give it another port. */
  readonly otherPort: string;
}

/** A service of the embedded stack, and where it answers. */
export interface EmbeddedService extends ServiceDefinition {
  readonly name: PlatformService;
  /** Its HTTP interface; null for the worker, which listens nowhere. */
  readonly http: ServicePort | null;
  /** The engine's websocket. */
  readonly socket: ServicePort | null;
}

interface EmbeddedStack {
  readonly services: readonly EmbeddedService[];
  /** What is not started, and why. */
  readonly left: readonly { readonly name: PlatformService; readonly why: string }[];
  /** What is started while clients, these services too, reach it at another address: a proxy in front of several, or another host. */
  readonly behind: readonly {
    readonly name: PlatformService;
    readonly url: string;
    readonly where: string;
  }[];
}

type Given = string | number | undefined;

export interface StackFlags extends Choice {
  readonly host?: string | undefined;
  readonly port?: Given;
  readonly contextPort?: Given;
  readonly modelsPort?: Given;
  readonly bridgePort?: Given;
  readonly busPort?: Given;
  readonly busHttpPort?: Given;
}

/** As `./core` has it: less to load, and less memory. */
const compileCache = fileURLToPath(new URL('../../node_modules/.cache/core', import.meta.url));

/**
 * The services of this machine, as flags, environment and files want them. Each is given the addresses of all the others: those that
 * somebody gives clients, else those at which they are started.
 * @throws InvalidInput (`config_invalid`, `invalid_option`)
 */
export function embeddedStack(folders: Folders, flags: StackFlags, environment: Environment): EmbeddedStack {
  const places = placesOf(folders, flags, environment);
  const elsewhere = clientsElsewhere(folders, flags, environment, places);
  const left = new Map([...leftOut(folders, environment, places, elsewhere), ...unwanted(flags)]);
  const isHere = (name: PlatformService) => !left.has(name);
  const shared = sharedEnvironment(folders, places, { isHere, elsewhere });
  const services = platformServices.filter(isHere).map((name) => definition(name, places, shared));
  refuseSamePorts(services);
  return {
    services,
    left: platformServices.flatMap((name) => (left.has(name) ? [{ name, why: left.get(name)! }] : [])),
    behind: services.flatMap(({ name }) => {
      const given = elsewhere.get(name);
      return given?.url == null ? [] : [{ name, url: given.url, where: given.where }];
    }),
  };
}

function refuseSamePorts(services: readonly EmbeddedService[]): void {
  const taken = new Map<string, { readonly name: string; readonly place: ServicePort }>();
  for (const { name, socket, http } of services) {
    for (const place of [socket, http]) {
      if (place === null || place.port === 0) continue;
      const where = `${place.host} ${place.port}`;
      const other = taken.get(where);
      if (other !== undefined) {
        const what = `port ${place.port} is for ${other.name} and for ${name}: must be another for each`;
        const hint = `Of ${other.name}: ${other.place.otherPort}. Of ${name}: ${place.otherPort}.`;
        throw new InvalidInput('config_invalid', what, { hint });
      }
      taken.set(where, { name, place });
    }
  }
}

type Places = Readonly<Record<'agentd' | 'context' | 'models' | 'bridge' | 'bus' | 'busHttp', ServicePort>>;

function placesOf(folders: Folders, flags: StackFlags, environment: Environment): Places {
  const { agentd } = readSettings({
    folders: { config: folders.config },
    flags: { host: flags.host, port: flags.port },
    environment,
  });
  const place = (concern: 'context' | 'models' | 'bridge' | 'bus', port: Given): ServicePort => {
    const { host, port: own, tls } = readServiceAddress(concern, { folders, environment, flags: { port } });
    const otherPort = `--${concern}-port or CORE_${concern.toUpperCase()}_PORT`;
    return { host, port: own, tls: tls !== null, otherPort };
  };
  const bus = place('bus', flags.busPort);
  const busHttp = engineHttpPort(folders, environment, flags.busHttpPort);
  return {
    agentd: {
      host: agentd.host,
      port: agentd.port,
      tls: agentd.tls !== null,
      otherPort: '--port or CORE_AGENTD_PORT',
    },
    context: place('context', flags.contextPort),
    models: place('models', flags.modelsPort),
    bridge: place('bridge', flags.bridgePort),
    bus,
    busHttp: { ...bus, port: busHttp, otherPort: '--bus-http-port or CORE_BUS_HTTP_PORT' },
  };
}

const portFlags = {
  'core-context': 'contextPort',
  'core-model-gateway': 'modelsPort',
  'core-agentd': 'port',
  'core-bridge': 'bridgePort',
} as const satisfies Record<ClientService, keyof StackFlags>;

/** Services for which somebody gives clients another address than that of this stack. A port that a flag gives is for this stack. */
function clientsElsewhere(
  folders: Folders,
  flags: StackFlags,
  environment: Environment,
  places: Places,
): ReadonlyMap<PlatformService, GivenUrl> {
  const services = Object.keys(clientConcerns) as ClientService[];
  return new Map(
    services.flatMap((name) => {
      const given = givenUrl(name, { folders, environment });
      if (given === null || given.url === urlOf(places[clientConcerns[name]])) return [];
      const isOwn = flags[portFlags[name]] !== undefined && !isOneOfSeveral(name, folders);
      return isOwn ? [] : [[name, given] as const];
    }),
  );
}

/** Whether others of its kind may be active in its place, so that only the address which clients are given leads to one that is. */
function isOneOfSeveral(name: PlatformService, folders: Folders): boolean {
  return name === 'core-context' && sharesContextRecord(folders);
}

/**
 * What is not started here: what nobody would ask. A core-context at another address would be another record, unless hosts share it.
 * Of the other services any one answers what any other does.
 */
function* leftOut(
  folders: Folders,
  environment: Environment,
  places: Places,
  elsewhere: ReadonlyMap<PlatformService, GivenUrl>,
): Generator<[PlatformService, string]> {
  const context = elsewhere.get('core-context');
  if (context?.url === null)
    yield ['core-context', `context.url is null (${context.where}): planning does without it`];
  else if (context !== undefined && !isOneOfSeveral('core-context', folders))
    yield ['core-context', `context.url is ${context.url} (${context.where}), not ${urlOf(places.context)}`];
  const bus = busAddress({ folders: { ...folders, state: nowhere }, environment });
  if (!bus.own) yield ['core-bus-engine', `the bus is ${bus.url} (${bus.where})`];
}

/** What runs already is no wish of the person's. */
const nowhere = '/nonexistent';

/** Only of what is started here: whatever else there is, each service finds as it would by itself. */
function sharedEnvironment(
  folders: Folders,
  places: Places,
  {
    isHere,
    elsewhere,
  }: {
    readonly isHere: (name: PlatformService) => boolean;
    readonly elsewhere: ReadonlyMap<PlatformService, unknown>;
  },
): Record<string, string> {
  const variables: Record<string, string> = {
    CORE_STATE_DIR: folders.state,
    CORE_CONFIG_DIR: folders.config,
    NODE_COMPILE_CACHE: compileCache,
  };
  for (const service of platformServices) {
    const concern = concerns[service];
    if (concern === null || !isHere(service)) continue;
    const name = `CORE_${concern.toUpperCase()}`;
    const { host, port } = places[concern];
    Object.assign(variables, { [`${name}_HOST`]: host, [`${name}_PORT`]: String(port) });
    if (concern === 'bus') variables.CORE_BUS_HTTP_PORT = String(places.busHttp.port);
    else if (!elsewhere.has(service)) variables[`${name}_URL`] = urlOf(places[concern]);
  }
  return variables;
}

const concerns: Readonly<Record<PlatformService, Exclude<keyof Places, 'busHttp'> | null>> = {
  ...clientConcerns,
  'core-bus-engine': 'bus',
  'core-bus-worker': null,
};

function definition(
  name: PlatformService,
  places: Places,
  environment: Record<string, string>,
): EmbeddedService {
  const main = fileURLToPath(new URL(`../${name.replace('core-', '')}/main.ts`, import.meta.url));
  const concern = concerns[name];
  const http = concern === null ? null : places[concern === 'bus' ? 'busHttp' : concern];
  return {
    name,
    args: [main, 'serve'],
    environment,
    url: http === null ? null : urlOf(http),
    http,
    socket: concern === 'bus' ? places.bus : null,
  };
}

const names = ['port', 'contextPort', 'modelsPort', 'bridgePort', 'busPort', 'busHttpPort'] as const;

/** The same flags with a free port in the place of each 0: every service gets the ports of the others before one runs. */
export async function withFreePorts<F extends StackFlags>(flags: F): Promise<F> {
  const wanted = names.filter((name) => String(flags[name] ?? '') === '0');
  const servers = wanted.map(() => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return { ...flags, ...Object.fromEntries(wanted.map((name, index) => [name, ports[index]])) };
}

/** Which are wanted, as `--only` and `--without` say it; `core-` may be left out of a name. */
interface Choice {
  readonly only?: string | undefined;
  readonly without?: string | undefined;
}

/**
 * Why a service is not wanted, by name; empty where all are.
 * @throws InvalidInput (`invalid_option`) naming the choices
 */
export function unwanted({ only, without }: Choice): ReadonlyMap<PlatformService, string> {
  const reasons = new Map<PlatformService, string>();
  const kept = only === undefined ? null : namesIn('--only', only);
  for (const name of platformServices) {
    if (kept !== null && !kept.includes(name)) reasons.set(name, `--only ${only} leaves it out`);
  }
  if (without === undefined) return reasons;
  for (const name of namesIn('--without', without)) reasons.set(name, `--without ${without} leaves it out`);
  if (reasons.size < platformServices.length) return reasons;
  throw new InvalidInput(
    'invalid_option',
    'nothing is left to start: --only and --without leave out every service',
  );
}

function namesIn(option: string, list: string): PlatformService[] {
  return list.split(',').map((word) => {
    const found = platformServices.find((name) => name === word.trim() || name === `core-${word.trim()}`);
    if (found !== undefined) return found;
    throw new InvalidInput(
      'invalid_option',
      `${option} is ${JSON.stringify(list)}: ${JSON.stringify(word)} must be one of ${platformServices.join(', ')}`,
    );
  });
}
