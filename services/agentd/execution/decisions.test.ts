import { expect } from 'chai';
import { CoreError } from '#kit/errors.ts';
import {
  decided,
  executionFinished,
  executionStarted,
  intended,
  planned,
  refused,
  resulted,
  sampleRequest,
} from '../../../test/contract/run-store.sample.ts';
import { unsigned } from '../../../test/fixtures/approved/unsigned.ts';
import type { ActionDefinition } from '../actions/registry.ts';
import type { DecisionRequest } from '../agent.ts';
import type { DataOf, NewEvent } from '../runs/event.ts';
import { beforeFirst, writeLines } from '../runs/log/event-line.ts';
import { fold } from '../runs/log/fold.ts';
import { nowFor, type Run } from '../runs/run.ts';
import { approvalProblem, cancelRun, decideActions, findAction, requireCompletePlan } from './decisions.ts';

const runId = 'run_0199f3c2-0000-7000-8000-000000000000';
const plan = planned(runId);
const actions = plan.flatMap((event) => (event.type === 'action_proposed' ? [event.data.action] : []));
const [first, second, third] = actions as [ActionDefinition, ActionDefinition, ActionDefinition];
const id = first.action_id;
/** Later than any clock, so that the run's own time decides. */
const future = '2999-01-01T00:00:00.000Z';
const past = '2026-01-02T03:04:05.000Z';
const by = { name: 'mira', scopes: ['approve'] };
const week = { expires_after_days: 7, people: {}, stands: () => true };

const undoStarted: NewEvent = { type: 'undo_started', data: { undo_id: 'u', by: 'mira', pid: 1 } };
const undoFinished: NewEvent = {
  type: 'undo_finished',
  data: { undo_id: 'u', complete: true, message: '' },
};
const superseded: NewEvent = { type: 'run_superseded', data: { by_run: 'run_newer' } };
const cancelled: NewEvent = { type: 'run_cancelled', data: { message: '' } };
const cancelRequested: NewEvent = { type: 'cancel_requested', data: { by: 'mira', reason: null } };

function runOf(events: readonly NewEvent[], at = past): Run {
  const created: NewEvent = { type: 'run_created', data: { request: sampleRequest(), head_kept: undefined } };
  return fold(runId, writeLines(beforeFirst, at, [created, ...events]).lines);
}

/** The plan as an older version of Core sealed it, which did not say where the forge is. */
function oldPlan(): NewEvent[] {
  return plan.map((event) => {
    if (event.type !== 'plan_sealed') return event;
    const { plan: facts } = event.data;
    return { ...event, data: { plan: { ...facts, target: { ...facts.target, forge_url: undefined } } } };
  });
}

function request(change: Partial<DecisionRequest> = {}): DecisionRequest {
  return {
    run_id: runId,
    decision: 'approve',
    actions: [{ action_id: id, digest: first.digest }],
    reason: null,
    claimed_approver: null,
    by,
    ...change,
  };
}

function approvals(run: Run, asked: DecisionRequest, days = 7): DataOf<'approval_recorded'>[] {
  return decideActions(
    run,
    asked,
    { expires_after_days: days, people: {}, stands: () => true },
    unsigned,
  ).map((event) => {
    if (event.type !== 'approval_recorded') throw new TypeError(event.type);
    return event.data;
  });
}

function errorOf(work: () => unknown): CoreError {
  try {
    work();
  } catch (error) {
    if (error instanceof CoreError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('a decision', () => {
  it('is recorded for each named action, in order, with who made it and what they saw', () => {
    const asked = request({
      actions: [second, first].map(({ action_id, digest }) => ({ action_id, digest })),
      reason: 'fine',
      claimed_approver: 'Mira M.',
    });
    const approval = {
      decision: 'approve',
      approver: 'mira',
      token: undefined,
      person: undefined,
      account: undefined,
      standing: undefined,
      claimed_approver: 'Mira M.',
      reason: 'fine',
      at: future,
      expires_at: '2999-01-08T00:00:00.000Z',
      signature: undefined,
    };
    expect(approvals(runOf(plan, future), asked)).to.deep.equal([
      { action_id: second.action_id, approval: { ...approval, digest: second.digest } },
      { action_id: id, approval: { ...approval, digest: first.digest } },
    ]);
  });

  it('does not expire when it is a rejection', () => {
    const [rejection] = approvals(runOf(plan), request({ decision: 'reject', reason: 'too wide' }));
    expect(rejection?.approval).to.include({ decision: 'reject', reason: 'too wide', expires_at: null });
  });

  it('is dated by the clock, and by the last event of the run where the clock was set back', () => {
    const before = new Date().toISOString();
    const now = nowFor(runOf(plan, past));
    expect(now >= before && now <= new Date().toISOString()).to.equal(true);
    expect(nowFor(runOf(plan, future))).to.equal(future);
    expect(approvals(runOf(plan, future), request())[0]?.approval.at).to.equal(future);
  });

  it('can be changed until the action starts, and after a refusal', () => {
    const late = [executionStarted(), refused(id), refused(second.action_id, 'blocked'), executionFinished()];
    const both = request({
      actions: [first, second].map(({ action_id, digest }) => ({ action_id, digest })),
    });
    for (const events of [[], [decided(first)], [decided(first, 'reject')], late])
      expect(approvals(runOf([...plan, ...events]), both)).to.have.lengthOf(2);
  });

  it('is recorded when the approval is still the one that was seen', () => {
    const seen = (seen_approval: 'required' | 'approved') =>
      request({ actions: [{ action_id: id, digest: first.digest, seen_approval }] });
    expect(approvals(runOf(plan), seen('required'))).to.have.lengthOf(1);
    expect(approvals(runOf([...plan, decided(first)]), seen('approved'))).to.have.lengthOf(1);
  });

  const otherDigest = 'a'.repeat(64);
  const refusals: readonly [string, string, string, readonly NewEvent[], Partial<DecisionRequest>?][] = [
    ['names no action', 'no_actions', 'no action is named', plan, { actions: [] }],
    ['is a rejection without a reason', 'reason_required', 'needs a reason', plan, { decision: 'reject' }],
    [
      'is a rejection with an empty reason',
      'reason_required',
      'needs a reason',
      plan,
      { decision: 'reject', reason: ' \n' },
    ],
    ['comes before the plan', 'run_not_planned', 'is planning', plan.slice(0, -1)],
    [
      'comes after a newer plan of the issue',
      'run_superseded',
      'run_newer is a newer plan',
      [...plan, superseded],
    ],
    ['comes after the run was cancelled', 'run_closed', 'is cancelled', [...plan, cancelled]],
    ['comes while the run is undone', 'run_closed', 'is executing', [...plan, undoStarted]],
    ['comes after the run was undone', 'run_closed', 'is undone', [...plan, undoStarted, undoFinished]],
    [
      'approves what an older version of Core planned',
      'plan_outdated',
      'was planned by an older version',
      oldPlan(),
    ],
    [
      'names an action that the run does not have',
      'action_not_found',
      `no action 'act_9'; it has ${actions.map(({ action_id }) => action_id).join(', ')}`,
      plan,
      { actions: [{ action_id: 'act_9', digest: otherDigest }] },
    ],
    [
      'names another digest than that of the action',
      'digest_mismatch',
      'digest aaaaaaaaaaaa is not',
      plan,
      { actions: [{ action_id: id, digest: otherDigest }] },
    ],
    [
      'names the digest of another action',
      'digest_mismatch',
      'look at it again',
      plan,
      { actions: [{ action_id: id, digest: second.digest }] },
    ],
    [
      'comes after the approval that was seen had been given',
      'decision_changed',
      `is approved by mira at ${past}; it was required when you saw it`,
      [...plan, decided(first)],
      { actions: [{ action_id: id, digest: first.digest, seen_approval: 'required' }] },
    ],
    [
      'comes after the approval that was seen had been lost',
      'decision_changed',
      'is required; it was approved when you saw it',
      plan,
      { actions: [{ action_id: id, digest: first.digest, seen_approval: 'approved' }] },
    ],
    [
      'has a later action that is refused',
      'digest_mismatch',
      '2 apply_patch',
      plan,
      {
        actions: [
          { action_id: id, digest: first.digest },
          { action_id: second.action_id, digest: otherDigest },
        ],
      },
    ],
  ];
  for (const [title, code, message, events, change] of refusals) {
    it(`is refused when it ${title}`, () => {
      const error = errorOf(() => decideActions(runOf(events), request(change), week, unsigned));
      expect(error.code).to.equal(code);
      expect(error.message).to.contain(message);
    });
  }

  for (const state of ['running', 'succeeded', 'failed', 'unknown'] as const) {
    it(`is refused when the action is ${state}`, () => {
      const result = state === 'running' ? [] : [resulted(id, { state })];
      const run = runOf([...plan, decided(first), executionStarted(), intended(id), ...result]);
      const error = errorOf(() =>
        decideActions(run, request({ decision: 'reject', reason: 'no' }), week, unsigned),
      );
      expect(error.code).to.equal('action_started');
      expect(error.message).to.contain(`1 create_branch is ${state}`);
    });
  }

  it('says which field a person has to change', () => {
    const reason = errorOf(() => decideActions(runOf(plan), request({ decision: 'reject' }), week, unsigned));
    expect(reason.errors.map(({ pointer }) => pointer)).to.deep.equal(['/reason']);
    const asked = request({ actions: [{ action_id: id, digest: otherDigest }] });
    const digest = errorOf(() => decideActions(runOf(plan), asked, week, unsigned));
    expect(digest.errors).to.deep.equal([{ pointer: '/digest', detail: `must be ${first.digest}` }]);
  });

  it('of an older version of Core can still be a rejection', () => {
    const asked = request({ decision: 'reject', reason: 'out of date' });
    expect(approvals(runOf(oldPlan()), asked)).to.have.lengthOf(1);
  });

  it('says in a run without actions that there is none', () => {
    expect(errorOf(() => findAction(runOf([]), id)).message).to.contain('it has none');
  });
});

describe('a complete plan', () => {
  it('is required only where there is a plan', () => {
    requireCompletePlan(runOf([]));
    requireCompletePlan(runOf(plan));
    expect(errorOf(() => requireCompletePlan(runOf(oldPlan()))).code).to.equal('plan_outdated');
  });
});

describe('an approval', () => {
  const problemOf = (events: readonly NewEvent[], now = past) =>
    approvalProblem(findAction(runOf([...plan, ...events]), id), now);
  const changed = (change: Partial<DataOf<'approval_recorded'>['approval']>): NewEvent => {
    const event = decided(first) as Extract<NewEvent, { type: 'approval_recorded' }>;
    return { ...event, data: { ...event.data, approval: { ...event.data.approval, ...change } } };
  };

  it('is good for the action whose digest it names', () => {
    expect(problemOf([decided(first)])).to.equal(null);
    const digest = third.digest;
    expect(problemOf([changed({ digest })])).to.deep.equal({
      code: 'digest_mismatch',
      message: `approved was ${digest.slice(0, 12)}, the action is ${first.digest.slice(0, 12)}`,
    });
  });

  it('holds to the millisecond before it expires', () => {
    const events = [decided(first, 'approve', '2026-01-09T03:04:05.000Z')];
    expect(problemOf(events, '2026-01-09T03:04:04.999Z')).to.equal(null);
    for (const now of ['2026-01-09T03:04:05.000Z', '2026-01-09T03:04:05.001Z'])
      expect(problemOf(events, now)).to.deep.equal({
        code: 'approval_expired',
        message:
          'the approval by mira expired at 2026-01-09T03:04:05.000Z (approval.expires_after_days of config/policy.json); approve it again',
      });
  });

  it('that never expires is not one', () => {
    expect(problemOf([changed({ expires_at: null })])?.code).to.equal('approval_expired');
  });

  it('is needed', () => {
    expect(problemOf([])).to.deep.equal({
      code: 'approval_required',
      message: 'not approved; approval is required',
    });
    expect(problemOf([decided(second)])?.code).to.equal('approval_required');
  });

  it('is replaced by a rejection, which gives its reason', () => {
    expect(problemOf([decided(first), decided(first, 'reject')])).to.deep.equal({
      code: 'action_rejected',
      message: 'rejected by mira: not this way',
    });
    expect(problemOf([changed({ decision: 'reject', reason: null })])?.message).to.equal(
      'rejected by mira: no reason given',
    );
  });
});

describe('cancelling', () => {
  const cancel = (events: readonly NewEvent[], reason: string | null = null) =>
    cancelRun(runOf(events), { by, reason });
  const asked = (reason: string | null): NewEvent => ({
    type: 'cancel_requested',
    data: { by: 'mira', reason },
  });

  it('asks a run at work to stop', () => {
    expect(cancel(plan.slice(0, -1), 'wrong issue')).to.deep.equal([asked('wrong issue')]);
    expect(cancel([...plan, executionStarted()])).to.deep.equal([asked(null)]);
  });

  it('ends a run that waits', () => {
    expect(cancel(plan)).to.deep.equal([
      asked(null),
      { type: 'run_cancelled', data: { message: 'cancelled by mira' } },
    ]);
    expect(cancel(plan, 'wrong issue')[1]?.data).to.deep.equal({ message: 'wrong issue' });
  });

  it('asks once', () => {
    expect(cancel([...plan, executionStarted(), cancelRequested])).to.deep.equal([]);
  });

  const done = [
    executionStarted(),
    ...actions.map(({ action_id }) => resulted(action_id)),
    executionFinished(),
  ];
  const over: readonly [string, string, readonly NewEvent[]][] = [
    ['completed', 'run_closed', done],
    ['cancelled', 'run_closed', [cancelled]],
    ['undone', 'run_closed', [...done, undoStarted, undoFinished]],
    ['rejected', 'run_closed', actions.map((action) => decided(action, 'reject'))],
    ['superseded', 'run_closed', [superseded]],
    ['executing', 'run_undone', [...done, undoStarted]],
  ];
  for (const [status, code, events] of over) {
    it(`is refused with ${code} when the run is ${status}`, () => {
      const run = runOf([...plan, ...events]);
      expect(run.status).to.equal(status);
      expect(errorOf(() => cancelRun(run, { by, reason: null })).code).to.equal(code);
    });
  }
});
