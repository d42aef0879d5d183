import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import type { Cell } from '#kit/cli/table.ts';
import { exitCodes } from '#kit/errors.ts';
import type { TestedChannel } from '../../notifications/compose.ts';
import { answer, type Run } from '../command.ts';
import { table, wrapping } from '../layout.ts';
import type { Terminal } from '../terminal.ts';

/** Exit 5 where a channel did not take its test. */
export function notify(program: Command, run: Run): void {
  program
    .command('notify')
    .description('notifications, see config/notifications.json')
    .command('test')
    .description('send a test to every channel of a person, or of everybody')
    .argument('[person]', 'as notifications.json names them')
    .action(
      run(async (context, person: string | undefined) => {
        const { services, signal, terminal } = context;
        const tested: TestedChannel[] = [];
        const notifications = await services.notifications();
        for await (const one of notifications.test(person ?? null, signal)) tested.push(one);
        const failed = tested.some(({ problem }) => problem !== null);
        return answer(
          context,
          { channels: tested },
          () => testView(tested, notifications.file, terminal),
          failed ? exitCodes.unavailable : exitCodes.done,
        );
      }),
    );
}

const example = '{"people": {"NAME": {"channels": {"desktop": {}}}}}';

function testView(tested: readonly TestedChannel[], file: string, terminal: Terminal): string {
  const { green, yellow } = terminal.paint;
  if (tested.length === 0) {
    const why = existsSync(file) ? `${file} names nobody` : `there is no file ${file}`;
    return `Nobody is notified: ${why}. For example:\n${example}\n`;
  }
  const rows = tested.flatMap(({ person, channel, place, problem, fix }): Cell[][] => [
    [
      person,
      channel,
      problem === null ? { text: 'sent', paint: green } : { text: 'not sent', paint: yellow },
      [place, problem].filter((text) => text !== null).join(': '),
    ],
    ...(fix === null ? [] : [['', '', '', `do  ${terminal.named(fix)}`]]),
  ]);
  return `${table(['', '', '', wrapping], rows, terminal, 0).join('\n')}\n`;
}
