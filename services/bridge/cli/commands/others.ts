import type { Command } from 'commander';
import type { Display } from '#kit/cli/display.ts';
import { type Paint, printResult } from '#kit/cli/output.ts';
import type { RunCommand } from '#kit/cli/program.ts';
import { type Cell, type Column, tableLines } from '#kit/cli/table.ts';
import { AgentMap } from '#kit/contracts/bridge/events.ts';
import { ScheduleList, type ScheduleView } from '#kit/contracts/bridge/schedules.ts';
import { taskTitle } from '#kit/contracts/plan.ts';
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
        printResult(context, map, (paint, display) => mapLines(map, paint, display));
        return exitCodes.done;
      }),
    );
  program
    .command('schedules')
    .description('schedules, when each is due next, and what it found last')
    .action(
      asking(run, async (context, client) => {
        const list = await client.get('/v1/schedules', ScheduleList);
        printResult(context, list, (paint, display) => scheduleLines(list, paint, display));
        return exitCodes.done;
      }),
    );
}

function mapLines({ roles, default_role }: AgentMap, paint: Paint, display: Display): string[] {
  const rows = roles.map(({ key, name, purpose, plans }): Cell[] => {
    const preset = name === default_role ? '  for events that name no role' : '';
    const idle = plans ? '' : '  plans nothing';
    const text = `${short(purpose, 100)}${preset}${idle}`;
    return [short(key, 60), short(name, 60), { text, paint: plans ? undefined : paint.yellow }];
  });
  return tableLines(['', '', wrapping], rows, display);
}

const wrapping: Column = { title: '', gives: { turn: 1, to: 24 }, excess: 'wrap' };

function scheduleLines({ schedules, last_tick_at }: ScheduleList, paint: Paint, display: Display): string[] {
  if (schedules.length === 0) return ['There is none: config/schedules.json names them.'];
  const tick = last_tick_at === null ? 'the bus has not called yet' : `looked at ${moment(last_tick_at)}`;
  return [
    ...tableLines(
      columns,
      schedules.flatMap((schedule) => rowsOf(schedule, paint)),
      display,
    ),
    paint.dim(tick),
  ];
}

const columns: readonly Column[] = [
  { title: '' },
  { title: '', gives: { turn: 4, to: 'gone' } },
  { title: '', gives: { turn: 2, to: 'gone' } },
  { title: '', gives: { turn: 3, to: 14 }, excess: 'cutStart' },
  { title: '', gives: { turn: 1, to: 'gone' } },
  wrapping,
];

function rowsOf(schedule: ScheduleView, paint: Paint): Cell[][] {
  const { name, cron, zone, owner, repo, label, role, task, next_at, enabled, last_result: last } = schedule;
  const next = enabled ? (next_at === null ? 'next never' : due(next_at, 'next')) : 'off';
  const subject = task === null ? label : taskTitle(task);
  const only = subject === null ? '' : ` ${short(subject, 60)}`;
  const first = [name, cron, zone, `${owner}/${repo}${only}`, role ?? '', next];
  if (last === null) return [first];
  const ofIssues = `${last.issues} issues, ${last.events} new events, ${last.planned} planned since their update`;
  const text = task === null ? ofIssues : `${last.events} new events`;
  const found = last.problem === null ? text : short(last.problem, 200);
  const result = {
    text: `${moment(last.at)}  ${found}`,
    paint: last.problem === null ? undefined : paint.red,
  };
  return [first, ['', '', '', '', '', result]];
}
