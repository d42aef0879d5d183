import { isIP } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';
import type { Folders } from '../folders.ts';
import { runningService, type ServiceName } from './running-service.ts';

/**
 * Why a token for a service may not go to an address; null where it may: to one that the running service of this state folder says
 * it listens at (it holds the port as long as it lives, and only its owner can write there), to another machine or container, where
 * the network is what is trusted, and over TLS, where a certificate proves who answers. What answers says nothing: everybody can
 * answer like our service.
 * @param url with the scheme http, https, ws or wss
 */
export function whyNoToken(
  service: ServiceName,
  url: string,
  folders: Partial<Pick<Folders, 'state'>>,
): string | null {
  const { protocol, hostname: host, port, host: asked } = new URL(url);
  if (protocol === 'https:' || protocol === 'wss:') return null;
  const bare = bareHost(host);
  if (!isThisMachine(bare)) return null;
  const running = runningService(service, folders);
  if (running === null)
    return `no ${service} of this state folder runs, so that nobody of ours is at ${asked}`;
  const same = running.port === Number(port || 80) && listensAt(bareHost(running.host), bare);
  return same ? null : `${service} of this state folder listens at ${running.url}, not at ${asked}`;
}

function isThisMachine(host: string): boolean {
  if (host === 'localhost' || host.endsWith('.localhost') || host === hostname().toLowerCase()) return true;
  if (isIP(host) === 0) return false;
  if (/^(127\.|0\.0\.0\.0$|::1?$|::ffff:)/.test(host)) return true;
  return Object.values(networkInterfaces()).some((own) => own?.some(({ address }) => address === host));
}

/** Of names only the same one: localhost can be another address for each of two programs. */
function listensAt(bound: string, host: string): boolean {
  if (bound === host) return true;
  return (bound === '0.0.0.0' && isIP(host) === 4) || (bound === '::' && isIP(host) !== 0);
}

function bareHost(host: string): string {
  return host.replace(/^\[|\]$|\.$/g, '').toLowerCase();
}
