import type { Command } from 'commander';
import { InvalidInput } from '#kit/errors.ts';
import { answer, type Run } from '../command.ts';
import { notEmpty } from '../option-values.ts';
import { inboxView } from '../views/inbox-view.ts';

interface InboxOptions {
  readonly person?: string;
  readonly all?: boolean;
}

export function inbox(program: Command, run: Run): void {
  program
    .command('inbox')
    .description('what waits for you: decisions, executions, and what went wrong')
    .option(
      '--person <name>',
      'of this person of policy.json, or the owner of this token',
      notEmpty('--person'),
    )
    .option('--all', 'what waits for anybody')
    .action(
      run(async (context, { person, all = false }: InboxOptions) => {
        const { services, terminal, suggestions } = context;
        if (all && person !== undefined)
          throw new InvalidInput(
            'invalid_option',
            '--all is of everybody, --person of one: give one of them',
          );
        const reader = all ? null : (person ?? (await services.person()).name);
        const found = await services.agent.inbox({ person: reader, now: terminal.now() });
        return answer(context, found, () => inboxView(found, terminal, suggestions));
      }),
    );
}
