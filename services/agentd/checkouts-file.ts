import { changeConcern } from '#kit/config/change-concern.ts';
import { isObject } from '#kit/config/merge.ts';
import { Settings } from '#kit/config/settings.ts';
import type { Folders } from '#kit/folders.ts';

/**
 * Names a working copy in `agentd.checkouts` of the user's own `core.json`, so that core-agentd can deliver to it; one that has a name
 * there keeps it.
 * @returns the name: that of the repository, or with its owner where another working copy has that
 * @throws InvalidInput (`config_invalid`, `invalid_json`); then nothing is written
 */
export function addCheckout(
  folders: Pick<Folders, 'config'>,
  { owner, repo }: { readonly owner: string; readonly repo: string },
  path: string,
): string {
  let name = repo;
  changeConcern(folders, {
    name: 'core',
    codec: Settings,
    members({ agentd }) {
      const own = isObject(agentd) ? agentd : {};
      const checkouts = isObject(own.checkouts) ? own.checkouts : {};
      name = nameFor(checkouts, [repo, `${owner}-${repo}`], path);
      return { agentd: { ...own, checkouts: { ...checkouts, [name]: path } } };
    },
    check() {},
  });
  return name;
}

function nameFor(
  checkouts: Readonly<Record<string, unknown>>,
  wanted: readonly [string, string],
  path: string,
): string {
  const same = Object.keys(checkouts).find((name) => checkouts[name] === path);
  if (same !== undefined) return same;
  const free = (name: string) => !Object.hasOwn(checkouts, name);
  const numbered = (number: number): string => {
    const name = `${wanted[1]}-${number}`;
    return free(name) ? name : numbered(number + 1);
  };
  return wanted.find(free) ?? numbered(2);
}
