import { git } from '#kit/git/git.ts';

export interface Repository {
  readonly owner: string;
  readonly repo: string;
}

/** Which repository a working copy is of, by its remote `core`, else `origin`, else the only one; null where that is unclear. */
export async function repositoryHere(folder: string): Promise<Repository | null> {
  try {
    const { stdout } = await git(['config', '--get-regexp', '^remote\\..*\\.url$'], {
      cwd: folder,
      accept: [1],
    });
    const remotes = new Map(
      stdout
        .toString('utf8')
        .split('\n')
        .flatMap((line) => {
          const [, name = '', url = ''] = /^remote\.(.+)\.url (.+)$/.exec(line) ?? [];
          return url === '' ? [] : [[name, url] as const];
        }),
    );
    const url =
      remotes.get('core') ??
      remotes.get('origin') ??
      (remotes.size === 1 ? [...remotes.values()][0] : undefined);
    return url === undefined ? null : repositoryOfRemote(url);
  } catch {
    return null;
  }
}

/** The last two names of a remote; the local forge has a folder for each repository, with `repository.git` in it. */
export function repositoryOfRemote(url: string): Repository | null {
  const path = url.replace(/[\\/]+$/, '').replace(/\/repository\.git$|\.git$/, '');
  const [, owner, repo] = /([^/:\s]+)[/:]([^/:\s]+)$/.exec(path) ?? [];
  return owner === undefined || repo === undefined ? null : { owner, repo };
}
