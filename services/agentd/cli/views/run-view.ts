import { cut } from '#kit/cli/fit-text.ts';
import { age, duration } from '#kit/cli/moments.ts';
import type { Cell } from '#kit/cli/table.ts';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import { approverText } from '#kit/contracts/action.ts';
import { movedText, renamedText } from '#kit/contracts/run.ts';
import { counted } from '#kit/counted.ts';
import { actionType } from '../../actions/registry.ts';
import type { ContextUse } from '../../runs/event.ts';
import { isOpen, type JudgedAction, type JudgedRun, willPublish } from '../../runs/run.ts';
import { waitsNow } from '../../runs/what-is-open.ts';
import { facts, labelled, table, wrapping } from '../layout.ts';
import { commandLine, type Suggestions, shortRunId, stepLines } from '../suggestions.ts';
import type { Paint, Terminal } from '../terminal.ts';
import {
  actionTable,
  actionText,
  approvalPaint,
  approvalProblemLines,
  approvalWord,
  problemText,
  progressLines,
  standings,
  whatColumn,
} from './action-table.ts';
import { type FailedStep, failedStepLines } from './failed-step.ts';
import { nextSteps } from './next-steps.ts';
import { firstExpiry, headLines, noticeLines } from './plan-view.ts';
import { statusPaint } from './runs-view.ts';

export interface RunViewOptions {
  /** Leaves the actions out. */
  readonly brief?: boolean;
  readonly verbose?: boolean;
  /** false where what comes next is asked. */
  readonly steps?: boolean;
  /** Which context the plan was made with. */
  readonly context?: boolean;
  /** The step that made the validation fail. */
  readonly failed?: FailedStep | null;
  /** How many artifacts of prompt and turns somebody deleted. */
  readonly deleted?: number;
}

/** One run as it stands: status, the outcome of each action, its results, and what to type next. */
export function runView(
  run: JudgedRun,
  terminal: Terminal,
  suggestions: Suggestions,
  {
    brief = false,
    verbose = false,
    steps = true,
    context = false,
    failed = null,
    deleted = 0,
  }: RunViewOptions = {},
): string {
  const { paint } = terminal;
  const { waits_for } = waitsNow(run, terminal.now());
  const status = [
    run.run_id,
    statusPaint(run.status, paint)(run.status),
    ...(waits_for === null ? [] : [`${waits_for} waits`]),
    age(run.updated_at, terminal.now()),
    ...(run.cancelling ? ['stopping'] : []),
  ];
  const { failure } = run;
  const lines = [
    ...(brief ? [''] : headLines(run, terminal)),
    ...facts(status, terminal),
    ...(brief ? [] : originLines(run)),
    ...recoveryLines(run, terminal),
    '',
    ...(failure === null
      ? []
      : [`${paint.red('failed')}  ${visibleLine(failure.message)}  ${paint.dim(`[${failure.code}]`)}`, '']),
    ...(run.actions.length > 0 && !brief ? [...stateLines(run, terminal), ''] : []),
    ...agreementLines(run, terminal),
    ...resultLines(run, terminal, brief ? [] : decisionRows(run, terminal.now())),
    ...keptLines(run, terminal),
    ...(failed === null ? [] : failedStepLines(failed, terminal)),
    ...movedLines(run, terminal),
    ...(brief ? [] : noticeLines(run, terminal)),
    ...(context
      ? [
          ...contextLines(run, terminal, verbose),
          ...maskedLines(run, terminal),
          ...promptLines(run, deleted, suggestions, terminal),
        ]
      : []),
    ...(steps ? stepLines(nextSteps(run, suggestions, terminal.now()), terminal) : []),
  ];
  return `${lines.join('\n')}\n`;
}

/** That the base moved in a file of the change, while that can still be published, and what became of issue and repository. */
export function movedLines(run: JudgedRun, { paint }: Terminal): string[] {
  const moved = run.base_moved === null || !willPublish(run) ? [] : [movedText(run.base_moved)];
  const renamed =
    run.renamed === null ? [] : [renamedText(`${run.request.owner}/${run.request.repo}`, run.renamed)];
  const notes = [...renamed, ...moved, ...(run.issue_changed === null ? [] : [run.issue_changed])];
  return notes.flatMap((note) => [`${paint.yellow('note')}  ${visibleLine(note)}`, '']);
}

/** What led to it, and who ended it. */
function originLines({
  request: { trigger, note, requested_by },
  cancel,
  superseded_by,
}: JudgedRun): string[] {
  const lines: string[] = [];
  if (note !== undefined)
    lines.push(
      `note of ${requested_by} to this plan:`,
      ...note.text.split(/\r?\n/).map((line) => `  ${line}`),
    );
  if (trigger !== undefined) {
    const { kind, what, actor, event_id } = trigger;
    const facts = [what, actor && `by ${actor}`, event_id && `event ${event_id}`].filter(
      (fact) => fact != null,
    );
    lines.push(`asked for by ${kind}${facts.length === 0 ? '' : `: ${facts.join(', ')}`}`);
  }
  if (cancel !== null)
    lines.push(`cancelled by ${cancel.by}${cancel.reason === null ? '' : `: ${cancel.reason}`}`);
  if (superseded_by !== null) lines.push(`superseded by ${superseded_by}, a newer plan of this issue`);
  return lines.map(visibleLine);
}

/** Shown for as long as the run is there. */
function recoveryLines({ recoveries }: JudgedRun, { paint }: Terminal): string[] {
  return recoveries.map(({ kept, lost, by, reason }) => {
    const what = lost === null ? '' : ` up to event ${lost.seq}`;
    return `${paint.red('record cut')}  events after ${kept.seq}${what} are lost; ${visibleLine(by)} let it go on: ${visibleLine(reason)}`;
  });
}

/** One line for each action: approval, state, and the outcome where there is one. */
function stateLines(run: JudgedRun, terminal: Terminal): string[] {
  const { paint, symbols } = terminal;
  const stands = standings(run.actions);
  const reasons = firstReasons(run.actions);
  const columns = {
    columns: [
      'approval',
      'state',
      { title: '', right: true, gives: { turn: 2, to: 'gone' } } as const,
      whatColumn,
    ],
    cells(action: JudgedAction): Cell[] {
      const { definition, state, outcome } = action;
      return [
        { text: approvalWord(action, terminal.now()), paint: approvalPaint(action, terminal) },
        { text: stands.get(definition.action_id) ?? state, paint: statePaint(state, paint) },
        took(action),
        reasons.get(definition.action_id) ??
          (outcome === null ? actionText(definition, symbols).main : terminal.named(outcome.message)),
      ];
    },
  };
  return actionTable(run.actions, columns, terminal);
}

/** For actions with the same reason as an earlier one: that it is the same, so that it is read once. */
function firstReasons(actions: readonly JudgedAction[]): ReadonlyMap<string, string> {
  const stopped = actions.filter(({ state }) => state === 'refused' || state === 'blocked');
  const alike = Map.groupBy(stopped, ({ outcome }) => outcome?.message);
  return new Map(
    [...alike].flatMap(([message, [first, ...others]]) =>
      message === undefined
        ? []
        : others.map(({ definition }) => [definition.action_id, `the same as ${first!.definition.ordinal}`]),
    ),
  );
}

/** Progress of approval rules, and approvals that do not count, for actions that have not started. */
function agreementLines(run: JudgedRun, terminal: Terminal): string[] {
  const open = run.actions.filter(isOpen);
  const lines = [...progressLines(open, terminal), ...approvalProblemLines(open, terminal)];
  return lines.length === 0 ? [] : [...lines, ''];
}

/** Who decided, and the reason that they gave; actions with the same in one row. */
function decisionRows({ actions }: JudgedRun, now: Date): [label: string, text: string][] {
  const made = actions.flatMap((action) => {
    const { definition, approval, terms, decision, decisions } = action;
    if (approval === 'required' || decision === null) return [];
    const all = terms === null ? [decision] : decisions;
    const counts = problemText(action, now) === null ? '' : ` (${approvalWord(action, now)})`;
    return all.map(({ reason, ...one }) => ({
      ordinal: definition.ordinal,
      word: one.decision === 'approve' ? 'approved' : 'rejected',
      by: `by ${approverText(one)}${counts}${reason ? `: ${reason}` : ''}`,
    }));
  });
  const alike = Map.groupBy(made, ({ word, by }) => `${word} ${by}`);
  return [...alike.values()].map((group) => [
    group[0]!.word,
    `${group.map(({ ordinal }) => ordinal).join(', ')} ${group[0]!.by}`,
  ]);
}

/** Decisions; branch, commit, pull request and comment, as far as they exist. */
function resultLines(
  run: JudgedRun,
  terminal: Terminal,
  decisions: readonly [label: string, text: string][],
): string[] {
  const rows = [...decisions];
  for (const { definition, state, outcome } of run.actions) {
    if (state !== 'succeeded' || outcome === null) continue;
    for (const [label, text] of actionType(definition.kind).results(definition, outcome.facts)) {
      const seen = definition.kind === 'open_pull_request' ? pullRequestState(run) : '';
      rows.push([label, [text, seen].filter(Boolean).join('  ')]);
    }
  }
  const expiry = firstExpiry(run, terminal.now());
  if (expiry !== null) rows.push(['approvals', `expire ${expiry}`]);
  return rows.length === 0 ? [] : [...labelled(rows, terminal), ''];
}

/** What an undo could not take back. */
function keptLines({ undo, actions }: JudgedRun, terminal: Terminal): string[] {
  const kept = (undo?.results ?? []).filter(({ state }) => state === 'kept');
  const rows = kept.map(({ action_id, message }): Cell[] => {
    const action = actions.find(({ definition }) => definition.action_id === action_id);
    return [{ text: 'stays', paint: terminal.paint.yellow }, action?.definition.kind ?? action_id, message];
  });
  return rows.length === 0 ? [] : [...table(['', '', wrapping], rows, terminal), ''];
}

/** As the forge had it when it was asked last; empty before that. */
function pullRequestState({ pull_request }: JudgedRun): string {
  if (pull_request === null) return '';
  const { state, checks, failed_checks } = pull_request;
  const failed = failed_checks.length === 0 ? '' : ` (${failed_checks.join(', ')})`;
  return `${state}${checks === 'none' ? '' : `, checks ${checks}${failed}`}`;
}

const maxPassages = 5;
const maxName = 60;

const passageColumns = [
  '',
  { title: '', gives: { turn: 2, to: 24 } },
  { title: '', gives: { turn: 1, to: 16 } },
] as const;

/** Which context the plan was made with, and how each piece was found. */
function contextLines(run: JudgedRun, terminal: Terminal, verbose: boolean): string[] {
  const all = run.plan?.context ?? [];
  const used = all.filter(({ source }, index) => all.findIndex((one) => one.source === source) === index);
  if (used.length === 0) return [];
  const { dim } = terminal.paint;
  const shown = verbose ? used : used.slice(0, maxPassages);
  const rows = shown.map((use): Cell[] => [
    { text: use.layer === 'graph' ? 'graph' : `${use.layer} memory`, paint: dim },
    cut(passageName(use), maxName, terminal.symbols.ellipsis),
    { text: use.why, paint: dim },
  ]);
  const more = used.length - shown.length;
  return [
    `context  ${counted(used.length, 'passage')}`,
    ...table(passageColumns, rows, terminal),
    ...(more === 0 ? [] : [`  ${dim(`and ${more} more, shown by --verbose`)}`]),
    '',
  ];
}

function passageName({ layer, source, title }: ContextUse): string {
  return layer === 'graph' && title !== source ? `${source}  ${title}` : title;
}

/** Which secrets were masked, and where; a fingerprint releases a false positive. */
function maskedLines({ masked }: JudgedRun, terminal: Terminal): string[] {
  if (masked.length === 0) return [];
  const counts = [...Map.groupBy(masked, ({ kind }) => kind)].map(([kind, all]) => `${all.length} ${kind}`);
  const rows = masked.map(({ place, kind, fingerprint }): Cell[] => [
    kind,
    { text: fingerprint, paint: terminal.paint.dim },
    place,
  ]);
  return [`masked  ${visibleLine(counts.join(', '))}`, ...table(['', '', wrapping], rows, terminal), ''];
}

/** How to see the prompt, and how much of the conversation somebody deleted; nothing for a plan without a model. */
function promptLines(
  { prompt, turns, run_id }: JudgedRun,
  deleted: number,
  suggestions: Suggestions,
  { paint }: Terminal,
): string[] {
  if (prompt === null) return [];
  const command = visibleLine(commandLine(suggestions, 'show', shortRunId(run_id), '--prompt'));
  const gone = deleted === 0 ? '' : `, ${deleted} deleted`;
  return [
    `prompt  ${prompt.slice(0, 12)} and ${counted(turns.length, 'turn')}${gone}  ${paint.dim(command)}`,
    '',
  ];
}

function statePaint(state: JudgedAction['state'], paint: Paint): (text: string) => string {
  const { green, red, yellow, cyan, dim } = paint;
  const paints: Record<JudgedAction['state'], Paint['red']> = {
    succeeded: green,
    failed: red,
    unknown: red,
    refused: yellow,
    blocked: yellow,
    running: cyan,
    pending: dim,
    undone: dim,
  };
  return paints[state];
}

function took({ started_at, finished_at }: JudgedAction): string {
  if (started_at === null || finished_at === null) return '';
  return duration(Date.parse(finished_at) - Date.parse(started_at));
}
