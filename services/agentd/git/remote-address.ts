import { realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ConfigEntry } from '#kit/git/git-environment.ts';

/** True if two remote URLs name the same repository, by any transport. */
export function sameRemote(left: string, right: string, folder: string): boolean {
  const a = addressOf(left, folder);
  const b = addressOf(right, folder);
  if (a === null || b === null) return left === right;
  if (a.host !== b.host || a.path !== b.path) return false;
  return a.transport !== b.transport || a.port === b.port;
}

/** Where a remote URL or a page is, without its user. */
export interface Address {
  readonly transport: 'http' | 'ssh' | 'git' | 'local';
  readonly host: string;
  /** null is the transport's own. Compared only within one transport. */
  readonly port: string | null;
  readonly path: string;
}

/** null for a URL of no transport that git has. @param folder where a relative path starts */
export function addressOf(url: string, folder: string): Address | null {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(url)?.[1]?.toLowerCase();
  if (scheme === 'file') return localAddress(fromFileUrl(url), folder);
  if (scheme !== undefined) return urlAddress(url, scheme);
  const scp = /^(?:[^@/\s]+@)?([^:/\s]+):(.+)$/s.exec(url);
  if (scp !== null)
    return { transport: 'ssh', host: scp[1]!.toLowerCase(), port: null, path: repositoryPath(scp[2]!) };
  return localAddress(url, folder);
}

const transports: Readonly<Record<string, readonly [Address['transport'], string]>> = {
  https: ['http', '443'],
  http: ['http', '80'],
  ssh: ['ssh', '22'],
  'git+ssh': ['ssh', '22'],
  'ssh+git': ['ssh', '22'],
  git: ['git', '9418'],
};

function urlAddress(url: string, scheme: string): Address | null {
  const known = transports[scheme];
  if (known === undefined || !URL.canParse(url)) return null;
  const [transport, usualPort] = known;
  const { hostname, port, pathname } = new URL(url);
  return {
    transport,
    host: hostname.toLowerCase(),
    port: port === '' || port === usualPort ? null : port,
    path: repositoryPath(decoded(pathname)),
  };
}

function localAddress(path: string, folder: string): Address {
  const absolute = resolve(folder, path);
  for (const candidate of [join(absolute, '.git'), absolute, `${absolute}.git`]) {
    try {
      return { transport: 'local', host: '', port: null, path: realpathSync(candidate) };
    } catch {}
  }
  return { transport: 'local', host: '', port: null, path: absolute };
}

function repositoryPath(path: string): string {
  return path
    .replace(/^\/+|\/+$/g, '')
    .replace(/\/{2,}/g, '/')
    .replace(/\.git$/, '');
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function fromFileUrl(url: string): string {
  try {
    return fileURLToPath(url);
  } catch {
    return url.replace(/^file:\/\//i, '');
  }
}

/** Every URL that a repository's settings give its remotes, after `insteadOf`, by remote. */
export function remoteUrls(settings: readonly ConfigEntry[]): { name: string; url: string }[] {
  const rules = settings.flatMap(([key, prefix]) => {
    const rule = /^url\.(.*)\.(insteadof|pushinsteadof)$/s.exec(key);
    return rule === null ? [] : [{ base: rule[1]!, push: rule[2] === 'pushinsteadof', prefix }];
  });
  return settings.flatMap(([key, value]) => {
    const remote = /^remote\.(.*)\.(url|pushurl)$/s.exec(key);
    if (remote === null) return [];
    const rule = rules
      .filter(({ prefix, push }) => !push && prefix !== '' && value.startsWith(prefix))
      .toSorted((a, b) => b.prefix.length - a.prefix.length)[0];
    const url = rule === undefined ? value : rule.base + value.slice(rule.prefix.length);
    return [{ name: remote[1]!, url }];
  });
}
