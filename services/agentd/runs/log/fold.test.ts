import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import fc from 'fast-check';
import { sha256 } from '#kit/digest.ts';
import {
  agentEnded,
  agentReadBack,
  agentStarted,
  agentUse,
  decided,
  executionFinished,
  executionStarted,
  intended,
  planned,
  pullRequestSeen,
  refused,
  resulted,
  sampleRequest,
  sourceRead,
  turn,
} from '../../../../test/contract/run-store.sample.ts';
import type { VcsFacts } from '../../action.ts';
import type { NewEvent, RunEvent, Usage } from '../event.ts';
import { asSeen, draftOf, type Run, runStatuses, summaryOf } from '../run.ts';
import { beforeFirst, writeLines } from './event-line.ts';
import { fold, foldMore } from './fold.ts';

const runId = 'run_0199f3c2-0000-7000-8000-000000000000';
const content = sha256('what it did');
const at = '2026-01-02T03:04:05.000Z';
const created: NewEvent = { type: 'run_created', data: { request: sampleRequest(), head_kept: undefined } };
const plan = planned(runId);
const actions = plan.flatMap((event) => (event.type === 'action_proposed' ? [event.data.action] : []));
const [first, second, third] = actions.map(({ action_id }) => action_id) as [string, string, string];

function eventsOf(...more: NewEvent[]): RunEvent[] {
  return writeLines(beforeFirst, at, [created, ...more]).lines;
}

function foldOf(...more: NewEvent[]): Run {
  return fold(runId, eventsOf(...more));
}

const did = (id: string, ...change: Parameters<typeof resulted> extends [string, ...infer R] ? R : never) => [
  intended(id),
  resulted(id, ...change),
];
const approveAll = actions.map((action) => decided(action));
const undoStarted: NewEvent = { type: 'undo_started', data: { undo_id: 'u', by: 'mira', pid: 1 } };
const undone = (action_id: string): NewEvent => ({
  type: 'undo_result',
  data: { undo_id: 'u', action_id, state: 'undone', message: '' },
});
const undoFinished = (complete: boolean): NewEvent => ({
  type: 'undo_finished',
  data: { undo_id: 'u', complete, message: '' },
});

describe('the status of a run', () => {
  const cases: [string, string, NewEvent[]][] = [
    ['is planning until the plan is sealed', 'planning', plan.slice(0, -1)],
    [
      'is failed when planning failed',
      'failed',
      [{ type: 'planning_failed', data: { code: 'x', message: 'y', retryable: undefined } }],
    ],
    ['waits for approval once the plan is sealed', 'awaiting_approval', plan],
    ['still waits when some are rejected', 'awaiting_approval', [...plan, decided(actions[0]!, 'reject')]],
    [
      'is rejected when every action is',
      'rejected',
      [...plan, ...actions.map((action) => decided(action, 'reject'))],
    ],
    [
      'waits again when a rejection is taken back',
      'awaiting_approval',
      [...plan, ...actions.map((action) => decided(action, 'reject')), decided(actions[0]!)],
    ],
    [
      'is executing from start to finish',
      'executing',
      [...plan, ...approveAll, executionStarted(), ...did(first)],
    ],
    [
      'is completed when every action succeeded',
      'completed',
      [
        ...plan,
        ...approveAll,
        executionStarted(),
        ...did(first),
        ...did(second),
        ...did(third),
        executionFinished(),
      ],
    ],
    [
      'is partially completed when some succeeded',
      'partially_completed',
      [
        ...plan,
        ...approveAll,
        executionStarted(),
        ...did(first),
        ...did(second, { state: 'failed' }),
        executionFinished(),
      ],
    ],
    [
      'is failed when none succeeded',
      'failed',
      [...plan, ...approveAll, executionStarted(), ...did(first, { state: 'failed' }), executionFinished()],
    ],
    [
      'waits on when an execution found nothing approved',
      'awaiting_approval',
      [...plan, executionStarted(), refused(first, 'refused', 'approval_required'), executionFinished()],
    ],
    [
      'waits for approval again when what was approved has succeeded',
      'awaiting_approval',
      [...plan, approveAll[0]!, executionStarted(), ...did(first), executionFinished()],
    ],
    [
      'waits for approval also where an execution recorded what was not approved as refused',
      'awaiting_approval',
      [
        ...plan,
        approveAll[0]!,
        executionStarted(),
        ...did(first),
        refused(second, 'refused', 'approval_required'),
        executionFinished(),
      ],
    ],
    [
      'is partially completed when what is left was rejected, or builds on it',
      'partially_completed',
      [
        ...plan,
        approveAll[0]!,
        decided(actions[1]!, 'reject'),
        decided(actions[2]!, 'reject'),
        executionStarted(),
        ...did(first),
        executionFinished(),
      ],
    ],
    [
      'waits while what was approved after an execution has not run',
      'awaiting_approval',
      [
        ...plan,
        approveAll[0]!,
        executionStarted(),
        ...did(first),
        executionFinished(),
        ...approveAll.slice(1),
      ],
    ],
    [
      'is partially completed when what was approved was refused, though more waits for a decision',
      'partially_completed',
      [
        ...plan,
        ...approveAll.slice(0, 2),
        executionStarted(),
        ...did(first),
        refused(second, 'refused', 'base_moved'),
        executionFinished(),
      ],
    ],
    [
      'is partially completed when what was approved cannot run any more',
      'partially_completed',
      [
        ...plan,
        ...approveAll,
        executionStarted(),
        ...did(first),
        executionFinished(),
        decided(actions[1]!, 'reject'),
        decided(actions[2]!, 'reject'),
      ],
    ],
    [
      'is failed when the execution itself failed',
      'failed',
      [...plan, ...approveAll, executionStarted(), executionFinished('failed')],
    ],
    [
      'is cancelled when it was stopped',
      'cancelled',
      [...plan, executionStarted(), executionFinished('cancelled')],
    ],
    [
      'is cancelled before it started',
      'cancelled',
      [...plan, { type: 'run_cancelled', data: { message: '' } }],
    ],
    [
      'does not count dry runs',
      'awaiting_approval',
      [
        ...plan,
        ...approveAll,
        executionStarted({ dry_run: true }),
        ...[first, second, third].flatMap((id) => did(id, { rehearsal: true })),
        executionFinished(),
      ],
    ],
    [
      'is executing while it is undone',
      'executing',
      [...plan, executionStarted(), ...did(first), executionFinished(), undoStarted],
    ],
    [
      'is undone after a complete undo',
      'undone',
      [
        ...plan,
        executionStarted(),
        ...did(first),
        executionFinished(),
        undoStarted,
        undone(first),
        undoFinished(true),
      ],
    ],
    [
      'is not undone after one that was not complete',
      'partially_completed',
      [
        ...plan,
        executionStarted(),
        ...did(first),
        ...did(second),
        executionFinished(),
        undoStarted,
        undone(second),
        undoFinished(false),
      ],
    ],
  ];
  for (const [title, status, events] of cases) {
    it(title, () => expect(foldOf(...events).status).to.equal(status));
  }

  it('is interrupted while nobody living plans or executes, with the outcome of what ran unknown', () => {
    const run = foldOf(...plan, executionStarted(), intended(first));
    expect(asSeen(run, true)).to.equal(run);
    const seen = asSeen(run, false);
    expect([seen.status, seen.actions[0]?.state]).to.deep.equal(['interrupted', 'unknown']);
    const waiting = foldOf(...plan);
    expect(asSeen(waiting, false)).to.equal(waiting);
  });
});

describe('the state of an action', () => {
  const stateOf = (...events: NewEvent[]): string => foldOf(...plan, ...events).actions[0]!.state;
  it('is running between intent and result', () => {
    expect(stateOf(executionStarted(), intended(first))).to.equal('running');
    expect(stateOf(executionStarted(), ...did(first))).to.equal('succeeded');
  });

  it('is unknown when the next execution finds an intent without a result', () => {
    const crashed = [executionStarted(), intended(first)];
    expect(stateOf(...crashed, executionStarted({ kind: 'resume' }))).to.equal('unknown');
    expect(stateOf(...crashed, executionFinished())).to.equal('unknown');
    expect(stateOf(...crashed, undoStarted)).to.equal('unknown');
  });

  it('is pending again when a new execution selects what was refused or blocked', () => {
    for (const state of ['refused', 'blocked'] as const) {
      const before = [executionStarted(), refused(first, state), executionFinished()];
      expect(stateOf(...before)).to.equal(state);
      expect(stateOf(...before, executionStarted({ selected: [second] }))).to.equal(state);
      expect(stateOf(...before, executionStarted({ selected: [first], dry_run: true }))).to.equal(state);
      expect(stateOf(...before, executionStarted({ selected: [first] }))).to.equal('pending');
    }
  });

  it('does not change in a dry run', () => {
    const dryRun = [executionStarted({ dry_run: true, selected: [first] })];
    expect(stateOf(...dryRun, intended(first))).to.equal('pending');
    expect(stateOf(...dryRun, ...did(first, { rehearsal: true }))).to.equal('pending');
    expect(stateOf(...dryRun, refused(first))).to.equal('pending');
    const done = [executionStarted(), ...did(first), executionFinished()];
    expect(stateOf(...done, ...dryRun, refused(first), executionFinished())).to.equal('succeeded');
    expect(stateOf(executionStarted(), ...did(first, { rehearsal: true }))).to.equal('pending');
  });

  it('keeps its last version control facts', () => {
    const vcs = {
      kind: 'git' as const,
      version: '2',
      operation_id: 'op1',
      change_id: null,
      commit: null,
      tree: null,
    };
    const run = foldOf(...plan, executionStarted(), ...did(first, { vcs }), ...did(first, { vcs: null }));
    expect(run.actions[0]?.vcs).to.deep.equal(vcs);
  });

  it('is rebuilt by a planning that goes on after a crash', () => {
    const run = foldOf(...plan.slice(0, -2), ...plan);
    expect(run.actions.map(({ definition }) => definition.action_id)).to.deep.equal([first, second, third]);
  });
});

describe('folding', () => {
  const vocabulary: NewEvent[] = [
    ...plan,
    ...approveAll,
    ...actions.map((action) => decided(action, 'reject')),
    executionStarted(),
    executionStarted({ dry_run: true, selected: [first, second] }),
    ...[first, second, third].flatMap((id) => [
      intended(id),
      resulted(id),
      resulted(id, { state: 'failed' }),
      resulted(id, { state: 'unknown' }),
      resulted(id, { rehearsal: true }),
      undone(id),
    ]),
    executionFinished(),
    executionFinished('cancelled'),
    executionFinished('failed'),
    { type: 'cancel_requested', data: { by: 'mira', reason: null } },
    { type: 'run_cancelled', data: { message: '' } },
    undoStarted,
    undoFinished(true),
    undoFinished(false),
    turn(),
  ];
  const stories = fc.array(fc.constantFrom(...vocabulary), { maxLength: 40 });

  it('gives the same run in one go and in any pieces, for any events in any order', () => {
    fc.assert(
      fc.property(stories, fc.nat(), (story, where) => {
        const events = eventsOf(...story);
        const cut = 1 + (where % events.length);
        const whole = fold(runId, events);
        expect(foldMore(fold(runId, events.slice(0, cut)), events.slice(cut))).to.deep.equal(whole);
        expect(runStatuses).to.include(whole.status);
        expect(whole.head.seq).to.equal(events.length);
      }),
      { numRuns: 300 },
    );
  });

  it('never changes a run that it was given', () => {
    fc.assert(
      fc.property(stories, (story) => {
        const events = eventsOf(...plan, ...story);
        const run = deepFreeze(fold(runId, events.slice(0, 8)));
        const before = JSON.stringify(run);
        foldMore(run, events.slice(8));
        expect(JSON.stringify(run)).to.equal(before);
      }),
      { numRuns: 100 },
    );
  });

  it('completes a run only when every action has a success that was no dry run', () => {
    fc.assert(
      fc.property(stories, (story) => {
        const run = foldOf(...plan, ...story);
        if (run.status !== 'completed') return;
        const succeeded = story.flatMap((event) =>
          event.type === 'action_result' && event.data.state === 'succeeded' && !event.data.rehearsal
            ? [event.data.action_id]
            : [],
        );
        expect(succeeded).to.include.members([first, second, third]);
      }),
      { numRuns: 300 },
    );
  });

  it('refuses what does not start with the creation of a run', () => {
    expect(() => fold(runId, [])).to.throw('run_created');
    expect(() => fold(runId, eventsOf(turn()).slice(1))).to.throw('planner_turn');
  });

  it('adds up tokens, and knows no cost as soon as one turn has none', () => {
    const priced = {
      ...turn(),
      data: { ...(turn().data as object), usage: { ...usageOf(turn()), cached_tokens: 3, cost: 0.5 } },
    } as NewEvent;
    expect(foldOf(priced, priced).usage).to.include({
      input_tokens: 20,
      output_tokens: 10,
      cached_tokens: 6,
      cost: 1,
    });
    expect(foldOf(priced, turn()).usage?.cost).to.equal(null);
  });

  it('adds up the time of an agent over its attempts, and takes the newest count of tokens and money', () => {
    const usage = (cost: number) => ({ ...(usageOf(turn()) as Usage), cost });
    const program = { name: 'Claude Code', version: '2' };
    const run = foldOf(
      agentStarted(),
      {
        type: 'agent_progressed',
        data: agentUse({ program, turns: 1, usage: usage(0.1), transcript: content }),
      },
      { type: 'agent_progressed', data: agentUse({ seconds: 20 }) },
      agentStarted(2),
      agentEnded('finished', { attempt: 2, seconds: 7, turns: 3, usage: usage(0.3), transcript: content }),
    );
    expect(run.agent).to.deep.include({ seconds_before: 20, seconds: 7, turns: 3, program });
    expect(run.agent!.transcript).to.deep.equal([content, content]);
    expect(run.agent!.ended).to.include({ end: 'finished' });
    expect(run.usage).to.include({ cost: 0.3, input_tokens: 10 });
  });

  it('knows a draft until a plan is made, and none of what was submitted or begun again', () => {
    const stopped = [agentStarted(), agentEnded('bound'), agentReadBack(false)];
    expect(draftOf(foldOf(...stopped))).to.equal(sha256('left'));
    expect(draftOf(foldOf(...stopped, ...plan))).to.equal(null);
    expect(draftOf(foldOf(...stopped, agentStarted(2)))).to.equal(null);
    expect(draftOf(foldOf(agentStarted(), agentEnded('finished'), agentReadBack(true)))).to.equal(null);
  });

  it('summarises what waits for a decision', () => {
    expect(summaryOf(foldOf(...plan))).to.include({
      waiting: 3,
      actions: 3,
      highest_risk: 'medium',
      title: 'Greeting is wrong',
    });
    expect(summaryOf(foldOf(...plan, decided(actions[0]!))).waiting).to.equal(2);
    expect(summaryOf(foldOf(...plan)).waits_for).to.equal('build');
    const built = foldOf(
      ...plan,
      ...actions.filter(({ gate }) => gate === 'build').map((action) => decided(action)),
    );
    expect(summaryOf(built).waits_for).to.equal(
      actions.some(({ gate }) => gate === 'publish') ? 'publish' : null,
    );
    expect(summaryOf(foldOf()).highest_risk).to.equal(null);
  });
});

describe('an event', () => {
  const vcs: VcsFacts = {
    kind: 'git',
    version: '2',
    operation_id: 'op1',
    change_id: null,
    commit: null,
    tree: null,
  };
  const cancel: NewEvent = { type: 'cancel_requested', data: { by: 'mira', reason: 'enough' } };
  const cancelled: NewEvent = { type: 'run_cancelled', data: { message: '' } };
  const superseded: NewEvent = { type: 'run_superseded', data: { by_run: 'run_newer' } };
  const planFailed: NewEvent = {
    type: 'planning_failed',
    data: { code: 'x', message: 'y', retryable: undefined },
  };
  const started = executionStarted();
  const dryRun = executionStarted({ dry_run: true, selected: [first] });
  const undoKept: NewEvent = {
    type: 'undo_result',
    data: { undo_id: 'u', action_id: first, state: 'kept', message: 'merged' },
  };
  const undoIntent: NewEvent = {
    type: 'undo_intent',
    data: { undo_id: 'u', action_id: first, facts: { ref: 'x' } },
  };
  const moved = (...files: string[]): NewEvent => ({
    type: 'base_seen',
    data: { base_branch: 'main', commit: '3'.repeat(40), files },
  });
  const masked = (place: string): NewEvent => ({
    type: 'secrets_masked',
    data: { found: [{ kind: 'github_token', fingerprint: 'f', place }] },
  });
  const opened: NewEvent = { type: 'workspace_opened', data: { vcs, clone_dir: '/clone', warning: null } };
  const recovered = (by: string): NewEvent => ({
    type: 'record_recovered',
    data: {
      by,
      reason: 'disk',
      lost: null,
      kept: { seq: 1, hash: beforeFirst.hash },
      set_aside: null,
    },
  });
  const blocked = refused(first, 'blocked');
  const execution = { ...(started.data as object), finished: false, message: null };
  const undo = {
    ...(undoStarted.data as object),
    finished: false,
    complete: false,
    results: [],
    intents: [],
  };
  const rejectAll = actions.map((action) => decided(action, 'reject'));
  const doneAll = [started, ...[first, second, third].flatMap((id) => did(id)), executionFinished()];
  const waiting = { state: 'pending', outcome: null };
  const ended = { finished: true, message: 'ended' };
  const approval = (event: NewEvent) => {
    if (event.type !== 'approval_recorded') throw new TypeError(event.type);
    return event.data.approval;
  };
  const approved = {
    approval: 'approved',
    decision: approval(approveAll[0]!),
    decisions: [approval(approveAll[0]!)],
  };
  const outcomeOf = ({ data }: NewEvent) => (data as { readonly outcome: unknown }).outcome;

  /** Title, the events before, the event, and what of the run is another after it; actions by their id, each with what changed. */
  const cases: readonly [string, readonly NewEvent[], NewEvent, object][] = [
    [
      'that goes on without what was lost leaves a planning failed',
      [plan[0]!, planFailed],
      recovered('mira'),
      { recoveries: [{ ...recovered('mira').data, at }] },
    ],
    [
      'that creates the run a second time changes nothing',
      plan,
      { type: 'run_created', data: { request: sampleRequest({ number: 2 }), head_kept: true } },
      {},
    ],
    [
      'that starts planning again forgets the failure and the proposals of the planning before',
      [...plan.slice(0, -1), planFailed],
      plan[0]!,
      { status: 'planning', failure: null, actions: [] },
    ],
    ['that starts planning changes nothing of a sealed plan', [...plan, started], plan[0]!, {}],
    ['records what was read', [], sourceRead, { source: sourceRead.data, issue: issueOf(sourceRead) }],
    [
      'adds masked secrets to those before',
      [masked('issue')],
      masked('comment 1'),
      {
        masked: [
          { kind: 'github_token', fingerprint: 'f', place: 'issue' },
          { kind: 'github_token', fingerprint: 'f', place: 'comment 1' },
        ],
      },
    ],
    [
      'records the prompt',
      [],
      { type: 'planner_prompt', data: { content: '1'.repeat(64) } },
      { prompt: '1'.repeat(64) },
    ],
    [
      'adds a turn to those before',
      [turn('one')],
      turn('two'),
      {
        turns: ['one', 'two'].map((text) => ({ content: sha256(text), tool_calls: ['read_file'] })),
        usage: { ...usageOf(turn()), input_tokens: 20, output_tokens: 10 },
      },
    ],
    [
      'that ends planning with a failure also ends a request to stop',
      [cancel],
      planFailed,
      { status: 'failed', failure: planFailed.data, cancelling: false },
    ],
    ['that approves is the decision in force', plan, approveAll[0]!, { [first]: approved }],
    [
      'that rejects is the decision in force',
      [...plan, approveAll[0]!],
      rejectAll[0]!,
      {
        [first]: {
          approval: 'rejected',
          decision: approval(rejectAll[0]!),
          decisions: [approval(rejectAll[0]!)],
        },
      },
    ],
    [
      'that decides lets a refused action wait again, and that action alone',
      [...plan, started, refused(first), refused(second), executionFinished()],
      approveAll[0]!,
      { [first]: { ...approved, ...waiting } },
    ],
    [
      'that decides lets a blocked action wait again',
      [...plan, started, blocked, executionFinished()],
      approveAll[0]!,
      { [first]: { ...approved, ...waiting } },
    ],
    [
      'that decides leaves the state of an action that failed',
      [...plan, started, ...did(first, { state: 'failed' }), executionFinished()],
      approveAll[0]!,
      { [first]: approved },
    ],
    ['that decides leaves a run that is planned', plan.slice(0, -1), approveAll[0]!, { [first]: approved }],
    ['that decides leaves a run that executes', [...plan, started], approveAll[0]!, { [first]: approved }],
    [
      'that decides leaves an undone run',
      [...plan, undoStarted, undoFinished(true)],
      approveAll[0]!,
      { [first]: approved },
    ],
    ['that decides leaves a cancelled run', [...plan, cancelled], approveAll[0]!, { [first]: approved }],
    ['that decides leaves a superseded run', [...plan, superseded], approveAll[0]!, { [first]: approved }],
    [
      'that starts an execution ends the failure and the stop of the one before',
      [...plan, started, executionFinished('failed'), cancel],
      executionStarted({ execution_id: 'exe_2' }),
      {
        status: 'executing',
        failure: null,
        cancelling: false,
        execution: { ...execution, execution_id: 'exe_2' },
      },
    ],
    [
      'that starts an execution lets selected actions wait again that were refused',
      [...plan, started, refused(first), refused(second), executionFinished()],
      executionStarted({ selected: [first] }),
      {
        status: 'executing',
        execution: { ...execution, selected: [first] },
        [first]: waiting,
      },
    ],
    ['that opens the clone records where it is', [...plan, started], opened, { workspace: opened.data }],
    [
      'that refuses an action records why',
      [...plan, started],
      refused(first),
      { [first]: { state: 'refused', outcome: outcomeOf(refused(first)) } },
    ],
    [
      'that refuses in a dry run records why and leaves the state',
      [...plan, dryRun],
      blocked,
      { [first]: { outcome: outcomeOf(blocked) } },
    ],
    [
      'that refuses a succeeded action changes nothing',
      [...plan, started, ...did(first)],
      refused(first),
      {},
    ],
    [
      'that begins an effect again leaves no time of its end',
      [...plan, started, ...did(first, { state: 'failed' })],
      intended(first),
      { [first]: { state: 'running', finished_at: null } },
    ],
    [
      'that begins an effect records when, and the intent',
      [...plan, started],
      intended(first),
      { [first]: { state: 'running', intent: intended(first).data, started_at: at } },
    ],
    ['that begins an effect of a dry run changes nothing', [...plan, dryRun], intended(first), {}],
    [
      'that ends an effect records how, and when',
      [...plan, started, intended(first)],
      resulted(first, { vcs }),
      { [first]: { state: 'succeeded', outcome: outcomeOf(resulted(first)), vcs, finished_at: at } },
    ],
    [
      'that does not know how an effect ended records no time of its end',
      [...plan, started, intended(first)],
      resulted(first, { state: 'unknown' }),
      { [first]: { state: 'unknown', outcome: outcomeOf(resulted(first)) } },
    ],
    [
      'that ends the check of a dry run gives a waiting action its outcome',
      [...plan, dryRun],
      resulted(first, { rehearsal: true }),
      { [first]: { outcome: outcomeOf(resulted(first)) } },
    ],
    [
      'that ends the check of a dry run lets an action wait that looked begun',
      [...plan, started, intended(first)],
      resulted(first, { rehearsal: true }),
      {
        [first]: { state: 'pending', intent: null, started_at: null, outcome: outcomeOf(resulted(first)) },
      },
    ],
    [
      'that ends the check of a dry run leaves the outcome of a real effect',
      [
        ...plan,
        started,
        ...did(first, { state: 'failed', outcome: { code: 'x', message: 'no', facts: {} } }),
      ],
      resulted(first, { rehearsal: true }),
      {},
    ],
    ['that ends an execution which never started changes nothing', plan, executionFinished(), {}],
    [
      'that ends an execution also ends a request to stop, and what ran is unknown',
      [...plan, started, intended(first), cancel],
      executionFinished(),
      {
        status: 'failed',
        cancelling: false,
        execution: { ...execution, ...ended },
        [first]: { state: 'unknown' },
      },
    ],
    [
      'that stops an execution cancels the run, whatever succeeded',
      [...plan, started, ...did(first), cancel],
      executionFinished('cancelled'),
      { status: 'cancelled', cancelling: false, execution: { ...execution, ...ended } },
    ],
    [
      'that ends a failed execution fails the run where nothing happened yet',
      [...plan, started],
      executionFinished('failed'),
      {
        status: 'failed',
        failure: { code: 'execution_failed', message: 'ended' },
        execution: { ...execution, ...ended },
      },
    ],
    [
      'that ends a failed execution leaves the run partially completed where some actions succeeded',
      [...plan, started, ...did(first)],
      executionFinished('failed'),
      {
        status: 'partially_completed',
        failure: { code: 'execution_failed', message: 'ended' },
        execution: { ...execution, ...ended },
      },
    ],
    [
      'that asks a run to stop records who and why',
      [...plan, started],
      cancel,
      { cancel: cancel.data, cancelling: true },
    ],
    [
      'that cancels a run ends the request, and what ran is unknown',
      [...plan, started, intended(first), cancel],
      cancelled,
      { status: 'cancelled', cancelling: false, [first]: { state: 'unknown' } },
    ],
    [
      'that supersedes a run names the newer one',
      plan,
      superseded,
      { status: 'superseded', superseded_by: 'run_newer' },
    ],
    [
      'records what became of the issue',
      plan,
      { type: 'issue_seen', data: { changed: 'demo/hello#1 is closed' } },
      { issue_changed: 'demo/hello#1 is closed' },
    ],
    [
      'records the new name of the repository',
      plan,
      { type: 'repository_seen', data: { owner: 'demo', repo: 'greetings' } },
      { renamed: { owner: 'demo', repo: 'greetings' } },
    ],
    ['records which files moved on the base branch', plan, moved('a.md'), { base_moved: moved('a.md').data }],
    [
      'clears the moved files when none has moved any more',
      [...plan, moved('a.md')],
      moved(),
      { base_moved: null },
    ],
    [
      'that starts an undo begins it without results',
      [...plan, ...doneAll],
      undoStarted,
      { status: 'executing', undo },
    ],
    [
      'that starts an undo makes unknown what ran',
      [...plan, started, intended(first)],
      undoStarted,
      { undo, [first]: { state: 'unknown' } },
    ],
    [
      'records what an undo is about to do',
      [...plan, undoStarted, undoIntent],
      undoIntent,
      { undo: { ...undo, intents: [undoIntent.data, undoIntent.data] } },
    ],
    ['of an undo that never started changes nothing', plan, undoIntent, {}],
    [
      'records what was undone',
      [...plan, undoStarted, undoKept],
      undone(first),
      { undo: { ...undo, results: [undoKept.data, undone(first).data] }, [first]: { state: 'undone' } },
    ],
    [
      'records what an undo kept, whose state stays',
      [...plan, ...doneAll, undoStarted],
      undoKept,
      { undo: { ...undo, results: [undoKept.data] } },
    ],
    ['that undoes an action without an undo changes nothing', [...plan, ...doneAll], undone(first), {}],
    [
      'that ends a whole undo also ends a request to stop',
      [...plan, undoStarted, cancel],
      undoFinished(true),
      { status: 'undone', cancelling: false, undo: { ...undo, finished: true, complete: true } },
    ],
    [
      'that ends a partial undo leaves what the actions add up to',
      [...plan, ...doneAll, undoStarted, cancel],
      undoFinished(false),
      { status: 'completed', cancelling: false, undo: { ...undo, finished: true } },
    ],
    [
      'that ends an undo which kept something leaves what the actions add up to',
      [...plan, ...doneAll, undoStarted, undone(first), undoKept, cancel],
      undoFinished(true),
      {
        status: 'partially_completed',
        cancelling: false,
        undo: { ...undo, finished: true, complete: true, results: [undone(first).data, undoKept.data] },
      },
    ],
    ['that ends an undo which never started changes nothing', plan, undoFinished(true), {}],
    [
      'that recovers a run takes every decision back that has not started, and keeps the effects',
      [
        ...plan,
        recovered('ada'),
        ...approveAll,
        started,
        ...did(first),
        ...did(second, { state: 'failed' }),
        executionFinished(),
      ],
      recovered('mira'),
      {
        recoveries: ['ada', 'mira'].map((by) => ({ ...recovered(by).data, at })),
        [third]: { approval: 'required', decision: null, decisions: [] },
      },
    ],
    [
      'that recovers a run records who and why, and that the head is kept',
      [...plan, ...rejectAll],
      recovered('mira'),
      {
        status: 'awaiting_approval',
        recoveries: [{ ...recovered('mira').data, at }],
        ...Object.fromEntries(
          [first, second, third].map((id) => [id, { approval: 'required', decision: null, decisions: [] }]),
        ),
      },
    ],
    [
      'that recovers a run lets a refused action wait again',
      [...plan, approveAll[0]!, started, refused(first), refused(second, 'blocked')],
      recovered('mira'),
      {
        recoveries: [{ ...recovered('mira').data, at }],
        [first]: { approval: 'required', decision: null, decisions: [], ...waiting },
        [second]: waiting,
      },
    ],
    [
      'records how the pull request was seen',
      plan,
      pullRequestSeen(7),
      { pull_request: { ...pullRequestSeen(7).data, at } },
    ],
  ];
  for (const [title, before, event, change] of cases) {
    it(title, () => {
      expect(changesBy([...before], event)).to.deep.equal(change);
    });
  }

  it('moves the head and the time of the last change', () => {
    const events = writeLines(beforeFirst, at, [created]).lines;
    const later = '2026-02-03T04:05:06.000Z';
    const [seen] = writeLines(events.at(-1)!, later, [cancel]).lines as [RunEvent];
    const run = fold(runId, [...events, seen]);
    expect(run).to.deep.include({
      created_at: at,
      updated_at: later,
      head: { seq: 2, hash: seen.hash },
    });
  });

  it('that no version of Core knows is refused', () => {
    const events = eventsOf(cancel).map((event) =>
      event.seq === 2 ? ({ ...event, type: 'run_paused' } as unknown as RunEvent) : event,
    );
    expect(() => fold(runId, events))
      .to.throw('event type run_paused is not known')
      .with.property('code', 'run_damaged');
  });
});

describe('a run that was just created', () => {
  it('is planned and has nothing yet', () => {
    const { head, request, ...run } = foldOf();
    expect(head.seq).to.equal(1);
    expect(request).to.deep.equal(sampleRequest());
    expect(run).to.deep.equal({
      run_id: runId,
      status: 'planning',
      created_at: at,
      updated_at: at,
      recoveries: [],
      rotations: [],
      source: null,
      issue: null,
      plan: null,
      actions: [],
      masked: [],
      prompt: null,
      turns: [],
      usage: null,
      agent: null,
      failure: null,
      execution: null,
      workspace: null,
      undo: null,
      pull_request: null,
      cancel: null,
      cancelling: false,
      superseded_by: null,
      base_moved: null,
      issue_changed: null,
      renamed: null,
    });
  });

  it('keeps every intent that may have reached a checkout, with the one of the execution in records of older versions', () => {
    const { action_id } = actions.find(({ kind }) => kind === 'commit')!;
    const deliver_to = { host: 'one', dir: '/srv/hello', repository: '1-2' };
    const noted = intended(action_id) as Extract<NewEvent, { type: 'action_intent' }>;
    const run = foldOf(
      ...plan,
      executionStarted(),
      noted,
      executionStarted({ repo_dir: null }),
      noted,
      { ...noted, data: { ...noted.data, deliver_to } },
      resulted(action_id),
    );
    const commit = run.actions.find(({ definition }) => definition.kind === 'commit')!;
    expect(commit.deliveries.map((delivery) => delivery.deliver_to)).to.deep.equal([
      { host: null, dir: '/home/mira/hello', repository: null },
      deliver_to,
    ]);
    expect(run.actions.flatMap(({ deliveries }) => deliveries)).to.have.length(2);
  });

  it('has an action as it was proposed, for which nobody has decided', () => {
    const [definition] = actions;
    const run = foldOf({ type: 'action_proposed', data: { action: definition! } });
    expect(run.actions).to.deep.equal([
      {
        definition: { ...definition, history: undefined, rejected_before: undefined },
        approval: 'required',
        decision: null,
        decisions: [],
        terms: null,
        state: 'pending',
        outcome: null,
        intent: null,
        deliveries: [],
        vcs: null,
        started_at: null,
        finished_at: null,
      },
    ]);
  });
});

/** What of a run is another after one more event, beside its head; of actions what changed in each, by their id. */
function changesBy(before: readonly NewEvent[], event: NewEvent): object {
  const events = eventsOf(...before, event);
  const { actions: had, ...old } = fold(runId, events.slice(0, -1));
  const { actions: has, ...now } = fold(runId, events);
  const { head: _, ...changed } = different(old, now);
  if (has.length !== had.length) return { ...changed, actions: has };
  const ofActions = has.flatMap((action, index) => {
    const change = different(had[index]!, action);
    return Object.keys(change).length === 0 ? [] : [[action.definition.action_id, change]];
  });
  return { ...changed, ...Object.fromEntries(ofActions) };
}

function different(before: object, after: object): Record<string, unknown> {
  const old = new Map(Object.entries(before));
  return Object.fromEntries(
    Object.entries(after).filter(([name, value]) => !isDeepStrictEqual(value, old.get(name))),
  );
}

function usageOf(event: NewEvent): object {
  if (event.type !== 'planner_turn') throw new TypeError('no turn');
  return event.data.usage;
}

function issueOf(event: NewEvent): object {
  if (event.type !== 'source_read') throw new TypeError(event.type);
  return event.data.issue;
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null)
    for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}
