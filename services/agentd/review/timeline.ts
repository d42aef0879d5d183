import { approverText } from '#kit/contracts/action.ts';
import { counted } from '#kit/counted.ts';
import type { CoreAgent } from '../core-agent.ts';
import type { DataOf, EventType, RunEvent } from '../runs/event.ts';
import type { Run } from '../runs/run.ts';
import { badge } from './badges.ts';
import { type Html, html } from './html.ts';
import { notice } from './layout.ts';
import { shownLine } from './visible-text.ts';

/** The run's record, event by event, and whether all of it holds. */
export async function timelinePart(agent: Pick<CoreAgent, 'events' | 'verify'>, run: Run): Promise<Html> {
  const [events, verified] = await Promise.all([agent.events(run.run_id, 0), agent.verify(run.run_id)]);
  const { problems, artifacts, head } = verified;
  const names = new Map(
    run.actions.map(({ definition }) => [definition.action_id, `${definition.ordinal} ${definition.kind}`]),
  );
  return html`${
    problems.length === 0
      ? notice({
          tone: 'good',
          text: `The record holds: ${verified.events} events, ${artifacts} artifacts. Chain, sealed definitions, approvals and artifacts agree.`,
        })
      : html`${notice({ tone: 'bad', text: `The record does not hold: ${counted(problems.length, 'problem')}` })}<ul class="reasons">${problems.map(
          ({ where, what }) => html`<li><code>${shownLine(where)}</code> ${shownLine(what)}</li>`,
        )}</ul>`
  }
<p class="faint">head <code class="digest">${head}</code></p>
<div class="table-scroll" tabindex="0"><table class="timeline"><thead><tr><th>#</th><th>Time (UTC)</th><th>Event</th><th>Hash</th></tr></thead>
<tbody>${events.map((event) => row(event, names))}</tbody></table></div>`;
}

function row(event: RunEvent, names: ReadonlyMap<string, string>): Html {
  const { seq, at, type, hash } = event;
  const text = describe(event).replaceAll(/act_[A-Za-z0-9_-]+/g, (id) => names.get(id) ?? id);
  return html`<tr id="event-${seq}"><td>${seq}</td><td><time datetime="${at}">${at.slice(0, 19).replace('T', ' ')}</time></td><td>${badge(tones[type] ?? 'dim', type.replaceAll('_', ' '))} ${shownLine(text)}</td><td><code>${hash.slice(0, 12)}</code></td></tr>`;
}

const tones: Readonly<Partial<Record<EventType, 'good' | 'warn' | 'bad' | 'live'>>> = {
  plan_sealed: 'good',
  planning_failed: 'bad',
  approval_recorded: 'good',
  execution_started: 'live',
  action_refused: 'warn',
  cancel_requested: 'warn',
  run_cancelled: 'warn',
  run_superseded: 'warn',
  record_recovered: 'bad',
};

function describe(event: RunEvent): string {
  return (words[event.type] as (data: RunEvent['data']) => string)(event.data);
}

/** What an event says, in a few words; its type stands before them. */
const words: { readonly [T in EventType]: (data: DataOf<T>) => string } = {
  run_created: ({ request }) =>
    `by ${request.requested_by}, planner ${request.agent ?? request.planner}${request.note === undefined ? '' : `, with the note: ${request.note.text}`}`,
  planning_started: ({ pid }) => `in process ${pid}`,
  source_read: ({ issue, base_branch, base_commit }) =>
    `“${issue.title}” by ${issue.author}; ${base_branch} @ ${base_commit.slice(0, 12)}`,
  secrets_masked: ({ found }) => found.map(({ kind, place }) => `${kind} in ${place}`).join(', '),
  planner_prompt: () => '',
  planner_turn: ({ usage, tool_calls }) =>
    `${usage.model}, ${usage.input_tokens} tokens in, ${usage.output_tokens} out${tool_calls.length === 0 ? '' : `: ${tool_calls.join(', ')}`}`,
  agent_started: ({ agent, attempt, sandbox }) => `${agent}, attempt ${attempt}, in ${sandbox}`,
  agent_progressed: ({ seconds, turns }) =>
    `${Math.round(seconds)} s${turns === null ? '' : `, ${turns} calls of the model`}`,
  agent_ended: ({ end, message }) => `${end}: ${message}`,
  agent_read_back: ({ title, submitted }) => `${submitted ? 'proposes' : 'draft'}: ${title}`,
  action_proposed: ({ action }) =>
    `${action.ordinal} ${action.kind}, risk ${action.risk} ${action.risk_score}`,
  plan_sealed: ({ plan }) => `${counted(plan.sealed.length, 'action')}: ${plan.title}`,
  planning_failed: ({ code, message }) => `${code}: ${message}`,
  approval_recorded: ({ action_id, approval }) =>
    `${approval.decision} of ${action_id} by ${approverText(approval)}${approval.reason === null ? '' : `: ${approval.reason}`}`,
  token_rotated: ({ name }) => `the token ${name} has a new text, and its approvals still count`,
  execution_started: ({ kind, by, dry_run }) => `${kind} by ${by}${dry_run ? ', a dry run' : ''}`,
  workspace_opened: ({ vcs, warning }) =>
    `${vcs.kind} ${vcs.version}${warning === null ? '' : `; ${warning}`}`,
  action_refused: ({ action_id, state, outcome }) => `${action_id} ${state}: ${outcome.message}`,
  action_intent: ({ action_id, attempt }) => `${action_id}${attempt === 1 ? '' : `, attempt ${attempt}`}`,
  action_result: ({ action_id, state, outcome }) => `${action_id} ${state}: ${outcome.message}`,
  execution_finished: ({ message }) => message,
  cancel_requested: ({ by, reason }) => `by ${by}${reason === null ? '' : `: ${reason}`}`,
  run_cancelled: ({ message }) => message,
  run_superseded: ({ by_run }) => `by ${by_run}`,
  base_seen: ({ base_branch, commit, files }) =>
    `${base_branch} @ ${commit.slice(0, 12)}${files.length === 0 ? '' : `, changed ${files.join(', ')}`}`,
  issue_seen: ({ changed }) => changed ?? 'as it was planned',
  repository_seen: ({ owner, repo }) => `called ${owner}/${repo}`,
  undo_started: ({ by }) => `by ${by}`,
  undo_intent: ({ action_id }) => action_id,
  undo_result: ({ action_id, state, message }) => `${action_id} ${state}: ${message}`,
  undo_finished: ({ message }) => message,
  pull_request_seen: ({ number, state, checks }) => `number ${number} ${state}, checks ${checks}`,
  record_recovered: ({ by, reason }) => `by ${by}: ${reason}`,
};
