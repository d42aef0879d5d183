import { isAbsolute } from 'node:path';
import * as t from 'io-ts';
import { stringThat } from '../decode.ts';

export const HttpUrl = stringThat(
  'HttpUrl',
  'an http or https address, for example http://127.0.0.1:8090',
  (text) => {
    return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
  },
);

export const Hostname = stringThat(
  'Hostname',
  'a host name or address without scheme, port or path',
  (text) => /^([A-Za-z0-9._-]+|\[?[0-9A-Fa-f:.]+\]?)$/.test(text),
);

export const AbsolutePath = stringThat('AbsolutePath', 'an absolute path', (text) => isAbsolute(text));

export const Tls = t.strict({
  /** PEM, with the chain. */
  certificate_file: AbsolutePath,
  /** PEM; readable by nobody else. */
  key_file: AbsolutePath,
});

/** The address at which to reach what listens there; of every interface, the loopback's. */
export function urlOf({
  host,
  port,
  tls,
}: {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
}): string {
  return `${tls ? 'https' : 'http'}://${urlHost(host)}:${port}`;
}

/** Where to reach what listens on every interface. */
export function urlHost(host: string): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' || host === '[::]' ? '::1' : host;
  return reachable.includes(':') && !reachable.startsWith('[') ? `[${reachable}]` : reachable;
}
