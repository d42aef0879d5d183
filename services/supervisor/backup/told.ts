import { shellWord } from '#kit/shell-word.ts';
import type { BackupReport } from './backup.ts';
import type { Counts, Manifest } from './manifest.ts';
import type { RestoredPlaces } from './restored-notes.ts';

/** What people are told after a backup, a check and a restore. */

export function toldOfBackup({ file, bytes, sha256, manifest }: BackupReport, program: string): string {
  const left = manifest.left_out.map(({ what, why }) => `  ${what}: ${why}`);
  const lines = [
    `Backed up ${manifest.folders.state} and ${manifest.folders.config}, as they were at ${manifest.created_at}`,
    `file    ${file}`,
    `holds   ${counted(manifest.counts)}, ${size(manifest.counts.bytes)} (${size(bytes)} in the file)`,
    `sha256  ${sha256}`,
    'not in it',
    ...left,
    ...(manifest.with_secrets
      ? ['note    it holds keys and tokens in plain text: keep it as you keep those']
      : []),
    `next    ${program} backup verify ${shellWord(file)}    elsewhere  ${program} restore ${shellWord(file)} --home DIR`,
  ];
  return `${lines.join('\n')}\n`;
}

export function toldOfCheck(
  file: string,
  { created_at, core_version, counts, with_secrets }: Manifest,
): string {
  const secrets = with_secrets ? 'with' : 'without';
  return `${file} holds: ${counted(counts)}, ${size(counts.bytes)}, ${secrets} keys and tokens\nmade by Core ${core_version} of ${created_at}\n`;
}

export function toldOfRestore(
  manifest: Manifest,
  { state, config, notes }: RestoredPlaces & { readonly notes: readonly string[] },
  program: string,
): string {
  const lines = [
    `Restored ${config === null ? state : `${state} and ${config}`}, as they were at ${manifest.created_at}`,
    `holds   ${counted(manifest.counts)}, ${size(manifest.counts.bytes)}`,
    ...notes.map((note) => `note    ${note}`),
    `next    start the services (${program} up, or docker compose up); what was under way  ${program} runs --status interrupted`,
  ];
  return `${lines.join('\n')}\n`;
}

function counted({ runs, events, stores, repositories, files }: Counts): string {
  const several = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`;
  return [
    `${several(runs, 'run', 'runs')} with ${several(events, 'event', 'events')}`,
    several(stores, 'database', 'databases'),
    several(repositories, 'repository', 'repositories'),
    several(files, 'file', 'files'),
  ].join(', ');
}

function size(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(units.length - 1, bytes === 0 ? 0 : Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  return `${power === 0 ? value : value.toFixed(1)} ${units[power]}`;
}
