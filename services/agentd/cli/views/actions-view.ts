import { until } from '#kit/cli/moments.ts';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import type { Influence } from '../../action.ts';
import type { ActionState, Run } from '../../runs/run.ts';
import type { FailedStep } from '../failed-validation.ts';
import { type Cell, table } from '../layout.ts';
import type { Suggestions } from '../suggestion.ts';
import type { Terminal } from '../terminal.ts';
import { actionText, riskPaint, riskWord } from './action-text.ts';
import { failedStepLines } from './failed-step-view.ts';
import { historyColumn, historyRows } from './history-text.ts';
import { nextSteps, stepLines } from './next-steps.ts';
import { headLines, noticeLines, quoted, underGates } from './plan-view.ts';

/** Every action with the digest that an approval names. */
export function actionsView(run: Run, terminal: Terminal, suggestions: Suggestions): string {
  const lines = [...headLines(run, terminal), '', ...digestLines(run, run.actions, terminal), ''];
  lines.push(...noticeLines(run, terminal));
  lines.push(...stepLines(nextSteps(run, suggestions), terminal));
  return `${lines.join('\n')}\n`;
}

/** Rows of `#`, action, risk, approval, state, digest and what. */
export function digestLines(run: Run, actions: readonly ActionState[], terminal: Terminal): string[] {
  const { paint, symbols } = terminal;
  const history = historyColumn(actions);
  const names = ['#', 'action', 'risk', ''];
  const more = ['approval', 'state', 'digest', 'what'];
  const header = [
    ...names.map((text): Cell => ({ text })),
    ...history.header,
    ...more.map((text): Cell => ({ text })),
  ].map((cell): Cell => ({ ...cell, paint: paint.dim }));
  const rows = actions.map((action): Cell[] => {
    const { definition, approval, state } = action;
    const { main, note } = actionText(definition, symbols);
    return [
      { text: String(definition.ordinal), align: 'right' },
      { text: definition.kind },
      { text: riskWord(definition.risk), paint: riskPaint(definition.risk, paint) },
      { text: String(definition.risk_score), align: 'right' },
      ...history.cellsOf(action),
      { text: approval },
      { text: state },
      { text: definition.digest.slice(0, 12) },
      { text: note === '' ? main : `${main}  ${note}` },
    ];
  });
  const [head, ...body] = table([header, ...rows], {
    indent: 5,
    gap: 2,
    width: terminal.width,
    ellipsis: symbols.ellipsis,
  });
  const selected = run.actions.filter((action) => actions.includes(action));
  return [head!, ...underGates(selected, body, terminal)];
}

/** Actions in full; what led to each of them is told once, at the end. */
export function actionDetails(
  actions: readonly ActionState[],
  terminal: Terminal,
  failed: FailedStep | null = null,
): string {
  const shared = actions.length < 2 ? new Set<string>() : sharedInfluences(actions);
  const details = actions.map((action) => actionDetail(action, terminal, failed, shared));
  if (shared.size === 0) return details.join('\n');
  const rows = [...shared].map((text): [string, string] => ['influence', text]);
  const title = terminal.paint.bold(`all ${actions.length} actions`);
  return [...details, `${[title, ...labelled(rows, terminal)].join('\n')}\n`].join('\n');
}

/** One action in full: what exactly would happen, why, and what led to it but is not told elsewhere. */
export function actionDetail(
  action: ActionState,
  terminal: Terminal,
  failed: FailedStep | null = null,
  toldElsewhere: ReadonlySet<string> = new Set(),
): string {
  const { definition, decision, outcome } = action;
  const { paint } = terminal;
  const lines = [
    `${paint.bold(`${definition.ordinal} ${definition.kind}`)}  ${definition.action_id}  ${riskPaint(definition.risk, paint)(`${definition.risk} ${definition.risk_score}`)}`,
  ];
  const rows: [string, string][] = [
    ['why', definition.rationale],
    ...definition.risk_reasons.map((reason): [string, string] => ['risk', reason]),
    ...historyRows(definition.history),
    ['state', action.state],
    ...(outcome === null ? [] : [['outcome', outcome.message] as [string, string]]),
    ['approval', approvalText(action, terminal.now())],
    ...(decision?.reason ? [['reason', decision.reason] as [string, string]] : []),
    ['digest', `sha256 ${definition.digest}`],
    ...(definition.depends_on.length === 0
      ? []
      : [['depends on', definition.depends_on.join(', ')] as [string, string]]),
    ...definition.influences
      .map(influenceText)
      .filter((text) => !toldElsewhere.has(text))
      .map((text): [string, string] => ['influence', text]),
    ...parameterRows(definition.params),
  ];
  lines.push(...labelled(rows, terminal));
  for (const [name, text] of longTexts(definition.params)) {
    lines.push(`  ${paint.dim(name)}`, ...quoted(text, terminal));
  }
  if (failed !== null && definition.kind === 'run_validation')
    lines.push('', ...failedStepLines(failed, terminal));
  return `${lines.join('\n')}\n`;
}

function labelled(rows: readonly [string, string][], { paint, symbols }: Terminal): string[] {
  const cells = rows.map(([label, text]): Cell[] => [
    { text: label, paint: paint.dim },
    { text: visibleLine(text) },
  ]);
  return table(cells, { indent: 2, gap: 2, width: Number.POSITIVE_INFINITY, ellipsis: symbols.ellipsis });
}

function sharedInfluences(actions: readonly ActionState[]): Set<string> {
  const sets = actions.map(({ definition }) => new Set(definition.influences.map(influenceText)));
  return new Set([...sets[0]!].filter((text) => sets.every((set) => set.has(text))));
}

function influenceText({ kind, source, author, trusted }: Influence): string {
  const by = author === null || source.includes(` by ${author}`) ? '' : ` by ${author}`;
  return `${kind} ${source}${by}${trusted ? '' : ' (untrusted)'}`;
}

function approvalText({ approval, decision }: ActionState, now: Date): string {
  if (decision === null) return approval;
  const end = decision.expires_at === null ? '' : `, expires ${until(decision.expires_at, now)}`;
  const claimed = decision.claimed_approver === null ? '' : ` (as ${decision.claimed_approver})`;
  return `${approval} by ${decision.approver}${claimed}${end}`;
}

/** Parameters that fit on a line; texts of several lines come after. */
function parameterRows(params: object): [string, string][] {
  return Object.entries(params).flatMap(([name, value]): [string, string][] => {
    if (name === 'files' || (typeof value === 'string' && value.includes('\n'))) return [];
    return [[name, typeof value === 'object' ? JSON.stringify(value) : String(value)]];
  });
}

function longTexts(params: object): [string, string][] {
  return Object.entries(params).flatMap(([name, value]): [string, string][] => {
    if (name === 'files') return [[name, fileList(value)]];
    return typeof value === 'string' && value.includes('\n') ? [[name, value]] : [];
  });
}

function fileList(value: unknown): string {
  const files = value as readonly {
    path: string;
    old_path: string | null;
    status: string;
    added: number | null;
    removed: number | null;
    old_mode: string | null;
    new_mode: string | null;
  }[];
  return files
    .map((file) => {
      const lines = file.added === null ? 'binary' : `+${file.added} -${file.removed}`;
      const from = file.old_path === null ? '' : ` (from ${visibleLine(file.old_path)})`;
      const mode =
        file.old_mode !== null && file.new_mode !== null && file.old_mode !== file.new_mode
          ? `, mode ${file.old_mode} to ${file.new_mode}`
          : '';
      return `${file.status.padEnd(9)} ${visibleLine(file.path)}${from}  ${lines}${mode}`;
    })
    .join('\n');
}
