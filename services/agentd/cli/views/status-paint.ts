import type { RunStatus } from '../../runs/run.ts';
import type { Paint } from '../terminal.ts';

export function statusPaint(status: RunStatus, paint: Paint): (text: string) => string {
  switch (status) {
    case 'completed':
      return paint.green;
    case 'awaiting_approval':
    case 'partially_completed':
    case 'interrupted':
      return paint.yellow;
    case 'failed':
      return paint.red;
    case 'planning':
    case 'executing':
      return paint.cyan;
    case 'rejected':
    case 'undone':
    case 'cancelled':
    case 'superseded':
      return paint.dim;
  }
}
