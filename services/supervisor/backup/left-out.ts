import { existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { readKnownForges } from '#kit/config/known-forges.ts';
import { readSettings } from '#kit/config/settings.ts';
import { environment } from '#kit/environment.ts';
import type { Folders } from '#kit/folders.ts';
import type { CutOptions } from './cut.ts';
import type { LeftOut } from './manifest.ts';
import { disposable, mirrors, notOurs } from './state-folder.ts';

/** Everything that belongs to the installation in some way and is not in its backup. */
export function leftOutOf(
  folders: Folders,
  { withSecrets, withMirrors }: CutOptions,
  met: readonly LeftOut[],
): LeftOut[] {
  const secrets = ['secrets', 'tokens'].map((name) => ({
    what: `config/${name}`,
    why: 'secret; --with-secrets takes them along',
  }));
  const rebuilt = [...disposable, ...(withMirrors ? [] : [mirrors])];
  return [
    ...(withSecrets
      ? []
      : secrets.filter(({ what }) => existsSync(join(folders.config, what.slice('config/'.length))))),
    ...rebuilt
      .filter(({ path }) => existsSync(join(folders.state, path)))
      .map(({ path, why }) => ({ what: `state/${path}`, why })),
    ...met,
    ...forgesElsewhere(folders),
    ...notOurs,
    ...checkouts(folders),
  ];
}

function checkouts(folders: Folders): LeftOut[] {
  const settings = unlessUnreadable(() => readSettings({ folders, environment }));
  return Object.entries(settings?.agentd.checkouts ?? {}).map(([name, path]) => ({
    what: path,
    why: `the working copy '${name}' of agentd.checkouts`,
  }));
}

function forgesElsewhere(folders: Folders): LeftOut[] {
  const found = unlessUnreadable(() => readKnownForges(folders)) ?? [];
  return found.flatMap(({ name, root }) =>
    root !== null && isAbsolute(root)
      ? [{ what: root, why: `the forge '${name}' lies outside the state folder` }]
      : [],
  );
}

/** A configuration that does not hold is backed up like any other. */
function unlessUnreadable<T>(work: () => T): T | null {
  try {
    return work();
  } catch {
    return null;
  }
}
