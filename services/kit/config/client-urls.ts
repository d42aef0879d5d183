import type { Environment } from '../environment.ts';
import type { Folders } from '../folders.ts';
import { urlOf } from '../http/url-of.ts';
import { runningService } from './running-service.ts';
import { addressOverrides, readServiceAddress, serviceUrl } from './service-address.ts';
import { readSettings, type SettingSources } from './settings.ts';

export interface AgentdAddressSources {
  readonly folders: Pick<Folders, 'config' | 'state'>;
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

export interface BridgeAddressSources {
  readonly folders: Pick<Folders, 'config' | 'state'>;
  readonly environment: Partial<
    Pick<Environment, 'CORE_BRIDGE_URL' | 'CORE_BRIDGE_HOST' | 'CORE_BRIDGE_PORT'>
  >;
}

/** Where core-bridge answers: as the environment says, else where one of this state folder runs, else as configured. */
export function bridgeUrl({ folders, environment }: BridgeAddressSources): string {
  if (environment.CORE_BRIDGE_URL) return environment.CORE_BRIDGE_URL.replace(/\/+$/, '');
  const configured = serviceUrl(readServiceAddress('bridge', { folders, environment }));
  if (addressOverrides('bridge', { environment }).length > 0) return configured;
  return runningService('core-bridge', folders)?.url ?? configured;
}
