import { expect } from 'chai';
import fc from 'fast-check';
import {
  decided,
  executionFinished,
  executionStarted,
  intended,
  planned,
  refused,
  resulted,
  sampleRequest,
  turn,
} from '../../../../test/contract/run-store.sample.ts';
import type { NewEvent, RunEvent } from '../event.ts';
import { asSeen, type Run, runStatuses, summaryOf } from '../run.ts';
import { beforeFirst } from './event-line.ts';
import { writeLines } from './event-log.ts';
import { fold, foldMore } from './fold.ts';

const runId = 'run_0199f3c2-0000-7000-8000-000000000000';
const plan = planned(runId);
const actions = plan.flatMap((event) => (event.type === 'action_proposed' ? [event.data.action] : []));
const [first, second, third] = actions.map(({ action_id }) => action_id) as [string, string, string];

function eventsOf(...more: NewEvent[]): RunEvent[] {
  const created: NewEvent = { type: 'run_created', data: { request: sampleRequest(), head_kept: undefined } };
  return writeLines(beforeFirst, '2026-01-02T03:04:05.000Z', [created, ...more]).lines;
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
      [...plan, executionStarted(), refused(first), executionFinished()],
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

  it('is made anew by a planning that goes on after a crash', () => {
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
      data: { ...(turn().data as object), usage: { ...usageOf(turn()), cost: 0.5 } },
    } as NewEvent;
    expect(foldOf(priced, priced).usage).to.include({ input_tokens: 20, output_tokens: 10, cost: 1 });
    expect(foldOf(priced, turn()).usage?.cost).to.equal(null);
  });

  it('summarises what waits for a decision', () => {
    expect(summaryOf(foldOf(...plan))).to.include({
      waiting: 3,
      actions: 3,
      highest_risk: 'medium',
      title: 'Greeting is wrong',
    });
    expect(summaryOf(foldOf(...plan, decided(actions[0]!))).waiting).to.equal(2);
    expect(summaryOf(foldOf()).highest_risk).to.equal(null);
  });
});

function usageOf(event: NewEvent): object {
  if (event.type !== 'planner_turn') throw new TypeError('no turn');
  return event.data.usage;
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null)
    for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}
