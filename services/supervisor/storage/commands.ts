import { resolve } from 'node:path';
import { confirm } from '#kit/cli/confirm.ts';
import { printText } from '#kit/cli/output.ts';
import type { CommandContext } from '#kit/cli/program.ts';
import { Storage, type StorageKind } from '#kit/config/storage.ts';
import { decode } from '#kit/decode.ts';
import { environment } from '#kit/environment.ts';
import { exitCodes, Interrupted, InvalidInput } from '#kit/errors.ts';
import { resolveFolders } from '#kit/folders.ts';
import { createProgress, entries, untilSignal } from '../backup/progress.ts';
import { type MoveCounts, type MoveReport, migrateStorage } from './migrate-storage.ts';

export interface MigrateOptions {
  readonly to: StorageKind;
  readonly url?: string;
  readonly passwordFile?: string;
  readonly caFile?: string;
  readonly yes?: boolean;
}

export async function migrateCommand(
  { home, json, program, display }: CommandContext,
  options: MigrateOptions,
): Promise<number> {
  const { to, yes = false } = options;
  const nothing = 'nothing was moved';
  if (!yes && (json || process.stdin.isTTY !== true || process.stderr.isTTY !== true))
    throw new InvalidInput(
      'no_terminal',
      `storage migrate asks before it moves anything, and nobody can be asked here; ${nothing}`,
      { hint: '--yes moves without asking' },
    );
  const folders = resolveFolders({ home }, environment);
  const progress = createProgress(process.stderr, entries);
  const report = await untilSignal(
    (signal) =>
      migrateStorage({
        ...{ folders, to, given: givenBy(options), progress, signal },
        async confirm(counts) {
          if (!json) printText(countsText(to, counts, folders.state), display);
          if (yes) return;
          const question = { message: `Move it to ${to}?`, default: true, symbols: display.symbols };
          const wanted = await confirm({ ...question, output: process.stderr }).catch(() => false);
          if (!wanted) throw new Interrupted('interrupted', `stopped by you; ${nothing}`);
        },
      }),
    'what was in use before is in use still; the same command goes on with it',
  );
  if (json) process.stdout.write(`${JSON.stringify(report)}\n`);
  else printText(reportText(report, program), display);
  return exitCodes.done;
}

function givenBy({ url, passwordFile, caFile }: MigrateOptions) {
  const path = (file: string | undefined) => (file === undefined ? undefined : resolve(file));
  const given = { url, password_file: path(passwordFile), ca_file: path(caFile) };
  const members = Object.entries(given).filter(([, value]) => value !== undefined);
  const names = { url: '--url', password_file: '--password-file', ca_file: '--ca-file' } as const;
  const { props } = Storage.type;
  return Object.fromEntries(
    members.map(([name, value]) => {
      const key = name as keyof typeof names;
      return [name, decode(props[key], value, names[key], 'invalid_option')];
    }),
  );
}

function countsText(to: StorageKind, { database, parts }: MoveCounts, state: string): string {
  const [from, target] = to === 'postgres' ? [state, database] : [database, state];
  return `From ${from}\nto   ${target}\n${rows(parts)}`;
}

function reportText({ to, database, state, config, parts }: MoveReport, program: string): string {
  const [source, target] = to === 'postgres' ? [state, database] : [database, state];
  const compared =
    parts.length === 0
      ? 'An earlier move had compared both sides; the rest of it is done.\n'
      : `Moved and compared: both sides hold the same.\n${rows(parts)}`;
  const left =
    to === 'postgres'
      ? 'whose runs, tokens, queues and ledger nothing uses any more; keep the folder, for what stays on this host: the local forge, the memory of core-context, clones and mirrors'
      : 'which nothing uses any more';
  return `${compared}in use  ${target}, named in ${config}\nleft    ${source}, ${left}\nnext    ${program} up\n`;
}

function rows(
  parts: readonly { readonly name: string; readonly entries: number; readonly sha256?: string }[],
): string {
  const width = Math.max(...parts.map(({ entries: n }) => String(n).length));
  return parts
    .map(
      ({ name, entries: n, sha256 = '' }) =>
        `  ${String(n).padStart(width)}  ${sha256 === '' ? name : `${name.padEnd(31)}  sha256 ${sha256.slice(0, 12)}`}\n`,
    )
    .join('');
}
