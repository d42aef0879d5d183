import type { ActionHistory } from '../../action.ts';
import type { ActionState } from '../../runs/run.ts';
import type { Cell } from '../layout.ts';
import { shortRunId } from '../suggestion.ts';

/** How like actions went before, as a column; nobody needs an empty one. */
export function historyColumn(actions: readonly ActionState[]): {
  readonly header: Cell[];
  readonly cellsOf: (action: ActionState) => Cell[];
} {
  if (!actions.some(({ definition }) => definition.history != null)) {
    return { header: [], cellsOf: () => [] };
  }
  return {
    header: [{ text: 'before' }],
    cellsOf: ({ definition }) => [{ text: definition.history == null ? '-' : shareText(definition.history) }],
  };
}

/** Rows for one action in full. */
export function historyRows(history: ActionHistory | null | undefined): [string, string][] {
  if (history == null) return [];
  const { score, expected, counts, cases } = history;
  const told = Object.entries(counts).flatMap(([outcome, count]) =>
    count > 0 ? [`${count} ${outcome}`] : [],
  );
  return [
    [
      'history',
      `like actions: ${told.join(', ')}; score ${score.toFixed(2)}, ${expected.toFixed(2)} without them`,
    ],
    ...cases.map(({ run_id, outcome, at, reason }): [string, string] => [
      'case',
      `${shortRunId(run_id)} ${outcome} ${at.slice(0, 10)}${reason === null ? '' : `: ${reason}`}`,
    ]),
  ];
}

/** For example `3 of 4 ok`. */
function shareText({ counts }: ActionHistory): string {
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return `${(counts.succeeded ?? 0) + (counts.merged ?? 0)} of ${all} ok`;
}
