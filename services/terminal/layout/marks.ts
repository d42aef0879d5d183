import { visibleLine } from '#kit/cli/terminal-text.ts';
import type { ProposedAction } from '#kit/contracts/action.ts';
import type { RunSummary } from '#kit/contracts/run.ts';
import type { Span, Style } from '../screen/cell.ts';
import type { Glyphs } from '../screen/glyphs.ts';
import type { OpenRun } from '../state/state.ts';

/** How statuses, risks and states look: always a word, the colour only helps. */

export function statusStyle(status: RunSummary['status']): Style {
  switch (status) {
    case 'completed':
      return { color: 'green' };
    case 'awaiting_approval':
    case 'partially_completed':
    case 'interrupted':
      return { color: 'yellow' };
    case 'failed':
      return { color: 'red' };
    case 'planning':
    case 'executing':
      return { color: 'cyan' };
    case 'rejected':
    case 'undone':
    case 'cancelled':
    case 'superseded':
      return { color: 'gray' };
  }
}

export function statusWord(status: string): string {
  return status.replaceAll('_', ' ');
}

export function riskStyle(risk: string | null): Style {
  if (risk === 'low') return { color: 'green' };
  if (risk === 'medium') return { color: 'yellow' };
  return risk === 'critical' ? { color: 'red', bold: true } : { color: 'red' };
}

export function riskWord(risk: string | null): string {
  if (risk === null) return '-';
  return { low: 'low', medium: 'med', high: 'high', critical: 'CRIT' }[risk] ?? visibleLine(risk).slice(0, 4);
}

/** Where an action stands, in one word. */
export function standing(action: ProposedAction, open: OpenRun, glyphs: Glyphs): Span {
  const { state, approval, action_id, digest } = action;
  switch (state) {
    case 'succeeded':
      return { text: `${glyphs.tick} done`, style: { color: 'green' } };
    case 'running':
      return { text: 'running', style: { color: 'cyan' } };
    case 'failed':
      return { text: `${glyphs.cross} failed`, style: { color: 'red' } };
    case 'unknown':
      return { text: '? unknown', style: { color: 'yellow' } };
    case 'undone':
      return { text: 'undone', style: { color: 'gray' } };
    case 'pending':
    case 'refused':
    case 'blocked': {
      if (approval === 'rejected') return { text: 'rejected', style: { color: 'red' } };
      if (state !== 'pending' && approval === 'approved') return { text: state, style: { color: 'yellow' } };
      if (approval === 'approved') return { text: 'approved', style: { color: 'green' } };
      const seen = open.seen[action_id];
      if (seen?.digest !== digest) return { text: 'waits', style: { color: 'yellow' } };
      return { text: seen.whole ? 'seen' : 'in part', style: { color: 'yellow' } };
    }
  }
}
