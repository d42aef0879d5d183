import type * as t from 'io-ts';
import { decode, integerBetween } from '../decode.ts';
import { InvalidInput } from '../errors.ts';
import { Hostname } from './address-codecs.ts';
import type { SettingRow } from './setting-row.ts';

type Given = string | number | undefined;

export interface AddressFlags {
  readonly host?: string | undefined;
  readonly port?: string | number | undefined;
}

/**
 * Host and port of a service as flags and variables of the environment give them, flags first; no row for what neither gives.
 * @param concern the configuration file that holds them otherwise, which also names the variables: `CORE_<CONCERN>_HOST`
 */
export function addressOverrides(
  concern: string,
  flags: AddressFlags,
  variables: { readonly host: string | undefined; readonly port: string | undefined },
): SettingRow[] {
  const prefix = `CORE_${concern.toUpperCase()}`;
  const host = override(`${concern}.host`, Hostname, String, [
    [flags.host, '--host', 'flag'],
    [variables.host, `${prefix}_HOST`, 'environment'],
  ]);
  const port = override(`${concern}.port`, integerBetween(0, 65_535), digits, [
    [flags.port, '--port', 'flag'],
    [variables.port, `${prefix}_PORT`, 'environment'],
  ]);
  return [host, port].filter((row) => row !== null);
}

function override<A>(
  key: string,
  codec: t.Type<A>,
  parse: (text: string) => unknown,
  sources: readonly (readonly [value: Given, where: string, source: 'flag' | 'environment'])[],
): SettingRow | null {
  const found = sources.find(([value]) => value !== undefined);
  if (found === undefined || found[0] === '') return null;
  const [given, where, source] = found;
  try {
    return { key, value: decode(codec, parse(String(given)), where), source, where };
  } catch (error) {
    const rule = error instanceof InvalidInput ? error.errors[0]?.detail : undefined;
    throw new InvalidInput('config_invalid', `${where} (${key}) ${rule ?? 'is not valid'}`, { cause: error });
  }
}

function digits(text: string): unknown {
  return /^\d+$/.test(text) ? Number(text) : text;
}
