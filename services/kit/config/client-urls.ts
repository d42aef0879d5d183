import type { Environment } from '../environment.ts';
import type { Folders } from '../folders.ts';
import { urlOf } from './address.ts';
import { runningService, type ServiceName } from './running-service.ts';
import {
  type AddressedConcern,
  type AddressSources,
  addressOverrides,
  readServiceAddress,
  serviceUrl,
} from './service-address.ts';
import { readSettings, type SettingSources } from './settings.ts';

interface Places {
  readonly folders: Pick<Folders, 'config' | 'state'>;
}

export interface AgentdAddressSources extends Places {
  readonly environment: SettingSources['environment'] & Partial<Pick<Environment, 'CORE_AGENTD_URL'>>;
}

/** Where core-agentd answers: as the environment says, else where one of this state folder runs, else as configured. */
export function agentdUrl({ folders, environment }: AgentdAddressSources): string {
  if (environment.CORE_AGENTD_URL) return environment.CORE_AGENTD_URL.replace(/\/+$/, '');
  const { host, port, tls } = readSettings({ folders, environment }).agentd;
  const configured = urlOf({ host, port, tls: tls !== null });
  if (environment.CORE_AGENTD_HOST || environment.CORE_AGENTD_PORT) return configured;
  return runningService('core-agentd', folders)?.url ?? configured;
}

export interface BridgeAddressSources extends Places {
  readonly environment: Partial<
    Pick<Environment, 'CORE_BRIDGE_URL' | 'CORE_BRIDGE_HOST' | 'CORE_BRIDGE_PORT'>
  >;
}

export interface GatewayAddressSources extends Places {
  readonly environment: Partial<
    Pick<Environment, 'CORE_MODELS_URL' | 'CORE_MODELS_HOST' | 'CORE_MODELS_PORT'>
  >;
}

/** Where core-bridge answers, found in the same way. */
export function bridgeUrl(sources: BridgeAddressSources): string {
  return found('core-bridge', 'bridge', sources.environment.CORE_BRIDGE_URL, sources);
}

/** Where core-model-gateway answers, found in the same way. */
export function gatewayUrl(sources: GatewayAddressSources): string {
  return found('core-model-gateway', 'models', sources.environment.CORE_MODELS_URL, sources);
}

function found(
  service: ServiceName,
  concern: AddressedConcern,
  given: string | undefined,
  { folders, environment }: Places & AddressSources,
): string {
  if (given) return given.replace(/\/+$/, '');
  const configured = serviceUrl(readServiceAddress(concern, { folders, environment }));
  if (addressOverrides(concern, { environment }).length > 0) return configured;
  return runningService(service, folders)?.url ?? configured;
}
