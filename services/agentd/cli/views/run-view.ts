import { age, duration } from '#kit/cli/moments.ts';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import { movedText } from '#kit/contracts/moved-base.ts';
import { actionType } from '../../actions/registry.ts';
import type { ActionState, Run } from '../../runs/run.ts';
import { willPublish } from '../../runs/run-status.ts';
import type { FailedStep } from '../failed-validation.ts';
import { type Cell, table } from '../layout.ts';
import type { Suggestions } from '../suggestion.ts';
import type { Paint, Terminal } from '../terminal.ts';
import { actionText } from './action-text.ts';
import { contextLines } from './context-view.ts';
import { failedStepLines } from './failed-step-view.ts';
import { maskedLines, promptLines } from './masked-view.ts';
import { nextSteps, stepLines } from './next-steps.ts';
import { firstExpiry, headLines, noticeLines, underGates } from './plan-view.ts';
import { statusPaint } from './status-paint.ts';

export interface RunViewOptions {
  /** Leaves the actions out. */
  readonly brief?: boolean;
  readonly verbose?: boolean;
  /** Which context the plan was made with. */
  readonly context?: boolean;
  /** What made the validation fail. */
  readonly failed?: FailedStep | null;
  /** How many of prompt and turns somebody deleted. */
  readonly deleted?: number;
}

/**
 * One run as it stands: status, what became of each action, what it made, and what to type next.
 */
export function runView(
  run: Run,
  terminal: Terminal,
  suggestions: Suggestions,
  { brief = false, verbose = false, context = false, failed = null, deleted = 0 }: RunViewOptions = {},
): string {
  const { paint, symbols } = terminal;
  const when = `${age(run.updated_at, terminal.now())}`;
  const lines = [
    ...(brief ? [''] : headLines(run, terminal)),
    `${run.run_id} ${symbols.dot} ${statusPaint(run.status, paint)(run.status)} ${symbols.dot} ${when}${run.cancelling ? ` ${symbols.dot} stopping` : ''}`,
    ...(brief ? [] : askedLines(run)),
    ...recoveryLines(run, terminal),
    '',
  ];
  if (run.failure !== null)
    lines.push(
      `${paint.red('failed')}  ${visibleLine(run.failure.message)}  ${paint.dim(`[${run.failure.code}]`)}`,
      '',
    );
  if (run.actions.length > 0 && !brief) lines.push(...stateLines(run, terminal), '');
  lines.push(...resultLines(run, terminal));
  if (failed !== null) lines.push(...failedStepLines(failed, terminal));
  lines.push(...movedLines(run, terminal));
  if (!brief) lines.push(...noticeLines(run, terminal));
  if (context)
    lines.push(
      ...contextLines(run, terminal, verbose),
      ...maskedLines(run, terminal),
      ...promptLines(run, deleted, suggestions, terminal),
    );
  lines.push(...stepLines(nextSteps(run, suggestions), terminal));
  return `${lines.join('\n')}\n`;
}

/** That the base moved in a file of the change, while that can still be published. */
export function movedLines(run: Run, { paint }: Terminal): string[] {
  if (run.base_moved === null || !willPublish(run)) return [];
  return [`${paint.yellow('note')}  ${visibleLine(movedText(run.base_moved))}`, ''];
}

/** What led to it, and who ended it. */
function askedLines({ request, cancel, superseded_by }: Run): string[] {
  const { trigger } = request;
  const lines: string[] = [];
  if (trigger !== undefined) {
    const { kind, what, actor, event_id } = trigger;
    const said = [what, actor == null ? null : `by ${actor}`, event_id == null ? null : `event ${event_id}`];
    const facts = said.filter((fact) => fact != null).join(', ');
    lines.push(visibleLine(`asked for by ${kind}${facts === '' ? '' : `: ${facts}`}`));
  }
  if (cancel !== null)
    lines.push(visibleLine(`cancelled by ${cancel.by}${cancel.reason === null ? '' : `: ${cancel.reason}`}`));
  if (superseded_by !== null) lines.push(`superseded by ${superseded_by}, a newer plan of this issue`);
  return lines;
}

/** What the record lost stays said. */
function recoveryLines({ recoveries }: Run, { paint }: Terminal): string[] {
  return recoveries.map(({ kept, lost, by, reason }) => {
    const what = lost === null ? '' : ` up to event ${lost.seq}`;
    return `${paint.red('record cut')}  events after ${kept.seq}${what} are lost; ${visibleLine(by)} let it go on: ${visibleLine(reason)}`;
  });
}

/** One line for each action: approval, state, and the outcome where there is one. */
export function stateLines(run: Run, terminal: Terminal): string[] {
  const { paint, symbols } = terminal;
  const rows = run.actions.map((action): Cell[] => {
    const { definition, outcome } = action;
    return [
      { text: String(definition.ordinal), align: 'right' },
      { text: definition.kind },
      { text: action.approval, paint: approvalPaint(action, paint) },
      { text: action.state, paint: statePaint(action, paint) },
      { text: took(action), align: 'right' },
      {
        text:
          outcome === null ? visibleLine(actionText(definition, symbols).main) : visibleLine(outcome.message),
      },
    ];
  });
  const header = ['#', 'action', 'approval', 'state', '', 'what'].map(
    (text): Cell => ({ text, paint: paint.dim }),
  );
  const [head, ...body] = table([header, ...rows], {
    indent: 5,
    gap: 2,
    width: terminal.width,
    ellipsis: symbols.ellipsis,
  });
  return [head!, ...underGates(run.actions, body, terminal)];
}

/** Branch, commit, pull request and comment, as far as they exist. */
export function resultLines(run: Run, terminal: Terminal): string[] {
  const rows: [string, string][] = [];
  for (const { definition, state, outcome } of run.actions) {
    if (state !== 'succeeded' || outcome === null) continue;
    for (const [label, text] of actionType(definition.kind).results(definition, outcome.facts)) {
      const seen = definition.kind === 'open_pull_request' ? pullRequestState(run) : '';
      rows.push([label, [text, seen].filter(Boolean).join('  ')]);
    }
  }
  const expiry = firstExpiry(run, terminal.now());
  if (expiry !== null) rows.push(['approvals', `expire ${expiry}`]);
  if (rows.length === 0) return [];
  const cells = rows.map(([label, text]): Cell[] => [
    { text: label, paint: terminal.paint.dim },
    { text: visibleLine(text) },
  ]);
  return [
    ...table(cells, {
      indent: 2,
      gap: 2,
      width: Number.POSITIVE_INFINITY,
      ellipsis: terminal.symbols.ellipsis,
    }),
    '',
  ];
}

/** As the forge was seen to have it last; empty before anybody asked. */
function pullRequestState({ pull_request }: Run): string {
  if (pull_request === null) return '';
  const { state, checks, failed_checks } = pull_request;
  const failed = failed_checks.length === 0 ? '' : ` (${failed_checks.join(', ')})`;
  return `${state}${checks === 'none' ? '' : `, checks ${checks}${failed}`}`;
}

function approvalPaint({ approval }: ActionState, paint: Paint): (text: string) => string {
  return { approved: paint.green, rejected: paint.red, required: paint.yellow }[approval];
}

function statePaint({ state }: ActionState, paint: Paint): (text: string) => string {
  switch (state) {
    case 'succeeded':
      return paint.green;
    case 'failed':
    case 'unknown':
      return paint.red;
    case 'refused':
    case 'blocked':
      return paint.yellow;
    case 'running':
      return paint.cyan;
    case 'pending':
    case 'undone':
      return paint.dim;
  }
}

function took({ started_at, finished_at }: ActionState): string {
  if (started_at === null || finished_at === null) return '';
  return duration(Date.parse(finished_at) - Date.parse(started_at));
}
