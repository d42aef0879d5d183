import { createHash } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { crashPoint } from '#kit/crash-point.ts';
import { Failed } from '#kit/errors.ts';
import { git } from '#kit/git/git.ts';
import { copyTree, hasObject } from '#kit/git/objects.ts';
import type { BuildStep, Publication, PublishOutcome, Vcs, VcsState, Workspace } from '../../ports/vcs.ts';
import { discardUnlessAsConfigured } from '../clone-check.ts';
import { gitDirOf, makeClone } from '../clone-folder.ts';
import {
  type BranchState,
  branchExists,
  branchState,
  checkBuilt,
  checkTree,
  requireBranch,
  stateOf,
  storedMessage,
} from '../clone-state.ts';
import {
  changing,
  endLeftovers,
  forgetInterruption,
  isBeyondRepair,
  removeLocks,
  wasInterrupted,
  watchChildren,
} from '../leftovers.ts';
import { unpublishBranch } from '../publishing.ts';
import { checkOut, removeForeign, writeDifference } from '../working-files.ts';
import { jj, jjFailure, jjVersion, testedVersion } from './jj.ts';
import {
  madeBefore,
  operationCommit,
  operationId,
  quoted,
  run,
  runAtFreeTime,
  workingCommit,
  workingTree,
} from './jj-clone.ts';
import { publish } from './jj-publish.ts';

type Step<K extends BuildStep['kind']> = Extract<BuildStep, { kind: K }>;

/**
 * Builds changes with Jujutsu in a repository that git sees too. An operation id is jj's own.
 * @param known the version that is installed, where the caller has asked already
 */
export function jjVcs(known: string | null = null): Vcs {
  return {
    kind: 'jj',
    version: async () => facts(known ?? (await jjVersion())),
    open,
    build,
    inspect,
    restore,
    publish,
    unpublish,
  };
}

function facts(found: string | null): { version: string; tested: boolean; warning: string | null } {
  if (found === null)
    throw new Failed('jj_missing', 'jj is not on PATH', { hint: 'install jj 0.41.0, or use git' });
  const tested = found === testedVersion;
  const warning = `jj ${found} is installed; tested is ${testedVersion}`;
  return { version: found, tested, warning: tested ? null : warning };
}

async function open(workspace: Workspace): Promise<VcsState> {
  await settle(workspace);
  return inspect(workspace, null);
}

/** The clone is there, and nothing of an interrupted change is left in it. */
async function settle(workspace: Workspace): Promise<void> {
  await endLeftovers(workspace);
  discardUnlessAsConfigured(workspace);
  if (existsSync(workspace.clone_dir) && wasInterrupted(workspace)) {
    await recover(workspace).catch((error) => {
      if (!isBeyondRepair(error)) throw error;
      rmSync(workspace.clone_dir, { recursive: true, force: true });
    });
  }
  if (!existsSync(workspace.clone_dir))
    await makeClone(workspace, 'files', (folder) => initialise(workspace, folder));
  forgetInterruption(workspace);
}

async function initialise(workspace: Workspace, folder: string): Promise<void> {
  crashPoint('vcs.jj.clone_made');
  // git writes the files, in half the time: jj finds them as they should be, and never makes a large checkout itself.
  await checkOut(workspace, workspace.base_commit, folder);
  crashPoint('vcs.jj.checked_out');
  await jj(folder, ['git', 'init', '--colocate', '.'], {
    seed: `${workspace.run_id} init`,
    children: watchChildren(workspace),
  });
  crashPoint('vcs.jj.initialised');
}

/**
 * Back to what the last finished operation recorded: a change that was cut off may have left files half written, which the
 * next command would take for the person's work.
 */
async function recover(workspace: Workspace): Promise<void> {
  removeLocks(gitDirOf(workspace));
  const operation = await operationId(workspace);
  const snapshot = await run(workspace, ['util', 'snapshot'], { accept: [1, 255] });
  if (snapshot.exitCode !== 0) await run(workspace, ['workspace', 'update-stale']);
  await run(workspace, ['op', 'restore', '--what', 'repo', operation]);
  const tree = await workingTree(workspace);
  await removeForeign(gitDirOf(workspace), workspace.clone_dir, tree);
  await run(workspace, ['util', 'snapshot']);
  checkTree(await workingTree(workspace), tree);
}

async function inspect(workspace: Workspace, branch: string | null): Promise<VcsState> {
  return stateOf(...(await Promise.all([operationId(workspace), branchState(gitDirOf(workspace), branch)])));
}

async function build(workspace: Workspace, step: BuildStep): Promise<VcsState> {
  await settle(workspace);
  return changing(workspace, async () => {
    await perform(workspace, step);
    // What git has, not what jj says: an export that failed ends with exit code 0 and a warning.
    const present = await requireBranch(gitDirOf(workspace), step.branch);
    checkBuilt(present, step, workspace.base_commit);
    return stateOf(await operationId(workspace), present);
  });
}

function perform(workspace: Workspace, step: BuildStep): Promise<void> {
  switch (step.kind) {
    case 'create_branch':
      return createBranch(workspace, step);
    case 'apply_patch':
      return applyPatch(workspace, step);
    case 'commit':
      return describe(workspace, step);
  }
}

async function createBranch(workspace: Workspace, step: Step<'create_branch'>): Promise<void> {
  const { branch, message } = step;
  const base = workspace.base_commit;
  const present = await branchState(gitDirOf(workspace), branch);
  if (present !== null) {
    if (present.parents[0] === base && present.message === storedMessage(message)) return;
    throw branchExists(branch, present.commit);
  }
  await newChange(workspace, step);
  crashPoint('vcs.jj.change_made');
  await run(workspace, ['bookmark', 'set', branch, '-r', '@'], { as: step });
  crashPoint('vcs.jj.bookmark_set');
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

async function applyPatch(workspace: Workspace, step: Step<'apply_patch'>): Promise<void> {
  const gitDir = gitDirOf(workspace);
  const { branch, tree } = step;
  const [present] = await Promise.all([
    requireBranch(gitDir, branch),
    copyTree(workspace.mirror_dir, gitDir, tree, workspace.base_commit),
  ]);
  if (present.tree === tree) return;
  const added = await writeDifference(gitDir, workspace.clone_dir, present.tree, tree, () =>
    crashPoint('vcs.jj.file_written'),
  );
  crashPoint('vcs.jj.files_written');
  await snapshot(workspace, step, added);
  crashPoint('vcs.jj.snapshot_taken');
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
    if ((await requireBranch(gitDirOf(workspace), step.branch)).tree === step.tree) return;
  }
  const list = few ? files : ['root:"."'];
  await runAtFreeTime(workspace, ['file', 'track', '--include-ignored', '--', ...list], step.author);
  crashPoint('vcs.jj.files_tracked');
  await runAtFreeTime(workspace, ['util', 'snapshot'], step.author);
}

async function describe(workspace: Workspace, step: Step<'commit'>): Promise<void> {
  const gitDir = gitDirOf(workspace);
  const present = await requireBranch(gitDir, step.branch);
  checkTree(present.tree, step.tree);
  if (present.message === storedMessage(step.message)) {
    const { commit } = await workingCommit(workspace);
    if (commit !== present.commit) await run(workspace, ['edit', present.commit]);
  } else {
    const again = await describedBefore(gitDir, present, step);
    if (again !== null) await adopt(workspace, step.branch, present.commit, again);
    else await run(workspace, ['describe', '--stdin', '-r', '@'], { as: step, input: step.message });
    crashPoint('vcs.jj.described');
  }
  await run(workspace, ['--ignore-working-copy', 'git', 'export'], { as: step });
  crashPoint('vcs.jj.exported');
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

async function restore(workspace: Workspace, operation: string): Promise<VcsState> {
  await settle(workspace);
  const wanted = await operationCommit(workspace, operation);
  await changing(workspace, async () => {
    crashPoint('vcs.jj.before_restore');
    await run(workspace, ['op', 'restore', '--what', 'repo', operation]);
    crashPoint('vcs.jj.restored');
    const { commit } = await workingCommit(workspace);
    if (commit !== wanted) {
      throw new Failed('vcs_failed', `after restoring ${operation} jj works on ${commit}, not on ${wanted}`);
    }
  });
  return inspect(workspace, null);
}

function unpublish(
  workspace: Workspace,
  publication: Publication,
  signal?: AbortSignal,
): Promise<PublishOutcome> {
  return unpublishBranch(workspace, publication, 'vcs.jj.unpublished', signal);
}
