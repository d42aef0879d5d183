import type { Command } from 'commander';
import { type Paint, printResult } from '#kit/cli/output.ts';
import type { RunCommand } from '#kit/cli/program.ts';
import { AgentMap } from '#kit/contracts/bridge/events.ts';
import { ScheduleList, type ScheduleView } from '#kit/contracts/bridge/schedules.ts';
import { exitCodes } from '#kit/errors.ts';
import { asking } from '../client.ts';
import { due, moment, short } from '../output.ts';

export function define(program: Command, run: RunCommand): void {
  program
    .command('map')
    .description('which role works for which role key of a dashboard')
    .action(
      asking(run, async (context, client) => {
        const map = await client.get('/v1/agents/map', AgentMap);
        printResult(context, map, (paint) => mapLines(map, paint));
        return exitCodes.done;
      }),
    );
  program
    .command('schedules')
    .description('schedules, when each is due next, and what it found last')
    .action(
      asking(run, async (context, client) => {
        const list = await client.get('/v1/schedules', ScheduleList);
        printResult(context, list, (paint) => scheduleLines(list, paint));
        return exitCodes.done;
      }),
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
