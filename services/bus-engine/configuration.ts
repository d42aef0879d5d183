import * as t from 'io-ts';
import { Hostname, Tls } from '#kit/config/address.ts';
import { BusUrl } from '#kit/config/bus-url.ts';
import { readConcern } from '#kit/config/concern.ts';
import { type AddressSources, addressChanges } from '#kit/config/service-address.ts';
import { integerBetween, NonEmptyString, nullable, stringThat } from '#kit/decode.ts';
import type { Environment } from '#kit/environment.ts';
import { InvalidInput } from '#kit/errors.ts';

const Port = integerBetween(0, 65_535);

const Origin = stringThat(
  'Origin',
  'the origin of a page, for example http://localhost:3000',
  (text) => URL.canParse(text) && new URL(text).origin === text,
);

/** What `config/bus.json` holds. */
export const BusConfig = t.strict({
  /** The interface it listens on, for both ports. */
  host: Hostname,
  /** Of the websocket; 0 takes any free port. */
  port: Port,
  /** Of what HTTP triggers define. */
  http_port: Port,
  /** Names besides the loopback's that may stand in `Host`. */
  allowed_hosts: t.array(Hostname),
  /** Pages elsewhere that may ask. */
  allowed_origins: t.array(Origin),
  /** Whether workers, and requests of HTTP triggers that are not public, need a token. */
  require_token: t.boolean,
  /** TLS ends at a proxy in front of the engine. */
  behind_proxy: t.boolean,
  /** null: no TLS. */
  tls: nullable(Tls),
  /** Which token may register functions whose ids begin so; the longest prefix that fits decides. */
  owners: t.array(
    t.strict({
      /** Beginning of function ids. */
      prefix: NonEmptyString,
      /** Name of the token. */
      token: NonEmptyString,
    }),
  ),
  /** Of one connection, except `connections` and the times. */
  limits: t.strict({
    /** All at once. */
    connections: integerBetween(1, 100_000),
    /** Bytes of one frame; a larger one closes the connection. */
    frame_bytes: integerBetween(1_024, 256 * 1024 * 1024),
    /** More are read later. */
    frames_per_second: integerBetween(100, 10_000_000),
    /** That it may have registered. */
    functions: integerBetween(1, 1_000_000),
    /** That it may have registered. */
    triggers: integerBetween(0, 100_000),
    /** Calls without a result yet. */
    pending_calls: integerBetween(1, 1_000_000),
    /** What waits for a reader that is slower than those who write to it. */
    buffered_bytes: integerBetween(65_536, 1024 * 1024 * 1024),
    /** A call without a result for so long has failed. */
    call_seconds: integerBetween(1, 24 * 3_600),
    /** So long a call that never left the engine waits for another worker with its function. */
    redelivery_seconds: integerBetween(0, 600),
  }),
  /** Of HTTP triggers; `requests` are answered at a time, others wait. */
  http: t.strict({
    /** Until a function must have answered. */
    seconds: integerBetween(1, 24 * 3_600),
    /** Bytes of a request's body. */
    body_bytes: integerBetween(0, 256 * 1024 * 1024),
    /** At once. */
    requests: integerBetween(1, 100_000),
  }),
  /** Where clients find the bus; null: this engine. */
  url: nullable(BusUrl),
  /** Whether the bus at `url` knows the tokens of this installation. */
  url_wants_token: t.boolean,
});
export type BusConfig = t.TypeOf<typeof BusConfig>;
export type BusLimits = BusConfig['limits'];

export interface BusSources extends AddressSources {
  readonly flags?: AddressSources['flags'] & { readonly httpPort?: string | undefined };
  readonly environment: AddressSources['environment'] & Partial<Pick<Environment, 'CORE_BUS_HTTP_PORT'>>;
}

/**
 * Flag, environment, user's file, shipped default, in that order.
 * @throws InvalidInput (`config_invalid`) naming file, JSON pointer, value and rule
 */
export function readBusConfig(sources: BusSources): BusConfig {
  const fromFiles = readConcern(BusConfig, 'bus', sources.folders);
  const { CORE_BUS_HTTP_PORT: variable } = sources.environment;
  const given = sources.flags?.httpPort ?? (variable === '' ? undefined : variable);
  const where = sources.flags?.httpPort === undefined ? 'CORE_BUS_HTTP_PORT' : '--http-port';
  const httpPort = given === undefined ? {} : { http_port: portOf(given, where) };
  return { ...fromFiles, ...addressChanges('bus', sources), ...httpPort };
}

function portOf(text: string, where: string): number {
  const port = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Port.is(port)) return port;
  throw new InvalidInput(
    'config_invalid',
    `${where} (bus.http_port) is ${JSON.stringify(text)}: must be an integer from 0 to 65535`,
  );
}
