import type { Symbols } from '#kit/cli/display.ts';
import { wrapLine, wrapText } from '#kit/cli/fit-text.ts';
import { type Cell, type Column, tableOf } from '#kit/cli/table.ts';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import { rejectedText } from '#kit/contracts/action.ts';
import type { ApprovalProgress } from '#kit/contracts/approval.ts';
import type { ActionHistory, Risk } from '../../action.ts';
import { type ActionDefinition, actionType } from '../../actions/registry.ts';
import { needsText } from '../../approval/progress.ts';
import { deadActions, type JudgedAction, type JudgedRun } from '../../runs/run.ts';
import { isLapsed, isUnread } from '../../runs/what-is-open.ts';
import type { Paint, Terminal } from '../terminal.ts';

/** Columns of a table of actions, and the cells of one action. */
export interface ActionColumns {
  readonly columns: readonly (string | Column)[];
  readonly cells: (action: JudgedAction, index: number) => readonly Cell[];
}

/** Number and kind of each action with these columns, under the names of the gates, and why such actions were rejected before. */
export function actionTable(
  actions: readonly JudgedAction[],
  { columns, cells }: ActionColumns,
  terminal: Terminal,
): string[] {
  const { dim } = terminal.paint;
  const rows = actions.map((action, index): Cell[] => [
    String(action.definition.ordinal),
    action.definition.kind,
    ...cells(action, index),
  ]);
  const all = [{ title: '#', right: true }, 'action', ...columns];
  const { head, body } = tableOf(all, rows, terminal, { indent: terminal.width < 100 ? 2 : 5, paint: dim });
  const groups = Map.groupBy(body.entries(), ([index]) => actions[index]!.definition.gate);
  return [
    ...head,
    ...[...groups].flatMap(([gate, lines]) => [
      `  ${dim(gate)}`,
      ...lines.flatMap(([index, line]) => [...line, ...rejectionLines(actions, index, terminal)]),
    ]),
  ];
}

/** Each earlier rejection once, below the last of the actions that it was about, which it names where they are several. */
function rejectionLines(actions: readonly JudgedAction[], index: number, terminal: Terminal): string[] {
  const isSame = (one: EarlierRejection) => (other: EarlierRejection) =>
    one.by === other.by && one.at === other.at && one.reason === other.reason;
  return rejectionsOf(actions[index]!).flatMap((rejected) => {
    const about = actions.filter((action) => rejectionsOf(action).some(isSame(rejected)));
    if (about.at(-1) !== actions[index]) return [];
    const numbers = about.map(({ definition }) => definition.ordinal).join(', ');
    const which = about.length === 1 ? '' : `${numbers}  `;
    const text = `${which}${visibleLine(rejectedText(rejected))}`;
    const indent = ' '.repeat(rejectionIndent);
    return wrapText(terminal.symbols.plain(text), terminal.width - rejectionIndent).map(
      (line) => `${indent}${terminal.paint.yellow(line)}`,
    );
  });
}

const rejectionIndent = 8;

type EarlierRejection = NonNullable<JudgedAction['definition']['rejected_before']>[number];

function rejectionsOf({ definition }: JudgedAction): readonly EarlierRejection[] {
  return definition.rejected_before ?? [];
}

/** How like actions went before, as a column; left out where nothing is known. */
export function historyColumn(actions: readonly JudgedAction[]): ActionColumns {
  const known = actions.some(({ definition }) => definition.history != null);
  if (!known) return { columns: [], cells: () => [] };
  return {
    columns: [{ title: 'before', gives: { turn: 2, to: 'gone' } }],
    cells: ({ definition }) => [definition.history == null ? '-' : shareText(definition.history)],
  };
}

/** For example `3 of 4 ok`. */
function shareText({ counts }: ActionHistory): string {
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return `${(counts.succeeded ?? 0) + (counts.merged ?? 0)} of ${all} ok`;
}

/** Where each action stands, by its id: what is rejected has no state of its own, and what builds on it is blocked. */
export function standings(actions: readonly JudgedAction[]): ReadonlyMap<string, string> {
  const dead = deadActions(actions);
  return new Map(
    actions.map(({ definition: { action_id }, approval, state }) => {
      if (!['pending', 'refused', 'blocked'].includes(state)) return [action_id, state];
      if (approval === 'rejected') return [action_id, '-'];
      return [action_id, dead.has(action_id) ? 'blocked' : state];
    }),
  );
}

/** What an action does, in two short texts: the thing itself, and what to know about it. Safe to print. */
export function actionText(definition: ActionDefinition, symbols: Symbols): { main: string; note: string } {
  const { main, note } = actionType(definition.kind).describe(definition, symbols.minus);
  return { main: visibleLine(main), note: visibleLine(note) };
}

/** Where the approval of an action stands, in a word or by how far its rules are met: `1 of 2`. */
export function approvalWord(action: JudgedAction, now: Date): string {
  const { approval, decision, progress: counted } = action;
  if (isLapsed(action, now)) return 'lapsed';
  if (isUnread(action)) return 'unknown';
  if (approval === 'approved' && decision?.standing !== undefined) return 'standing';
  const progress = approval === 'rejected' ? undefined : counted;
  return progress === undefined ? approval : shortProgress(progress);
}

/** Color of an approval: green only if it counts. */
export function approvalPaint(action: JudgedAction, { paint, now }: Terminal): (text: string) => string {
  const counts = !isLapsed(action, now()) && !isUnread(action);
  return { approved: counts ? paint.green : paint.yellow, rejected: paint.red, required: paint.yellow }[
    action.approval
  ];
}

/** Why an approval does not count, or why that is unknown; null if it counts. */
export function problemText(action: JudgedAction, now: Date): string | null {
  if (!isLapsed(action, now) && !isUnread(action)) return null;
  return action.approval_problem?.message ?? 'the approval expired; approve it again';
}

/** One line for each reason why approvals do not count, with the numbers of the actions. */
export function approvalProblemLines(actions: readonly JudgedAction[], terminal: Terminal): string[] {
  const problems = actions.flatMap((action) => {
    const text = problemText(action, terminal.now());
    return text === null ? [] : [{ action, text, word: approvalWord(action, terminal.now()) }];
  });
  const alike = Map.groupBy(problems, ({ word, text }) => `${word} ${text}`);
  return [...alike.values()].flatMap((group) => {
    const [{ word, text }] = group as [(typeof problems)[number]];
    const names = group.map(({ action: { definition } }) => definition.ordinal).join(', ');
    return wrapLine(`${terminal.paint.yellow(word)}  ${names}: ${visibleLine(text)}`, terminal.width);
  });
}

function shortProgress({ rules }: ApprovalProgress): string {
  const [first, ...others] = rules.map(({ text }) => text.split(',')[0]!);
  const all = others.every((text) => text === first) ? [first!] : [first!, ...others];
  const open = rules.find(({ met, missing_owners }) => !met && missing_owners.length > 0);
  return `${all.join(' + ')}${open === undefined ? '' : ', no owner'}`;
}

/** What the approvals need, as a column; left out where one person's is enough for each. */
export function needsColumn(run: Pick<JudgedRun, 'plan' | 'actions'>): ActionColumns {
  const terms = run.plan?.approval_terms;
  if (terms === undefined) return { columns: [], cells: () => [] };
  return {
    columns: [{ title: 'needs', gives: { turn: 2, to: 12 }, excess: 'wrap' }],
    cells({ definition, terms: asked }) {
      if (asked !== null) return [needsText(asked)];
      const { action_id } = definition;
      const use = terms.actions.find((one) => one.action_id === action_id)?.standing;
      return [use == null ? '1 person' : 'standing'];
    },
  };
}

/** One line for each way in which rules are met so far, with the actions that it is about. */
export function progressLines(actions: readonly JudgedAction[], terminal: Terminal): string[] {
  const asked = actions.flatMap((action) => {
    const { progress, approval } = action;
    const shown = progress !== undefined && approval !== 'rejected' && !isLapsed(action, terminal.now());
    return shown ? [{ action, progress }] : [];
  });
  const groups = Map.groupBy(asked, ({ progress }) => progress.text);
  const { yellow, green } = terminal.paint;
  return [...groups].map(([text, all]) => {
    const { met } = all[0]!.progress;
    const names = all.map(({ action: { definition } }) => definition.ordinal).join(', ');
    const owners = [...new Set(all.flatMap(({ progress }) => progress.rules).flatMap(missingOwners))];
    const who = owners.length === 0 ? '' : ` (${owners.join(', ')})`;
    return `${met ? green('agreed') : yellow('waits')}  ${names}: ${visibleLine(`${text}${who}`)}`;
  });
}

function missingOwners({ missing_owners }: ApprovalProgress['rules'][number]): string[] {
  return missing_owners.flat();
}

/** What an action does: it stands at the end, and is wrapped under itself. */
export const whatColumn = { title: 'what', gives: { turn: 3, to: 14 }, excess: 'wrap' } as const;

export const riskColumns: readonly Column[] = [{ title: 'risk' }, { title: 'score', right: true }];

/** Risk in four letters at most, and its score. */
export function riskCells({ risk, risk_score }: ActionDefinition, paint: Paint): [Cell, Cell] {
  const text = { low: 'low', medium: 'med', high: 'high', critical: 'crit' }[risk];
  return [{ text, paint: riskPaint(risk, paint) }, String(risk_score)];
}

export function riskPaint(risk: Risk, paint: Paint): (text: string) => string {
  const critical = (text: string) => paint.bold(paint.red(text));
  return { low: paint.green, medium: paint.yellow, high: paint.red, critical }[risk];
}
