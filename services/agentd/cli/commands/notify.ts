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
        for await (const one of (await services.notifications()).test(person ?? null, signal))
          tested.push(one);
        const failed = tested.some(({ problem }) => problem !== null);
        return answer(
          context,
          { channels: tested },
          () => testView(tested, terminal),
          failed ? exitCodes.unavailable : exitCodes.done,
        );
      }),
    );
}

function testView(tested: readonly TestedChannel[], terminal: Terminal): string {
  const { green, yellow } = terminal.paint;
  if (tested.length === 0) return 'Nobody is notified: notifications.json names nobody.\n';
  const rows = tested.map(({ person, channel, place, problem }): Cell[] => [
    person,
    channel,
    problem === null ? { text: 'sent', paint: green } : { text: 'not sent', paint: yellow },
    [place, problem].filter((text) => text !== null).join(': '),
  ]);
  return `${table(['', '', '', wrapping], rows, terminal, 0).join('\n')}\n`;
}
