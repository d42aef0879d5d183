import type { Environment } from '../environment.ts';
import type { Folders } from '../folders.ts';
import { runningService } from './running-service.ts';
import { addressOverrides, readServiceAddress, serviceUrl } from './service-address.ts';

export interface GatewayAddressSources {
  readonly folders: Pick<Folders, 'config' | 'state'>;
  readonly environment: Partial<
    Pick<Environment, 'CORE_MODELS_URL' | 'CORE_MODELS_HOST' | 'CORE_MODELS_PORT'>
  >;
}

/** Where core-model-gateway answers: as the environment says, else where one of this state folder runs, else as configured. */
export function gatewayUrl({ folders, environment }: GatewayAddressSources): string {
  if (environment.CORE_MODELS_URL) return environment.CORE_MODELS_URL.replace(/\/+$/, '');
  const configured = serviceUrl(readServiceAddress('models', { folders, environment }));
  if (addressOverrides('models', { environment }).length > 0) return configured;
  return runningService('core-model-gateway', folders)?.url ?? configured;
}
