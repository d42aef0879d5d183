import { visibleLine } from '#kit/cli/terminal-text.ts';
import type { ProposedAction } from '#kit/contracts/action.ts';
import type { RunSummary } from '#kit/contracts/run.ts';
import { type Color, type Span, type Style, span } from '../screen/cell.ts';
import type { Glyphs } from '../screen/glyphs.ts';
import { needsApproval, type OpenRun } from '../state/state.ts';

/** How statuses, risks and states look: always a word, the colour only helps. */

const statusColors: Readonly<Record<RunSummary['status'], Color>> = {
  planning: 'cyan',
  awaiting_approval: 'yellow',
  executing: 'cyan',
  completed: 'green',
  partially_completed: 'yellow',
  interrupted: 'yellow',
  failed: 'red',
  rejected: 'gray',
  undone: 'gray',
  cancelled: 'gray',
  superseded: 'gray',
};

export function statusStyle(status: RunSummary['status']): Style {
  return { color: statusColors[status] };
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
      return span(`${glyphs.tick} done`, { color: 'green' });
    case 'running':
      return span('running', { color: 'cyan' });
    case 'failed':
      return span(`${glyphs.cross} failed`, { color: 'red' });
    case 'unknown':
      return span('? unknown', { color: 'yellow' });
    case 'undone':
      return span('undone', { color: 'gray' });
    case 'pending':
    case 'refused':
    case 'blocked': {
      if (approval === 'rejected') return span('rejected', { color: 'red' });
      if (needsApproval(action) && approval === 'approved') return span('lapsed', { color: 'yellow' });
      if (action.approval_problem != null) return span('unknown', { color: 'yellow' });
      if (state !== 'pending' && approval === 'approved') return span(state, { color: 'yellow' });
      if (approval === 'approved') return span('approved', { color: 'green' });
      const seen = open.seen[action_id];
      if (seen?.digest !== digest) return span('waits', { color: 'yellow' });
      return span(seen.whole ? 'seen' : 'in part', { color: 'yellow' });
    }
  }
}
