import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect } from 'chai';
import { CoreError, codeOf, Interrupted, RateLimited, Refused, Unavailable } from '#kit/errors.ts';
import {
  decided,
  executionStarted,
  intended,
  planned,
  resulted,
  sampleAction,
  sampleRequest,
} from '../../../test/contract/run-store.sample.ts';
import { withoutRules } from '../../../test/fixtures/approved/without-rules.ts';
import { failure } from '../../../test/fixtures/failure.ts';
import { runStoreIn } from '../../../test/fixtures/runs/run-store-in.ts';
import type { ActionIntent } from '../action.ts';
import { actionKinds } from '../action.ts';
import type { ActionExecutor, Effect, Reconciliation, Step } from '../actions/executor.ts';
import { type ActionDefinition, type ActionOf, actionDigest, type Executors } from '../actions/registry.ts';
import type { ApprovalsNow } from '../approval/current.ts';
import type { DatabaseRunStore } from '../runs/database-run-store.ts';
import type { NewEvent } from '../runs/event.ts';
import type { ActionState } from '../runs/run.ts';
import { Execution } from './run-actions.ts';

const first = 'act_1_create_branch';
const done: Effect = { succeeded: true, message: 'made', facts: { branch: 'x' }, vcs: null };
const lost = new Unavailable('forge_silent', 'no answer');
const waitAnHour = new Unavailable('forge_busy', 'too many requests', { retryAfter: 3600 });
const waitAMoment = new Unavailable('forge_busy', 'too many requests', { retryAfter: 0.05 });

/** What an effect or a question meets, one after the other. */
interface World {
  readonly effects?: readonly (Effect | Error)[];
  readonly answers?: readonly (Reconciliation | Error)[];
  readonly check?: Error;
  readonly maxWait?: number;
  /** What else happens while the forge is asked. */
  readonly meanwhile?: () => Promise<unknown>;
}

describe('an action of which the outcome is not known', () => {
  let stateDir: string;
  let store: DatabaseRunStore;
  let runId: string;
  let calls: string[];
  let reports: string[];
  let stop: AbortController;
  let seen: Step<ActionDefinition>;
  let approvals: () => ApprovalsNow;
  let fresh: () => Promise<void>;

  beforeEach(() => {
    stateDir = mkdtempSync(join(tmpdir(), 'core-actions-'));
    store = runStoreIn(stateDir);
    calls = [];
    reports = [];
    stop = new AbortController();
    approvals = () => withoutRules;
    fresh = async () => {};
  });

  afterEach(() => {
    store.close();
    rmSync(stateDir, { recursive: true });
  });

  /** The run is planned and its first action approved. */
  async function approved(expires_at?: string): Promise<void> {
    runId = (await store.create(sampleRequest())).run_id;
    for (const content of ['content', 'one']) await store.putArtifact(runId, content);
    await store.append(runId, () => planned(runId, 1));
    await store.append(runId, ({ actions }) => [decided(actions[0]!.definition, 'approve', expires_at)]);
  }

  const starting = (execution_id: string): NewEvent => executionStarted({ execution_id, selected: [first] });
  const begun = { ...intended(first).data, rendered: { title: 'approved' } } as ActionIntent;

  /** As a killed process leaves it: an intent without a result. */
  async function killed(expires_at?: string): Promise<void> {
    await approved(expires_at);
    await store.append(runId, () => [starting('exe_1'), { type: 'action_intent', data: begun }]);
  }

  async function executed(world: World): Promise<ActionState> {
    await store.append(runId, () => [starting('exe_2')]);
    return going(world);
  }

  async function going(world: World): Promise<ActionState> {
    const scope = { run_id: runId, execution_id: 'exe_2', repo_dir: null, dry_run: false };
    const progress = ({ state, message }: { state: string; message: string }) =>
      void reports.push(`${state}: ${message}`);
    const parts = {
      store,
      executors: executorsOf(world),
      lookAtBase: () => Promise.reject(lost),
      lookAtIssue: async () => null,
      approvals: () => approvals(),
      approvalsFresh: () => fresh(),
    };
    await new Execution(parts, scope, { progress, signal: stop.signal }).runAll([first]);
    return (await store.read(runId)).actions[0]!;
  }

  function executorsOf({ effects = [], answers = [], check, maxWait, meanwhile }: World): Executors {
    const [acting, asking] = [effects.values(), answers.values()];
    const next = <T>(from: Iterator<T | Error>): T => {
      const { value } = from.next();
      if (value instanceof Error) throw value;
      return value;
    };
    const executor: ActionExecutor<ActionDefinition> = {
      ...(maxWait === undefined ? {} : { max_wait_ms: maxWait }),
      async check() {
        calls.push('check');
        await setImmediate();
        if (check !== undefined) throw check;
      },
      async render() {
        return { bytes: { title: 'approved' }, forge_time: null, operation_before: null };
      },
      async perform(step, { attempt, rendered }) {
        seen = step;
        step.progress('at work');
        calls.push(`perform ${attempt} ${rendered.title}`);
        return next(acting);
      },
      async reconcile(_step, { attempt }) {
        calls.push(`ask ${attempt}`);
        await meanwhile?.();
        return next(asking);
      },
      undoing: async () => ({ effect: 'nothing', message: '' }),
    };
    return Object.fromEntries(actionKinds.map((kind) => [kind, executor])) as unknown as Executors;
  }

  const again: Reconciliation = { kind: 'again' };

  /** How an action that a killed process had begun goes on. */
  const table: Readonly<
    Record<
      string,
      World & {
        readonly calls: readonly string[];
        readonly state: ActionState['state'];
        readonly code?: string;
        readonly message: string;
        readonly reconciled: boolean;
      }
    >
  > = {
    'succeeded when its effect is there, and is not repeated': {
      answers: [{ kind: 'done', effect: done }],
      ...{ calls: ['ask 1'], state: 'succeeded', message: 'made', reconciled: true },
    },
    'failed when what is there says so': {
      answers: [{ kind: 'done', effect: { ...done, succeeded: false, code: 'tests_failed' } }],
      ...{ calls: ['ask 1'], state: 'failed', code: 'tests_failed', message: 'made', reconciled: true },
    },
    'failed when the state of somebody else is in the way': {
      answers: [{ kind: 'conflict', message: 'x is at 1234' }],
      ...{ calls: ['ask 1'], state: 'failed', code: 'conflict', message: 'x is at 1234', reconciled: true },
    },
    'stays unknown when only a person can decide it': {
      answers: [{ kind: 'ask', message: 'two carry our marker' }],
      ...{ calls: ['ask 1'], state: 'unknown', code: 'outcome_unknown' },
      ...{ message: 'two carry our marker', reconciled: true },
    },
    'is done once more with the same bytes, after the same checks, when it did not happen': {
      answers: [again],
      effects: [done],
      calls: ['ask 1', 'check', 'perform 2 approved'],
      ...{ state: 'succeeded', message: 'made', reconciled: false },
    },
    'is not done a third time': {
      answers: [again, again],
      effects: [lost],
      calls: ['ask 1', 'check', 'perform 2 approved', 'ask 2'],
      ...{ state: 'unknown', code: 'outcome_unknown' },
      ...{ message: 'it did not happen in two tries; resume later', reconciled: true },
    },
    'is not done again when a safeguard says no': {
      answers: [again],
      check: new Refused('branch_protected', 'main is protected'),
      ...{ calls: ['ask 1', 'check'], state: 'failed', code: 'branch_protected' },
      ...{ message: 'main is protected', reconciled: true },
    },
    'stays unknown when asking fails': {
      answers: [new TypeError('no such method')],
      ...{ calls: ['ask 1'], state: 'unknown', code: 'outcome_unknown' },
      ...{ message: 'outcome unknown, and asking failed: no such method', reconciled: true },
    },
  };

  for (const [what, { calls: expectedCalls, state, code, message, reconciled, ...world }] of Object.entries(
    table,
  )) {
    it(`${what}`, async () => {
      await killed();
      const action = await executed(world);
      expect(calls).to.deep.equal(expectedCalls);
      expect(action.state).to.equal(state);
      expect(action.outcome).to.deep.include({ code, message });
      const result = (await store.events(runId)).findLast(({ type }) => type === 'action_result')!;
      expect(result.data).to.deep.include({ reconciled, rehearsal: false, vcs: null });
      expect(reports.filter((line) => line !== 'output: at work')).to.deep.equal([
        'started: Do create_branch',
        `${state}: ${message}`,
      ]);
    });
  }

  it('ends an execution where who may approve cannot be read for a moment, and refuses nothing', async () => {
    await approved();
    await store.append(runId, () => [starting('exe_2')]);
    approvals = () => {
      throw new Unavailable('database_unavailable', 'tokens cannot be checked for 40 s');
    };
    expect(codeOf(await failure(going({ effects: [done] })))).to.equal('database_unavailable');
    expect((await store.read(runId)).actions[0]?.state).to.equal('pending');
    approvals = () => withoutRules;
    expect((await going({ effects: [done] })).state).to.equal('succeeded');
  });

  it('waits for a look at who may approve, before each action and before its intent', async () => {
    await approved();
    await store.append(runId, () => [starting('exe_2')]);
    let seen = false;
    approvals = () => {
      if (!seen) throw new Unavailable('database_unavailable', 'tokens cannot be checked for 40 s');
      // Another pause follows each reading.
      seen = false;
      return withoutRules;
    };
    fresh = async () => {
      await setImmediate();
      seen = true;
    };
    expect((await going({ effects: [done] })).state).to.equal('succeeded');
  });

  it('ends an execution whose record cannot be read for a moment, and refuses nothing', async () => {
    await approved();
    await store.append(runId, () => [starting('exe_2')]);
    const read = store.requireArtifacts.bind(store);
    store.requireArtifacts = () =>
      Promise.reject(new Unavailable('database_unavailable', 'the database does not answer'));
    const error = await going({ effects: [done] }).catch((thrown: unknown) => thrown);
    expect(error).to.have.property('code', 'database_unavailable');
    expect((await store.read(runId)).actions[0]?.state).to.equal('pending');
    store.requireArtifacts = read;
    expect((await going({ effects: [done] })).state).to.equal('succeeded');
  });

  for (const code of ['database_unavailable', 'objects_unavailable', 'lease_lost']) {
    it(`ends the execution where ${code} says that nobody knows who has the run, and is found out when it is resumed`, async () => {
      await approved();
      await store.append(runId, () => [starting('exe_2')]);
      const nobody = new Unavailable(code, 'the lease is not known to be held');
      expect(codeOf(await failure(going({ effects: [nobody] })))).to.equal(code);
      const { actions, execution } = await store.read(runId);
      expect(actions[0]?.outcome).to.equal(null);
      expect(execution?.finished).to.equal(false);
      await store.append(runId, () => [starting('exe_2')]);
      expect(codeOf(await failure(going({ answers: [nobody] })))).to.equal(code);
      await store.append(runId, () => [starting('exe_2')]);
      const action = await going({ answers: [{ kind: 'done', effect: done }] });
      expect(action.state).to.equal('succeeded');
    });
  }

  for (const code of ['database_unavailable', 'objects_unavailable'])
    it(`ends the execution where its safeguards find ${code}, and refuses nothing`, async () => {
      const check = new Unavailable(code, 'it does not answer');
      await approved();
      await store.append(runId, () => [starting('exe_2')]);
      expect(codeOf(await failure(going({ check })))).to.equal(code);
      expect((await store.read(runId)).actions[0]?.state).to.equal('pending');
      await store.append(runId, () => [{ type: 'action_intent', data: begun }, starting('exe_2')]);
      expect(codeOf(await failure(going({ check, answers: [again] })))).to.equal(code);
      expect((await store.read(runId)).actions[0]?.state).to.equal('unknown');
      expect((await going({ answers: [again], effects: [done] })).state).to.equal('succeeded');
    });

  it('is asked for at once when the effect itself was not answered', async () => {
    await approved();
    const action = await executed({ effects: [lost], answers: [{ kind: 'done', effect: done }] });
    expect(calls).to.deep.equal(['check', 'perform 1 approved', 'ask 1']);
    const states = (await store.events(runId)).flatMap(({ type, data }) =>
      type === 'action_result' ? [[data.state, data.reconciled]] : [],
    );
    expect(states).to.deep.equal([
      ['unknown', false],
      ['succeeded', true],
    ]);
    expect(action.outcome?.facts).to.deep.equal({ branch: 'x' });
    expect(reports).to.include('output: at work');
    const { run, action: definition, state, repo_dir, dry_run, signal } = seen;
    expect([run.run_id, definition.action_id, state.definition.action_id]).to.deep.equal([
      runId,
      first,
      first,
    ]);
    expect({ repo_dir, dry_run, aborted: signal.aborted }).to.deep.equal({
      repo_dir: null,
      dry_run: false,
      aborted: false,
    });
  });

  it('is not done again when its approval has expired meanwhile', async () => {
    await killed('2026-01-01T00:00:00.000Z');
    const action = await executed({ answers: [again], effects: [done] });
    expect(calls).to.deep.equal(['ask 1']);
    expect([action.state, action.outcome?.code]).to.deep.equal(['refused', 'approval_expired']);
    expect(reports[1]).to.equal(`refused: ${action.outcome?.message}`);
  });

  it('is not done again when the run is cancelled meanwhile', async () => {
    await killed();
    const cancel: NewEvent = { type: 'cancel_requested', data: { by: 'mira', reason: null } };
    const meanwhile = () => store.append(runId, () => [cancel]);
    const action = await executed({ answers: [again], effects: [done], meanwhile });
    expect(calls).to.deep.equal(['ask 1', 'check']);
    expect(action.state).to.equal('refused');
    expect(action.outcome).to.deep.equal({ code: 'cancelled', message: 'the run was cancelled', facts: {} });
  });

  it('is left to the execution that began meanwhile, or after this one ended', async () => {
    await killed();
    const meanwhile = () => store.append(runId, () => [starting('exe_3')]);
    const world: World = { answers: [{ kind: 'done', effect: done }], meanwhile };
    const error = await executed(world).catch((error) => error);
    expect(codeOf(error)).to.equal('execution_superseded');
    expect(error.message).to.equal(`another execution of run ${runId} has begun; this one ends`);
    expect((await store.read(runId)).actions[0]!.state).to.equal('unknown');
    const data = { execution_id: 'exe_2', stopped: null, message: '' };
    const finish = () => store.append(runId, () => [{ type: 'execution_finished', data }]);
    expect(codeOf(await executed({ ...world, meanwhile: finish }).catch((error) => error))).to.equal(
      'execution_superseded',
    );
  });

  it('has failed, and is not unknown, when the forge refuses it for longer than an execution waits', async () => {
    await approved();
    const refused = new RateLimited('forge_busy', 'too many requests', { retryAfter: 3_600 });
    const action = await executed({ effects: [refused], maxWait: 1000 });
    expect(action.state).to.equal('failed');
    const { resume_at } = action.outcome!.facts;
    const resumed = await executed({ effects: [done] });
    expect(resumed.outcome).to.deep.equal(action.outcome);
    expect(calls).to.deep.equal(['check', 'perform 1 approved']);
    const waits = `failed: asked to wait; nothing is sent before ${resume_at}, resume then`;
    expect(reports.filter((line) => line.startsWith('failed'))).to.deep.equal([waits, waits]);
  });

  it('is sent once more, with nothing asked in between, when the limit that refused it has ended', async () => {
    await approved();
    const refused = new RateLimited('forge_busy', 'too many requests', { retryAfter: 0.05 });
    const action = await executed({ effects: [refused, done], maxWait: 60_000 });
    expect(action.state).to.equal('succeeded');
    expect(calls).to.deep.equal(['check', 'perform 1 approved', 'check', 'perform 2 approved']);
  });

  it('has failed when it is refused a second time', async () => {
    await approved();
    const refused = new RateLimited('forge_busy', 'too many requests', { retryAfter: 0.05 });
    const action = await executed({ effects: [refused, refused], maxWait: 60_000 });
    expect(action.state).to.equal('failed');
    expect(calls.filter((call) => call.startsWith('perform'))).to.have.length(2);
  });

  it('is asked for later when the forge asks to wait for longer than an execution waits', async () => {
    await approved();
    const action = await executed({ effects: [waitAnHour], maxWait: 1000 });
    expect(action.state).to.equal('unknown');
    const { resume_at } = action.outcome!.facts;
    expect(Date.parse(String(resume_at)) - Date.now()).to.be.within(3_500_000, 3_600_000);
    const { code, message, facts } = action.outcome!;
    expect([code, message]).to.deep.equal(['forge_busy', `too many requests; resume after ${resume_at}`]);
    expect(facts).to.deep.equal({ exit_code: 5, resume_at });
    const resumed = await executed({ answers: [{ kind: 'done', effect: done }] });
    expect(resumed.outcome).to.deep.equal(action.outcome);
    expect(calls).to.deep.equal(['check', 'perform 1 approved']);
    const waits = `unknown: asked to wait; nothing is sent before ${resume_at}, resume then`;
    expect(reports.filter((line) => line.startsWith('unknown'))).to.deep.equal([waits, waits]);
  });

  it('keeps the time that it was asked to wait for, when asking meets it', async () => {
    await killed();
    const action = await executed({ answers: [waitAnHour] });
    expect(action.outcome?.message).to.equal('outcome unknown, and asking failed: too many requests');
    expect(Object.keys(action.outcome!.facts)).to.deep.equal(['exit_code', 'resume_at']);
  });

  it('is asked for after the time that the forge asks for, when that is short', async () => {
    await approved();
    const world: World = { effects: [waitAMoment], answers: [{ kind: 'done', effect: done }], maxWait: 1000 };
    const action = await executed(world);
    expect(action.state).to.equal('succeeded');
    expect(calls).to.deep.equal(['check', 'perform 1 approved', 'ask 1']);
    expect(reports).to.include('output: asked to wait; going on in 1 s');
    const [sent, asked] = (await store.events(runId)).filter(({ type }) => type === 'action_result');
    expect(
      asked!.at >= String((sent!.data as { outcome: ActionState['outcome'] }).outcome!.facts.resume_at),
    ).to.equal(true);
  });

  it('is not waited for when a person stops the execution', async () => {
    await approved();
    const soon = new Unavailable('forge_busy', 'too many requests', { retryAfter: 60 });
    const running = executed({ effects: [soon], maxWait: 600_000 });
    const said = setInterval(() => {
      if (reports.some((line) => line.includes('going on in'))) stop.abort();
    }, 5);
    const action = await running.finally(() => clearInterval(said));
    expect(action.state).to.equal('unknown');
    expect(calls).to.deep.equal(['check', 'perform 1 approved']);
    const { resume_at } = action.outcome!.facts;
    expect(reports.slice(1, 4)).to.deep.equal([
      'output: at work',
      'output: asked to wait; going on in 60 s',
      `unknown: asked to wait; nothing is sent before ${resume_at}, resume then`,
    ]);
  });

  for (const [what, error, state, code] of [
    [
      'is to be asked for again when a person stopped it',
      new Interrupted('stopped', 'was stopped'),
      'unknown',
      'stopped',
    ],
    [
      'is known to have failed when the effect failed',
      new CoreError('broken', 'it broke'),
      'failed',
      'broken',
    ],
  ] as const) {
    it(what, async () => {
      await approved();
      const action = await executed({ effects: [error] });
      expect([action.state, action.outcome?.code, action.outcome?.message]).to.deep.equal([
        state,
        code,
        error.message,
      ]);
      expect(action.outcome?.facts).to.deep.equal({ exit_code: error.exitCode });
      expect(calls).to.deep.equal(['check', 'perform 1 approved']);
    });
  }

  it('is known to have failed by an error of any other kind', async () => {
    await approved();
    const action = await executed({ effects: [new TypeError('no such method')] });
    expect(action.state).to.equal('failed');
    expect(action.outcome).to.deep.equal({ code: 'internal', message: 'no such method', facts: {} });
  });

  it('is begun again, and not asked for, when it is known to have failed', async () => {
    await killed();
    await store.append(runId, () => [resulted(first, { state: 'failed' })]);
    const action = await executed({ effects: [done] });
    expect(calls).to.deep.equal(['check', 'perform 2 approved']);
    expect([action.state, action.intent?.attempt]).to.deep.equal(['succeeded', 2]);
  });

  it('is not begun where it was not approved, or a safeguard says no', async () => {
    await approved();
    await store.append(runId, ({ actions }) => [decided(actions[0]!.definition, 'reject')]);
    const rejected = await executed({ effects: [done] });
    expect([rejected.state, rejected.outcome?.code, calls]).to.deep.equal(['refused', 'action_rejected', []]);
    await store.append(runId, ({ actions }) => [decided(actions[0]!.definition)]);
    const check = new Refused('branch_protected', 'main is protected');
    const refused = await executed({ effects: [done], check });
    expect([refused.state, refused.outcome]).to.deep.equal([
      'refused',
      { code: 'branch_protected', message: 'main is protected', facts: { exit_code: 3 } },
    ]);
    expect(calls).to.deep.equal(['check']);
    expect(reports.at(-1)).to.equal('refused: main is protected');
  });

  type CreateBranch = ActionOf<'create_branch'>;

  /** Plans a run with this definition and this seal, and approves it. */
  async function sealedWith(
    make: (action: CreateBranch) => readonly [definition: ActionDefinition, seal: string],
  ): Promise<void> {
    runId = (await store.create(sampleRequest())).run_id;
    const [action, digest] = make(sampleAction(runId, 1, 'create_branch') as CreateBranch);
    for (const content of ['content', 'one']) await store.putArtifact(runId, content);
    const sealed = [{ action_id: action.action_id, digest }];
    await store.append(runId, () =>
      planned(runId, 1).map((event) => {
        if (event.type === 'action_proposed') return { ...event, data: { action } };
        if (event.type !== 'plan_sealed') return event;
        return { ...event, data: { plan: { ...event.data.plan, sealed } } };
      }),
    );
    await store.append(runId, ({ actions }) => [decided(actions[0]!.definition, 'approve')]);
  }
  const otherBranch = (action: CreateBranch): CreateBranch => ({
    ...action,
    params: { ...action.params, branch: 'core/2-y' },
  });

  it('is not begun where its sealed definition contradicts itself', async () => {
    await sealedWith((action) => {
      const other = otherBranch(action);
      const digest = actionDigest(other);
      return [{ ...other, digest }, digest];
    });
    const { state, outcome } = await executed({});
    expect([calls, state, outcome?.code, outcome?.message]).to.deep.equal([
      ...[[], 'refused', 'definition_inconsistent'],
      "the definition contradicts itself: params.branch is 'core/2-y', and target.branch 'core/1-x'; plan the issue again",
    ]);
  });

  it('is not begun where its definition is not what was sealed, or not what its digest says', async () => {
    const changes: Parameters<typeof sealedWith>[0][] = [
      (action) => [action, '0'.repeat(64)],
      (action) => [{ ...action, digest: '0'.repeat(64) }, action.digest],
      (action) => [otherBranch(action), action.digest],
    ];
    for (const change of changes) {
      await sealedWith(change);
      const { state, outcome } = await executed({});
      expect([calls, state, outcome?.code]).to.deep.equal([[], 'refused', 'digest_mismatch']);
    }
    const [{ definition, outcome }] = (await store.read(runId)).actions as [ActionState];
    expect(outcome?.message).to.equal(
      `the action's digest is ${actionDigest(definition).slice(0, 12)}, sealed was ${definition.digest.slice(0, 12)}; run 'verify'`,
    );
  });

  it('is not asked for once it is known', async () => {
    await killed();
    await store.append(runId, () => [resulted(first)]);
    await executed({});
    expect([calls, reports]).to.deep.equal([[], []]);
  });
});
