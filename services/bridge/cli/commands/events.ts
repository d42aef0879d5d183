import type { Command } from 'commander';
import type { RunCommand } from '#kit/cli/program.ts';
import { tell } from '#kit/cli/tell.ts';
import { EventList, EventView, ProcessReply } from '#kit/contracts/bridge/events.ts';
import { eventStates } from '#kit/contracts/bridge/vocabulary.ts';
import { exitCodes, InvalidInput } from '#kit/errors.ts';
import type { HttpClient } from '#kit/http/client.ts';
import { withBridge } from '../client.ts';
import { eventLine, eventLines, processLines } from '../event-lines.ts';

/** Milliseconds: a planning takes as long as its bounds allow. */
const planningMs = 3 * 3_600_000;

interface ListOptions {
  readonly state?: string;
  readonly limit?: string;
  readonly cursor?: string;
}

export function define(program: Command, run: RunCommand): void {
  program
    .command('events')
    .description('events, newest first; pending ones in the order of their arrival')
    .option('--state <state>', `only of this state: ${eventStates.join(', ')}`)
    .option('--limit <n>', 'how many, 1 to 100')
    .option('--cursor <text>', 'the next page, as --json gives it')
    .action(({ state, limit, cursor }: ListOptions) =>
      run((context) =>
        withBridge(context, async (client) => {
          const query = new URLSearchParams({
            ...(state === undefined ? {} : { state }),
            ...(limit === undefined ? {} : { limit }),
            ...(cursor === undefined ? {} : { cursor }),
          });
          const list = await client.get(`/v1/events?${query}`, EventList);
          tell(context, list, (paint) => {
            if (list.events.length === 0) return ['There is no such event.'];
            const more = list.next_cursor === null ? [] : [paint.dim('There are more: --limit or --cursor.')];
            return [...list.events.map((event) => eventLine(event, paint)), ...more];
          });
          return exitCodes.done;
        }),
      ),
    );
  program
    .command('show')
    .description('one event, and what became of it')
    .argument('<event>', 'its id')
    .action((id: string) =>
      run((context) =>
        withBridge(context, async (client) => {
          const event = await client.get(`/v1/events/${encodeURIComponent(id)}`, EventView);
          tell(context, event, (paint) => eventLines(event, paint));
          return exitCodes.done;
        }),
      ),
    );
  program
    .command('process-next')
    .description('have the next event planned, and wait for it')
    .option('--event <id>', 'this one')
    .action(({ event }: { event?: string }) =>
      run((context) =>
        withBridge(
          context,
          async (client) => {
            const body = event === undefined ? {} : { event_id: event };
            const reply = await client.post('/v1/events/process-next', body, ProcessReply);
            tell(context, reply, (paint) => processLines(reply, paint));
            return reply.event === null || reply.event.state === 'done' ? exitCodes.done : exitCodes.failed;
          },
          planningMs,
        ),
      ),
    );
  program
    .command('retry')
    .description('make dead events pending again')
    .argument('[events...]', 'their ids')
    .option('--all', 'every dead one')
    .action((ids: string[], { all = false }: { readonly all?: boolean }) =>
      run((context) =>
        withBridge(context, async (client) => {
          checkRetry(ids, all);
          const retried: EventView[] = [];
          for (const id of all ? await deadEvents(client) : ids)
            retried.push(await client.post(`/v1/events/${encodeURIComponent(id)}/retry`, {}, EventView));
          tell(context, retried, (paint) =>
            retried.length === 0 ? ['No event is dead.'] : retried.map((event) => eventLine(event, paint)),
          );
          return exitCodes.done;
        }),
      ),
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
