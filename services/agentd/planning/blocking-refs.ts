import { CoreError } from '#kit/errors.ts';
import type { GitCredential } from '#kit/git/git-environment.ts';
import { checkoutGit, findCheckout, hasRemote } from '../git/checkout.ts';
import { remoteRefs } from '../git/remote.ts';

export interface NewBranch {
  readonly branch: string;
  /** Name of the forge; null where nothing is pushed to it. */
  readonly forge: string | null;
  readonly push_url: string;
  readonly credential: GitCredential | null;
  /** Folders of working copies, of any repository. */
  readonly checkouts: readonly string[];
}

/** Branches and tags that are in the way of a new branch, on the forge and in working copies of its repository, one line each. */
export async function blockingNotices(wanted: NewBranch, signal: AbortSignal): Promise<string[]> {
  const { branch, forge, checkouts } = wanted;
  const notices = forge === null ? [] : await onForge(wanted, forge, signal);
  for (const folder of checkouts) {
    const refs = await refsIn(folder, wanted);
    notices.push(...texts(branch, refs, `in ${folder}`, 'no branch could be delivered there'));
  }
  return notices;
}

async function onForge({ branch, push_url, credential }: NewBranch, forge: string, signal: AbortSignal) {
  try {
    const patterns = namesInTheWay(branch).map((ref) => (ref.endsWith('/') ? `${ref}*` : ref));
    const refs = await remoteRefs(push_url, patterns, credential, signal);
    return texts(branch, [...refs.keys()], `on ${forge}`, 'the push would be refused');
  } catch (error) {
    if (signal.aborted || !(error instanceof CoreError)) throw error;
    return [`whether ${forge} has a branch or tag in the way of ${branch} is not known: ${error.message}`];
  }
}

/** Full names of refs; one that ends with a slash stands for all below it. */
function namesInTheWay(branch: string): string[] {
  const parts = branch.split('/');
  const above = parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'));
  return [...[...above, branch, `${branch}/`].map((name) => `refs/heads/${name}`), `refs/tags/${branch}`];
}

/** A working copy that cannot be read, or is of another repository, has none. */
async function refsIn(folder: string, { branch, push_url }: NewBranch): Promise<string[]> {
  try {
    const checkout = await findCheckout(folder);
    if (typeof checkout === 'string' || !(await hasRemote(checkout, push_url))) return [];
    const patterns = namesInTheWay(branch).map((ref) => (ref.endsWith('/') ? `${ref}**` : ref));
    const args = ['for-each-ref', '--format=%(refname)', ...patterns];
    const { stdout } = await checkoutGit(args, { gitDir: checkout.gitDir });
    return stdout.toString('utf8').split('\n');
  } catch (error) {
    if (error instanceof CoreError) return [];
    throw error;
  }
}

function texts(branch: string, refs: readonly string[], place: string, effect: string): string[] {
  const named = namesInTheWay(branch);
  const inTheWay = refs.filter((ref) =>
    named.some((name) => ref === name || (name.endsWith('/') && ref.startsWith(name))),
  );
  return inTheWay.map((ref) => {
    const name = ref.replace(/^refs\/(heads|tags)\//, '');
    if (ref.startsWith('refs/tags/'))
      return `tag ${name} ${place} has the name of our branch, so that git commands which name it may mean either; delete or rename it`;
    if (name === branch)
      return `branch ${name} is ${place} already: ${effect}; delete or rename it, or plan again`;
    const remedy = 'delete or rename it, or set branch.prefix in config/policy.json and plan again';
    return `branch ${name} ${place} is in the way of ${branch}, as git has no branch below another: ${effect}; ${remedy}`;
  });
}
