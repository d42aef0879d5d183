import type { Command } from 'commander';
import { choice } from '#kit/cli/choice.ts';
import type { Display } from '#kit/cli/display.ts';
import { filtersOf } from '#kit/cli/filters.ts';
import { type Paint, printResult } from '#kit/cli/output.ts';
import type { RunCommand } from '#kit/cli/program.ts';
import { type Cell, type Column, tableLines } from '#kit/cli/table.ts';
import {
  EventList,
  type EventState,
  EventView,
  eventStates,
  ProcessReply,
} from '#kit/contracts/bridge/events.ts';
import { exitCodes, InvalidInput } from '#kit/errors.ts';
import type { HttpClient } from '#kit/http/client.ts';
import { labelOf } from '../../targets/target.ts';
import { asking } from '../client.ts';
import { due, moment, short } from '../output.ts';

/** Milliseconds: a planning takes as long as its bounds allow. */
const planningMs = 3 * 3_600_000;

interface ListOptions {
  readonly state?: string;
  readonly limit?: string;
  readonly cursor?: string;
  readonly all?: boolean;
}

async function listed(client: HttpClient, { all = false, ...options }: ListOptions): Promise<EventList> {
  const page = (query: object) =>
    client.get(`/v1/events?${new URLSearchParams({ ...options, ...query })}`, EventList);
  if (!all) return page({});
  let list = await page({ limit: '100' });
  const events = [...list.events];
  while (list.next_cursor !== null) {
    list = await page({ limit: '100', cursor: list.next_cursor });
    events.push(...list.events);
  }
  return { ...list, events };
}

function noEvent(options: ListOptions, program: string): string {
  const filters = filtersOf({ ...options });
  return filters === ''
    ? 'No event has come yet.'
    : `No event with ${short(filters, 200)}; ${program} events lists all.`;
}

export function define(program: Command, run: RunCommand): void {
  program
    .command('events')
    .description('events, newest first; pending ones in the order of their arrival')
    .addOption(choice('--state <state>', 'only of this state', eventStates))
    .option('--limit <n>', 'how many, 1 to 100')
    .option('--cursor <cursor>', 'the next page, as --json gives it')
    .option('--all', 'every event on one page')
    .action(
      asking(run, async (context, client, options: ListOptions) => {
        const list = await listed(client, options);
        printResult(context, list, (paint, display) => {
          if (list.events.length === 0) return [noEvent(options, context.program)];
          const more = list.next_cursor === null ? [] : [paint.dim('There are more: --all or --limit.')];
          return [...eventTable(list.events, paint, display), ...more];
        });
        return exitCodes.done;
      }),
    );
  program
    .command('show')
    .description('one event, and what became of it')
    .argument('<event>', 'its id')
    .action(
      asking(run, async (context, client, id: string) => {
        const event = await client.get(`/v1/events/${encodeURIComponent(id)}`, EventView);
        printResult(context, event, (paint, display) => eventLines(event, paint, display));
        return exitCodes.done;
      }),
    );
  program
    .command('process-next')
    .description('have the next event planned, and wait for it')
    .option('--event <id>', 'this one')
    .action(
      asking(
        run,
        async (context, client, { event }: { readonly event?: string }) => {
          const body = event === undefined ? {} : { event_id: event };
          const reply = await client.post('/v1/events/process-next', body, ProcessReply);
          printResult(context, reply, (paint, display) => processLines(reply, paint, display));
          return reply.event === null || reply.event.state === 'done' ? exitCodes.done : exitCodes.failed;
        },
        planningMs,
      ),
    );
  program
    .command('retry')
    .description('make dead events pending again')
    .argument('[events...]', 'their ids')
    .option('--all', 'every dead one')
    .action(
      asking(run, async (context, client, ids: string[], { all = false }: { readonly all?: boolean }) => {
        checkRetry(ids, all);
        const retried: EventView[] = [];
        for (const id of all ? await deadEvents(client) : ids)
          retried.push(await client.post(`/v1/events/${encodeURIComponent(id)}/retry`, {}, EventView));
        printResult(context, retried, (paint, display) =>
          retried.length === 0 ? ['No event is dead.'] : eventTable(retried, paint, display),
        );
        return exitCodes.done;
      }),
    );
}

function checkRetry(ids: readonly string[], all: boolean): void {
  if (all ? ids.length === 0 : ids.length > 0) return;
  const what = all ? 'ids and --all exclude each other' : 'names no event';
  throw new InvalidInput('invalid_option', `retry ${what}: must be the ids of dead events, or --all`, {
    hint: './core bridge events --state dead lists them.',
  });
}

/** Ids, the oldest first. */
async function deadEvents(client: HttpClient): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query = new URLSearchParams({ state: 'dead', limit: '100', ...(cursor === '' ? {} : { cursor }) });
    const page: EventList = await client.get(`/v1/events?${query}`, EventList);
    ids.push(...page.events.map(({ event_id }) => event_id));
    cursor = page.next_cursor;
  }
  return ids.reverse();
}

const columns: readonly Column[] = [
  { title: '' },
  { title: '', gives: { turn: 5, to: 'brief' } },
  { title: '', gives: { turn: 6, to: 14 }, excess: 'cutStart' },
  { title: '', gives: { turn: 4, to: 16 } },
  { title: '', gives: { turn: 1, to: 'gone' } },
  { title: '', gives: { turn: 3, to: 8 } },
  { title: '', gives: { turn: 2, to: 'brief' } },
];

/** One line for each event: where it stands, what it is about, and what became of it. */
export function eventTable(events: readonly EventView[], paint: Paint, display: Display): string[] {
  const rows = events.map((event): Cell[] => {
    const { state, source, kind, target, issue, event_id, received_at, run_id } = event;
    const time = moment(received_at);
    return [
      stateCell(state, paint),
      { text: time, brief: time.slice(5, 16) },
      short(target === null ? issue.id : labelOf(target), 60),
      short(issue.title, 60),
      { text: `${source} ${short(kind, 40)}`, paint: paint.dim },
      { text: short(event_id, 120), paint: paint.dim },
      { text: becauseOf(event, 80), brief: run_id?.slice(0, 'run_'.length + 13) ?? becauseOf(event, 24) },
    ];
  });
  return tableLines(columns, rows, display);
}

export function eventLines(event: EventView, paint: Paint, display: Display): string[] {
  const { issue, target, role, reason, run_id, retry_at, attempts } = event;
  const rows: (readonly [string, string | null])[] = [
    ['event', short(event.event_id, 200)],
    ['state', event.state],
    ['why', reason === null ? null : `${short(reason.message, 400)}  [${short(reason.code, 60)}]`],
    ['run', run_id],
    ['attempts', attempts === 0 ? null : `${attempts} failed`],
    ['again', retry_at === null ? null : moment(retry_at)],
    [target?.number === null ? 'repository' : 'issue', target === null ? null : labelOf(target)],
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
  const cells = rows.flatMap(([name, text]): Cell[][] => {
    if (text === null) return [];
    return [[{ text: name, paint: paint.dim }, name === 'state' ? stateCell(event.state, paint) : text]];
  });
  return tableLines(['', { title: '', gives: { turn: 1, to: 16 }, excess: 'wrap' }], cells, display);
}

export function processLines(
  { event, pending, next_due_at }: ProcessReply,
  paint: Paint,
  display: Display,
): string[] {
  const rest = pending === 0 ? 'No event is pending.' : `${pending} pending.`;
  if (event !== null) return [...eventTable([event], paint, display), paint.dim(rest)];
  if (next_due_at === null) return [rest];
  return [`None is due before ${moment(next_due_at)}. ${rest}`];
}

function becauseOf({ run_id, reason, retry_at }: EventView, most: number): string {
  const why = [run_id, reason === null ? null : short(reason.message, most)].filter((part) => part !== null);
  return `${why.join('  ')}${retry_at === null ? '' : `, ${due(retry_at, 'again')}`}`;
}

const colours = {
  done: 'green',
  dead: 'red',
  skipped: 'yellow',
  pending: null,
  processing: null,
} as const satisfies Record<EventState, keyof Paint | null>;

function stateCell(state: EventState, paint: Paint): Cell {
  const colour = colours[state];
  return { text: state, paint: colour === null ? undefined : paint[colour] };
}
