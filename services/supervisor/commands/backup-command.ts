import type { Command } from 'commander';
import { environment } from '#kit/environment.ts';
import { exitCodes } from '#kit/errors.ts';
import { resolveFolders } from '#kit/folders.ts';
import { ownVersion } from '#kit/own-version.ts';
import type { RunOwn } from '../own-command.ts';

interface BackupFlags {
  readonly withSecrets?: boolean;
  readonly withMirrors?: boolean;
}

export function define(program: Command, run: RunOwn): void {
  const command = program
    .command('backup')
    .description('all state of this installation in one file, also while it runs')
    .argument('<target>', 'a new file, or a folder, in which it gets a name with the time')
    .option('--with-secrets', 'also keys of forges and models, and tokens, in plain text')
    .option('--with-mirrors', 'also the copies of repositories, which are else fetched again')
    .action((target: string, { withSecrets, withMirrors }: BackupFlags) =>
      run(async ({ home, json, program: name }) => {
        const [{ backup }, { createProgress }, { untilSignal }, { toldOfBackup }] = await Promise.all([
          import('../backup/backup.ts'),
          import('../backup/progress.ts'),
          import('../backup/until-signal.ts'),
          import('../backup/told.ts'),
        ]);
        const report = await untilSignal((signal) =>
          backup({
            folders: resolveFolders({ home }, environment),
            target,
            withSecrets: withSecrets === true,
            withMirrors: withMirrors === true,
            version: ownVersion(),
            progress: createProgress(process.stderr),
            signal,
          }),
        );
        const { manifest, ...facts } = report;
        const { files: _files, ...told } = manifest;
        process.stdout.write(
          json ? `${JSON.stringify({ ...facts, manifest: told })}\n` : toldOfBackup(report, name),
        );
        return exitCodes.done;
      }),
    );
  command
    .command('verify')
    .description('read a backup to its end and check every file in it')
    .argument('<file>', 'a backup')
    .action((file: string) =>
      run(async ({ json }) => {
        const [{ verifyBackup }, { createProgress }, { untilSignal }, { toldOfCheck }] = await Promise.all([
          import('../backup/verify-backup.ts'),
          import('../backup/progress.ts'),
          import('../backup/until-signal.ts'),
          import('../backup/told.ts'),
        ]);
        const progress = createProgress(process.stderr);
        const manifest = await untilSignal((signal) => verifyBackup(file, { progress, signal }));
        const { files: _files, ...told } = manifest;
        process.stdout.write(
          json ? `${JSON.stringify({ file, manifest: told })}\n` : toldOfCheck(file, manifest),
        );
        return exitCodes.done;
      }),
    );
}
