import type { Paint } from '#kit/cli/tell.ts';
import type { EventState, EventView, ProcessReply } from '#kit/contracts/bridge/events.ts';
import { labelOf } from '../targets/target.ts';
import { due, moment, short } from './output.ts';

/** One line for each event of a list. */
export function eventLine(event: EventView, paint: Paint): string {
  const { state, source, kind, target, issue, event_id, received_at } = event;
  const where = target === null ? short(issue.id, 40) : labelOf(target);
  const cells = [
    painted(state, paint),
    moment(received_at),
    short(where, 60),
    short(issue.title, 60),
    paint.dim(`${source} ${short(kind, 40)}`),
    paint.dim(short(event_id, 120)),
  ];
  return `${cells.join('  ')}${becauseOf(event, 80)}`;
}

/** All that is known of one event. */
export function eventLines(event: EventView, paint: Paint): string[] {
  const { issue, target, role, reason, run_id, retry_at, attempts } = event;
  const rows: (readonly [string, string | null])[] = [
    ['event', short(event.event_id, 200)],
    ['state', painted(event.state, paint).trimEnd()],
    ['why', reason === null ? null : `${short(reason.message, 400)}  [${short(reason.code, 60)}]`],
    ['run', run_id],
    ['attempts', attempts === 0 ? null : `${attempts} failed`],
    ['again', retry_at === null ? null : moment(retry_at)],
    ['issue', target === null ? null : labelOf(target)],
    ['role', role === null ? null : `${role.name} (${role.key})`],
    ['title', short(issue.title, 400)],
    ['status', short(issue.status, 100)],
    ['labels', issue.labels.length === 0 ? null : issue.labels.map((label) => short(label, 60)).join(', ')],
    ['page', issue.url === null ? null : short(issue.url, 400)],
    ['what', `${event.source} ${short(event.kind, 60)}, ${moment(event.occurred_at)}`],
    ['by', `${short(event.actor ?? '-', 100)}, brought by ${short(event.by, 100)}`],
    ['received', moment(event.received_at)],
    ...event.notes.map((note): readonly [string, string] => ['note', short(note, 400)]),
  ];
  return rows.flatMap(([name, text]) => (text === null ? [] : [`${paint.dim(name.padEnd(9))} ${text}`]));
}

export function processLines({ event, pending, next_due_at }: ProcessReply, paint: Paint): string[] {
  const rest = pending === 0 ? 'No event is pending.' : `${pending} pending.`;
  if (event !== null) return [eventLine(event, paint), paint.dim(rest)];
  if (next_due_at === null) return [rest];
  return [`None is due before ${moment(next_due_at)}. ${rest}`];
}

function becauseOf({ run_id, reason, retry_at }: EventView, most: number): string {
  const run = run_id === null ? '' : `  ${run_id}`;
  const why = reason === null ? '' : `  ${short(reason.message, most)}`;
  const again = retry_at === null ? '' : `, ${due(retry_at, 'again')}`;
  return `${run}${why}${again}`;
}

function painted(state: EventState, paint: Paint): string {
  const text = state.padEnd(10);
  switch (state) {
    case 'done':
      return paint.green(text);
    case 'dead':
      return paint.red(text);
    case 'skipped':
      return paint.yellow(text);
    case 'pending':
    case 'processing':
      return text;
  }
}
