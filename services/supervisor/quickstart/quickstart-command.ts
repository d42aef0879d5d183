import type { Command } from 'commander';
import type { RunOwn } from '../own-command.ts';

export function define(program: Command, run: RunOwn): void {
  program
    .command('quickstart')
    .description('see the whole loop on a small repository of its own, in .core/quickstart')
    .option('--yes', 'approve every gate without asking')
    .action((options: { yes?: boolean }) =>
      run(async ({ program: name, home, color, paints }) => {
        const { quickstart } = await import('./quickstart.ts');
        return quickstart({ program: name, home, color, paints, yes: options.yes === true });
      }),
    );
}
