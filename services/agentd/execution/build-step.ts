import { Failed } from '#kit/errors.ts';
import type { ActionKind } from '../action.ts';
import type { Run } from '../runs/run.ts';
import type { Intent } from './action-executor.ts';
import type { BuildStep } from './vcs.ts';

/** The VCS step of an action in our own clone; the same input makes the same commit. */
export function buildStep(run: Run, kind: ActionKind, intent: Intent): BuildStep {
  const { branch, tree } = run.plan!.target;
  const author = run.execution!.author;
  const at = intent.effect_at;
  switch (kind) {
    case 'create_branch':
      return { kind, branch: branch!, message: `Work of ${run.run_id}`, author, at };
    case 'apply_patch':
      return { kind, branch: branch!, tree: tree!, author, at };
    case 'commit':
      return { kind, branch: branch!, tree: tree!, message: String(intent.rendered.message), author, at };
    default:
      throw new Failed('not_a_build_step', `${kind} is no step of the VCS`);
  }
}
