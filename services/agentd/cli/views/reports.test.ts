import { expect } from 'chai';
import { sampleRun, sampleRunId } from '../../../../test/fixtures/runs/sample-run.ts';
import { sampleTerminal } from '../../../../test/fixtures/runs/sample-terminal.ts';
import { diffView } from './diff-view.ts';
import { failedStepLines } from './failed-step.ts';
import { planView } from './plan-view.ts';
import { recoveryView, undoResultView } from './reports.ts';

const suggestions = { program: './core', home: undefined };

describe('what is left of a run', () => {
  it('calls a step of an undo that had nothing to take back the same before and after', () => {
    const run = sampleRun();
    const [branch, patch] = run.actions.map(({ definition }) => definition);
    const results = [patch!, branch!].map(({ action_id }) => ({
      undo_id: 'undo_1',
      action_id,
      state: 'undone' as const,
      message: 'so it was',
    }));
    const undo = {
      undo_id: 'undo_1',
      by: 'root',
      pid: 1,
      finished: true,
      complete: true,
      results,
      intents: [],
    };
    const steps = [
      { action_id: patch!.action_id, kind: patch!.kind, effect: 'nothing', message: '' },
      { action_id: branch!.action_id, kind: branch!.kind, effect: 'undo', message: '' },
    ] as const;
    expect(undoResultView({ ...run, status: 'undone', undo }, steps, sampleTerminal()))
      .to.match(/^ {2}nothing +apply_patch +so it was$/m)
      .and.to.match(/^ {2}undone +create_branch +so it was$/m);
  });

  it('shows what to recover in words, all of it in one column', () => {
    const shown = recoveryView(
      {
        run_id: sampleRunId,
        vcs_operation_id: 'e25197b1374d',
        pushed: { remote: '/srv/hello.git', branch: 'core/1', commit: null },
        operations: [{}, {}],
        restore: [],
      },
      sampleTerminal(),
    );
    expect(shown).to.equal(
      `run_id            ${sampleRunId}
vcs_operation_id  e25197b1374d
pushed            remote /srv/hello.git, branch core/1
operations        2 recorded (--json shows them)

Nothing is there to restore by hand.
`,
    );
  });
});

describe('what a plan and its change say', () => {
  it('says how a model or an agent is added where a comment is all that can be planned without one', () => {
    const run = sampleRun();
    const actions = run.actions.filter(({ definition }) => definition.kind === 'comment_issue');
    const shown = (planner: string) =>
      planView({ ...run, actions, request: { ...run.request, planner } }, sampleTerminal(), suggestions, 7);
    expect(shown('patch')).to.contain('./core model add configures a model');
    expect(shown('model')).to.not.contain('model add');
    expect(planView(run, sampleTerminal(), suggestions, 7)).to.not.contain('model add');
  });

  it('repeats nothing of the plan above the change where that was just shown', () => {
    const terminal = { ...sampleTerminal(), outIsTerminal: true };
    const patch = Buffer.from('diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n');
    expect(diffView(sampleRun(), patch, terminal, suggestions)).to.match(/^demo\/hello#1/);
    expect(diffView(sampleRun(), patch, terminal, null)).to.match(/^\ndiff --git/);
  });
});

describe('the log of a step that failed', () => {
  it('names the test that failed, before warnings and counts of nothing', () => {
    const warnings = Array.from({ length: 30 }, (_, at) => `  ${at}:6  warning  Unexpected use of continue`);
    const passed = Array.from({ length: 30 }, (_, at) => `ok ${at + 2} should be equal`);
    const log = [
      '> pretest',
      ...warnings,
      '✖ 30 problems (0 errors, 30 warnings)',
      'not ok 1 should be equal',
      "    expected: 'abc'",
      ...passed,
    ];
    const step = { phase: 'run', run: 'npm test', path: '/logs/3.txt', log: log.join('\n') } as const;
    const shown = failedStepLines(step, sampleTerminal());
    expect(shown).to.include.members(['  | not ok 1 should be equal', "  |     expected: 'abc'"]);
    expect(shown.join('\n')).to.not.contain('problems').and.not.to.contain('29:6');
  });
});
