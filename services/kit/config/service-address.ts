import * as t from 'io-ts';
import { integerBetween, nullable } from '../decode.ts';
import type { Environment } from '../environment.ts';
import type { Folders } from '../folders.ts';
import { Hostname, Tls, urlOf } from './address.ts';
import { describeConcern, overrideRow, readConcernPart, type SettingRow } from './concern.ts';

/** The variables that give a service its address, by the configuration file that holds it otherwise. */
export const addressVariables = {
  context: { host: 'CORE_CONTEXT_HOST', port: 'CORE_CONTEXT_PORT' },
  models: { host: 'CORE_MODELS_HOST', port: 'CORE_MODELS_PORT' },
  bridge: { host: 'CORE_BRIDGE_HOST', port: 'CORE_BRIDGE_PORT' },
  bus: { host: 'CORE_BUS_HOST', port: 'CORE_BUS_PORT' },
} as const;
export type AddressedConcern = keyof typeof addressVariables;

const Port = integerBetween(0, 65_535);

/** The part of a service's configuration that others need: where it listens. */
export const ServiceAddress = t.strict({ host: Hostname, port: Port, tls: nullable(Tls) });
export type ServiceAddress = t.TypeOf<typeof ServiceAddress>;

export interface AddressFlags {
  readonly host?: string | undefined;
  readonly port?: string | number | undefined;
}

export interface AddressSources {
  readonly folders: Pick<Folders, 'config'>;
  readonly flags?: AddressFlags;
  readonly environment: Partial<
    Pick<
      Environment,
      (typeof addressVariables)[AddressedConcern][keyof (typeof addressVariables)[AddressedConcern]]
    >
  >;
}

/** Flag, environment, user's file, shipped default, in that order. @throws InvalidInput (`config_invalid`) */
export function readServiceAddress(concern: AddressedConcern, sources: AddressSources): ServiceAddress {
  return {
    ...readConcernPart(ServiceAddress, concern, sources.folders),
    ...addressChanges(concern, sources),
  };
}

/** How others reach a service: through the loopback interface where it listens on all. */
export function serviceUrl({ host, port, tls }: ServiceAddress): string {
  return urlOf({ host, port, tls: tls !== null });
}

/** Values of flags and environment alone. */
export function addressChanges(
  concern: AddressedConcern,
  sources: Omit<AddressSources, 'folders'>,
): { readonly host?: string; readonly port?: number } {
  const rows = addressOverrides(concern, sources);
  return Object.fromEntries(rows.map(({ key, value }) => [key.replace(`${concern}.`, ''), value]));
}

/** Host, port and TLS with where each comes from. */
export function describeAddress(concern: AddressedConcern, sources: AddressSources): SettingRow[] {
  const rows = describeConcern(concern, sources.folders, addressOverrides(concern, sources));
  return rows.filter(({ key }) => /^\w+\.(host|port|tls)/.test(key));
}

/** Host and port as flags and environment give them, flags first; no row for what neither gives. */
export function addressOverrides(
  concern: AddressedConcern,
  { flags = {}, environment }: Omit<AddressSources, 'folders'>,
): SettingRow[] {
  const { host, port } = addressVariables[concern];
  return [
    overrideRow(`${concern}.host`, Hostname, [
      [flags.host, '--host', 'flag'],
      [environment[host], host, 'environment'],
    ]),
    overrideRow(`${concern}.port`, Port, [
      [flags.port, '--port', 'flag'],
      [environment[port], port, 'environment'],
    ]),
  ].filter((row) => row !== null);
}
