import * as t from 'io-ts';
import { decode, integerBetween, nullable } from '../decode.ts';
import type { Environment } from '../environment.ts';
import type { Folders } from '../folders.ts';
import { urlOf } from '../http/url-of.ts';
import { Hostname, Tls } from './address-codecs.ts';
import { addressOverrides } from './address-overrides.ts';
import { readConcernDocument } from './concern.ts';
import { describeConcern } from './concern-rows.ts';
import { mergeJson } from './merge.ts';
import type { SettingRow } from './setting-row.ts';

const Host = Hostname;
const Port = integerBetween(0, 65_535);

/** The part of `context.json` that others than core-context need: where it listens. */
export const ContextAddress = t.strict({ host: Host, port: Port, tls: nullable(Tls) });
export type ContextAddress = t.TypeOf<typeof ContextAddress>;

export interface ContextSources {
  readonly folders: Pick<Folders, 'config'>;
  readonly flags?: { readonly host?: string | undefined; readonly port?: string | number | undefined };
  readonly environment: Partial<Pick<Environment, 'CORE_CONTEXT_HOST' | 'CORE_CONTEXT_PORT'>>;
}

/** Flag, environment, user's file, shipped default, in that order. */
export function readContextAddress(sources: ContextSources): ContextAddress {
  const { shipped, user } = readConcernDocument('context', sources.folders);
  const merged = user.document === undefined ? shipped.document : mergeJson(shipped.document, user.document);
  const address = decode(
    ContextAddress,
    merged,
    user.document === undefined ? shipped.path : user.path,
    'config_invalid',
  );
  return { ...address, ...contextAddressChanges(sources) };
}

export function contextUrl({ host, port, tls }: ContextAddress): string {
  return urlOf({ host, port, tls: tls !== null });
}

/** Host, port and TLS with where each comes from. */
export function describeContextAddress(sources: ContextSources): SettingRow[] {
  const rows = describeConcern('context', sources.folders, contextOverrides(sources));
  return rows.filter(({ key }) => /^context\.(host|port|tls)/.test(key));
}

/** Values of flags and environment alone. */
export function contextAddressChanges(sources: Pick<ContextSources, 'flags' | 'environment'>): {
  readonly host?: string;
  readonly port?: number;
} {
  return Object.fromEntries(
    contextOverrides(sources).map(({ key, value }) => [key.replace('context.', ''), value]),
  );
}

/** The same, as rows that say where each comes from. */
export function contextOverrides({
  flags = {},
  environment,
}: Pick<ContextSources, 'flags' | 'environment'>): SettingRow[] {
  return addressOverrides('context', flags, {
    host: environment.CORE_CONTEXT_HOST,
    port: environment.CORE_CONTEXT_PORT,
  });
}
