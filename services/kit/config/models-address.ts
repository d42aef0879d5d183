import * as t from 'io-ts';
import { decode, integerBetween, nullable } from '../decode.ts';
import type { Environment } from '../environment.ts';
import type { Folders } from '../folders.ts';
import { urlOf } from '../http/url-of.ts';
import { Hostname, Tls } from './address-codecs.ts';
import { type AddressFlags, addressOverrides } from './address-overrides.ts';
import { readConcernDocument } from './concern.ts';
import { mergeJson } from './merge.ts';
import type { SettingRow } from './setting-row.ts';

/** The part of `models.json` that others than core-model-gateway need: where it listens. */
export const ModelsAddress = t.strict({
  host: Hostname,
  port: integerBetween(0, 65_535),
  tls: nullable(Tls),
});
export type ModelsAddress = t.TypeOf<typeof ModelsAddress>;

export interface ModelsSources {
  readonly folders: Pick<Folders, 'config'>;
  readonly flags?: AddressFlags;
  readonly environment: Partial<Pick<Environment, 'CORE_MODELS_HOST' | 'CORE_MODELS_PORT'>>;
}

/** Flag, environment, user's file, shipped default, in that order. */
export function readModelsAddress(sources: ModelsSources): ModelsAddress {
  const { shipped, user } = readConcernDocument('models', sources.folders);
  const merged = user.document === undefined ? shipped.document : mergeJson(shipped.document, user.document);
  const path = user.document === undefined ? shipped.path : user.path;
  return { ...decode(ModelsAddress, merged, path, 'config_invalid'), ...modelsAddressChanges(sources) };
}

export function modelsUrl({ host, port, tls }: ModelsAddress): string {
  return urlOf({ host, port, tls: tls !== null });
}

/** Values of flags and environment alone. */
export function modelsAddressChanges(sources: Pick<ModelsSources, 'flags' | 'environment'>): {
  readonly host?: string;
  readonly port?: number;
} {
  return Object.fromEntries(
    modelsOverrides(sources).map(({ key, value }) => [key.replace('models.', ''), value]),
  );
}

/** The same, as rows that say where each comes from. */
export function modelsOverrides({
  flags = {},
  environment,
}: Pick<ModelsSources, 'flags' | 'environment'>): SettingRow[] {
  return addressOverrides('models', flags, {
    host: environment.CORE_MODELS_HOST,
    port: environment.CORE_MODELS_PORT,
  });
}
