import * as t from 'io-ts';
import { decode, integerBetween, nullable, optional, stringThat } from '../decode.ts';
import type { Environment } from '../environment.ts';
import type { Folders } from '../folders.ts';
import { mergedDocument, overrideRow, readConcernDocument, readConcernPart } from './concern.ts';
import { runningService } from './running-service.ts';
import { addressOverrides, readServiceAddress, serviceUrl } from './service-address.ts';

export const BusUrl = stringThat(
  'BusUrl',
  'a ws or wss address without user, query or fragment, for example ws://127.0.0.1:49134',
  (text) => {
    if (!URL.canParse(text)) return false;
    const url = new URL(text);
    return /^wss?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash;
  },
);

/** The part of config/bus.json that clients need beside the address. */
const Client = t.strict({ url: optional(nullable(BusUrl)), url_wants_token: optional(t.boolean) });

export interface BusAddressSources {
  readonly folders: Pick<Folders, 'config' | 'state'>;
  readonly environment: Partial<Pick<Environment, 'CORE_BUS_URL' | 'CORE_BUS_HOST' | 'CORE_BUS_PORT'>>;
}

/** Where clients find the bus. */
export interface BusAddress {
  readonly url: string;
  /** Whether it is the engine that `core up` starts; false where an address names a bus, whichever address that is. */
  readonly own: boolean;
  /** Whether it is one of ours, which knows the tokens of this installation; another never sees them. */
  readonly wants_token: boolean;
  /** PEM of the certificate that our engine serves with; null where it has none, or the bus is another. */
  readonly certificate_file: string | null;
  /** The variable, file or note that says so. */
  readonly where: string;
}

const elsewhere = { own: false, certificate_file: null } as const;

/**
 * `CORE_BUS_URL`, else `url` of config/bus.json, else our own engine: at `CORE_BUS_HOST` and `CORE_BUS_PORT`, where one of this
 * state folder runs, or as configured.
 * @throws InvalidInput (`config_invalid`)
 */
export function busAddress({ folders, environment }: BusAddressSources): BusAddress {
  const { document, path } = mergedDocument(readConcernDocument('bus', folders));
  const { url, url_wants_token = false } = decode(Client, document, path, 'config_invalid');
  if (environment.CORE_BUS_URL) {
    const given = decode(BusUrl, environment.CORE_BUS_URL, 'CORE_BUS_URL', 'config_invalid');
    return { ...elsewhere, url: given, wants_token: url_wants_token, where: 'CORE_BUS_URL' };
  }
  if (url != null) return { ...elsewhere, url, wants_token: url_wants_token, where: path };
  const overrides = addressOverrides('bus', { environment });
  const running = overrides.length > 0 ? null : runningService('core-bus-engine', folders);
  const address = readServiceAddress('bus', { folders, environment });
  return {
    url: asSocket(running?.url ?? serviceUrl(address)),
    own: true,
    wants_token: true,
    certificate_file: address.tls?.certificate_file ?? null,
    where: running?.where ?? overrides[0]?.where ?? path,
  };
}

function asSocket(url: string): string {
  return url.replace(/^http/, 'ws').replace(/\/+$/, '');
}

const EngineHttp = t.strict({ http_port: integerBetween(0, 65_535) });

/**
 * Port of the HTTP interface of our own engine: flag, environment, user's file, shipped default, in that order.
 * @throws InvalidInput (`config_invalid`)
 */
export function engineHttpPort(
  folders: Pick<Folders, 'config'>,
  environment: Partial<Pick<Environment, 'CORE_BUS_HTTP_PORT'>>,
  flag?: string | number | undefined,
): number {
  const given = overrideRow('bus.http_port', EngineHttp.type.props.http_port, [
    [flag, '--bus-http-port', 'flag'],
    [environment.CORE_BUS_HTTP_PORT, 'CORE_BUS_HTTP_PORT', 'environment'],
  ]);
  const { http_port } = readConcernPart(EngineHttp, 'bus', folders);
  return given === null ? http_port : (given.value as number);
}
