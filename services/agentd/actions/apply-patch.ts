import * as t from 'io-ts';
import { optional, Sha256 } from '#kit/decode.ts';
import { Author, FileChange } from '../action.ts';
import type { Policy } from '../policy.ts';
import { reconcileBuildStep, renderBuildStep } from './executor.ts';
import { type ActionType, authorOf, type ChangeFacts } from './kind.ts';
import { type RiskAssessment, riskOf, withSameRejected } from './risk.ts';

/** Members that older versions of Core did not seal are optional: such a plan can be read and undone, and never runs. */
export const ApplyPatchParams = t.strict({
  patch: Sha256,
  tree: t.string,
  files: t.array(FileChange),
  author: optional(Author),
});

/** Turns the working copy of our own clone into exactly the approved tree. */
export const applyPatch: ActionType<'apply_patch', t.TypeOf<typeof ApplyPatchParams>> = {
  kind: 'apply_patch',
  gate: 'build',
  params: ApplyPatchParams,
  artifacts: ['patch'],

  propose(plan) {
    if (plan.proposes !== 'change') return null;
    const { patch, change, policy, title, target } = plan;
    return {
      title: filesText(change.files),
      rationale: title,
      params: { patch, tree: target.tree!, files: [...change.files], author: policy.commit_author },
      needs: ['create_branch'],
      artifacts: { patch },
      risk: withSameRejected(assessPatch(change, policy), plan.same_rejected, policy),
    };
  },

  duplicates: ({ params, target, artifacts }, plan) => [
    ['tree', params.tree, 'target.tree', target.tree],
    ['patch', params.patch, 'artifacts.patch', artifacts.patch],
    ['patch', params.patch, 'the patch of the plan', plan.patch],
  ],

  describe({ params: { files } }, minus) {
    const { added, removed, count, names } = summaryOf(files);
    return { main: `${count}, +${added} ${minus}${removed}`, note: names };
  },
  results: () => [],

  buildStep: (action, { effect_at: at }) => ({
    kind: 'apply_patch',
    branch: action.target.branch!,
    tree: action.params.tree,
    author: authorOf(action),
    at,
  }),

  executor: ({ clone }) => ({
    check: () => clone.ensureTree(),
    render: () => renderBuildStep(clone),
    async perform({ action }, intent) {
      const vcs = await clone.build(applyPatch.buildStep!(action, intent));
      const { tree, files } = action.params;
      return { succeeded: true, message: filesText(files), facts: { tree }, vcs };
    },
    reconcile: (_step, intent) => reconcileBuildStep(clone, intent),
    undoing: async () => ({ effect: 'nothing', message: 'goes with the branch in the clone' }),
  }),
};

export function assessPatch(change: ChangeFacts, { risk: table }: Policy): RiskAssessment {
  const { files, reaches_out, untrusted, sensitive } = change;
  const reasons: string[] = [];
  const lines = files.reduce((sum, file) => sum + (file.added ?? 0) + (file.removed ?? 0), 0);
  const size = files.length * table.per_file + Math.floor(lines / table.lines_per_point);
  let score = table.base.apply_patch + Math.min(size, table.size_at_most);
  if (size >= table.size_at_most) reasons.push(`large: ${files.length} files, ${lines} lines`);
  if (reaches_out.length > 0) {
    score += table.agent_reaches_out;
    reasons.push(`made by an agent that reaches ${reaches_out.join(', ')}`);
  }
  if (untrusted.length > 0) {
    score += table.untrusted_influence;
    reasons.push(`led by text of outsiders: ${untrusted.join(', ')}`);
  }
  if (change.rejected_before > 0) {
    score += table.rejected_before;
    reasons.push(`an earlier proposal for this issue was rejected`);
  }
  if (change.repair !== null) {
    score = Math.max(score, table.levels.medium);
    reasons.push(`the patch did not fit as written and was repaired: ${change.repair}`);
  }
  if (change.displaces !== null) {
    score = Math.max(score, table.levels.high);
    reasons.push(change.displaces);
  }
  if (sensitive.length > 0) {
    score = Math.max(score, table.levels.high);
    reasons.push(`sensitive: ${sensitive.join(', ')}`);
  }
  const critical = new Set([...change.critical, ...change.validation_files, ...change.install_scripts]);
  if (critical.size > 0) {
    score = Math.max(score, table.levels.critical);
    reasons.push(`decides what CI, an installation or the validation runs: ${[...critical].join(', ')}`);
  }
  const links = files.filter((file) => file.new_mode === '120000').map((file) => file.path);
  if (links.length > 0) {
    score = Math.max(score, table.levels.high);
    reasons.push(`symbolic links: ${links.join(', ')}`);
  }
  return riskOf(score, reasons, table.levels);
}

/** For example `2 files, +6 −2  src/greet.js, test/greet.test.js`. */
function filesText(files: readonly FileChange[]): string {
  const { added, removed, count, names } = summaryOf(files);
  return `${count}, +${added} −${removed}  ${names}`;
}

function summaryOf(files: readonly FileChange[]) {
  const more = files.length > 3 ? ` and ${files.length - 3} more` : '';
  return {
    added: files.reduce((sum, file) => sum + (file.added ?? 0), 0),
    removed: files.reduce((sum, file) => sum + (file.removed ?? 0), 0),
    count: `${files.length} ${files.length === 1 ? 'file' : 'files'}`,
    names: `${files
      .slice(0, 3)
      .map(({ path }) => path)
      .join(', ')}${more}`,
  };
}
