import { crashPoint } from '#kit/crash-point.ts';
import { git, gitEnvironment } from '#kit/git/git.ts';
import { pushRefusal, remoteBranch } from '../../git/remote.ts';
import { clearStaleLock } from '../../git/stale-lock.ts';
import type { Publication, PublishOutcome, Workspace } from '../../ports/vcs.ts';
import { requireAsConfigured } from '../clone-check.ts';
import { gitDirOf } from '../clone-folder.ts';
import { changing } from '../leftovers.ts';
import { requirePublishable } from '../publishing.ts';
import { jjFailure } from './jj.ts';
import { exact, run } from './jj-clone.ts';

/** Pushes by bookmark, and believes the remote alone about what came of it. */
export async function publish(
  workspace: Workspace,
  publication: Publication,
  signal?: AbortSignal,
): Promise<PublishOutcome> {
  const { branch, commit, expected, credential } = publication;
  await requirePublishable(workspace, branch, commit);
  await agreeOnRemote(workspace, branch, commit, expected);
  crashPoint('vcs.jj.before_push');
  requireAsConfigured(workspace);
  const environment = await gitEnvironment({ network: true, credential });
  const args = ['--ignore-working-copy', 'git', 'push', '--remote', 'origin', '--bookmark', exact(branch)];
  const attempt = () =>
    run(workspace, args, { environment, accept: [1, 255], ...(signal === undefined ? {} : { signal }) });
  let pushed = await attempt();
  if (pushed.exitCode !== 0 && (await clearStaleLock(workspace.push_url, pushed.stderr, signal)))
    pushed = await attempt();
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
  const failure = jjFailure(args, pushed.exitCode, pushed.stderr, credential);
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
