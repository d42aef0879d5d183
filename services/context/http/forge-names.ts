import { resolve } from 'node:path';
import { type KnownForge, readKnownForges } from '#kit/config/known-forges.ts';
import { RepositoryName } from '#kit/contracts/context/members.ts';
import { matches } from '#kit/decode.ts';
import type { Folders } from '#kit/folders.ts';
import { git } from '#kit/git/git.ts';

/**
 * What planning calls the repository at `path`: forge/owner/repo of its `origin`, else of the only other remote that a configured
 * forge keeps. null where no remote says so, and where nothing can be read there.
 */
export async function nameByForge(path: string, folders: Folders): Promise<string | null> {
  const found = await git(['config', '--get-regexp', '^remote\\..*\\.url$'], {
    cwd: path,
    accept: [1, 128],
  }).catch(() => null);
  if (found === null || found.exitCode !== 0) return null;
  const forges = readKnownForges(folders);
  const names = new Map<string, string>();
  for (const line of found.stdout.toString('utf8').split('\n')) {
    const [, remote, url] = /^remote\.(.*)\.url (.+)$/.exec(line) ?? [];
    const name = url === undefined ? null : nameOfRemote(url, path, forges, folders);
    if (name !== null) names.set(remote!, name);
  }
  const distinct = [...new Set(names.values())];
  return names.get('origin') ?? (distinct.length === 1 ? distinct[0]! : null);
}

function nameOfRemote(
  url: string,
  path: string,
  forges: readonly KnownForge[],
  folders: Folders,
): string | null {
  for (const forge of forges) {
    const { base, root } = forge;
    const place =
      root !== null
        ? onDisk(url, path, resolve(folders.state, root))
        : base !== null
          ? onHost(url, base)
          : null;
    const name = `${forge.name}/${place}`;
    if (place !== null && matches(RepositoryName, name)) return name;
  }
  return null;
}

/** The local forge keeps `<root>/<owner>/<repo>/repository.git`. */
function onDisk(url: string, path: string, root: string): string | null {
  const place = resolve(path, url.replace(/^file:\/\//, '')).replace(/\/+$/, '');
  const folder = `${root}/`;
  const [, inside] = /^(.*)\/repository\.git$/.exec(place) ?? [];
  if (inside === undefined || !inside.startsWith(folder)) return null;
  const name = inside.slice(folder.length);
  return name.split('/').length === 2 ? name : null;
}

function onHost(url: string, base: URL): string | null {
  const scp = /^(?:[^@/\s]+@)?([^:/\s]+):(?!\/)(.+)$/.exec(url);
  const remote = scp === null ? parsed(url) : { hostname: scp[1]!, pathname: `/${scp[2]}` };
  if (remote?.hostname.toLowerCase() !== base.hostname.toLowerCase()) return null;
  const below = base.pathname.replace(/\/+$/, '');
  const inside = remote.pathname.startsWith(`${below}/`)
    ? remote.pathname.slice(below.length)
    : remote.pathname;
  const name = inside.replace(/^\/+|\/+$/g, '').replace(/\.git$/, '');
  return name.split('/').length === 2 ? name : null;
}

function parsed(url: string): { hostname: string; pathname: string } | null {
  return URL.canParse(url) ? new URL(url) : null;
}
