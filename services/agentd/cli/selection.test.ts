import { expect } from 'chai';
import { NotFound } from '#kit/errors.ts';
import { sampleRun } from '../../../test/fixtures/runs/sample-run.ts';
import type { ActionSelection } from '../agent.ts';
import type { JudgedAction, JudgedRun } from '../runs/run.ts';
import { actionNamed, selectActions } from './selection.ts';

describe('naming actions on a command line', () => {
  it('takes numbers, identifiers, their unique beginnings and kinds', () => {
    const run = sampleRun();
    for (const name of ['4', 'act_4_00000000', 'act_4', 'commit'])
      expect(actionNamed(run, name).definition.ordinal).to.equal(4);
  });

  it('refuses an action that the run does not have, and names those that it has', () => {
    expect(() => actionNamed(sampleRun(), '8')).to.throw(
      "no action '8'; it has 1 create_branch, 2 apply_patch",
    );
    expect(() => actionNamed(sampleRun(), 'act_')).to.throw("action 'act_' means 1 create_branch or");
  });

  it('selects by gate, up to a number, or all', () => {
    expect(ordinals({ actions: [], gate: 'build' })).to.deep.equal([1, 2, 3, 4]);
    expect(ordinals({ actions: [], up_to: 2 })).to.deep.equal([1, 2]);
    expect(ordinals({ actions: [], all: true })).to.deep.equal([1, 2, 3, 4, 5, 6, 7]);
    expect(ordinals({ actions: ['5', '5', '1'] })).to.deep.equal([5, 1]);
  });

  it('refuses two ways at once, and a number that is no action', () => {
    expect(() => ordinals({ actions: ['1'], all: true })).to.throw('choose one of');
    expect(() => ordinals({ actions: [], up_to: 9 })).to.throw('--up-to 9 must be a number from 1 to 7');
  });

  it('leaves out what has started, and says so when nothing is left', () => {
    const run = changed(sampleRun(), (action) => ({ ...action, state: 'succeeded' }), [1, 2, 3, 4]);
    expect(() => selectActions(run, { actions: [], gate: 'build' }, 'approve')).to.throw(
      'has started already',
    );
    expect(
      selectActions(run, { actions: [], all: true }, 'approve').selected.map(
        ({ definition }) => definition.ordinal,
      ),
    ).to.deep.equal([5, 6, 7]);
  });

  it('never turns a rejection into an approval by a gate or all', () => {
    const run = changed(sampleRun(), (action) => ({ ...action, approval: 'rejected' }), [5]);
    const { selected, leftRejected } = selectActions(run, { actions: [], gate: 'publish' }, 'approve');
    expect(selected.map(({ definition }) => definition.ordinal)).to.deep.equal([6, 7]);
    expect(leftRejected.map(({ definition }) => definition.ordinal)).to.deep.equal([5]);
    expect(selectActions(run, { actions: ['5'] }, 'approve').selected).to.have.length(1);
  });

  for (const text of ['1,2', '1-3', '1..3', '1,2,']) {
    it(`says how several actions are named to who writes ${text}`, () => {
      expect(() => actionNamed(sampleRun(), text))
        .to.throw(NotFound)
        .with.property('hint')
        .that.matches(/spaces.*--up-to/);
    });
  }
});

function ordinals(selection: ActionSelection): number[] {
  return selectActions(sampleRun(), selection, 'approve').selected.map(
    ({ definition }) => definition.ordinal,
  );
}

function changed(
  run: JudgedRun,
  change: (action: JudgedAction) => JudgedAction,
  which: readonly number[],
): JudgedRun {
  const actions = run.actions.map((action) =>
    which.includes(action.definition.ordinal) ? change(action) : action,
  );
  return { ...run, actions };
}
