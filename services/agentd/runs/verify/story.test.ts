import { expect } from 'chai';
import {
  decided,
  executionFinished,
  executionStarted,
  intended,
  planned,
  pullRequestSeen,
  resulted,
  sampleAction,
  sampleRequest,
  turn,
} from '../../../../test/contract/run-store.sample.ts';
import type { Approval } from '../../action.ts';
import { actionDigest } from '../../actions/registry.ts';
import type { DataOf, NewEvent } from '../event.ts';
import { beforeFirst, writeLines } from '../log/event-line.ts';
import { checkStory } from './story.ts';

const runId = 'run_0199f3c2-0000-7000-8000-000000000000';
const newer = 'run_0199f3c2-0000-7000-8000-000000000009';
const at = '2026-01-02T03:04:05.000Z';
const created: NewEvent = { type: 'run_created', data: { request: sampleRequest(), head_kept: undefined } };
const plan = planned(runId, 5);
const branch = sampleAction(runId, 1, 'create_branch');
const patch = sampleAction(runId, 2, 'apply_patch');
const pull = sampleAction(runId, 5, 'open_pull_request');
const stranger = sampleAction(runId, 7, 'comment_issue');
const foreign = { ...branch, run_id: newer };
const [first, second, opening] = [branch.action_id, patch.action_id, pull.action_id];
const proposal = (action: typeof branch): NewEvent => ({ type: 'action_proposed', data: { action } });
const superseded: NewEvent = { type: 'run_superseded', data: { by_run: newer } };
const recovered = (lost: DataOf<'record_recovered'>['lost']): NewEvent => ({
  type: 'record_recovered',
  data: {
    by: 'mira',
    reason: 'the disk',
    lost,
    kept: { seq: 9, hash: '9'.repeat(64) },
    set_aside: null,
  },
});
/** The run is planned; its first action is approved and was started. */
const started = [...plan, decided(branch), executionStarted(), intended(first)];
const refused: NewEvent = {
  type: 'action_refused',
  data: {
    action_id: first,
    state: 'refused',
    outcome: { code: 'approver_revoked', message: 'the token was revoked', facts: {} },
  },
};
const dryRun = executionStarted({ dry_run: true });
const resumed = executionStarted({ kind: 'resume', execution_id: 'exe_2' });
const opened = [
  ...plan,
  decided(pull),
  executionStarted(),
  intended(opening),
  resulted(opening, {}, { number: 7 }),
];

/** The same plan, whose first action two people must approve, and its second a standing approval covers. */
const ruled = plan.map((event): NewEvent => {
  if (event.type !== 'plan_sealed') return event;
  const digest = 'd'.repeat(64);
  const asks = { approvers: 2, not_requester: true, code_owners: false, require_signature: false };
  const approval_terms = {
    requesters: ['mira'],
    code_owners: null,
    actions: [
      { action_id: first, rules: [{ name: 'two people', digest, ...asks }], standing: null },
      { action_id: second, rules: [], standing: { name: 'early', digest, author: 'mira' } },
    ],
  };
  return { ...event, data: { plan: { ...event.data.plan, approval_terms } } };
});

/** A decision of a person, or of a standing approval, that whoever can write the record may have made up. */
function by(name: string, of = branch, change: Partial<Approval> = {}): NewEvent {
  const event = decided(of);
  if (event.type !== 'approval_recorded') throw new TypeError(event.type);
  const { approval, action_id } = event.data;
  const person = { name, known_as: [] };
  return { ...event, data: { action_id, approval: { ...approval, approver: name, person, ...change } } };
}
const start = [executionStarted(), intended(first)];
const unmet = (how: string) => [
  `WHERE (action_intent): ${first} was started at ${at}, approved by ${how}: its rules were not met`,
];

/** Line 1 creates the run, lines 2 to 9 plan it; the events here follow `created`. */
const forged: Readonly<Record<string, readonly [events: NewEvent[], problems: string[]]>> = {
  'is created twice': [[created], ['2 (run_created): a run is created once, by its first event']],
  'proposes an action twice': [
    plan.toSpliced(3, 0, plan[2]!),
    [`5 (action_proposed): ${first} was proposed twice`],
  ],
  'proposes an action after its plan was sealed': [
    [...plan, proposal(stranger)],
    [`10 (action_proposed): ${stranger.action_id} was proposed after the plan was sealed`],
  ],
  'plans again after its plan was sealed': [
    [...plan, plan[0]!, plan[2]!],
    [
      `11 (action_proposed): ${first} was proposed after the plan was sealed`,
      `11 (action_proposed): ${first} was proposed twice`,
    ],
  ],
  'proposes an action of another run': [
    plan.with(2, proposal(foreign)),
    [
      `4 (action_proposed): ${first} belongs to run ${newer}`,
      `4 (action_proposed): the definition of ${first} was changed: it gives the digest ${actionDigest(foreign)} and says ${branch.digest}`,
      `9 (plan_sealed): ${first} is sealed with ${branch.digest}, but its definition in line 4 gives ${actionDigest(foreign)}`,
    ],
  ],
  'seals an action that it did not propose': [
    plan.toSpliced(2, 1),
    [`8 (plan_sealed): ${first} is sealed, but was never proposed`],
  ],
  'proposes an action that it does not seal': [
    plan.toSpliced(2, 0, proposal(stranger)),
    [`10 (plan_sealed): ${stranger.action_id} was proposed, but is not sealed`],
  ],
  'seals its plan twice': [[...plan, plan.at(-1)!], ['10 (plan_sealed): a plan is sealed once']],
  'decides about an action that it did not seal': [
    [...plan, decided(stranger)],
    [`10 (approval_recorded): ${stranger.action_id} is not in the sealed plan`],
  ],
  'approves another definition than it sealed': [
    [...plan, decided({ ...branch, digest: 'a'.repeat(64) })],
    [
      `10 (approval_recorded): the decision about ${first} names the digest ${'a'.repeat(64)}; sealed is ${branch.digest}`,
    ],
  ],
  'approves for ever': [
    [...plan, decided(branch, 'approve', null!)],
    [`10 (approval_recorded): the approval of ${first} never expires`],
  ],
  'starts what one person approved, and two must': [
    [...ruled, by('jo'), ...start],
    unmet('1 of 2').map((text) => text.replace('WHERE', '12')),
  ],
  'starts what one person approved twice': [
    [...ruled, by('jo'), by('jo', branch, { approver: 'jo-laptop' }), ...start],
    unmet('1 of 2').map((text) => text.replace('WHERE', '13')),
  ],
  'starts what the requester approved too, who does not count': [
    [...ruled, by('jo'), by('mira'), ...start],
    unmet('1 of 2').map((text) => text.replace('WHERE', '13')),
  ],
  'starts what somebody unknown approved too': [
    [...ruled, by('jo'), by('kim', branch, { person: undefined }), ...start],
    unmet('1 of 2').map((text) => text.replace('WHERE', '13')),
  ],
  'starts what two people approved and a third rejected': [
    [...ruled, by('lee', branch, { decision: 'reject', expires_at: null }), by('jo'), by('kim'), ...start],
    [`14 (action_intent): ${first} was started although lee had rejected it`],
  ],
  'approves by a standing approval that its plan does not name': [
    [...ruled, by('mira', patch, { person: undefined, standing: { name: 'early', digest: 'e'.repeat(64) } })],
    [`10 (approval_recorded): the plan does not name the standing approval 'early' that approves ${second}`],
  ],
  'decides after a newer run took its place': [
    [...plan, superseded, decided(branch)],
    [`11 (approval_recorded): ${first} was decided after ${newer} had taken the place of the run`],
  ],
  'decides about an action that has started': [
    [...started, decided(branch)],
    [`13 (approval_recorded): ${first} was decided after it had started`],
  ],
  'decides about an action that has started again after a refusal': [
    [
      ...started,
      executionFinished(),
      resumed,
      refused,
      decided(branch),
      resumed,
      intended(first),
      decided(branch),
    ],
    [`19 (approval_recorded): ${first} was decided after it had started`],
  ],
  'is superseded after an action has started': [
    [...started, superseded],
    ['13 (run_superseded): it was superseded after an action had started'],
  ],
  'starts an action without an approval': [
    [...plan, executionStarted(), intended(first)],
    [`11 (action_intent): ${first} was started without an approval`],
  ],
  'starts an action outside of any execution': [
    [...plan, intended(first)],
    [`10 (action_intent): ${first} was started without an approval`],
  ],
  'starts an action that was rejected after it was approved': [
    [...plan, decided(branch), decided(branch, 'reject'), executionStarted(), intended(first)],
    [`13 (action_intent): ${first} was started although mira had rejected it`],
  ],
  'starts an action at the moment when its approval ends': [
    [...plan, decided(branch, 'approve', at), executionStarted(), intended(first)],
    [`12 (action_intent): ${first} was started at ${at}, after its approval had expired at ${at}`],
  ],
  'starts an action that it did not seal': [
    [...plan, executionStarted(), intended(stranger.action_id)],
    [`11 (action_intent): ${stranger.action_id} was started, but is not in the sealed plan`],
  ],
  'starts an action again while its outcome is open': [
    [...started, intended(first)],
    [
      `13 (action_intent): ${first} was started again while its outcome was open: two executors worked on the run`,
    ],
  ],
  'has a result of an action that was not started': [
    [...plan, decided(branch), executionStarted(), resulted(first)],
    [`12 (action_result): ${first} has a result, but no intent was written before`],
  ],
  'did one action twice': [
    [...started, resulted(first), resulted(first)],
    [`14 (action_result): ${first} succeeded twice: two executors worked on the run`],
  ],
  'saw a pull request, and opened none': [
    [...plan, pullRequestSeen(7)],
    ['10 (pull_request_seen): pull request #7 was seen, but the run opened none'],
  ],
  'saw a pull request, and opened one without a number': [
    [...plan, decided(pull), executionStarted(), intended(opening), resulted(opening), pullRequestSeen(7)],
    ['14 (pull_request_seen): pull request #7 was seen, but the run opened none'],
  ],
  'saw another pull request than it opened': [
    [...opened, pullRequestSeen(8)],
    ['14 (pull_request_seen): pull request #8 was seen; the run opened #7'],
  ],
  'saw a pull request with the number of another action': [
    [...started, resulted(first, {}, { number: 7 }), pullRequestSeen(7)],
    ['14 (pull_request_seen): pull request #7 was seen, but the run opened none'],
  ],
  'goes on after its record was cut': [
    [...started, recovered({ seq: 30, hash: 'c'.repeat(64) })],
    [
      '13 (record_recovered): the record was cut: what was acknowledged after event 9 up to event 30 (hash cccccccccccc) is lost; mira let it go on',
    ],
  ],
  'starts what was approved before its record was cut': [
    [
      ...[...plan, decided(branch), decided(patch), executionStarted(), intended(first), recovered(null)],
      ...[executionStarted(), intended(first), intended(second)],
    ],
    [
      '14 (record_recovered): the record was cut: what was acknowledged after event 9 is lost; mira let it go on',
      `17 (action_intent): ${second} was started without an approval`,
    ],
  ],
};

const allowed: Readonly<Record<string, NewEvent[]>> = {
  'plans again before it seals': [...plan.slice(0, 4), ...plan],
  'is superseded before an action has started': [...plan, decided(branch), superseded],
  'starts what the people whom its rules count agreed about, and what a standing approval covers': [
    ...[...ruled, by('mira'), by('jo'), by('kim')],
    by('mira', patch, { person: undefined, standing: { name: 'early', digest: 'd'.repeat(64) } }),
    ...[executionStarted(), intended(first), resulted(first), intended(second), resulted(second)],
  ],
  'approves what it had rejected': [
    ...[...plan, decided(branch, 'reject'), decided(branch)],
    ...[executionStarted(), intended(first), resulted(first)],
  ],
  'tries everything in a dry run, unapproved': [
    ...[...plan, dryRun, intended(first), resulted(first), intended(first), resulted(first)],
    ...[executionFinished(), decided(branch), executionStarted()],
    ...[resulted(second, { rehearsal: true }), resulted(second, { rehearsal: true })],
  ],
  'starts an action again in a new execution, after its outcome stayed open': [
    ...started,
    resumed,
    intended(first),
    resulted(first),
  ],
  'starts an action again after an unknown outcome': [
    ...started,
    resulted(first, { state: 'unknown' }),
    intended(first),
    resulted(first),
  ],
  'saw the pull request that it opened': [
    ...opened,
    pullRequestSeen(7),
    pullRequestSeen(7, { state: 'merged' }),
  ],
};

describe('the order of the events of a run', () => {
  const problemsOf = (...events: NewEvent[]) => checkStory(runId, writeLines(beforeFirst, at, events).lines);

  for (const [what, [events, expected]] of Object.entries(forged)) {
    it(`is not allowed where the run ${what}`, () => {
      const found = problemsOf(created, ...events).map(({ where, what }) => `${where}: ${what}`);
      expect(found).to.deep.equal(expected.map((problem) => `events.jsonl line ${problem}`));
    });
  }

  for (const [what, events] of Object.entries(allowed)) {
    it(`is allowed where the run ${what}`, () => {
      expect(problemsOf(created, ...events)).to.deep.equal([]);
    });
  }

  it('takes an action that the plan marks as a dry run for no start', () => {
    const { digest: _, ...definition } = { ...branch, dry_run: true };
    const action = { ...definition, digest: actionDigest(definition) } as typeof branch;
    const events = plan.map((event): NewEvent => {
      if (event.type === 'plan_sealed') {
        const sealed = event.data.plan.sealed.with(0, { action_id: first, digest: action.digest });
        return { type: 'plan_sealed', data: { plan: { ...event.data.plan, sealed } } };
      }
      return event === plan[2] ? proposal(action) : event;
    });
    expect(problemsOf(created, ...events, executionStarted(), intended(first))).to.deep.equal([]);
  });

  it('begins with the creation of the run', () => {
    expect(problemsOf(turn())).to.deep.equal([
      { where: 'events.jsonl line 1', what: 'the first event is planner_turn and must be run_created' },
    ]);
    expect(checkStory(runId, [])).to.deep.equal([]);
  });
});
