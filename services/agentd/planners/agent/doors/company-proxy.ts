import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { InvalidInput, Unavailable } from '#kit/errors.ts';
import type { Proxies } from '#kit/http/client.ts';

/** The proxy that the environment names for a host on port 443; null where there is none. @throws InvalidInput (`proxy_invalid`) */
export function proxyTo(host: string, { HTTPS_PROXY = '', NO_PROXY = '' }: Partial<Proxies>): URL | null {
  if (HTTPS_PROXY === '' || isExcepted(host, NO_PROXY)) return null;
  const url = URL.parse(HTTPS_PROXY.includes('://') ? HTTPS_PROXY : `http://${HTTPS_PROXY}`);
  if (url !== null && ['http:', 'https:'].includes(url.protocol)) return url;
  throw new InvalidInput(
    'proxy_invalid',
    'HTTPS_PROXY is not the address of a proxy: must be an http or https URL',
  );
}

/** As curl reads it: names with all that is below them, `*` for every host. */
function isExcepted(host: string, list: string): boolean {
  const names = list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(Boolean);
  return names.some((entry) => {
    const name = entry.replace(/:443$/, '').replace(/^\*?\./, '');
    return name === '*' || host === name || host.endsWith(`.${name}`);
  });
}

/** A connection to a host through a proxy, which resolves the name. @throws Unavailable (`proxy_refused`) */
export async function connectThrough(proxy: URL, host: string, port: number, ms: number): Promise<Socket> {
  const request = proxy.protocol === 'https:' ? httpsRequest : httpRequest;
  const { username, password } = proxy;
  const login = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`);
  const asked = request({
    host: proxy.hostname.replace(/^\[|\]$/g, ''),
    port: proxy.port || (proxy.protocol === 'https:' ? 443 : 80),
    method: 'CONNECT',
    path: `${host}:${port}`,
    headers: {
      host: `${host}:${port}`,
      ...(username === '' ? {} : { 'proxy-authorization': `Basic ${login.toString('base64')}` }),
    },
    agent: false,
    signal: AbortSignal.timeout(ms),
  });
  asked.end();
  const [answer, socket, head] = (await once(asked, 'connect')) as [IncomingMessage, Socket, Buffer];
  if (answer.statusCode === 200) {
    if (head.length > 0) socket.unshift(head);
    return socket;
  }
  socket.destroy();
  throw new Unavailable(
    'proxy_refused',
    `the proxy of HTTPS_PROXY answered ${answer.statusCode} for ${host}`,
  );
}
