import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { messageOf, Refused } from '#kit/errors.ts';
import { foreignOwner } from '#kit/foreign-owner.ts';

/** What a delivery writes to, below the git folder that all work trees of a repository share. */
const written = ['', 'objects', 'refs', 'refs/heads'];

/**
 * This process can add a branch to the repository.
 * @param gitDir of one of its work trees
 * @throws Refused (`checkout_not_writable`) naming whose it is
 */
export function requireWritable(gitDir: string, repoDir: string, tryAccess = accessSync): void {
  const shared = sharedGitDir(gitDir);
  for (const path of written.map((name) => join(shared, name))) {
    if (!existsSync(path)) continue;
    try {
      tryAccess(path, constants.W_OK | constants.X_OK);
    } catch (cause) {
      const { uid: owner } = statSync(path);
      const own = process.getuid?.() ?? owner;
      const what = `no branch can be delivered to ${repoDir}, for ${path} is not writable: ${messageOf(cause)}`;
      throw new Refused(
        'checkout_not_writable',
        [what, foreignOwner(path)].filter((part) => part !== null).join('; '),
        {
          cause,
          facts: { path, owner, user: own },
          hint: `Execute as the owner of the checkout (in containers CORE_UID and CORE_GID of .env), or give it to user ${own}.`,
        },
      );
    }
  }
}

/** That of a linked work tree lies in the one of its repository, and names it. */
function sharedGitDir(gitDir: string): string {
  const pointer = join(gitDir, 'commondir');
  return existsSync(pointer) ? resolve(gitDir, readFileSync(pointer, 'utf8').trim()) : gitDir;
}
