import type { Command } from 'commander';
import { choice } from '#kit/cli/choice.ts';
import { logFormats, logLevels, type SettingFlags } from '#kit/config/settings.ts';
import type { Run } from '../command.ts';

export function serve(program: Command, run: Run): void {
  program
    .command('serve')
    .description('run the daemon in this terminal')
    .option('--host <address>', 'listen there (default: agentd.host)')
    .option('--port <number>', 'listen on this port (default: agentd.port)')
    .addOption(choice('--log-level <level>', 'the least that is logged', logLevels))
    .addOption(choice('--log-format <format>', 'of the log', logFormats))
    .option('--check', 'only read the configuration, and say what is wrong with it')
    .action(run(({ services }, flags: SettingFlags & { readonly check?: boolean }) => services.serve(flags)));
}
