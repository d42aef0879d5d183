import type { OutcomeRecord } from '#kit/contracts/context/execution.ts';
import { isTrustedAssociation } from '../planning/influences.ts';
import type { RunEvent } from '../runs/event.ts';
import type { ActionState, Run } from '../runs/run.ts';
import { changedFiles } from './plan-record.ts';
import { wireLine, wireText } from './wire-text.ts';

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
    decided_by: decision === null ? null : wireLine(decision.approver),
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
  const { owner, repo, number, role, planner } = run.request;
  const title =
    run.issue !== null && isTrustedAssociation(run.issue.association)
      ? ` "${wireLine(run.issue.title)}"`
      : '';
  const files = changedFiles(run.actions);
  const on = files.length === 0 ? '' : ` on ${some(files)}`;
  const sentences = [
    `${owner}/${repo}#${number}${title}: ${role} (planner ${planner}) proposed ${run.actions.length} actions${on}`,
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
