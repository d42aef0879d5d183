import { createHash } from 'node:crypto';
import { crashPoint } from '#kit/crash-point.ts';
import { Failed } from '#kit/errors.ts';
import { git, gitEnvironment } from '#kit/git/git.ts';
import { hasObject } from '#kit/git/objects.ts';
import { clearStaleLock, pushRefusal } from '../../git/remote.ts';
import type { Publication, Vcs, Workspace } from '../../ports/vcs.ts';
import { gitDirOf } from '../clone-folder.ts';
import { type BranchState, checkTree, storedMessage } from '../clone-state.ts';
import { cloneVcs, type PushResult, requireBranch, type Step, type VcsTool } from '../clone-vcs.ts';
import { changing, watchChildren } from '../leftovers.ts';
import {
  exact,
  jj,
  jjFailure,
  jjVersion,
  madeBefore,
  operationCommit,
  operationId,
  quoted,
  run,
  runAtFreeTime,
  testedVersion,
  workingCommit,
  workingTree,
} from './jj.ts';
import { checkOut, removeForeign, writeDifference } from './working-files.ts';

/**
 * Builds changes with Jujutsu in a repository that git sees too. An operation id is jj's own.
 * @param known the version that is installed, where the caller has asked already
 */
export function jjVcs(known: string | null = null): Vcs {
  return cloneVcs({ ...tool, version: async () => facts(known ?? (await jjVersion())) });
}

function facts(found: string | null): { version: string; tested: boolean; warning: string | null } {
  if (found === null)
    throw new Failed('jj_missing', 'jj is not on PATH', { hint: 'install jj 0.41.0, or use git' });
  const tested = found === testedVersion;
  const warning = `jj ${found} is installed; tested is ${testedVersion}`;
  return { version: found, tested, warning: tested ? null : warning };
}

const tool: Omit<VcsTool, 'version'> = {
  kind: 'jj',
  cloneKind: 'files',
  crashPoints: {
    before_push: 'vcs.jj.before_push',
    pushed: 'vcs.jj.pushed',
    unpublished: 'vcs.jj.unpublished',
  },
  async initialise(workspace, folder) {
    crashPoint('vcs.jj.clone_made');
    // git writes the files, in half the time: jj finds them as they should be, and never makes a large checkout itself.
    await checkOut(workspace, workspace.base_commit, folder);
    crashPoint('vcs.jj.checked_out');
    await jj(folder, ['git', 'init', '--colocate', '.'], {
      seed: `${workspace.run_id} init`,
      children: watchChildren(workspace),
    });
    crashPoint('vcs.jj.initialised');
  },
  recover,
  operationId,
  async createBranch(workspace, step) {
    await newChange(workspace, step);
    crashPoint('vcs.jj.change_made');
    await run(workspace, ['bookmark', 'set', step.branch, '-r', '@'], { as: step });
    crashPoint('vcs.jj.bookmark_set');
  },
  async applyPatch(workspace, step, present) {
    const gitDir = gitDirOf(workspace);
    const added = await writeDifference(gitDir, workspace.clone_dir, present.tree, step.tree, () =>
      crashPoint('vcs.jj.file_written'),
    );
    crashPoint('vcs.jj.files_written');
    await snapshot(workspace, step, added);
    crashPoint('vcs.jj.snapshot_taken');
  },
  async describe(workspace, step, present) {
    if (present.message === storedMessage(step.message)) {
      const { commit } = await workingCommit(workspace);
      if (commit !== present.commit) await run(workspace, ['edit', present.commit]);
    } else {
      const again = await describedBefore(gitDirOf(workspace), present, step);
      if (again !== null) await adopt(workspace, step.branch, present.commit, again);
      else await run(workspace, ['describe', '--stdin', '-r', '@'], { as: step, input: step.message });
      crashPoint('vcs.jj.described');
    }
    await run(workspace, ['--ignore-working-copy', 'git', 'export'], { as: step });
    crashPoint('vcs.jj.exported');
  },
  async restorer(workspace, operation) {
    const wanted = await operationCommit(workspace, operation);
    return async () => {
      crashPoint('vcs.jj.before_restore');
      await run(workspace, ['op', 'restore', '--what', 'repo', operation]);
      crashPoint('vcs.jj.restored');
      const { commit } = await workingCommit(workspace);
      if (commit === wanted) return;
      throw new Failed('vcs_failed', `after restoring ${operation} jj works on ${commit}, not on ${wanted}`);
    };
  },
  beforePush: agreeOnRemote,
  push,
};

/**
 * Back to what the last finished operation recorded: a change that was cut off may have left files half written, which the
 * next command would take for the person's work.
 */
async function recover(workspace: Workspace): Promise<void> {
  const operation = await operationId(workspace);
  const snapshot = await run(workspace, ['util', 'snapshot'], { accept: [1, 255] });
  if (snapshot.exitCode !== 0) await run(workspace, ['workspace', 'update-stale']);
  await run(workspace, ['op', 'restore', '--what', 'repo', operation]);
  const tree = await workingTree(workspace);
  await removeForeign(gitDirOf(workspace), workspace.clone_dir, tree);
  await run(workspace, ['util', 'snapshot']);
  checkTree(await workingTree(workspace), tree);
}

/** jj refuses to make a commit that it has, even a hidden one: what an earlier attempt made is taken up again. */
async function newChange(workspace: Workspace, step: Step<'create_branch'>): Promise<void> {
  const args = ['new', workspace.base_commit, `--message=${step.message}`];
  const made = await run(workspace, args, { as: step, seed: `${workspace.run_id} new`, accept: [255] });
  if (made.exitCode === 0) return;
  const [, present] = madeBefore.exec(made.stderr) ?? [];
  if (present === undefined) throw jjFailure(args, made.exitCode, made.stderr);
  await run(workspace, ['edit', present]);
}

/** Takes up what lies there: the new files of the change, ignored ones too, and no other. */
async function snapshot(
  workspace: Workspace,
  step: Step<'apply_patch'>,
  added: readonly string[],
): Promise<void> {
  const files = added.map((path) => `root-file:${quoted(path)}`);
  const few = files.length <= 200;
  if (few) {
    const tracked = JSON.stringify(files.join(' | ') || 'none()');
    await runAtFreeTime(
      workspace,
      ['--config', `snapshot.auto-track=${tracked}`, 'util', 'snapshot'],
      step.author,
    );
    if ((await requireBranch(workspace, step.branch)).tree === step.tree) return;
  }
  const list = few ? files : ['root:"."'];
  await runAtFreeTime(workspace, ['file', 'track', '--include-ignored', '--', ...list], step.author);
  crashPoint('vcs.jj.files_tracked');
  await runAtFreeTime(workspace, ['util', 'snapshot'], step.author);
}

/**
 * The commit that describing will make, if an earlier attempt made it. jj would put another time into a second one, and the
 * same step must make the same commit.
 */
async function describedBefore(
  gitDir: string,
  present: BranchState,
  { author, at, message }: Step<'commit'>,
): Promise<string | null> {
  const committer = `committer ${author.name} <${author.email}> ${Math.floor(Date.parse(at) / 1000)} +0000`;
  const text = `${present.headers.replace(/^committer .*$/m, () => committer)}\n\n${storedMessage(message)}`;
  const bytes = Buffer.from(text);
  const id = createHash('sha1').update(`commit ${bytes.length}\0`).update(bytes).digest('hex');
  return (await hasObject(gitDir, id)) ? id : null;
}

/** Goes on with a commit that an earlier attempt made, in place of the present one of the same change. */
async function adopt(workspace: Workspace, branch: string, present: string, commit: string): Promise<void> {
  // By way of git: cut off at the wrong time, jj has written a commit that it knows nothing of.
  const gitDir = gitDirOf(workspace);
  await git(['update-ref', '--no-deref', `refs/heads/${branch}`, commit, present], { gitDir });
  await run(workspace, ['git', 'import']);
  await run(workspace, ['edit', commit]);
  await run(workspace, ['abandon', present]);
}

async function push(
  workspace: Workspace,
  { branch, credential }: Publication,
  signal?: AbortSignal,
): Promise<PushResult> {
  const environment = await gitEnvironment({ network: true, credential });
  const args = ['--ignore-working-copy', 'git', 'push', '--remote', 'origin', '--bookmark', exact(branch)];
  const attempt = () => run(workspace, args, { environment, accept: [1, 255], signal });
  let pushed = await attempt();
  if (pushed.exitCode !== 0 && (await clearStaleLock(workspace.push_url, pushed.stderr, signal)))
    pushed = await attempt();
  const { exitCode, stderr } = pushed;
  if (exitCode === 0) return { result: 'done' };
  const error = jjFailure(args, exitCode, stderr, credential);
  if (error.code !== 'vcs_failed') return { result: 'failed', error };
  const refusal = pushRefusal(workspace.push_url, '', stderr);
  const moved = /stale info|unexpectedly moved/.test(stderr);
  return { result: moved ? 'moved' : 'rejected', message: refusal.message };
}

/** jj's lease is what it last saw of the remote; that must be what the caller expects. */
async function agreeOnRemote(workspace: Workspace, { branch, commit, expected }: Publication): Promise<void> {
  const gitDir = gitDirOf(workspace);
  const tracking = `refs/remotes/origin/${branch}`;
  const seen = await git(['rev-parse', '--verify', '--quiet', tracking], { gitDir, accept: [1] });
  const known = seen.exitCode === 0 ? seen.stdout.toString('utf8').trim() : null;
  if (known !== expected) {
    await changing(workspace, async () => {
      if (known !== null) await run(workspace, ['bookmark', 'forget', '--include-remotes', exact(branch)]);
      if (expected !== null) await git(['update-ref', '--no-deref', tracking, expected], { gitDir });
      await run(workspace, ['bookmark', 'set', '--allow-backwards', branch, '-r', commit]);
    });
  }
  // What is pushed is the commit: the files are not looked at again.
  const track = ['--ignore-working-copy', 'bookmark', 'track', exact(branch), '--remote', 'origin'];
  await run(workspace, track);
}
