import { execFileSync } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import { expect } from 'chai';
import { wrapLine } from '#kit/cli/fit-text.ts';
import { shellWord } from '#kit/shell-word.ts';
import { sampleRunId as runId, sampleRun } from '../../../../test/fixtures/runs/sample-run.ts';
import { sink, sampleTerminal as terminal } from '../../../../test/fixtures/runs/sample-terminal.ts';
import { conditionsText } from '../../actions/run-validation.ts';
import { rejectionInfluences } from '../../planning/influences.ts';
import { settledStatus } from '../../runs/run.ts';
import { paintPatch } from '../painted-patch.ts';
import { createTerminal, type Paint } from '../terminal.ts';
import { actionDetail, actionDetails, actionsView } from './actions-view.ts';
import { diffView } from './diff-view.ts';
import { failedStepLines } from './failed-step.ts';
import { planView } from './plan-view.ts';
import { recoveryView, undoPlanView, verificationView } from './reports.ts';
import { runView } from './run-view.ts';
import { runsView } from './runs-view.ts';

const suggestions = { program: './core', home: undefined };

describe('what the commands show', () => {
  it('shows a plan as a table of actions by gate, with the next commands', () => {
    expect(planView(sampleRun(), terminal(), suggestions, 7)).to.equal(
      `demo/hello#1  Greeting is wrong when the name is empty                   issue by mira (contributor)
patch by mira (contributor, no write access), in the issue
base main @ 3f2c1a9 · role Depute (default) · planner patch · 4 memories, 7 files of context

     #  action             risk  score  what
  build
     1  create_branch      low       5  core/1-greeting-is-wrong-0199f3c2
     2  apply_patch        low      14  2 files, +6 −2       src/greet.js, test/greet.test.js
     3  run_validation     low      10  npm test             (bubblewrap, no network, 10 min)
     4  commit             low       8  Greet strangers when no name is given (#1)
  publish
     5  push_branch        med      35  demo/hello on local  starts workflow ci.yml
     6  open_pull_request  med      40  into main
     7  comment_issue      low      20  links the pull request

Nothing was written to the repository. Run ${runId}, approvals expire in 7 days.
  look     ./core diff run_0199f3c2-71ab      approve  ./core approve run_0199f3c2-71ab --gate build
  details  ./core actions run_0199f3c2-71ab
`,
    );
  });

  it('shows an earlier rejection once, below the last action that it was about, all of which it names', () => {
    const rejected = { run_id: 'run_0199', by: 'mira', at: '2026-11-20T09:30:00.000Z', reason: 'too early' };
    const run = sampleRun();
    const actions = run.actions.map((action) =>
      action.definition.gate === 'publish'
        ? { ...action, definition: { ...action.definition, rejected_before: [rejected] } }
        : action,
    );
    const lines = planView({ ...run, actions }, terminal(), suggestions, 7).split('\n');
    const at = lines.findIndex((line) => line.includes('rejected before'));
    expect(lines[at - 1]).to.contain('7  comment_issue');
    expect(lines[at]).to.equal('        5, 6, 7  rejected before: too early (by mira, 2026-11-20 09:30)');
    expect(lines.filter((line) => line.includes('rejected before'))).to.have.length(1);
  });

  it('shows who decided on the actions of a run, with the reason, decisions that are alike in one row', () => {
    const run = sampleRun();
    const decided = (decision: 'approve' | 'reject', reason: string | null) => ({
      approval: decision === 'approve' ? ('approved' as const) : ('rejected' as const),
      decision: {
        ...{ decision, reason, approver: 'mira', claimed_approver: null, at: run.created_at },
        ...{ digest: '', expires_at: null, token: undefined, account: undefined },
        ...{ person: undefined, standing: undefined, signature: undefined },
      },
    });
    const decisions = [
      decided('approve', 'tested by hand'),
      decided('approve', 'tested by hand'),
      decided('approve', null),
    ];
    const actions = run.actions.map((action, index) => ({
      ...action,
      ...(decisions[index] ?? (index === 6 ? decided('reject', 'no comment') : {})),
    }));
    const shown = runView({ ...run, actions }, terminal(), suggestions);
    expect(shown).to.contain(`
  approved  1, 2 by mira: tested by hand
  approved  3 by mira
  rejected  7 by mira: no comment
`);
  });

  it('shows the reason why several actions were refused once', () => {
    const run = sampleRun();
    const outcome = { code: undefined, message: 'the approval by root no longer counts', facts: {} };
    const actions = run.actions.map((action, index) =>
      index === 1 ? action : { ...action, state: 'refused' as const, outcome },
    );
    const shown = runView({ ...run, actions }, terminal(), suggestions);
    expect(shown.split(outcome.message)).to.have.length(2);
    expect(shown).to.match(/3 {2}run_validation .* the same as 1\n/);
  });

  it('shows no state for what is rejected, and that what builds on it is blocked', () => {
    const run = sampleRun();
    const actions = run.actions.map((action, index) => ({
      ...action,
      definition: {
        ...action.definition,
        depends_on: run.actions.slice(0, index).map(({ definition }) => definition.action_id),
      },
      ...(action.definition.gate === 'build' && { approval: 'rejected' as const }),
    }));
    const lines = actionsView({ ...run, actions }, terminal(), suggestions).split('\n');
    const rowOf = (kind: string) => lines.find((line) => line.includes(kind))!;
    expect(rowOf('create_branch')).to.match(/rejected +- /);
    expect(rowOf('push_branch')).to.match(/required +blocked/);
    expect(settledStatus(actions)).to.equal('rejected');
  });

  it('shows of a long log of a failed step its begin, its first errors and its end', () => {
    const frames = Array.from({ length: 40 }, (_, at) => `    at check (errors.js:${at})`);
    const log = ['one', 'two', 'three', 'four', 'five', 'six', 'AssertionError: no greeting', ...frames];
    const step = { phase: 'run', run: 'npm test', path: '/logs/3.txt' } as const;
    const shown = failedStepLines({ ...step, log: log.join('\n') }, terminal());
    expect(shown[0]).to.contain('npm test, 26 of 47 lines:');
    expect(shown.slice(1, 9)).to.deep.equal([
      '  | one',
      '  | two',
      '  | three',
      '  | four',
      '  | five',
      '  | … 1 line …',
      '  | AssertionError: no greeting',
      '  | … 20 lines …',
    ]);
    expect(shown)
      .to.include('  |     at check (errors.js:39)')
      .and.to.include('  |     at check (errors.js:20)');
    const whole = failedStepLines({ ...step, log: log.slice(0, 20).join('\n') }, terminal());
    expect(whole[0]).to.contain('its whole output');
    expect(whole.join('\n')).to.contain('six').and.not.to.contain('…');
  });

  it('uses plain ASCII of its own where the terminal has no Unicode', () => {
    const shown = planView(sampleRun(), terminal('C'), suggestions, 7);
    expect(shown).to.match(/^[\x20-\x7e\n]*$/);
    expect(shown).to.contain('2 files, +6 -2');
  });

  it('says what led to a run, and who ended it', () => {
    const run = sampleRun();
    const trigger = {
      kind: 'dashboard',
      what: 'issue.created',
      actor: 'mi\u202era',
      event_id: 'e1',
    } as const;
    const shown = runView(
      { ...run, request: { ...run.request, trigger }, cancel: { by: 'root', reason: 'not\nnow' } },
      terminal(),
      suggestions,
    );
    expect(shown).to.contain(
      'asked for by dashboard: issue.created, by mi\\u{202e}ra, event e1\ncancelled by root: not\\nnow\n',
    );
    const short = runView(
      {
        ...run,
        request: { ...run.request, trigger: { kind: 'bus', what: null, actor: null, event_id: null } },
        cancel: { by: 'root', reason: null },
      },
      terminal(),
      suggestions,
    );
    expect(short).to.contain('asked for by bus\ncancelled by root\n');
    expect(runView(run, terminal(), suggestions)).not.to.match(/asked for|cancelled/);
  });

  it('suggests to execute what is approved, into the checkout', () => {
    const run = sampleRun({ approval: 'approved', gates: ['build'] });
    expect(runView(run, terminal(), suggestions)).to.contain(
      './core execute-approved --run-id run_0199f3c2-71ab',
    );
  });

  it('offers to plan again, not to approve or execute what builds on a rejected action', () => {
    const run = sampleRun({ approval: 'approved', gates: ['build'] });
    const actions = run.actions.map((action, index) => ({
      ...action,
      definition: { ...action.definition, depends_on: index === 0 ? [] : [`act_${index}_00000000`] },
      ...(index === 1 ? { approval: 'rejected' as const } : {}),
    }));
    actions[0] = { ...actions[0]!, state: 'succeeded' };
    const shown = runView({ ...run, actions }, terminal(), suggestions);
    expect(shown).to.contain("plan again  ./core plan 'demo/hello#1'");
    expect(shown).to.not.match(/core approve|execute-approved/);
  });

  it('offers to plan a fixed issue anyway, since the same command would be refused again', () => {
    const refused = { code: 'issue_fixed', message: 'demo/hello#1 is fixed.', retryable: false };
    const run = { ...sampleRun(), status: 'failed' as const, plan: null, actions: [], failure: refused };
    expect(runView(run, terminal(), suggestions)).to.match(/plan 'demo\/hello#1' --anyway\n/);
  });

  it('offers to execute what was approved although the validation below it had failed, and not what was approved before', () => {
    const run = sampleRun({ approval: 'approved', gates: ['build', 'publish'] });
    const shown = (at: string) => {
      const decision = { ...run.actions[0]!.decision!, decision: 'approve' as const, at, expires_at: null };
      const actions = run.actions.map((action, index) => ({
        ...action,
        decision,
        definition: { ...action.definition, depends_on: index === 0 ? [] : [`act_${index}_00000000`] },
        ...(index < 2 ? { state: 'succeeded' as const } : {}),
      }));
      const outcome = { succeeded: false, code: 'validation_failed', message: 'exit status 3', facts: {} };
      const finished_at = '2026-11-21T09:00:00.000Z';
      actions[2] = { ...actions[2]!, state: 'failed', outcome, finished_at } as (typeof actions)[number];
      return runView({ ...run, status: 'partially_completed', actions }, terminal(), suggestions);
    };
    expect(shown('2026-11-21T09:30:00.000Z')).to.match(/execute +\.\/core execute-approved --run-id run_/);
    expect(shown('2026-11-21T08:30:00.000Z')).to.not.contain('execute-approved');
  });

  it('says how to look at a pull request that has no page', () => {
    const shown = (url: string | null) => {
      const run = sampleRun({ approval: 'approved' });
      const actions = run.actions.map((action) => {
        const facts = action.definition.kind === 'open_pull_request' ? { number: 2, url } : {};
        const outcome = { succeeded: true, code: null, message: 'done', facts };
        return { ...action, state: 'succeeded', outcome } as unknown as typeof action;
      });
      return runView({ ...run, status: 'completed', actions }, terminal(), suggestions);
    };
    expect(shown(null)).to.contain('./core forge pr show --owner demo --repo hello --number 2');
    expect(shown('https://forge.example/demo/hello/pulls/2')).to.not.contain('forge pr show');
  });

  it('breaks a command by hand so that a shell takes what was pasted, however long a word of it is', () => {
    const words = [`/tmp/${'x'.repeat(90)}`, `it's "a" title ${'of many words '.repeat(8)}`, '$HOME', 'end'];
    const line = ['printf', '%s\\n', ...words].map(shellWord).join(' ');
    const shown = recoveryView({ restore: [line, line] }, { ...terminal(), width: 60 });
    const lines = shown
      .trimEnd()
      .split('\n')
      .flatMap((one) => wrapLine(one, 60));
    const pasted = lines.slice(lines.indexOf('To restore by hand:') + 1).map(stripVTControlCharacters);
    expect(pasted.filter((one) => !one.endsWith(' \\'))).to.have.length(2);
    expect(pasted.map((one) => one.trim())).to.not.include('\\');
    const said = execFileSync('sh', ['-c', pasted.join('\n')], { encoding: 'utf8' });
    expect(said).to.equal(`${[...words, ...words].join('\n')}\n`);
  });

  it('says when a plan was made without the context service', () => {
    const run = sampleRun();
    const notices = ['context: core-context at http://127.0.0.1:8090 is not there; planned without it'];
    const noted = { ...run, plan: { ...run.plan!, context: undefined, notices } };
    expect(runView(noted, terminal(), suggestions)).to.contain(`note  ${notices[0]}`);
    expect(planView(noted, terminal(), suggestions, 7)).to.contain(`note  ${notices[0]}`);
    const nothing = { memories: 0, files_of_context: 0 };
    const without = { ...run, plan: { ...noted.plan, ...nothing } };
    expect(planView(without, terminal(), suggestions, 7)).to.not.contain('of context');
    const found = { ...run, plan: { ...run.plan!, ...nothing, context: [] } };
    expect(planView(found, terminal(), suggestions, 7)).to.contain('0 memories, 0 files of context\n');
  });

  it('shows once what led to several actions, with the reason of a rejection', () => {
    const issue = { kind: 'issue' as const, source: 'demo/hello#1', author: 'mira', trusted: true };
    const rejections = ['push_branch', 'comment_issue'].map((action) => ({
      action,
      at: '2026-01-02T03:04:05.000Z',
      by: 'root',
      reason: 'too broad',
    }));
    const actions = sampleRun()
      .actions.slice(0, 2)
      .map((action, index) => {
        const own = { kind: 'file' as const, source: `only-${index}.js`, author: null, trusted: true };
        const influences = [issue, ...rejectionInfluences(rejections), own];
        return { ...action, definition: { ...action.definition, influences } };
      });
    const shown = actionDetails(actions, terminal());
    expect(shown.match(/issue demo\/hello#1 by mira/g)).to.have.length(1);
    expect(shown).to.match(
      /influence +file only-0\.js[\s\S]*influence +file only-1\.js[\s\S]*all 2 actions\n/,
    );
    expect(shown).to.match(
      /influence +rejection push_branch, comment_issue by root 2026-01-02T03:04:05\.000Z: too broad\n/,
    );
    expect(actionDetails(actions.slice(0, 1), terminal())).to.equal(actionDetail(actions[0]!, terminal()));
  });

  it('shows which context was used and why, and leaves a long list to --verbose', () => {
    const run = sampleRun();
    const context = Array.from({ length: 8 }, (_, index) => ({
      layer: index === 0 ? ('semantic' as const) : ('graph' as const),
      source: index === 0 ? 'memory:1' : `src/${index}.js:1-3`,
      title: index === 0 ? 'Strangers are greeted in English' : `function f${index}`,
      why: 'words greet, name',
      score: 0.5,
    }));
    const symbol = { ...context[1]!, title: 'src/1.js' };
    const withContext = { ...run, plan: { ...run.plan!, context: [...context, symbol] } };
    expect(runView(withContext, terminal(), suggestions)).to.not.contain('passages');
    const brief = runView(withContext, terminal(), suggestions, { context: true });
    expect(brief).to.match(
      /context {2}8 passages\n {2}semantic memory {2}Strangers are greeted in English +words greet/,
    );
    expect(brief).to.contain('and 3 more, shown by --verbose').and.not.contain('src/7.js');
    expect(runView(withContext, terminal(), suggestions, { context: true, verbose: true })).to.contain(
      'src/7.js:1-3  function f7',
    );
  });

  it('shows how like actions went before, where anything is known', () => {
    const run = sampleRun();
    expect(planView(run, terminal(), suggestions, 7)).to.not.contain('before');
    const history = {
      score: 0.4,
      expected: 0.667,
      counts: { succeeded: 1, merged: 0, rejected: 2, failed: 0, undone: 0, closed: 0 },
      cases: [
        {
          run_id: run.run_id,
          action_id: 'act_2_00000000',
          repository: 'local/demo/hello',
          outcome: 'rejected' as const,
          at: '2026-01-02T03:04:05.000Z',
          reason: 'too broad',
        },
      ],
    };
    const actions = run.actions.map((action, index) =>
      index === 1 ? { ...action, definition: { ...action.definition, history } } : action,
    );
    for (const view of [
      planView({ ...run, actions }, terminal(), suggestions, 7),
      actionsView({ ...run, actions }, terminal(), suggestions),
    ]) {
      expect(view).to.match(/apply_patch .*1 of 3 ok/);
    }
    expect(actionDetail(actions[1]!, terminal()))
      .to.contain('like actions: 1 succeeded, 2 rejected; score 0.40, 0.67 without them')
      .and.contain('rejected 2026-01-02: too broad');
  });

  it('says in few words how a validation is prepared', () => {
    const run = sampleRun();
    const { definition } = run.actions[2]!;
    if (definition.kind !== 'run_validation') throw new Error(definition.kind);
    const prepare = [{ name: 'install', run: 'npm ci' }];
    const plan = { ...definition.params.plan, prepare, prepare_network: true };
    expect(conditionsText(plan, 'bubblewrap')).to.equal(
      'bubblewrap, no network, 10 min; prepared with network',
    );
  });

  it('continues a list with the options that it was asked for with', () => {
    const page = { runs: [summary('T')], next_cursor: 'abc', problems: [], runs_count: 2 };
    expect(runsView(page, terminal(), suggestions, ['--limit', '1'])).to.contain(
      './core runs --limit 1 --cursor abc',
    );
  });

  it('calls a planning that failed by that name, and offers the whole list', () => {
    const failed = { ...summary('T'), status: 'failed', actions: 0 } as const;
    const page = { runs: [failed], next_cursor: 'abc', problems: [], runs_count: 2 };
    const shown = runsView(page, terminal(), suggestions);
    expect(shown).to.contain('planning failed').and.to.contain('./core runs --all');
    const none = runsView({ ...page, runs: [], next_cursor: null }, terminal(), suggestions);
    expect(none).to.equal('No run has a plan, of 2 runs in all.\n  all  ./core runs --all\n');
  });

  it('says how many failed plannings a whole list leaves out, and how to see them', () => {
    const page = { runs: [summary('T')], next_cursor: null, problems: [], runs_count: 3 };
    const shown = runsView({ ...page, left_out: 2 }, terminal(), suggestions);
    expect(shown)
      .to.contain('2 runs whose planning failed are not listed.\n')
      .and.contain('./core runs --all');
    expect(runsView(page, terminal(), suggestions)).to.not.contain('not listed');
  });

  it('says what was filtered where a filter leaves no run, and how to see all', () => {
    const page = { runs: [], next_cursor: null, problems: [] };
    const filters = '--status failed --owner demo';
    const filtered = runsView({ ...page, runs_count: 3 }, terminal(), suggestions, [], filters);
    expect(filtered).to.equal(
      'No run with --status failed --owner demo, of 3 runs in all.\n  all  ./core runs --all\n',
    );
    const none = runsView({ ...page, runs_count: 0 }, terminal(), suggestions, [], filters);
    expect(none)
      .to.contain('No runs here yet.')
      .and.to.match(/core plan '?OWNER/);
  });

  it('repeats --home in every command that it suggests', () => {
    const shown = planView(sampleRun(), terminal(), { program: './core', home: 'my folder' }, 7);
    expect(shown).to.contain(`./core diff run_0199f3c2-71ab --home 'my folder'`);
  });

  it('shows the digest and every parameter of an action on demand', () => {
    const shown = actionDetail(sampleRun().actions[1]!, terminal());
    expect(shown)
      .to.contain(`sha256 ${'2'.repeat(64)}`)
      .and.to.contain('modified  src/greet.js  +5 -2');
  });

  it('lets nothing from outside reach the terminal raw', () => {
    const evil = '\x1b[2J\u202e\x07\u{e0041}';
    const run = sampleRun({ title: evil, author: evil, path: `a${evil}` });
    const patch = new TextEncoder().encode(`diff --git a/x b/x\n${evil}\n`);
    const shown = [
      planView(run, terminal(), suggestions, 7),
      runView(run, terminal(), suggestions),
      actionsView(run, terminal(), suggestions),
      ...run.actions.map((action) => actionDetail(action, terminal())),
      diffView(run, patch, terminal(), suggestions),
      undoPlanView(run, [{ action_id: 'act_1', kind: 'commit', effect: 'undo', message: evil }], terminal()),
      verificationView(
        {
          run_id: runId,
          events: 1,
          head: '0'.repeat(64),
          artifacts: 0,
          approvals: [],
          problems: [{ where: evil, what: evil }],
        },
        terminal(),
      ),
      runsView(
        { runs: [summary(evil)], next_cursor: null, problems: [evil], runs_count: 1 },
        terminal(),
        suggestions,
      ),
    ].join('');
    expect(shown).not.to.match(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u{e0000}-\u{e007f}]/u);
    expect(shown).to.contain('\\x1b[2J\\u{202e}\\x07');
  });

  it('colours a diff by the first character of each line, so that a removed "-- " line looks removed', () => {
    const paint = createTerminal({
      stdout: Object.assign(sink(), { isTTY: true }),
      stderr: sink(),
      color: true,
      ascii: false,
      environment: { COLUMNS: undefined, NO_COLOR: undefined, TERM: 'xterm', LANG: 'C.UTF-8' },
    }).paint;
    const forced = {
      ...paint,
      isColorSupported: true,
      red: (s: unknown) => `<r>${s}`,
      bold: (s: unknown) => `<b>${s}`,
    };
    const shown = paintPatch(
      'diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,1 @@\n--- old\n x\n',
      forced as typeof paint,
    );
    expect(shown).to.contain('<b>diff --git').and.to.contain('<r>--- old').and.to.match(/^ x$/m);
  });

  it('shows which words of a changed line differ, and nothing of lines that have little in common', () => {
    const marked = {
      ...terminal().paint,
      isColorSupported: true,
      red: (s: unknown) => `<r>${s}</r>`,
      green: (s: unknown) => `<g>${s}</g>`,
      inverse: (s: unknown) => `<i>${s}</i>`,
    };
    const before = ["-  return 'Hello ' + name;", '-one thing'];
    const after = ["+  return 'Hello ' + (name || 'you');", '+another matter altogether'];
    const patch = ['@@ -1,2 +1,2 @@', ...before, ...after, ' x'].join('\n');
    const lines = paintPatch(patch, marked as Paint).split('\n');
    expect(lines[1])
      .to.match(/^<r>-<\/r>/)
      .and.to.contain("return 'Hello ' + ");
    expect(lines[3]!.replaceAll(/<\/?[rg]>/g, '')).to.equal(
      "+  return 'Hello ' + <i>(</i>name<i> || 'you')</i>;",
    );
    expect(lines[2]).to.equal('<r>-one thing</r>');
    expect(lines[4]).to.equal('<g>+another matter altogether</g>');
    for (const [index, line] of [...before, ...after].entries())
      expect(lines[index + 1]!.replaceAll(/<\/?[rgi]>/g, '')).to.equal(line);
    expect(paintPatch(patch, terminal().paint)).to.equal(patch);
  });
});

function summary(title: string) {
  return {
    run_id: runId,
    status: 'awaiting_approval' as const,
    forge: 'local',
    owner: 'demo',
    repo: 'hello',
    number: 1,
    title,
    role: 'Depute',
    created_at: '2026-11-21T09:00:00.000Z',
    updated_at: '2026-11-21T09:57:00.000Z',
    highest_risk: 'medium',
    waiting: 7,
    waits_for: 'build' as const,
    actions: 7,
  };
}
