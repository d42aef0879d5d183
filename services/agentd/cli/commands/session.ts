import type { Command } from 'commander';
import { age, until } from '#kit/cli/moments.ts';
import { EndedSessions, type ReviewSession, ReviewSessions } from '#kit/contracts/review.ts';
import { counted } from '#kit/counted.ts';
import { InvalidInput } from '#kit/errors.ts';
import { answer, type Run } from '../command.ts';
import { table, wrapping } from '../layout.ts';
import type { Terminal } from '../terminal.ts';
import { askDaemon } from './review.ts';

const path = '/v1/review/sessions';

/** Who is signed in to the review page, by a link or by the identity provider. */
export function session(program: Command, run: Run): void {
  const group = program.command('session').description('browsers that are signed in to the review page');
  group
    .command('list')
    .description('who is signed in, and until when; with the scope admin everybody')
    .action(
      run(async (context) => {
        const { sessions } = await askDaemon(context, (client) => client.get(path, ReviewSessions));
        return answer(context, { sessions }, () => listView(sessions, context.terminal));
      }),
    );
  group
    .command('revoke [session...]')
    .description('sign out browsers at once, also where they show something live')
    .option('--of <name>', 'every session of a token or an account; of others than you with the scope admin')
    .action(
      run(async (context, ids: readonly string[], { of }: { readonly of?: string }) => {
        if (ids.length > 0 === (of !== undefined))
          throw new InvalidInput(
            'invalid_option',
            ids.length > 0
              ? 'sessions and --of are both given: must be one of them'
              : 'nothing is named: must be the sessions to end, or --of with whose they are',
            { hint: 'session list shows them.' },
          );
        const paths =
          of === undefined
            ? ids.map((id) => `${path}/${encodeURIComponent(id)}`)
            : [`${path}?${new URLSearchParams({ of })}`];
        const ended = await askDaemon(context, async (client) => {
          let sum = 0;
          for (const one of paths) sum += (await client.delete(one, EndedSessions)).ended;
          return sum;
        });
        return answer(context, { ended }, () => `Signed out ${counted(ended, 'browser')}.\n`);
      }),
    );
}

function listView(sessions: readonly ReviewSession[], terminal: Terminal): string {
  if (sessions.length === 0) return 'Nobody is signed in to the review page; ./core review signs you in.\n';
  const now = terminal.now();
  const rows = sessions.map(({ id, name, by, scopes, created, expires }) => [
    { text: id, paint: terminal.paint.dim },
    name,
    by,
    age(created, now),
    until(expires, now),
    scopes.join(', '),
  ]);
  const columns = ['session', 'who', 'by', 'signed in', 'ends', { ...wrapping, title: 'scopes' }];
  return `${table(columns, rows, terminal).join('\n')}\n`;
}
