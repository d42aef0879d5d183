import type { Command } from 'commander';
import type { RunOwn } from '../own-command.ts';

export function define(program: Command, run: RunOwn): void {
  program
    .command('doctor')
    .description('what works on this machine, what does not, and the fix')
    .action(() =>
      run(async ({ home, json, paints }) => {
        const { doctor } = await import('../doctor.ts');
        return doctor({ home, json, color: paints });
      }),
    );
}
