import type { Environment } from '../environment.ts';
import type { Folders } from '../folders.ts';
import { runningService } from './running-service.ts';
import { addressOverrides, readServiceAddress, type ServiceAddress, serviceUrl } from './service-address.ts';
import { givenContextUrl, readSettings, type SettingSources } from './settings.ts';

type GivenSources = Pick<SettingSources, 'environment'> & {
  readonly folders: Pick<Folders, 'config'>;
  readonly environment: Partial<Environment>;
};

type Sources = GivenSources & { readonly folders: Pick<Folders, 'state'> };

/** The services that clients reach by HTTP, by the concern in the names of their variables. */
export const clientConcerns = {
  'core-context': 'context',
  'core-model-gateway': 'models',
  'core-agentd': 'agentd',
  'core-bridge': 'bridge',
} as const;
export type ClientService = keyof typeof clientConcerns;

/** Where somebody says that clients reach a service, for example by a proxy, and the variable or file that says so. */
export interface GivenUrl {
  /** null: they do without it. */
  readonly url: string | null;
  readonly where: string;
}

/** null where nobody says so: clients then take the service of this host. */
export function givenUrl(service: ClientService, { folders, environment }: GivenSources): GivenUrl | null {
  if (service !== 'core-context') return byVariable(service, environment);
  const row = givenContextUrl({ folders: { config: folders.config }, environment });
  if (row === null) return null;
  const url = row.value as string | null;
  return { url: url === null ? null : bare(url), where: row.where };
}

/** The address of this host's own, as the environment has it, else where one of this state folder runs, else as configured. */
export function ownUrl(service: ClientService, { folders, environment }: Sources): string {
  const [address, isOverridden] = ownAddress(service, { folders, environment });
  const configured = serviceUrl(address);
  return isOverridden ? configured : (runningService(service, folders)?.url ?? configured);
}

function ownAddress(service: ClientService, { folders, environment }: Sources): [ServiceAddress, boolean] {
  if (service === 'core-agentd') {
    const isOverridden = Boolean(environment.CORE_AGENTD_HOST || environment.CORE_AGENTD_PORT);
    return [readSettings({ folders, environment }).agentd, isOverridden];
  }
  const concern = clientConcerns[service];
  const isOverridden = addressOverrides(concern, { environment }).length > 0;
  return [readServiceAddress(concern, { folders, environment }), isOverridden];
}

/** Where core-agentd answers: as its variable says, else this host's own. */
export function agentdUrl(sources: Sources): string {
  return byVariable('core-agentd', sources.environment)?.url ?? ownUrl('core-agentd', sources);
}

/** Where core-bridge answers, found in the same way. */
export function bridgeUrl(sources: Sources): string {
  return byVariable('core-bridge', sources.environment)?.url ?? ownUrl('core-bridge', sources);
}

/** Where core-model-gateway answers, found in the same way. */
export function gatewayUrl(sources: Sources): string {
  return byVariable('core-model-gateway', sources.environment)?.url ?? ownUrl('core-model-gateway', sources);
}

const variables = {
  'core-model-gateway': 'CORE_MODELS_URL',
  'core-agentd': 'CORE_AGENTD_URL',
  'core-bridge': 'CORE_BRIDGE_URL',
} as const satisfies Record<Exclude<ClientService, 'core-context'>, keyof Environment>;

function byVariable(service: keyof typeof variables, environment: Partial<Environment>) {
  const where = variables[service];
  const url = environment[where];
  return url ? { url: bare(url), where } : null;
}

function bare(url: string): string {
  return url.replace(/\/+$/, '');
}
