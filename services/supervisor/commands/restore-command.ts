import type { Command } from 'commander';
import { environment } from '#kit/environment.ts';
import { exitCodes } from '#kit/errors.ts';
import { locateFolders } from '#kit/folders.ts';
import type { RunOwn } from '../own-command.ts';

export function define(program: Command, run: RunOwn): void {
  program
    .command('restore')
    .description('put a backup into empty folders')
    .argument('<file>', 'a backup')
    .option('--state-only', 'leave the configuration folder alone')
    .action((file: string, { stateOnly }: { stateOnly?: boolean }) =>
      run(async ({ home, json, program: name }) => {
        const [{ restore }, { createProgress }, { untilSignal }, { toldOfRestore }, { notesOf }] =
          await Promise.all([
            import('../backup/restore.ts'),
            import('../backup/progress.ts'),
            import('../backup/until-signal.ts'),
            import('../backup/told.ts'),
            import('../backup/restored-notes.ts'),
          ]);
        const folders = locateFolders({ home }, environment);
        const progress = createProgress(process.stderr);
        const manifest = await untilSignal((signal) =>
          restore({ file, folders, stateOnly: stateOnly === true, progress, signal }),
        );
        const places = { state: folders.state, config: stateOnly === true ? null : folders.config };
        const { files: _files, ...told } = manifest;
        const notes = notesOf(manifest, places);
        const report = { file, ...places, notes, manifest: told };
        process.stdout.write(
          json ? `${JSON.stringify(report)}\n` : toldOfRestore(manifest, { ...places, notes }, name),
        );
        return exitCodes.done;
      }),
    );
}
