import { Writable } from 'node:stream';
import { expect } from 'chai';
import type { ActionDefinition } from '../../action.ts';
import type { ActionState, Run } from '../../runs/run.ts';
import { createTerminal, type Terminal } from '../terminal.ts';
import { actionDetail, actionsView } from './actions-view.ts';
import { diffView, paintPatch } from './diff-view.ts';
import { planView } from './plan-view.ts';
import { undoPlanView, verificationView } from './reports.ts';
import { runView } from './run-view.ts';
import { runsView } from './runs-view.ts';

const suggestions = { program: './core', home: undefined };
const runId = 'run_0199f3c2-71ab-7c3d-8e4f-0123456789ab';

describe('what the commands show', () => {
  it('shows a plan as a table of actions by gate, with the next commands', () => {
    expect(planView(sampleRun(), terminal(), suggestions, 7)).to.equal(
      `demo/hello#1  Greeting is wrong when the name is empty                         by mira (contributor)
base main @ 3f2c1a9 · role Depute · planner patch · 4 memories, 7 files of context

     #  action             risk       what
  build
     1  create_branch      low    5   core/1-greeting-is-wrong-0199f3c2
     2  apply_patch        low   14   2 files, +6 −2  src/greet.js, test/greet.test.js
     3  run_validation     low   10   npm test        (bubblewrap, no network, 10 min)
     4  commit             low    8   Greet strangers when no name is given (#1)
  publish
     5  push_branch        med   35   origin          starts workflow ci.yml
     6  open_pull_request  med   40   into main
     7  comment_issue      low   20   links the pull request

Nothing was written to the repository. Run ${runId}, approvals expire in 7 days.
  look     ./core diff run_0199f3c2-71ab      approve  ./core approve run_0199f3c2-71ab --gate build
  details  ./core actions run_0199f3c2-71ab
`,
    );
  });

  it('uses plain ASCII of its own where the terminal has no Unicode', () => {
    const shown = planView(sampleRun(), terminal('C'), suggestions, 7);
    expect(shown).to.match(/^[\x20-\x7e\n]*$/);
    expect(shown).to.contain('2 files, +6 -2');
  });

  it('suggests to execute what is approved, into the checkout', () => {
    const run = sampleRun({ approval: 'approved', gates: ['build'] });
    expect(runView(run, terminal(), suggestions)).to.contain(
      './core execute-approved --run-id run_0199f3c2-71ab --repo-dir DIR',
    );
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
          problems: [{ where: evil, what: evil }],
        },
        terminal(),
      ),
      runsView({ runs: [summary(evil)], next_cursor: null, problems: [evil] }, terminal(), suggestions),
    ].join('');
    expect(shown).not.to.match(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u{e0000}-\u{e007f}]/u);
    expect(shown).to.contain('\\x1b[2J\\u{202e}\\x07');
  });

  it('colours a diff by its hunks, so that a removed "-- " line is not taken for a header', () => {
    const paint = createTerminal({
      stdout: Object.assign(sink(), { isTTY: true }),
      stderr: sink(),
      color: true,
      environment: { NO_COLOR: undefined, TERM: 'xterm', LANG: 'C.UTF-8' },
    }).paint;
    const forced = {
      ...paint,
      isColorSupported: true,
      red: (s: unknown) => `<r>${s}`,
      bold: (s: unknown) => `<b>${s}`,
    };
    const shown = paintPatch('--- a/x\n+++ b/x\n@@ -1,2 +1,1 @@\n--- old\n x\n', forced as typeof paint);
    expect(shown).to.contain('<b>--- a/x').and.to.contain('<r>--- old');
  });
});

function terminal(lang = 'C.UTF-8'): Terminal {
  return createTerminal({
    stdout: sink(),
    stderr: sink(),
    color: true,
    environment: { NO_COLOR: undefined, TERM: 'xterm', LANG: lang },
    now: () => new Date('2026-11-21T10:00:00.000Z'),
  });
}

function sink(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() });
}

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
    actions: 7,
  };
}

interface Sample {
  readonly title?: string;
  readonly author?: string;
  readonly path?: string;
  readonly approval?: 'approved';
  readonly gates?: readonly string[];
}

function sampleRun(sample: Sample = {}): Run {
  const branch = 'core/1-greeting-is-wrong-0199f3c2';
  const tree = 'b'.repeat(40);
  const base_commit = '3f2c1a9'.padEnd(40, '0');
  const push_url = '/forge/demo/hello/repository.git';
  const plan = {
    source: 'detected' as const,
    found: 'package.json',
    prepare: [],
    prepare_network: false,
    prepared_paths: [],
    lockfiles: [],
    commands: [{ name: 'test', run: 'npm test' }],
    limits: { seconds: 600, memory_mib: 4096, processes: 512, output_bytes: 8_388_608 },
  };
  const file = { old_path: null, status: 'modified' as const, old_mode: '100644', new_mode: '100644' };
  const definitions: [ActionDefinition['kind'], number, ActionDefinition['risk'], object][] = [
    ['create_branch', 5, 'low', { branch, base_branch: 'main', base_commit }],
    [
      'apply_patch',
      14,
      'low',
      {
        patch: 'c'.repeat(64),
        tree,
        files: [
          { ...file, path: sample.path ?? 'src/greet.js', added: 5, removed: 2 },
          { ...file, path: 'test/greet.test.js', added: 1, removed: 0 },
        ],
      },
    ],
    ['run_validation', 10, 'low', { tree, sandbox: 'bubblewrap', plan }],
    [
      'commit',
      8,
      'low',
      {
        tree,
        message: `${sample.title ?? 'Greet strangers when no name is given'} (#1)\n\nWhy.\n`,
        author: { name: 'Core', email: 'core@localhost' },
        deliver_ref: `refs/heads/${branch}`,
      },
    ],
    ['push_branch', 35, 'medium', { branch, push_url, workflows: ['.github/workflows/ci.yml'] }],
    [
      'open_pull_request',
      40,
      'medium',
      { title: 'T', body: `${sample.title ?? ''}\n{{audit_head}}`, head: branch, base: 'main' },
    ],
    ['comment_issue', 20, 'low', { number: 1, body: '{{pull_request}} proposes a change.' }],
  ];
  const actions = definitions.map(([kind, risk_score, risk, params], index): ActionState => {
    const gate = index < 4 ? 'build' : 'publish';
    const definition = {
      run_id: runId,
      action_id: `act_${index + 1}_00000000`,
      ordinal: index + 1,
      gate,
      title: kind,
      rationale: sample.title ?? 'because',
      risk,
      risk_score,
      risk_reasons: [],
      dry_run: false,
      depends_on: [],
      artifacts: {},
      influences: [
        { kind: 'issue', source: 'demo/hello#1', author: sample.author ?? 'mira', trusted: false },
      ],
      target: {
        forge: 'local',
        owner: 'demo',
        repo: 'hello',
        push_url,
        branch,
        base_branch: 'main',
        base_commit,
        tree,
      },
      digest: String(index + 1).repeat(64),
      kind,
      params,
    } as unknown as ActionDefinition;
    return {
      definition,
      approval: sample.approval !== undefined && sample.gates?.includes(gate) ? sample.approval : 'required',
      decision: null,
      state: 'pending',
      outcome: null,
      intent: null,
      vcs: null,
      started_at: null,
      finished_at: null,
    };
  });
  return {
    run_id: runId,
    status: 'awaiting_approval',
    request: {
      forge: 'local',
      owner: 'demo',
      repo: 'hello',
      number: 1,
      role: 'Depute',
      planner: 'patch',
      dry_run: false,
      requested_by: 'person',
      idempotency_key: null,
    },
    created_at: '2026-11-21T09:00:00.000Z',
    updated_at: '2026-11-21T09:57:00.000Z',
    head: { seq: 9, hash: 'd'.repeat(64) },
    source: {
      issue: {} as never,
      html_url: null,
      clone_url: push_url,
      push_url,
      base_branch: 'main',
      base_commit,
      forge_time: '2026-11-21T09:00:00.000Z',
    },
    issue: {
      title: sample.title ?? 'Greeting is wrong when the name is empty',
      author: sample.author ?? 'mira',
      association: 'contributor',
      state: 'open',
      html_url: null,
      comments: 0,
      content: 'e'.repeat(64),
    },
    plan: {
      target: actions[0]!.definition.target,
      planner: 'patch',
      stop_reason: 'submitted',
      title: 'T',
      explanation: 'e'.repeat(64),
      influences: [],
      patch: 'c'.repeat(64),
      files_of_context: 7,
      memories: 4,
      notices: sample.title === undefined ? [] : [sample.title],
      validation: plan,
      checks: [],
      sealed: [],
    },
    actions,
    turns: [],
    usage: null,
    failure: null,
    execution: null,
    workspace: null,
    undo: null,
    cancelling: false,
  };
}
