import { approverText } from '#kit/contracts/action.ts';
import type { OutcomeRecord, PlanRecord } from '#kit/contracts/context/execution.ts';
import { counted } from '#kit/counted.ts';
import { subjectOf } from '#kit/repository-name.ts';
import { contextRepository } from '../planning/context.ts';
import { isTrustedAssociation } from '../planning/influences.ts';
import type { RunEvent } from '../runs/event.ts';
import type { ActionState, Run } from '../runs/run.ts';

const maxFiles = 2_000;

/** The run as it was planned; null while there is nothing to deliver: its issue was never read, or planning goes on. */
export function planRecord(run: Run, events: readonly RunEvent[], issueBody: string): PlanRecord | null {
  const ended =
    events.find(({ type }) => type === 'plan_sealed') ??
    events.findLast(({ type }) => type === 'planning_failed' || type === 'run_cancelled');
  if (run.issue === null || ended === undefined) return null;
  const { request, issue, plan, usage } = run;
  return {
    run_id: run.run_id,
    seq: ended.seq,
    created_at: run.created_at,
    planned_at: ended.at,
    repository: contextRepository(request),
    role: wireLine(request.role),
    planner: wireLine(request.planner),
    status: run.status,
    dry_run: request.dry_run,
    issue: {
      number: request.number,
      title: wireLine(issue.title),
      body: wireText(issueBody, 20_000),
      state: wireLine(issue.state),
      author: wireLine(issue.author),
      association: wireLine(issue.association),
      url: issue.html_url === null ? null : wireLine(issue.html_url, 4_000),
    },
    title: plan === null ? null : wireLine(plan.title),
    summary: plannedText(run),
    model:
      usage === null
        ? null
        : { provider: wireLine(usage.provider), model: wireLine(usage.model), tier: wireLine(usage.tier) },
    recovery_branch: plan?.target.branch ?? null,
    base_commit: run.source?.base_commit ?? null,
    files: changedFiles(run.actions).slice(0, maxFiles),
    artifacts: plan?.patch == null ? [] : [{ sha256: plan.patch, title: `patch of ${run.run_id}` }],
    actions: run.actions.map(({ definition }) => {
      const { action_id, ordinal, kind, gate, title, risk, risk_score, dry_run, digest } = definition;
      return { action_id, ordinal, kind, gate, title: wireLine(title), risk, risk_score, dry_run, digest };
    }),
  };
}

/** Paths of the run's change, those of renamed files too. */
export function changedFiles(actions: readonly ActionState[]): string[] {
  const patch = actions.find(({ definition }) => definition.kind === 'apply_patch')?.definition;
  if (patch?.kind !== 'apply_patch') return [];
  const paths = patch.params.files.flatMap(({ path, old_path }) =>
    old_path === null ? [path] : [path, old_path],
  );
  return [...new Set(paths)].filter((path) => path.length <= 4_000 && path.isWellFormed());
}

function plannedText({ request, actions, failure }: Run): string {
  if (failure !== null && actions.length === 0) return wireText(`planning failed: ${failure.message}`, 4_000);
  const kinds = actions.map(({ definition }) => definition.kind).join(', ');
  return `${request.role} proposed ${counted(actions.length, 'action')}: ${kinds}`;
}

const ended: readonly string[] = [
  'completed',
  'partially_completed',
  'failed',
  'rejected',
  'undone',
  'cancelled',
];

/** What became of a run so far, without its episodes. */
export function outcomeRecord(run: Run, events: readonly RunEvent[]): Omit<OutcomeRecord, 'episodes'> {
  const { usage } = run;
  return {
    run_id: run.run_id,
    seq: run.head.seq,
    at: run.updated_at,
    status: run.status,
    actions: run.actions.map((action) => actionRecord(action, events)),
    validation: validationOf(run),
    pull_request: pullRequestOf(run),
    usage:
      usage === null
        ? null
        : {
            provider: wireLine(usage.provider),
            model: wireLine(usage.model),
            tier: wireLine(usage.tier),
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cost: usage.cost,
          },
    errors: errorsOf(run),
    artifacts: artifactsOf(run),
    summary: ended.includes(run.status) ? summaryOf(run) : null,
  };
}

function actionRecord(
  { definition, approval, decision, state, outcome, finished_at }: ActionState,
  events: readonly RunEvent[],
): OutcomeRecord['actions'][number] {
  const { action_id } = definition;
  const rejections = events.flatMap((event) =>
    event.type === 'approval_recorded' &&
    event.data.action_id === action_id &&
    event.data.approval.decision === 'reject' &&
    event.data.approval.at !== decision?.at
      ? [event.data.approval]
      : [],
  );
  return {
    action_id,
    approval,
    decided_by: decision === null ? null : wireLine(approverText(decision)),
    decided_at: decision?.at ?? null,
    reason: decision?.reason == null ? null : wireText(decision.reason, 9_000),
    earlier_rejections: rejections.map(({ approver, at, reason }) => ({
      by: wireLine(approver),
      at,
      reason: wireText(reason ?? '', 9_000),
    })),
    state,
    code: outcome?.code ?? null,
    message: outcome === null ? null : wireText(outcome.message, 9_000),
    finished_at,
  };
}

function validationOf({ actions }: Run): OutcomeRecord['validation'] {
  const outcome = actions.find(({ definition }) => definition.kind === 'run_validation')?.outcome;
  if (typeof outcome?.facts.passed !== 'boolean') return null;
  return { passed: outcome.facts.passed, message: wireText(outcome.message, 9_000) };
}

/** As the forge was seen to have it; until somebody asks, as it was opened or taken back. */
function pullRequestOf(run: Run): OutcomeRecord['pull_request'] {
  const opened = run.actions.find(({ definition }) => definition.kind === 'open_pull_request');
  const { number, url } = opened?.outcome?.facts ?? {};
  if (opened === undefined || typeof number !== 'number') return null;
  const at = opened.finished_at ?? run.updated_at;
  const address = typeof url === 'string' ? wireLine(url, 4_000) : null;
  const seen = run.pull_request;
  if (opened.state === 'undone')
    return { number, url: address, state: 'closed', checks: seen?.checks ?? 'none', at };
  if (seen !== null) {
    return { number, url: address, state: seen.state, checks: seen.checks, at: seen.ended_at ?? seen.at };
  }
  return opened.state === 'succeeded' ? { number, url: address, state: 'open', checks: 'none', at } : null;
}

function errorsOf({ failure, actions }: Run): OutcomeRecord['errors'] {
  const failed = actions.flatMap(({ definition, state, outcome }) =>
    outcome !== null && ['failed', 'unknown', 'refused'].includes(state)
      ? [
          {
            code: outcome.code ?? state,
            message: wireText(`${definition.ordinal} ${definition.kind}: ${outcome.message}`, 9_000),
          },
        ]
      : [],
  );
  const all =
    failure === null
      ? failed
      : [{ code: failure.code, message: wireText(failure.message, 9_000) }, ...failed];
  return all.slice(0, 20);
}

function artifactsOf({ run_id, actions }: Run): OutcomeRecord['artifacts'] {
  const report = actions.find(({ definition }) => definition.kind === 'run_validation')?.outcome?.facts
    .report;
  if (typeof report !== 'string' || !/^[0-9a-f]{64}$/.test(report)) return [];
  return [{ sha256: report, title: `validation report of ${run_id}` }];
}

/** A few sentences for later plannings. An outsider's title is left out: what is remembered is read as ours. */
function summaryOf(run: Run): string {
  const { role, planner } = run.request;
  const title =
    run.issue !== null && isTrustedAssociation(run.issue.association)
      ? ` "${wireLine(run.issue.title)}"`
      : '';
  const files = changedFiles(run.actions);
  const on = files.length === 0 ? '' : ` on ${some(files)}`;
  const sentences = [
    `${subjectOf(run.request)}${title}: ${role} (planner ${planner}) proposed ${counted(run.actions.length, 'action')}${on}`,
    `the run is ${run.status.replaceAll('_', ' ')}`,
    ...stateSentences(run.actions),
  ];
  const validation = validationOf(run);
  if (validation !== null) sentences.push(`validation ${validation.passed ? 'passed' : 'failed'}`);
  const pull = pullRequestOf(run);
  if (pull !== null)
    sentences.push(
      `pull request #${pull.number} ${pull.state}${pull.checks === 'none' ? '' : `, checks ${pull.checks}`}`,
    );
  if (run.failure !== null) sentences.push(`failure: ${run.failure.message}`);
  if (run.usage !== null) {
    const { input_tokens, output_tokens, tier, cost } = run.usage;
    const price = cost === null ? '' : `, cost ${cost}`;
    sentences.push(`model tier ${tier}, ${input_tokens} tokens in and ${output_tokens} out${price}`);
  }
  return wireText(`${sentences.join('. ')}.`, 18_000);
}

function stateSentences(actions: readonly ActionState[]): string[] {
  const succeeded = actions.filter(({ state }) => state === 'succeeded').length;
  const others = actions.flatMap(({ definition, approval, decision, state, outcome }) => {
    const { kind } = definition;
    if (state === 'pending' && approval === 'rejected')
      return [`${decision?.approver} rejected ${kind}: ${decision?.reason}`];
    if (['succeeded', 'pending', 'blocked'].includes(state)) return [];
    return [`${kind} ${state}${outcome === null ? '' : `: ${outcome.message}`}`];
  });
  return [...(succeeded === 0 ? [] : [`${succeeded} succeeded`]), ...others];
}

function some(files: readonly string[]): string {
  return files.length <= 5
    ? files.join(', ')
    : `${files.slice(0, 5).join(', ')} and ${files.length - 5} more`;
}

/** A text that core-context can keep: no more than it takes, no NUL, no half characters. */
export function wireText(text: string, max: number): string {
  const clean = text.replaceAll('\0', '\uFFFD').toWellFormed();
  return clean.length <= max ? clean : `${clean.slice(0, max - 1).toWellFormed()}…`;
}

/** The same on one line without control characters. */
export function wireLine(text: string, max = 500): string {
  return wireText(text.replace(/[\p{Cc}\s]+/gu, ' ').trim(), max);
}
