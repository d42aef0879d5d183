import { Failed } from '#kit/errors.ts';
import type { ActionDefinition, Author } from '../action.ts';
import type { Intent } from './action-executor.ts';
import { planOutdated } from './approved-plan.ts';
import type { BuildStep } from './vcs.ts';

/** The VCS step of an approved action in our own clone; the same input makes the same commit. */
export function buildStep(action: ActionDefinition, intent: Intent): BuildStep {
  const at = intent.effect_at;
  const branch = action.target.branch!;
  switch (action.kind) {
    case 'create_branch': {
      const message = `Work of ${action.run_id}`;
      return { kind: action.kind, branch, message, author: authorOf(action), at };
    }
    case 'apply_patch':
      return { kind: action.kind, branch, tree: action.params.tree, author: authorOf(action), at };
    case 'commit': {
      const { tree, author } = action.params;
      return { kind: action.kind, branch, tree, message: String(intent.rendered.message), author, at };
    }
    default:
      throw new Failed('not_a_build_step', `${action.kind} is no step of the VCS`);
  }
}

function authorOf({ run_id, params }: { run_id: string; params: { author?: Author | undefined } }): Author {
  if (params.author !== undefined) return params.author;
  throw planOutdated(run_id);
}
