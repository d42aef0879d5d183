import type { Command } from 'commander';
import type { Cell } from '#kit/cli/table.ts';
import type { SettingRow } from '#kit/config/settings.ts';
import { counted } from '#kit/counted.ts';
import { environment } from '#kit/environment.ts';
import { exitCodes } from '#kit/errors.ts';
import { resolveFolders } from '#kit/folders.ts';
import type { ForgeReport } from '../../ports/forge-report.ts';
import { answer, type Run, type RunOption, runNamed, withRun } from '../command.ts';
import { table, wrapping } from '../layout.ts';
import { timeSpan } from '../option-values.ts';
import type { Terminal } from '../terminal.ts';
import { pruneView, settingsView } from '../views/reports.ts';

/** Commands about this installation: its settings, forges and stored runs. */

export function config(program: Command, run: Run): void {
  program
    .command('config')
    .description('settings')
    .command('show')
    .description('every setting and where its value comes from')
    .action(
      run(async (context) => {
        const { suggestions, services, terminal } = context;
        const { state, config, origin } = resolveFolders({ home: suggestions.home }, environment);
        const rows = [
          folderRow('folder.state', state, origin.state),
          folderRow('folder.config', config, origin.config),
          ...(await services.settings()),
        ];
        return answer(context, rows, () => settingsView(rows, terminal));
      }),
    );
}

function folderRow(key: string, value: string, origin: string): SettingRow {
  if (origin === 'default') return { key, value, source: origin, where: 'XDG base directories' };
  return { key, value, source: origin.startsWith('--') ? 'flag' : 'environment', where: origin };
}

/** Exit 5 when one did not answer, 1 when one rejects its token. */
export function forges(program: Command, run: Run): void {
  program
    .command('forges')
    .description(
      'each configured forge: whether it answers, whose token it is shown, which scopes that lacks',
    )
    .action(
      run(async (context) => {
        const reports = await context.services.forges();
        const is = (...states: ForgeReport['state'][]) => reports.some(({ state }) => states.includes(state));
        const exitCode = is('refused') ? exitCodes.failed : exitCodes.done;
        return answer(
          context,
          { forges: reports },
          () => forgesView(reports, context.terminal),
          is('silent', 'unreachable') ? exitCodes.unavailable : exitCode,
        );
      }),
    );
}

function forgesView(reports: readonly ForgeReport[], terminal: Terminal): string {
  const { paint } = terminal;
  const rows = reports.flatMap(({ forge, state, detail, fix }): Cell[][] => {
    const painted = state === 'works' ? paint.green : state === 'unused' ? paint.dim : paint.yellow;
    const row = [forge, { text: state, paint: painted }, detail];
    return fix === null ? [row] : [row, ['', '', { text: `do  ${fix}`, paint: paint.dim }]];
  });
  return `${table(['', '', wrapping], rows, terminal, 0).join('\n')}\n`;
}

interface PruneOptions {
  readonly olderThan: number;
  readonly runs?: boolean;
  readonly dryRun?: boolean;
}

export function forgetPrompts(program: Command, run: Run): void {
  withRun(program.command('forget-prompts'))
    .description('delete what models and agents were sent and answered for a run; the record still names it')
    .action(
      run(async (context, id: string | undefined, options: RunOption) => {
        const run_id = await runNamed(context, id, options, 'forget-prompts');
        const by = await context.services.person();
        const result = await context.services.agent.forgetPrompts({ run_id, by });
        const { length } = result.artifacts;
        return answer(context, result, () =>
          length === 0
            ? `${run_id} has no prompts or transcripts.\n`
            : `Deleted ${counted(length, 'text')} of ${run_id}; \`verify\` lists what is missing.\n`,
        );
      }),
    );
}

export function prune(program: Command, run: Run): void {
  program
    .command('prune')
    .description('remove working copies of old runs; with --runs their records too')
    .requiredOption('--older-than <span>', 'since their last event, for example 30d', timeSpan)
    .option('--runs', 'records as well; a tombstone keeps the head of each')
    .option('--dry-run', 'list what would be deleted')
    .action(
      run(async (context, { olderThan, runs = false, dryRun: dry_run = false }: PruneOptions) => {
        const { terminal, services } = context;
        const before = new Date(terminal.now().getTime() - olderThan).toISOString();
        const what = runs ? 'runs' : 'clones';
        const result = await services.agent.prune({ before, what, dry_run });
        return answer(context, result, () => pruneView(result, dry_run, terminal));
      }),
    );
}
