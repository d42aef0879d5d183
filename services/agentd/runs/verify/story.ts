import type { Approval } from '../../action.ts';
import { actionDigest } from '../../actions/registry.ts';
import type { FoundProblem } from '../../agent.ts';
import { progressOf, withDecision } from '../../approval/progress.ts';
import type { DataOf, PlanFacts, RunEvent } from '../event.ts';
import { termsOf } from '../log/fold.ts';
import { logName } from '../log/run-folder.ts';

interface Story {
  readonly runId: string;
  readonly proposed: Map<
    string,
    { readonly event: RunEvent; readonly action: DataOf<'action_proposed'>['action'] }
  >;
  plan: PlanFacts | null;
  readonly sealed: Map<string, string>;
  /** The latest of each person, by action, oldest first. */
  readonly decisions: Map<string, readonly Approval[]>;
  /** Names of deciders by the digest of their tokens. */
  readonly deciders: Map<string, string>;
  /** Digests of tokens that were rotated. */
  readonly rotated: Set<string>;
  readonly started: Set<string>;
  /** Actions that were refused since they last started: to go on they need a new decision. */
  readonly refused: Set<string>;
  /** Actions whose intent has no result yet, in this execution. */
  readonly open: Set<string>;
  readonly succeeded: Set<string>;
  /** Number of the pull request that the run opened. */
  pullRequest: number | null;
  dryRun: boolean;
  /** The newer run that took its place. */
  supersededBy: string | null;
}

/**
 * Checks that the events describe an allowed history: definitions are those that were sealed, approvals name them, and nothing
 * was started without an approval in force, or by two executors at the same time.
 */
/** @param log name of the log, for problems */
export function checkStory(
  runId: string,
  events: readonly RunEvent[],
  log: string = logName,
): FoundProblem[] {
  const story: Story = {
    runId,
    proposed: new Map(),
    plan: null,
    sealed: new Map(),
    decisions: new Map(),
    deciders: new Map(),
    rotated: new Set(),
    started: new Set(),
    refused: new Set(),
    open: new Set(),
    succeeded: new Set(),
    pullRequest: null,
    dryRun: false,
    supersededBy: null,
  };
  const problems: FoundProblem[] = [];
  for (const event of events) {
    for (const what of judge(story, event))
      problems.push({ where: `${log} line ${event.seq} (${event.type})`, what });
  }
  if (events[0] !== undefined && events[0].type !== 'run_created') {
    problems.unshift({
      where: `${log} line 1`,
      what: `the first event is ${events[0].type} and must be run_created`,
    });
  }
  return problems;
}

function judge(story: Story, event: RunEvent): string[] {
  switch (event.type) {
    case 'run_created':
      return event.seq === 1 ? [] : ['a run is created once, by its first event'];
    case 'planning_started':
      if (story.plan === null) story.proposed.clear();
      return [];
    case 'action_proposed':
      return judgeProposal(story, event, event.data.action);
    case 'plan_sealed':
      return judgeSeal(story, event.data.plan);
    case 'approval_recorded':
      return judgeApproval(story, event.data.action_id, event.data.approval);
    case 'token_rotated':
      return judgeRotation(story, event.data);
    case 'execution_started':
      story.dryRun = event.data.dry_run;
      story.open.clear();
      return [];
    case 'action_intent':
      return judgeIntent(story, event.data.action_id, event.at);
    case 'action_refused':
      if (!story.dryRun && event.data.outcome.code !== 'approval_required')
        story.refused.add(event.data.action_id);
      return [];
    case 'action_result':
      return judgeResult(story, event.data);
    case 'run_superseded':
      story.supersededBy = event.data.by_run;
      return story.started.size === 0 ? [] : ['it was superseded after an action had started'];
    case 'record_recovered':
      return judgeRecovery(story, event.data);
    case 'pull_request_seen':
      return judgePullRequest(story, event.data.number);
    default:
      return [];
  }
}

function judgeProposal(story: Story, event: RunEvent, action: DataOf<'action_proposed'>['action']): string[] {
  const { action_id, run_id, digest } = action;
  const problems: string[] = [];
  if (story.plan !== null) problems.push(`${action_id} was proposed after the plan was sealed`);
  if (story.proposed.has(action_id)) problems.push(`${action_id} was proposed twice`);
  if (run_id !== story.runId) problems.push(`${action_id} belongs to run ${run_id}`);
  const actual = actionDigest(action);
  if (actual !== digest) {
    problems.push(
      `the definition of ${action_id} was changed: it gives the digest ${actual} and says ${digest}`,
    );
  }
  story.proposed.set(action_id, { event, action });
  return problems;
}

function judgeSeal(story: Story, plan: PlanFacts): string[] {
  if (story.plan !== null) return ['a plan is sealed once'];
  story.plan = plan;
  const problems: string[] = [];
  for (const { action_id, digest } of plan.sealed) {
    story.sealed.set(action_id, digest);
    const proposal = story.proposed.get(action_id);
    if (proposal === undefined) {
      problems.push(`${action_id} is sealed, but was never proposed`);
      continue;
    }
    const actual = actionDigest(proposal.action);
    if (actual === digest) continue;
    problems.push(
      `${action_id} is sealed with ${digest}, but its definition in line ${proposal.event.seq} gives ${actual}`,
    );
  }
  for (const action_id of story.proposed.keys()) {
    if (!story.sealed.has(action_id)) problems.push(`${action_id} was proposed, but is not sealed`);
  }
  return problems;
}

function judgeApproval(story: Story, actionId: string, approval: Approval): string[] {
  const problems: string[] = [];
  const sealed = story.sealed.get(actionId);
  if (sealed === undefined) problems.push(`${actionId} is not in the sealed plan`);
  else if (sealed !== approval.digest) {
    problems.push(`the decision about ${actionId} names the digest ${approval.digest}; sealed is ${sealed}`);
  }
  if (story.supersededBy !== null)
    problems.push(`${actionId} was decided after ${story.supersededBy} had taken the place of the run`);
  if (story.started.has(actionId) && !story.refused.has(actionId))
    problems.push(`${actionId} was decided after it had started`);
  if (approval.decision === 'approve' && approval.expires_at === null)
    problems.push(`the approval of ${actionId} never expires`);
  const { approver, token } = approval;
  if (token !== undefined) {
    if (story.rotated.has(token))
      problems.push(`${actionId} was decided by ${approver} with a token that had been rotated`);
    story.deciders.set(token, approver);
  }
  problems.push(...judgeStanding(story, actionId, approval));
  story.decisions.set(actionId, withDecision(story.decisions.get(actionId) ?? [], approval));
  return problems;
}

function judgeIntent(story: Story, actionId: string, at: string): string[] {
  if (story.dryRun || story.proposed.get(actionId)?.action.dry_run === true) return [];
  story.started.add(actionId);
  story.refused.delete(actionId);
  if (story.open.has(actionId))
    return [`${actionId} was started again while its outcome was open: two executors worked on the run`];
  story.open.add(actionId);
  if (!story.sealed.has(actionId)) return [`${actionId} was started, but is not in the sealed plan`];
  const decisions = story.decisions.get(actionId) ?? [];
  const decision = decisions.at(-1);
  if (decision === undefined) return [`${actionId} was started without an approval`];
  const terms = story.plan === null ? null : termsOf(story.plan, actionId);
  const rejected = terms === null ? decision : decisions.findLast((one) => one.decision === 'reject');
  if (rejected?.decision === 'reject')
    return [`${actionId} was started although ${rejected.approver} had rejected it`];
  if (terms !== null) {
    const { met, text } = progressOf({ terms, digest: story.sealed.get(actionId)! }, decisions, at);
    return met ? [] : [`${actionId} was started at ${at}, approved by ${text}: its rules were not met`];
  }
  if (decision.expires_at !== null && decision.expires_at <= at) {
    return [`${actionId} was started at ${at}, after its approval had expired at ${decision.expires_at}`];
  }
  return [];
}

/** A rotation continues a token that decided here, and each token is continued once. */
function judgeRotation(story: Story, { name, from, to }: DataOf<'token_rotated'>): string[] {
  const problems: string[] = [];
  if (story.deciders.get(from) !== name)
    problems.push(`the token ${from.slice(0, 12)} of ${name} was rotated, but decided nothing here`);
  if (story.rotated.has(from)) problems.push(`the token ${from.slice(0, 12)} of ${name} was rotated twice`);
  if (story.deciders.has(to))
    problems.push(`the token ${from.slice(0, 12)} of ${name} was rotated to one that had decided already`);
  story.rotated.add(from);
  story.deciders.set(to, name);
  return problems;
}

/** A standing approval is one that the plan named, and approves nothing that rules ask people about. */
function judgeStanding({ plan }: Story, actionId: string, { standing, approver }: Approval): string[] {
  if (standing === undefined) return [];
  const use = plan?.approval_terms?.actions.find(({ action_id }) => action_id === actionId);
  if (use?.standing?.digest === standing.digest && use.standing.author === approver) return [];
  return [`the plan does not name the standing approval '${standing.name}' that approves ${actionId}`];
}

function judgeResult(story: Story, result: DataOf<'action_result'>): string[] {
  const { action_id, rehearsal, state } = result;
  if (rehearsal || story.dryRun) return [];
  if (!story.started.has(action_id)) return [`${action_id} has a result, but no intent was written before`];
  story.open.delete(action_id);
  if (state !== 'succeeded') return [];
  if (story.succeeded.has(action_id))
    return [`${action_id} succeeded twice: two executors worked on the run`];
  story.succeeded.add(action_id);
  const { number } = result.outcome.facts;
  if (story.proposed.get(action_id)?.action.kind === 'open_pull_request' && typeof number === 'number') {
    story.pullRequest = number;
  }
  return [];
}

/** Reports each recovery, because a recovered record is never whole again. */
function judgeRecovery(story: Story, { lost, kept, by }: DataOf<'record_recovered'>): string[] {
  for (const action_id of [...story.decisions.keys()]) {
    if (!story.started.has(action_id)) story.decisions.delete(action_id);
  }
  const upTo = lost === null ? '' : ` up to event ${lost.seq} (hash ${lost.hash.slice(0, 12)})`;
  return [
    `the record was cut: what was acknowledged after event ${kept.seq}${upTo} is lost; ${by} let it go on`,
  ];
}

function judgePullRequest(story: Story, number: number): string[] {
  if (story.pullRequest === number) return [];
  if (story.pullRequest === null) return [`pull request #${number} was seen, but the run opened none`];
  return [`pull request #${number} was seen; the run opened #${story.pullRequest}`];
}
