import type { Approval } from '#kit/contracts/action.ts';
import { Failed } from '#kit/errors.ts';
import type { ActionIntent, CheckoutPlace } from '../../action.ts';
import { progressOf, withDecision } from '../../approval/progress.ts';
import type { DataOf, PlanFacts, RunEvent, Usage } from '../event.ts';
import {
  type ActionState,
  type AgentWork,
  type Run,
  type RunStatus,
  runningBecomeUnknown,
  settledStatus,
} from '../run.ts';

/**
 * What the events of a run add up to. Pure: the same events give the same run, wherever and however often they are folded.
 * `interrupted` never comes out of it, because no event says that a process died; see `asSeen`.
 * @throws Failed (`run_damaged`) when the first event is not `run_created`
 */
export function fold(runId: string, events: readonly RunEvent[]): Run {
  const [first, ...rest] = events;
  if (first?.type !== 'run_created') {
    throw new Failed(
      'run_damaged',
      `run ${runId} starts with ${first?.type ?? 'nothing'} and not with run_created`,
    );
  }
  const created: Run = {
    run_id: runId,
    status: 'planning',
    request: first.data.request,
    created_at: first.at,
    updated_at: first.at,
    head: { seq: first.seq, hash: first.hash },
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
  };
  return foldMore(created, rest);
}

/** Folds newer events onto a run. */
export function foldMore(run: Run, events: readonly RunEvent[]): Run {
  let folded = run;
  for (const event of events) {
    folded = {
      ...folded,
      ...change(folded, event),
      updated_at: event.at,
      head: { seq: event.seq, hash: event.hash },
    };
  }
  return folded;
}

function change(run: Run, event: RunEvent): Partial<Run> {
  switch (event.type) {
    case 'run_created':
      return {};
    case 'planning_started':
      // Proposals that were never sealed belong to a planning that died; they are made again.
      return run.plan === null ? { status: 'planning', actions: [], failure: null } : {};
    case 'source_read':
      return { source: event.data, issue: event.data.issue };
    case 'secrets_masked':
      return { masked: [...run.masked, ...event.data.found] };
    case 'planner_prompt':
      return { prompt: event.data.content };
    case 'planner_turn': {
      const { content, tool_calls, usage } = event.data;
      return { turns: [...run.turns, { content, tool_calls }], usage: addUsage(run.usage, usage) };
    }
    case 'agent_started':
      return { agent: startAgent(run.agent, event.data) };
    case 'agent_progressed':
      return agentUsed(run, event.data);
    case 'agent_ended': {
      const used = agentUsed(run, event.data);
      return used.agent == null ? used : { ...used, agent: { ...used.agent, ended: event.data } };
    }
    case 'agent_read_back':
      return run.agent === null ? {} : { agent: { ...run.agent, read_back: event.data } };
    case 'action_proposed':
      requireOwn(run, event.data);
      return { actions: [...run.actions, proposed(event.data)] };
    case 'plan_sealed':
      return {
        plan: event.data.plan,
        actions: withTerms(run.actions, event.data.plan),
        status: settledStatus(run.actions),
      };
    case 'planning_failed':
      return { status: 'failed', failure: event.data, cancelling: false };
    case 'approval_recorded': {
      const { action_id, approval } = event.data;
      return settled(run, decided(run.actions, action_id, approval));
    }
    case 'token_rotated':
      return { rotations: [...run.rotations, event.data] };
    case 'execution_started':
      return startExecution(run, event.data);
    case 'workspace_opened':
      return { workspace: event.data };
    case 'action_refused':
      return { actions: refuse(run, event.data) };
    case 'action_intent':
      // A dry run has no effect that could be unknown.
      if (run.execution?.dry_run === true) return {};
      return { actions: begin(run, event.data, event.at) };
    case 'action_result':
      return { actions: finishAction(run, event.data, event.at) };
    case 'execution_finished':
      return finishExecution(run, event.data);
    case 'cancel_requested':
      return { cancel: event.data, cancelling: true };
    case 'run_cancelled':
      return { status: 'cancelled', cancelling: false, actions: runningBecomeUnknown(run.actions) };
    case 'run_superseded':
      return { status: 'superseded', superseded_by: event.data.by_run };
    case 'base_seen':
      return { base_moved: event.data.files.length === 0 ? null : event.data };
    case 'issue_seen':
      return { issue_changed: event.data.changed };
    case 'repository_seen': {
      const { owner, repo } = run.plan?.target ?? run.request;
      return { renamed: owner === event.data.owner && repo === event.data.repo ? null : event.data };
    }
    case 'undo_started':
      return {
        status: 'executing',
        actions: runningBecomeUnknown(run.actions),
        undo: { ...event.data, finished: false, complete: false, results: [], intents: [] },
      };
    case 'undo_intent':
      return run.undo === null ? {} : { undo: { ...run.undo, intents: [...run.undo.intents, event.data] } };
    case 'undo_result': {
      if (run.undo === null) return {};
      const undo = { ...run.undo, results: [...run.undo.results, event.data] };
      if (event.data.state !== 'undone') return { undo };
      return { undo, actions: withAction(run, event.data.action_id, { state: 'undone' }) };
    }
    case 'undo_finished': {
      if (run.undo === null) return {};
      const { complete } = event.data;
      const stays = run.undo.results.some(({ state }) => state === 'kept');
      const status = complete && !stays ? 'undone' : endedStatus(run.actions);
      return { undo: { ...run.undo, finished: true, complete }, status, cancelling: false };
    }
    case 'record_recovered':
      return {
        ...settled(run, undecided(run.actions)),
        recoveries: [...run.recoveries, { ...event.data, at: event.at }],
      };
    case 'pull_request_seen':
      return { pull_request: { ...event.data, at: event.at } };
    default:
      return unknownEvent(event);
  }
}

/** A rejection may be among what was lost: whatever has not started is decided again. */
function undecided(actions: readonly ActionState[]): readonly ActionState[] {
  return actions.map((action) =>
    action.intent === null
      ? { ...action, approval: 'required', decision: null, decisions: [], state: 'pending', outcome: null }
      : action,
  );
}

function withTerms(actions: readonly ActionState[], plan: PlanFacts): readonly ActionState[] {
  return actions.map((action) => ({ ...action, terms: termsOf(plan, action.definition.action_id) }));
}

/** Approval rules of an action in the sealed plan; null if there are none. */
export function termsOf({ approval_terms: terms }: PlanFacts, actionId: string): ActionState['terms'] {
  const rules = terms?.actions.find(({ action_id }) => action_id === actionId)?.rules ?? [];
  if (terms === undefined || rules.length === 0) return null;
  return { requesters: terms.requesters, code_owners: terms.code_owners, rules };
}

/** An action that was refused or blocked waits again after a decision. */
function decided(
  actions: readonly ActionState[],
  actionId: string,
  approval: Approval,
): readonly ActionState[] {
  return actions.map((action) => {
    if (action.definition.action_id !== actionId) return action;
    const after = { ...action, ...decisionsWith(action, approval) };
    const waits = action.state === 'refused' || action.state === 'blocked';
    return waits ? { ...after, state: 'pending', outcome: null } : after;
  });
}

/**
 * Without rules, the last decision of any person counts. With rules, the last decision of each person counts. One rejection rejects.
 * Approvals approve once they meet every rule at the time of the last approval.
 */
function decisionsWith(
  { definition: { digest }, terms, decisions: before }: ActionState,
  approval: Approval,
): Pick<ActionState, 'approval' | 'decision' | 'decisions'> {
  const decisions = withDecision(before, approval);
  if (terms === null) {
    const state = approval.decision === 'approve' ? 'approved' : 'rejected';
    return { approval: state, decision: approval, decisions };
  }
  const rejection = decisions.findLast(({ decision }) => decision === 'reject');
  if (rejection !== undefined) return { approval: 'rejected', decision: rejection, decisions };
  if (progressOf({ terms, digest }, decisions, approval.at).met)
    return { approval: 'approved', decision: approval, decisions };
  return { approval: 'required', decision: null, decisions };
}

function unknownEvent(event: never): never {
  throw new Failed('run_damaged', `event type ${(event as RunEvent).type} is not known`);
}

/** Refuses actions of another run, so that copied events cannot carry approvals to this run. @throws Failed (`run_damaged`) */
function requireOwn({ run_id }: Run, { action }: DataOf<'action_proposed'>): void {
  if (action.run_id === run_id) return;
  throw new Failed(
    'run_damaged',
    `run ${run_id} has the events of another run: ${action.action_id} belongs to run ${action.run_id}`,
  );
}

function proposed({ action }: DataOf<'action_proposed'>): ActionState {
  return {
    definition: action,
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
  };
}

function withAction(run: Run, actionId: string, change: Partial<ActionState>): readonly ActionState[] {
  return run.actions.map((action) =>
    action.definition.action_id === actionId ? { ...action, ...change } : action,
  );
}

/** A decision changes the status of a run only if no work is in progress and the run has not ended. */
function settled(run: Run, actions: readonly ActionState[]): Partial<Run> {
  // Without a plan there is nothing to decide: planning is in progress or has failed.
  const fixed =
    run.plan === null || run.undo !== null || ['executing', 'cancelled', 'superseded'].includes(run.status);
  return fixed ? { actions } : { actions, status: settledStatus(actions) };
}

/** Status of a run that no longer waits, because its execution failed or its undo has begun. */
function endedStatus(actions: readonly ActionState[]): RunStatus {
  const status = settledStatus(actions);
  if (status !== 'awaiting_approval') return status;
  return actions.some(({ state }) => state === 'succeeded') ? 'partially_completed' : 'failed';
}

function startExecution(run: Run, execution: DataOf<'execution_started'>): Partial<Run> {
  const actions = runningBecomeUnknown(run.actions).map((action) => {
    const again = action.state === 'refused' || action.state === 'blocked';
    if (execution.dry_run || !again || !execution.selected.includes(action.definition.action_id))
      return action;
    return { ...action, state: 'pending' as const, outcome: null };
  });
  return {
    status: 'executing',
    actions,
    failure: null,
    cancelling: false,
    execution: { ...execution, finished: false, message: null },
  };
}

function begin(run: Run, intent: ActionIntent, at: string): readonly ActionState[] {
  return run.actions.map((action) => {
    if (action.definition.action_id !== intent.action_id) return action;
    const deliver_to = intent.deliver_to ?? unnotedPlace(run, action);
    const deliveries =
      deliver_to === undefined ? action.deliveries : [...action.deliveries, { ...intent, deliver_to }];
    return { ...action, state: 'running', intent, deliveries, started_at: at, finished_at: null };
  });
}

/** Checkout of a commit in records of older versions, which stored it only with the execution. */
function unnotedPlace({ execution }: Run, { definition }: ActionState): CheckoutPlace | undefined {
  const dir = execution?.repo_dir;
  return typeof dir === 'string' && definition.kind === 'commit'
    ? { host: null, dir, repository: null }
    : undefined;
}

/** A refusal in a dry run is shown and leaves the state unchanged. Actions without approval keep waiting. */
function refuse(run: Run, { action_id, state, outcome }: DataOf<'action_refused'>): readonly ActionState[] {
  if (outcome.code === 'approval_required') return run.actions;
  return run.actions.map((action) => {
    if (action.definition.action_id !== action_id || action.state === 'succeeded') return action;
    return run.execution?.dry_run === true ? { ...action, outcome } : { ...action, state, outcome };
  });
}

function finishAction(run: Run, result: DataOf<'action_result'>, at: string): readonly ActionState[] {
  return run.actions.map((action) => {
    if (action.definition.action_id !== result.action_id) return action;
    if (result.rehearsal) return checked(action, result);
    return {
      ...action,
      state: result.state,
      outcome: result.outcome,
      vcs: result.vcs ?? action.vcs,
      finished_at: result.state === 'unknown' ? null : at,
    };
  });
}

function checked(action: ActionState, { outcome }: DataOf<'action_result'>): ActionState {
  if (action.state === 'running')
    return { ...action, state: 'pending', intent: null, started_at: null, outcome };
  return action.state === 'pending' ? { ...action, outcome } : action;
}

function finishExecution(run: Run, finish: DataOf<'execution_finished'>): Partial<Run> {
  if (run.execution === null) return {};
  const actions = runningBecomeUnknown(run.actions);
  const common = {
    actions,
    cancelling: false,
    execution: { ...run.execution, finished: true, message: finish.message },
  };
  if (finish.stopped === 'cancelled') return { ...common, status: 'cancelled' };
  if (finish.stopped === null) return { ...common, status: settledStatus(actions) };
  const failure = { code: 'execution_failed', message: finish.message };
  return { ...common, failure, status: endedStatus(actions) };
}

function startAgent(before: AgentWork | null, started: DataOf<'agent_started'>): AgentWork {
  return {
    started,
    program: before?.program ?? null,
    seconds_before: (before?.seconds_before ?? 0) + (before?.seconds ?? 0),
    seconds: 0,
    turns: before?.turns ?? null,
    ended: null,
    read_back: null,
    transcript: before?.transcript ?? [],
  };
}

/** Uses the newest count, because the gateway counts tokens and money of the whole run. */
function agentUsed(run: Run, used: DataOf<'agent_progressed'>): Partial<Run> {
  if (run.agent === null) return {};
  const { seconds, turns, usage, program, transcript } = used;
  return {
    usage: usage ?? run.usage,
    agent: {
      ...run.agent,
      program: program ?? run.agent.program,
      seconds,
      turns: turns ?? run.agent.turns,
      transcript: transcript === null ? run.agent.transcript : [...run.agent.transcript, transcript],
    },
  };
}

/** Tokens and money of all turns; a turn without a price makes the whole cost unknown. */
function addUsage(sum: Usage | null, more: Usage): Usage {
  if (sum === null) return more;
  return {
    ...more,
    input_tokens: sum.input_tokens + more.input_tokens,
    output_tokens: sum.output_tokens + more.output_tokens,
    cached_tokens: sum.cached_tokens + more.cached_tokens,
    cost: sum.cost === null || more.cost === null ? null : sum.cost + more.cost,
  };
}
