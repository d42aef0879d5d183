import { resolve } from 'node:path';
import * as t from 'io-ts';
import { readConcernDocument } from '#kit/config/concern.ts';
import { mergeJson } from '#kit/config/merge.ts';
import { RepositoryName } from '#kit/contracts/context/common.ts';
import { decode, matches, optional } from '#kit/decode.ts';
import type { Folders } from '#kit/folders.ts';
import { git } from '#kit/git/git.ts';

const ForgeAddresses = t.strict({
  forges: t.array(
    t.strict({
      name: t.string,
      kind: t.string,
      root: optional(t.string),
      base_url: optional(t.string),
    }),
  ),
});
type ForgeAddress = t.TypeOf<typeof ForgeAddresses>['forges'][number];

/** Where forges keep their repositories, from `forges.json`. @throws InvalidInput (`config_invalid`) */
export function readForgeAddresses(folders: Pick<Folders, 'config'>): readonly ForgeAddress[] {
  const { shipped, user } = readConcernDocument('forges', folders);
  const merged = user.document === undefined ? shipped.document : mergeJson(shipped.document, user.document);
  return decode(ForgeAddresses, merged, 'forges.json', 'config_invalid').forges;
}

/**
 * What planning calls the repository at `path`: forge/owner/repo of its `origin`, else of the only other remote that a configured
 * forge keeps. null where no remote tells, and where nothing can be read there.
 */
export async function nameByForge(path: string, folders: Folders): Promise<string | null> {
  const found = await git(['config', '--get-regexp', '^remote\\..*\\.url$'], {
    cwd: path,
    accept: [1, 128],
  }).catch(() => null);
  if (found === null || found.exitCode !== 0) return null;
  const forges = readForgeAddresses(folders);
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
  forges: readonly ForgeAddress[],
  folders: Folders,
): string | null {
  for (const forge of forges) {
    const place = forge.kind === 'local' ? onDisk(url, path, forge, folders) : onHost(url, forge);
    const name = `${forge.name}/${place}`;
    if (place !== null && matches(RepositoryName, name)) return name;
  }
  return null;
}

/** The local forge keeps `<root>/<owner>/<repo>/repository.git`. */
function onDisk(
  url: string,
  path: string,
  { root = 'forge' }: ForgeAddress,
  { state }: Folders,
): string | null {
  const place = resolve(path, url.replace(/^file:\/\//, '')).replace(/\/+$/, '');
  const folder = `${resolve(state, root)}/`;
  const [, inside] = /^(.*)\/repository\.git$/.exec(place) ?? [];
  if (inside === undefined || !inside.startsWith(folder)) return null;
  const name = inside.slice(folder.length);
  return name.split('/').length === 2 ? name : null;
}

function onHost(url: string, { base_url = 'https://github.com' }: ForgeAddress): string | null {
  const base = parsed(base_url);
  const scp = /^(?:[^@/\s]+@)?([^:/\s]+):(?!\/)(.+)$/.exec(url);
  const remote = scp === null ? parsed(url) : { hostname: scp[1]!, pathname: `/${scp[2]}` };
  if (base === null || remote?.hostname.toLowerCase() !== base.hostname.toLowerCase()) return null;
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
