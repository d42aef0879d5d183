import type { IncomingMessage } from 'node:http';

/**
 * Turns a target in absolute form, as clients send it that take a server for a proxy, into the usual one: what it names counts
 * in the place of `Host`. Source: RFC 9112, 3.2.2.
 */
export function useOriginForm(request: IncomingMessage): void {
  const { url = '', rawHeaders } = request;
  if (url.charCodeAt(0) === slash) return;
  const [, authority, rest] = absolute.exec(url) ?? [];
  if (authority === undefined || rest === undefined) return;
  request.url = rest.startsWith('/') ? rest : `/${rest}`;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]!.toLowerCase() === 'host') rawHeaders[at + 1] = authority;
  }
  request.headers.host = authority;
}

const slash = 0x2f;
const absolute = /^https?:\/\/([^/?#]*)([^#]*)/i;
