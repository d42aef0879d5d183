import { visibleLine } from '#kit/cli/terminal-text.ts';
import type { Risk } from '../../action.ts';
import { type ActionDefinition, actionType } from '../../actions/registry.ts';
import type { Paint, Symbols } from '../terminal.ts';

/** What an action does, in two short texts: the thing itself, and what to know about it. Safe to print. */
export function actionText(
  { kind, params }: ActionDefinition,
  symbols: Symbols,
): { main: string; note: string } {
  const { main, note } = actionType(kind).describe(params, symbols.minus);
  return { main: visibleLine(main), note: visibleLine(note) };
}

export function riskPaint(risk: Risk, paint: Paint): (text: string) => string {
  switch (risk) {
    case 'low':
      return paint.green;
    case 'medium':
      return paint.yellow;
    case 'high':
      return paint.red;
    case 'critical':
      return (text) => paint.bold(paint.red(text));
  }
}

/** Four letters at most, for a narrow column. */
export function riskWord(risk: Risk): string {
  return { low: 'low', medium: 'med', high: 'high', critical: 'crit' }[risk];
}
