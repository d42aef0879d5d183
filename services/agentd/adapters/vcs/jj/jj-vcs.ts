import { createHash } from 'node:crypto';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crashPoint } from '#kit/crash-point.ts';
import { Conflict, codeOf, Failed } from '#kit/errors.ts';
import type {
  BuildStep,
  Publication,
  PublishOutcome,
  Vcs,
  VcsState,
  Workspace,
} from '../../../execution/vcs.ts';
import { git, gitEnvironment } from '../../../git/git.ts';
import { copyTree, hasObject } from '../../../git/objects.ts';
import { pushRefusal, remoteBranch } from '../../../git/remote.ts';
import { gitDirOf, makeClone } from '../clone-folder.ts';
import {
  type BranchState,
  branchExists,
  branchState,
  checkTree,
  requireBranch,
  storedMessage,
} from '../clone-state.ts';
import {
  changing,
  endLeftovers,
  forgetInterruption,
  removeLocks,
  wasInterrupted,
  watchChildren,
} from '../leftovers.ts';
import { unpublishBranch } from '../unpublish.ts';
import { removeForeign, writeDifference } from '../working-files.ts';
import { type JjOptions, type JjResult, jj, jjConfig, jjFailure, jjVersion, testedVersion } from './jj.ts';

type Step<K extends BuildStep['kind']> = Extract<BuildStep, { kind: K }>;

/** Builds changes with Jujutsu in a repository that git sees too. An operation id is jj's own. */
export function jjVcs(): Vcs {
  return { kind: 'jj', version, open, build, inspect, restore, publish, unpublish };
}

async function version(): Promise<{ version: string; tested: boolean; warning: string | null }> {
  const found = await jjVersion();
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
  if (existsSync(workspace.clone_dir) && wasInterrupted(workspace)) {
    await recover(workspace).catch((error) => {
      if (codeOf(error) !== 'vcs_failed' && codeOf(error) !== 'git_failed') throw error;
      rmSync(workspace.clone_dir, { recursive: true, force: true });
    });
  }
  if (!existsSync(workspace.clone_dir)) await makeClone(workspace, (folder) => initialise(workspace, folder));
  forgetInterruption(workspace);
}

async function initialise(workspace: Workspace, folder: string): Promise<void> {
  writeFileSync(join(folder, '.git', 'core', 'jj.toml'), jjConfig);
  crashPoint('vcs.jj.clone_made');
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
  const { tree } = await workingCommit(workspace);
  await removeForeign(gitDirOf(workspace), workspace.clone_dir, tree);
  await run(workspace, ['util', 'snapshot']);
  checkTree((await workingCommit(workspace)).tree, tree);
}

async function inspect(workspace: Workspace, branch: string | null): Promise<VcsState> {
  const [operation_id, state] = await Promise.all([
    operationId(workspace),
    branchState(gitDirOf(workspace), branch),
  ]);
  const commit = state?.commit ?? null;
  return {
    operation_id,
    change_id: state?.change_id ?? null,
    commit,
    tree: state?.tree ?? null,
    branch_commit: commit,
  };
}

async function build(workspace: Workspace, step: BuildStep): Promise<VcsState> {
  await settle(workspace);
  await changing(workspace, () => {
    switch (step.kind) {
      case 'create_branch':
        return createBranch(workspace, step);
      case 'apply_patch':
        return applyPatch(workspace, step);
      case 'commit':
        return describe(workspace, step);
    }
  });
  return verified(workspace, step.branch);
}

/** jj and git must agree: an export that failed ends with exit code 0 and a warning. */
async function verified(workspace: Workspace, branch: string): Promise<VcsState> {
  const [state, working] = await Promise.all([inspect(workspace, branch), workingCommit(workspace)]);
  if (state.commit === working.commit && state.change_id === working.change_id) return state;
  throw new Failed(
    'vcs_failed',
    `branch ${branch} is at ${state.commit ?? 'nothing'} in git, but jj works on ${working.commit}`,
  );
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
  const [, present] = /commit ([0-9a-f]{40}) already exists/.exec(made.stderr) ?? [];
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
  // At the real time: what comes between the first and the last commit need not be the same again, and must not.
  const who = { as: { author: step.author, at: new Date().toISOString() } };
  if (added.length > 0) {
    const paths = added.length > 500 ? ['root:"."'] : added.map(({ path }) => `root-file:${quoted(path)}`);
    await run(workspace, ['file', 'track', '--include-ignored', '--', ...paths], who);
    crashPoint('vcs.jj.files_tracked');
  }
  await run(workspace, ['util', 'snapshot'], who);
  crashPoint('vcs.jj.snapshot_taken');
  checkTree((await requireBranch(gitDir, branch)).tree, tree);
}

async function describe(workspace: Workspace, step: Step<'commit'>): Promise<void> {
  const gitDir = gitDirOf(workspace);
  const present = await requireBranch(gitDir, step.branch);
  checkTree(present.tree, step.tree);
  if ((await workingCommit(workspace)).commit !== present.commit)
    await run(workspace, ['edit', present.commit]);
  if (present.message !== storedMessage(step.message)) {
    const again = await describedBefore(gitDir, present, step);
    if (again !== null) await adopt(workspace, step.branch, present.commit, again);
    else await run(workspace, ['describe', '--stdin', '-r', '@'], { as: step, input: step.message });
    crashPoint('vcs.jj.described');
  }
  await run(workspace, ['git', 'export'], { as: step });
  crashPoint('vcs.jj.exported');
  checkTree((await requireBranch(gitDir, step.branch)).tree, step.tree);
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
  await run(workspace, ['bookmark', 'set', '--allow-backwards', branch, '-r', commit]);
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

async function publish(
  workspace: Workspace,
  publication: Publication,
  signal?: AbortSignal,
): Promise<PublishOutcome> {
  const { branch, commit, expected, credential } = publication;
  const present = await requireBranch(gitDirOf(workspace), branch);
  if (present.commit !== commit) {
    throw new Conflict(
      'branch_differs',
      `branch ${branch} is at ${present.commit} in the clone, not at ${commit}`,
    );
  }
  await agreeOnRemote(workspace, branch, commit, expected);
  crashPoint('vcs.jj.before_push');
  const environment = await gitEnvironment([], {
    network: true,
    credential,
    url: workspace.push_url,
  });
  const args = ['--ignore-working-copy', 'git', 'push', '--remote', 'origin', '--bookmark', exact(branch)];
  const pushed = await run(workspace, args, {
    environment,
    accept: [1, 255],
    ...(signal === undefined ? {} : { signal }),
  });
  crashPoint('vcs.jj.pushed');
  const actual = await remoteBranch(workspace.push_url, branch, credential, signal);
  if (actual === commit) return { result: 'done' };
  if (pushed.exitCode === 0) {
    return {
      result: 'moved',
      actual,
      message: `the push ended well, but the remote has ${actual ?? 'no such branch'}`,
    };
  }
  const failure = jjFailure(args, pushed.exitCode, pushed.stderr);
  if (failure.code !== 'vcs_failed') throw failure;
  const moved = actual !== expected || /stale info|unexpectedly moved/.test(pushed.stderr);
  if (moved)
    return { result: 'moved', actual, message: `${branch} is at ${actual ?? 'nothing'} on the remote` };
  return { result: 'rejected', message: refusalWords(pushed.stderr) };
}

function refusalWords(stderr: string): string {
  const outcome = pushRefusal('', stderr);
  return outcome.result === 'done' ? stderr : outcome.message;
}

/** jj's lease is what it last saw of the remote; that must be what the caller expects. */
async function agreeOnRemote(
  workspace: Workspace,
  branch: string,
  commit: string,
  expected: string | null,
): Promise<void> {
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
  await run(workspace, ['bookmark', 'track', exact(branch), '--remote', 'origin']);
}

function unpublish(
  workspace: Workspace,
  publication: Publication,
  signal?: AbortSignal,
): Promise<PublishOutcome> {
  return unpublishBranch(workspace, publication, 'vcs.jj.unpublished', signal);
}

function run(workspace: Workspace, args: readonly string[], options: JjOptions = {}): Promise<JjResult> {
  return jj(workspace.clone_dir, args, { children: watchChildren(workspace), ...options });
}

async function operationId(workspace: Workspace): Promise<string> {
  const { stdout } = await run(workspace, ['--at-op=@', 'op', 'log', '-n1', '--no-graph', '-T', 'id']);
  if (/^[0-9a-f]{128}$/.test(stdout.trim())) return stdout.trim();
  throw new Failed('vcs_failed', `jj gave '${stdout.slice(0, 200)}' for an operation id`);
}

interface WorkingCommit {
  readonly change_id: string;
  readonly commit: string;
  readonly parents: readonly string[];
  readonly tree: string;
}

async function workingCommit(workspace: Workspace): Promise<WorkingCommit> {
  const template = 'change_id ++ " " ++ commit_id ++ " " ++ parents.map(|p| p.commit_id()).join(",")';
  const { stdout } = await run(workspace, [
    '--ignore-working-copy',
    'log',
    '-r',
    '@',
    '--no-graph',
    '-T',
    template,
  ]);
  const [change_id, commit, parents] = stdout.trim().split(' ');
  if (!change_id || !commit || !parents) throw new Failed('vcs_failed', `jj gave '${stdout}' for its commit`);
  const tree = await git(['rev-parse', '--verify', `${commit}^{tree}`], { gitDir: gitDirOf(workspace) });
  return { change_id, commit, parents: parents.split(','), tree: tree.stdout.toString('utf8').trim() };
}

/** The commit that an operation worked on. @throws Conflict `operation_unknown` */
async function operationCommit(workspace: Workspace, operation: string): Promise<string> {
  const known = /^[0-9a-f]{128}$/.test(operation);
  const args = [`--at-op=${operation}`, 'log', '-r', '@', '--no-graph', '-T', 'commit_id'];
  const found = known ? await run(workspace, args, { accept: [1] }) : null;
  if (found?.exitCode === 0) return found.stdout.trim();
  throw new Conflict('operation_unknown', `the clone ${workspace.clone_dir} knows no operation ${operation}`);
}

function exact(name: string): string {
  return `exact:${quoted(name)}`;
}

function quoted(text: string): string {
  const escaped = text
    .replace(/[\\"]/g, '\\$&')
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')
    .replaceAll('\t', '\\t');
  return `"${escaped}"`;
}
