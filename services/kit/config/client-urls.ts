import type { Environment } from '../environment.ts';
import type { Folders } from '../folders.ts';
import { urlOf } from './address.ts';
import { runningService, type ServiceName } from './running-service.ts';
import {
  type AddressedConcern,
  addressOverrides,
  readServiceAddress,
  serviceUrl,
} from './service-address.ts';
import { readSettings, type SettingSources } from './settings.ts';

interface Sources {
  readonly folders: Pick<Folders, 'config' | 'state'>;
  readonly environment: Partial<Environment>;
}

/** Where core-agentd answers: as the environment says, else where one of this state folder runs, else as configured. */
export function agentdUrl({ folders, environment }: Sources & Pick<SettingSources, 'environment'>): string {
  if (environment.CORE_AGENTD_URL) return environment.CORE_AGENTD_URL.replace(/\/+$/, '');
  const { host, port, tls } = readSettings({ folders, environment }).agentd;
  const configured = urlOf({ host, port, tls: tls !== null });
  if (environment.CORE_AGENTD_HOST || environment.CORE_AGENTD_PORT) return configured;
  return runningService('core-agentd', folders)?.url ?? configured;
}

/** Where core-bridge answers, found in the same way. */
export function bridgeUrl(sources: Sources): string {
  return found('core-bridge', 'bridge', sources.environment.CORE_BRIDGE_URL, sources);
}

/** Where core-model-gateway answers, found in the same way. */
export function gatewayUrl(sources: Sources): string {
  return found('core-model-gateway', 'models', sources.environment.CORE_MODELS_URL, sources);
}

function found(
  service: ServiceName,
  concern: AddressedConcern,
  given: string | undefined,
  { folders, environment }: Sources,
): string {
  if (given) return given.replace(/\/+$/, '');
  const configured = serviceUrl(readServiceAddress(concern, { folders, environment }));
  if (addressOverrides(concern, { environment }).length > 0) return configured;
  return runningService(service, folders)?.url ?? configured;
}
