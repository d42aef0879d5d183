import { Refused } from '#kit/errors.ts';
import { addressOf } from '../git/remote-address.ts';
import type { Located, RemoteForgeOptions } from './configured-forge.ts';

type Addresses = Pick<RemoteForgeOptions, 'name' | 'base_url' | 'clone_base_url'>;

/**
 * A forge's word on where git fetches from and pushes to, before git sees it: the token goes there. Only the origin of
 * `base_url` and what `clone_base_url` names are taken.
 * @throws Refused `clone_url_refused`
 */
export function checkedCloneUrl(cloneUrl: string, forge: Addresses): string {
  if (isHttpUnder(cloneUrl, cloneOrigins(forge)) || isFolderUnder(cloneUrl, forge.clone_base_url))
    return cloneUrl;
  const allowed = [new URL(forge.base_url).origin, forge.clone_base_url].filter((url) => url !== null);
  throw new Refused(
    'clone_url_refused',
    `forge '${forge.name}' names the clone URL '${shown(cloneUrl)}', which is not at ${allowed.join(' or ')}; nothing was sent there`,
    {
      facts: { clone_url: shown(cloneUrl), allowed },
      hint: `correct the address that the forge has for itself (ROOT_URL on Gitea), or allow this one with clone_base_url of forge '${forge.name}' in config/forges.json`,
    },
  );
}

/** Where git may show the token. */
export function cloneOrigins({ base_url, clone_base_url }: Addresses): string[] {
  const urls = [base_url, ...(clone_base_url?.startsWith('http') ? [clone_base_url] : [])];
  return [...new Set(urls.map((url) => new URL(url).origin))];
}

/** Pages for a browser, never requested by us; null for anything but http and https. */
export function pageUrl(url: string): string | null {
  const parsed = URL.parse(url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol) || parsed.username || parsed.password)
    return null;
  return parsed.href;
}

/** Written so that git and we cannot read it differently: no user, no backslash, no query. */
function isHttpUnder(cloneUrl: string, origins: readonly string[]): boolean {
  const plain = /^https?:\/\/[\w.:[\]-]+\/[\w.~%+/-]+$/.test(cloneUrl);
  return plain && origins.includes(URL.parse(cloneUrl)?.origin ?? '');
}

/** A path as git takes it, or a file URL; `..` is not followed. */
function isFolderUnder(cloneUrl: string, base: string | null): boolean {
  if (!base?.startsWith('file:')) return false;
  const path = cloneUrl.replace(/^file:\/\//, '');
  const folder = new URL(base).pathname.replace(/\/*$/, '/');
  return path.startsWith(folder) && !/[\0-\x1f]|(^|\/)\.\.(\/|$)/.test(path);
}

function shown(url: string): string {
  return url
    .slice(0, 200)
    .replace(/[\p{Cc}\p{Cf}]/gu, '\u{fffd}')
    .replace(/\/\/[^/@\s]*@/, '//***@');
}

/** What a URL names on this forge, by host and path: over ssh any port, since forges serve it at one of their own. */
export function locateOn(forge: Addresses, url: string, folder: string): Located | null {
  const wanted = addressOf(url.replace(/[?#].*$/s, ''), folder);
  if (wanted === null) return null;
  for (const base of [forge.base_url, forge.clone_base_url]) {
    const under = base === null ? null : addressOf(base, folder);
    if (under === null || under.host !== wanted.host) continue;
    if (under.transport === wanted.transport && under.port !== wanted.port) continue;
    if ((under.transport === 'local') !== (wanted.transport === 'local')) continue;
    // A forge below a path of its host has it in its pages alone.
    const path = wanted.path.startsWith(`${under.path}/`)
      ? wanted.path.slice(under.path.length + 1)
      : wanted.path;
    const found = /^([^/]+)\/([^/]+?)(?:\.git)?(?:\/(?:issues|pull|pulls)\/([1-9]\d{0,9}))?$/.exec(path);
    if (found !== null)
      return { owner: found[1]!, repo: found[2]!, number: found[3] === undefined ? null : Number(found[3]) };
  }
  return null;
}
