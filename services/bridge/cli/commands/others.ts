import type { Command } from 'commander';
import type { RunCommand } from '#kit/cli/program.ts';
import { type Paint, tell } from '#kit/cli/tell.ts';
import { AgentMap } from '#kit/contracts/bridge/events.ts';
import { ScheduleList, type ScheduleView } from '#kit/contracts/bridge/schedules.ts';
import { SyncReply } from '#kit/contracts/bridge/sync.ts';
import { exitCodes } from '#kit/errors.ts';
import { withBridge } from '../client.ts';
import { due, moment, short } from '../output.ts';

/** Milliseconds: dashboards are told one summary after the other. */
const syncMs = 120_000;

export function define(program: Command, run: RunCommand): void {
  program
    .command('map')
    .description('which role works for which role key of a dashboard')
    .action(() =>
      run((context) =>
        withBridge(context, async (client) => {
          const map = await client.get('/v1/agents/map', AgentMap);
          tell(context, map, (paint) => mapLines(map, paint));
          return exitCodes.done;
        }),
      ),
    );
  program
    .command('sync')
    .description('tell the dashboards what runs have come to')
    .option('--retry-dead', 'also what was given up')
    .action(({ retryDead }: { retryDead?: boolean }) =>
      run((context) =>
        withBridge(
          context,
          async (client) => {
            const body = { retry_dead: retryDead ?? false };
            const reply = await client.post('/v1/sync/agent-to-dashboard', body, SyncReply);
            tell(context, reply, (paint) => syncLines(reply, paint));
            return reply.failed === 0 ? exitCodes.done : exitCodes.failed;
          },
          syncMs,
        ),
      ),
    );
  program
    .command('schedules')
    .description('schedules, when each is due next, and what it found last')
    .action(() =>
      run((context) =>
        withBridge(context, async (client) => {
          const list = await client.get('/v1/schedules', ScheduleList);
          tell(context, list, (paint) => scheduleLines(list, paint));
          return exitCodes.done;
        }),
      ),
    );
}

function mapLines({ roles, default_role }: AgentMap, paint: Paint): string[] {
  const width = Math.max(...roles.map(({ key }) => key.length));
  return roles.map(({ key, name, purpose, plans }) => {
    const preset = name === default_role ? paint.dim('  for events that name no role') : '';
    const idle = plans ? '' : paint.yellow('  plans nothing');
    return `${short(key, 60).padEnd(width)}  ${short(name, 60).padEnd(10)}  ${short(purpose, 100)}${preset}${idle}`;
  });
}

function syncLines({ runs, queued, delivered, failed, dashboards }: SyncReply, paint: Paint): string[] {
  const all = Object.entries(dashboards);
  if (all.length === 0)
    return ['No dashboard is configured: sync.dashboards of config/bridge.json names them.'];
  const wrong = failed === 0 ? '' : paint.red(`, ${failed} failed`);
  return [
    `${runs} runs, ${queued} new states, ${delivered} told${wrong}`,
    ...all.map(([name, { waiting, dead, problem }]) => {
      const why = problem === null ? '' : `  ${short(problem, 200)}`;
      return `${name}  ${waiting} waiting, ${dead} given up${why}`;
    }),
  ];
}

function scheduleLines({ schedules, last_tick_at }: ScheduleList, paint: Paint): string[] {
  if (schedules.length === 0) return ['There is none: config/schedules.json names them.'];
  const tick = last_tick_at === null ? 'the bus has not called yet' : `looked at ${moment(last_tick_at)}`;
  return [...schedules.flatMap((schedule) => linesOf(schedule, paint)), paint.dim(tick)];
}

function linesOf(schedule: ScheduleView, paint: Paint): string[] {
  const { name, cron, zone, owner, repo, label, role, next_at, enabled, last_result: last } = schedule;
  const next = enabled ? (next_at === null ? 'next never' : due(next_at, 'next')) : 'off';
  const only = label === null ? '' : ` ${short(label, 60)}`;
  const first = `${name}  ${cron}  ${zone}  ${owner}/${repo}${only}  ${role ?? ''}  ${next}`;
  if (last === null) return [first];
  const found =
    last.problem === null
      ? `${last.issues} issues, ${last.events} new events, ${last.planned} planned since their update`
      : paint.red(short(last.problem, 200));
  return [first, `  ${paint.dim(moment(last.at))}  ${found}`];
}
