import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { CoreError, messageOf } from '#kit/errors.ts';
import type { Permit } from '#kit/permit.ts';
import type { CheckoutPlace } from '../action.ts';
import type { Ours, UndoResult, Withdrawal } from '../actions/executor.ts';
import { checkoutGit as git, requireOwnRepository } from '../git/checkout.ts';
import { checkedGitDir, checkoutAt, refCommit, repositoryId, writing } from './delivery.ts';

/** Takes a delivered branch back, where it can be seen to be ours. */

/** Deletes the delivered ref, if it is still at our commit and not checked out. */
export async function withdraw(
  place: CheckoutPlace,
  pushUrl: string,
  ref: string,
  ours: Ours,
  permit?: Permit,
): Promise<UndoResult> {
  let found: Awaited<ReturnType<typeof findPlace>>;
  try {
    found = await findPlace(place, pushUrl, ref);
  } catch (error) {
    return { state: 'failed', message: messageOf(error) };
  }
  if ('elsewhere' in found) return { state: 'kept', message: found.elsewhere };
  const { gitDir, isSame } = found;
  const { dir } = place;
  const present = await refCommit(gitDir, ref);
  if (present === null)
    return isSame
      ? { state: 'undone', message: `${ref} is not in ${dir} any more` }
      : { state: 'kept', message: otherClone(place, ref) };
  if (present !== ours.commit && !(await isOurs(gitDir, present, ours))) {
    return {
      state: 'kept',
      message: `${ref} in ${dir} is at ${present.slice(0, 12)}, not ours any more; it stays`,
    };
  }
  const inUse = await checkedOutAt(gitDir, ref);
  if (inUse !== null) return { state: 'failed', message: switchAway(ref, inUse) };
  permit?.require();
  try {
    await requireOwnRepository(gitDir, dir);
    await git(['update-ref', '--no-deref', '-d', ref, present], writing(gitDir));
    return { state: 'undone', message: `${ref} deleted in ${dir}` };
  } catch (error) {
    if (!(error instanceof CoreError)) throw error;
    const text = [messageOf(error), error.hint].filter((part) => part !== undefined).join('. ');
    return { state: 'failed', message: `${ref} cannot be deleted in ${dir}: ${text}` };
  }
}

/** What `withdraw` would do now, for people. */
export async function withdrawal(place: CheckoutPlace, pushUrl: string, ref: string): Promise<Withdrawal> {
  const message = `delete ${ref} in ${place.dir}, if it is still ours`;
  try {
    const found = await findPlace(place, pushUrl, ref);
    if ('elsewhere' in found) return { effect: 'keep', message: found.elsewhere };
    const inUse = await checkedOutAt(found.gitDir, ref);
    return { effect: 'undo', message: inUse === null ? message : `${message}; ${switchAway(ref, inUse)}` };
  } catch {
    // The withdrawal says what is wrong there.
    return { effect: 'undo', message };
  }
}

/** The checkout of a delivery as it is now, or why the branch stays where it is. */
async function findPlace(
  place: CheckoutPlace,
  pushUrl: string,
  ref: string,
): Promise<{ readonly gitDir: string; readonly isSame: boolean } | { readonly elsewhere: string }> {
  const { host, dir, repository } = place;
  const isHost = host === null || host === hostname();
  const away = { elsewhere: `${ref} may be in ${dir} on ${host}: undo there, or delete it` };
  if (!existsSync(dir))
    return isHost ? { elsewhere: `there is no folder ${dir} here; where it is, ${ref} stays` } : away;
  const found = await checkoutAt(dir).catch(() => null);
  // A container sees a folder of its host under a name of its own, and it is the same all the same.
  const isSame = repository === null || (found !== null && repositoryId(found.gitDir) === repository);
  if (!isHost && !isSame) return away;
  try {
    return { gitDir: await checkedGitDir(dir, pushUrl), isSame };
  } catch (error) {
    if (isSame) throw error;
    return { elsewhere: otherClone(place, ref) };
  }
}

function otherClone({ dir }: CheckoutPlace, ref: string): string {
  return `${dir} is another repository than the one that got ${ref}; where that one is, the branch stays`;
}

/** True if the commit is what one of the steps makes: its tree, parent, message and time. */
async function isOurs(gitDir: string, commit: string, { base, steps }: Ours): Promise<boolean> {
  const { stdout } = await git(['cat-file', 'commit', commit], { gitDir });
  const [, headers = '', message = ''] = /^(.*?)\n\n(.*)$/s.exec(stdout.toString('utf8')) ?? [];
  const parents = [...headers.matchAll(/^parent (\S+)$/gm)].map(([, id]) => id);
  const tree = /^tree (\S+)$/m.exec(headers)?.[1];
  const seconds = Number(/^committer .* (\d+) [+-]\d{4}$/m.exec(headers)?.[1]);
  return steps.some(
    (step) =>
      parents.join() === base &&
      tree === step.tree &&
      message.trimEnd() === step.message.trimEnd() &&
      seconds === Math.floor(Date.parse(step.at) / 1000),
  );
}

function switchAway(ref: string, folder: string): string {
  return `${ref} is checked out in ${folder}: switch to another branch there, then undo again`;
}

/** The work tree in which the branch is checked out; null when none has it. */
async function checkedOutAt(gitDir: string, ref: string): Promise<string | null> {
  const { stdout } = await git(['worktree', 'list', '--porcelain'], { gitDir });
  let folder = '';
  for (const line of stdout.toString('utf8').split('\n')) {
    if (line.startsWith('worktree ')) folder = line.slice(9);
    if (line === `branch ${ref}`) return folder;
  }
  return null;
}
