import { expect } from 'chai';
import { digestOf } from '#kit/digest.ts';
import { sampleAction, tree } from '../../../test/contract/run-store.sample.ts';
import { type ActionKind, actionKinds, type Target } from '../action.ts';
import { type ActionDefinition, actionDigest, contradiction } from './registry.ts';

const runId = 'run_0199f3c2-0000-7000-8000-000000000000';

/** Without contradiction. */
function definitionOf(kind: ActionKind): ActionDefinition {
  const action = sampleAction(runId, 1, kind);
  return action.kind === 'apply_patch' ? { ...action, artifacts: { patch: action.params.patch } } : action;
}

const { target } = sampleAction(runId, 1, 'commit');
const patch = String(definitionOf('apply_patch').artifacts.patch);
const plan = { target, patch, number: 1 };

/** The definition and the plan with another value of the target, so that both have the same. */
function withTarget(kind: ActionKind, change: Partial<Target>) {
  const action = definitionOf(kind);
  const other = { ...action.target, ...change };
  return contradiction({ ...action, target: other }, { ...plan, target: other });
}

const elsewhere: Partial<Target> = {
  ...{ repository_id: '8', push_url: '/srv/other.git', branch: 'core/2-y', base_branch: 'next' },
  ...{ base_commit: '9'.repeat(40), tree: '8'.repeat(40) },
};

/** What each kind says twice: the parameter, and the member of the target that it repeats. */
const repeated: Readonly<Record<ActionKind, readonly (readonly [string, keyof Target])[]>> = {
  create_branch: [
    ['branch', 'branch'],
    ['base_branch', 'base_branch'],
    ['base_commit', 'base_commit'],
  ],
  apply_patch: [['tree', 'tree']],
  run_validation: [['tree', 'tree']],
  commit: [
    ['tree', 'tree'],
    ['deliver_ref', 'branch'],
  ],
  push_branch: [
    ['branch', 'branch'],
    ['push_url', 'push_url'],
  ],
  open_pull_request: [
    ['head', 'branch'],
    ['base', 'base_branch'],
  ],
  comment_issue: [],
};

describe('A definition', () => {
  for (const kind of actionKinds) {
    it(`of ${kind} says twice the same, in its parameters and its target`, () => {
      expect(contradiction(definitionOf(kind), plan)).to.equal(null);
      const found = Object.keys(elsewhere).flatMap((member) => {
        const name = member as keyof Target;
        const problem = withTarget(kind, { [name]: elsewhere[name] });
        return problem === null ? [] : [[/^params\.(\w+) is '/.exec(problem)?.[1], name]];
      });
      expect(found).to.have.deep.members([...repeated[kind]]);
    });
  }

  it('names both values that differ', () => {
    expect(withTarget('commit', { tree: '8'.repeat(40) })).to.equal(
      `params.tree is '${tree}', and target.tree '${'8'.repeat(40)}'`,
    );
    expect(withTarget('commit', { branch: 'core/2-y' })).to.equal(
      "params.deliver_ref is 'refs/heads/core/1-x', and the branch 'refs/heads/core/2-y'",
    );
  });

  it('has the target, the patch and the issue of its plan', () => {
    const moved = { ...target, push_url: '/srv/other.git' };
    expect(contradiction(definitionOf('comment_issue'), { ...plan, target: moved })).to.equal(
      'its target is not that of the plan',
    );
    expect(contradiction(definitionOf('apply_patch'), { ...plan, patch: 'other' })).to.equal(
      `params.patch is '${patch}', and the patch of the plan 'other'`,
    );
    expect(contradiction(definitionOf('comment_issue'), { ...plan, number: 2 })).to.equal(
      "params.number is '1', and the issue '2'",
    );
  });

  it('has only the artifacts that its kind uses, with the digest that its parameters say', () => {
    const artifacts = { patch: 'other' };
    expect(contradiction({ ...definitionOf('apply_patch'), artifacts }, plan)).to.equal(
      `params.patch is '${patch}', and artifacts.patch 'other'`,
    );
    expect(contradiction({ ...definitionOf('commit'), artifacts }, plan)).to.equal(
      "artifact 'patch' is none that commit uses",
    );
    const more = { patch, log: 'other', note: 'other' };
    expect(contradiction({ ...definitionOf('apply_patch'), artifacts: more }, plan)).to.equal(
      "artifact 'log' is none that apply_patch uses",
    );
  });

  it('of an older version, which did not say where the forge is, keeps the digest that was approved', () => {
    const { forge_url, account, vcs, ...older } = target;
    const unsaid = { forge_url: undefined, account: undefined, vcs: undefined };
    const action = { ...definitionOf('commit'), target: { ...older, ...unsaid } } as ActionDefinition;
    const { run_id, action_id, ordinal, kind, params, dry_run, depends_on, artifacts } = action;
    const { base_branch, ...place } = older;
    expect(actionDigest(action)).to.equal(
      digestOf({
        ...{ run_id, action_id, ordinal, kind, params, dry_run, depends_on, artifacts },
        ...place,
      }),
    );
  });
});
