import { until } from '#kit/cli/moments.ts';
import type { Cell } from '#kit/cli/table.ts';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import { approverText, countsText, rejectedText, signedBy } from '#kit/contracts/action.ts';
import type { ActionHistory, Approval, Influence } from '../../action.ts';
import type { JudgedAction, JudgedRun } from '../../runs/run.ts';
import { labelled, quoted } from '../layout.ts';
import { type Suggestions, shortRunId, stepLines } from '../suggestions.ts';
import type { Terminal } from '../terminal.ts';
import {
  actionTable,
  actionText,
  approvalProblemLines,
  approvalWord,
  historyColumn,
  problemText,
  riskCells,
  riskColumns,
  riskPaint,
  standings,
  whatColumn,
} from './action-table.ts';
import { type FailedStep, failedStepLines } from './failed-step.ts';
import { nextSteps } from './next-steps.ts';
import { headLines, noticeLines } from './plan-view.ts';

type Row = [label: string, text: string];

/** Every action with the digest that an approval names. */
export function actionsView(run: JudgedRun, terminal: Terminal, suggestions: Suggestions): string {
  const lines = [
    ...headLines(run, terminal),
    '',
    ...digestLines(run.actions, terminal),
    '',
    ...problemLines(run, terminal),
    ...noticeLines(run, terminal),
    ...stepLines(nextSteps(run, suggestions, terminal.now()), terminal),
  ];
  return `${lines.join('\n')}\n`;
}

function problemLines({ actions }: JudgedRun, terminal: Terminal): string[] {
  const lines = approvalProblemLines(actions, terminal);
  return lines.length === 0 ? [] : [...lines, ''];
}

/** Rows of `#`, action, risk, approval, state, digest and what. */
export function digestLines(actions: readonly JudgedAction[], terminal: Terminal): string[] {
  const history = historyColumn(actions);
  const stands = standings(actions);
  const columns = {
    columns: [
      ...riskColumns.with(1, { title: 'score', right: true, gives: { turn: 2, to: 'gone' } }),
      ...history.columns,
      'approval',
      { title: 'state', gives: { turn: 5, to: 'gone' } } as const,
      {
        title: 'digest',
        gives: [
          { turn: 1, to: 'brief' },
          { turn: 4, to: 'gone' },
        ],
      } as const,
      whatColumn,
    ],
    cells(action: JudgedAction, index: number): Cell[] {
      const { definition, state } = action;
      const { main, note } = actionText(definition, terminal.symbols);
      return [
        ...riskCells(definition, terminal.paint),
        ...history.cells(action, index),
        approvalWord(action, terminal.now()),
        stands.get(definition.action_id) ?? state,
        { text: definition.digest.slice(0, 12), brief: definition.digest.slice(0, 8) },
        note === '' ? main : `${main}  ${note}`,
      ];
    },
  };
  return actionTable(actions, columns, terminal);
}

/** Actions in full; influences that all of them share are listed once, at the end. */
export function actionDetails(
  actions: readonly JudgedAction[],
  terminal: Terminal,
  failed: FailedStep | null = null,
): string {
  const shared = actions.length < 2 ? new Set<string>() : sharedInfluences(actions);
  const details = actions.map((action) => actionDetail(action, terminal, failed, shared));
  if (shared.size === 0) return details.join('\n');
  const rows = [...shared].map((text): Row => ['influence', text]);
  const title = terminal.paint.bold(`all ${actions.length} actions`);
  return [...details, `${[title, ...labelled(rows, terminal)].join('\n')}\n`].join('\n');
}

/** One action in full: what exactly would happen, why, and its influences but those listed elsewhere. */
export function actionDetail(
  action: JudgedAction,
  terminal: Terminal,
  failed: FailedStep | null = null,
  listedElsewhere: ReadonlySet<string> = new Set(),
): string {
  const { definition, decision, outcome } = action;
  const { ordinal, kind, action_id, risk, risk_score, params } = definition;
  const { paint } = terminal;
  const influences = definition.influences.map(influenceText).filter((text) => !listedElsewhere.has(text));
  const long = Object.entries(params).flatMap(longText);
  const rows: Row[] = [
    ['why', definition.rationale],
    ...definition.risk_reasons.map((reason): Row => ['risk', reason]),
    ...(definition.rejected_before ?? []).map(
      (rejected): Row => ['rejected', `${rejectedText(rejected)} in ${shortRunId(rejected.run_id)}`],
    ),
    ...historyRows(definition.history),
    ['state', action.state],
    ...(outcome === null ? [] : [['outcome', outcome.message] satisfies Row]),
    ['approval', approvalText(action, terminal.now())],
    ...problemRows(action, terminal.now()),
    ...agreementRows(action, terminal.now()),
    ...(decision?.reason ? [['reason', decision.reason] satisfies Row] : []),
    ['digest', `sha256 ${definition.digest}`],
    ...(definition.depends_on.length === 0
      ? []
      : [['depends on', definition.depends_on.join(', ')] satisfies Row]),
    ...influences.map((text): Row => ['influence', text]),
    ...Object.entries(params)
      .filter(([name]) => !long.some(([longName]) => longName === name))
      .map(([name, value]): Row => [name, typeof value === 'object' ? JSON.stringify(value) : String(value)]),
  ];
  const lines = [
    `${paint.bold(`${ordinal} ${kind}`)}  ${action_id}  ${riskPaint(risk, paint)(`${risk} ${risk_score}`)}`,
    ...labelled(rows, terminal),
    ...long.flatMap(([name, text]) => [`  ${paint.dim(name)}`, ...quoted(text, terminal)]),
  ];
  if (failed !== null && kind === 'run_validation') lines.push('', ...failedStepLines(failed, terminal));
  return `${lines.join('\n')}\n`;
}

function sharedInfluences(actions: readonly JudgedAction[]): Set<string> {
  const [first = [], ...others] = actions.map(({ definition }) => definition.influences.map(influenceText));
  return new Set(first.filter((text) => others.every((texts) => texts.includes(text))));
}

function influenceText({ kind, source, author, trusted }: Influence): string {
  const by = author === null || source.includes(` by ${author}`) ? '' : ` by ${author}`;
  return `${kind} ${source}${by}${trusted ? '' : ' (untrusted)'}`;
}

/** How like actions went before. */
function historyRows(history: ActionHistory | null | undefined): Row[] {
  if (history == null) return [];
  const { score, expected, cases } = history;
  return [
    [
      'history',
      `like actions: ${countsText(history)}; score ${score.toFixed(2)}, ${expected.toFixed(2)} without them`,
    ],
    ...cases.map(({ run_id, outcome, at, reason }): Row => {
      const why = reason === null ? '' : `: ${reason}`;
      return ['case', `${shortRunId(run_id)} ${outcome} ${at.slice(0, 10)}${why}`];
    }),
  ];
}

function problemRows(action: JudgedAction, now: Date): Row[] {
  const text = problemText(action, now);
  return text === null ? [] : [[approvalWord(action, now), text]];
}

function approvalText(action: JudgedAction, now: Date): string {
  const counts = problemText(action, now) === null;
  const decided = decidedText(action, counts ? now : null);
  return counts ? decided : `${approvalWord(action, now)}; ${decided}`;
}

/** @param now to say when the approval expires; null if it does not count */
function decidedText({ approval, decision, terms, progress }: JudgedAction, now: Date | null): string {
  if (progress !== undefined && approval !== 'rejected') return `${approval}, ${progress.text}`;
  if (decision === null) return approval;
  const expires = terms === null && decision.expires_at !== null;
  return `${approval} by ${deciderText(decision, expires ? now : null)}`;
}

/** What rules ask, and who has agreed so far. */
function agreementRows(action: JudgedAction, now: Date): Row[] {
  const { progress } = action;
  if (progress === undefined) return [];
  return [
    ...progress.rules.map(({ name, text }): Row => ['rule', `${name}: ${text}`]),
    ['needs', progress.needs],
    ...action.decisions.map(
      (one): Row => [one.decision === 'approve' ? 'agreed' : 'rejected', deciderText(one, now)],
    ),
  ];
}

/** @param now null leaves the end out */
function deciderText(decision: Approval, now: Date | null): string {
  const { claimed_approver, expires_at } = decision;
  const claimed = claimed_approver === null ? '' : ` (as ${claimed_approver})`;
  const end = expires_at === null || now === null ? '' : `, expires ${until(expires_at, now)}`;
  return `${approverText(decision)}${claimed}${signedBy(decision)}${end}`;
}

/** A parameter that is shown on lines of its own. */
function longText([name, value]: [string, unknown]): Row[] {
  if (name === 'files') return [[name, fileList(value as readonly ChangedFile[])]];
  return typeof value === 'string' && value.includes('\n') ? [[name, value]] : [];
}

type ApplyPatch = Extract<JudgedAction['definition'], { readonly kind: 'apply_patch' }>;
type ChangedFile = ApplyPatch['params']['files'][number];

function fileList(files: readonly ChangedFile[]): string {
  return files
    .map(({ path, old_path, status, added, removed, old_mode, new_mode }) => {
      const lines = added === null ? 'binary' : `+${added} -${removed}`;
      const from = old_path === null ? '' : ` (from ${visibleLine(old_path)})`;
      const changed = old_mode !== null && new_mode !== null && old_mode !== new_mode;
      const mode = changed ? `, mode ${old_mode} to ${new_mode}` : '';
      return `${status.padEnd(9)} ${visibleLine(path)}${from}  ${lines}${mode}`;
    })
    .join('\n');
}
