import { printText } from '#kit/cli/output.ts';
import type { CommandContext } from '#kit/cli/program.ts';
import { environment } from '#kit/environment.ts';
import { exitCodes } from '#kit/errors.ts';
import { locateFolders, resolveFolders } from '#kit/folders.ts';
import { ownVersion } from '#kit/program.ts';
import { verifyBackup } from './archive.ts';
import { backup } from './backup.ts';
import type { Manifest } from './manifest.ts';
import { createProgress, untilSignal } from './progress.ts';
import { backupText, notesOf, restoreText, verifyText } from './reports.ts';
import { restore } from './restore.ts';

export async function backupCommand(
  { home, json, program, display }: CommandContext,
  target: string,
  { withSecrets = false, withMirrors = false }: { withSecrets?: boolean; withMirrors?: boolean },
): Promise<number> {
  const folders = resolveFolders({ home }, environment);
  const progress = createProgress(process.stderr);
  const report = await untilSignal((signal) =>
    backup({ folders, target, withSecrets, withMirrors, version: ownVersion(), progress, signal }),
  );
  const { manifest, ...facts } = report;
  return print(
    { json, display },
    { ...facts, manifest: withoutFiles(manifest) },
    backupText(report, program, display.width),
  );
}

export async function verifyCommand({ json, display }: CommandContext, file: string): Promise<number> {
  const progress = createProgress(process.stderr);
  const manifest = await untilSignal((signal) => verifyBackup(file, { progress, signal }));
  return print({ json, display }, { file, manifest: withoutFiles(manifest) }, verifyText(file, manifest));
}

export async function restoreCommand(
  { home, json, program, display }: CommandContext,
  file: string,
  stateOnly: boolean,
): Promise<number> {
  const folders = locateFolders({ home }, environment);
  const progress = createProgress(process.stderr);
  const manifest = await untilSignal((signal) => restore({ file, folders, stateOnly, progress, signal }));
  const places = { state: folders.state, config: stateOnly ? null : folders.config };
  const notes = notesOf(manifest, places);
  const report = { file, ...places, notes, manifest: withoutFiles(manifest) };
  return print({ json, display }, report, restoreText(manifest, { ...places, notes }, program));
}

function withoutFiles({ files: _files, ...rest }: Manifest): Omit<Manifest, 'files'> {
  return rest;
}

function print(
  { json, display }: Pick<CommandContext, 'json' | 'display'>,
  report: object,
  text: string,
): number {
  if (json) process.stdout.write(`${JSON.stringify(report)}\n`);
  else printText(text, display);
  return exitCodes.done;
}
