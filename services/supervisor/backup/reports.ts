import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { labelledCommand } from '#kit/cli/fit-text.ts';
import type { Folders } from '#kit/folders.ts';
import { isLoopback } from '#kit/http/authentication.ts';
import { shellWord } from '#kit/shell-word.ts';
import type { BackupReport } from './backup.ts';
import type { Counts, Manifest } from './manifest.ts';

/** The texts after a backup, a check and a restore. */

export function backupText(
  { file, bytes, sha256, manifest }: BackupReport,
  program: string,
  width: number,
): string {
  const word = shellWord(file);
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
    ...labelledCommand('next    ', `${program} backup verify ${word}`, width),
    ...labelledCommand('restore ', `${program} restore ${word} --home DIR`, width),
  ];
  return `${lines.join('\n')}\n`;
}

export function verifyText(
  file: string,
  { created_at, core_version, counts, with_secrets }: Manifest,
): string {
  const secrets = with_secrets ? 'with' : 'without';
  return `${file} holds: ${counted(counts)}, ${size(counts.bytes)}, ${secrets} keys and tokens\nmade by Core ${core_version} of ${created_at}\n`;
}

export function restoreText(
  manifest: Manifest,
  { state, config, notes }: RestoredPlaces & { readonly notes: readonly string[] },
  program: string,
): string {
  const lines = [
    `Restored ${config === null ? state : `${state} and ${config}`}, as they were at ${manifest.created_at}`,
    `holds   ${counted(manifest.counts)}, ${size(manifest.counts.bytes)}`,
    ...notes.map((note) => `note    ${note}`),
    `next    start the services (${program} up, or docker compose up)`,
    `look    ${program} runs --status interrupted`,
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

export interface RestoredPlaces {
  readonly state: string;
  /** null: the configuration was left alone. */
  readonly config: string | null;
}

/** What a person has to know of an installation that lies elsewhere now, or came without its secrets. */
export function notesOf(manifest: Manifest, { state, config }: RestoredPlaces): string[] {
  const notes: string[] = [];
  if (config !== null) notes.push(...openNotes(config));
  if (config !== null && !manifest.with_secrets) {
    notes.push(
      'without keys and tokens: put keys of forges and models into config/secrets again. New tokens are made; what was approved with the old ones has to be approved again',
    );
  }
  if (config !== null && manifest.with_secrets) {
    notes.push(
      `tokens are in force again as they were on ${manifest.created_at}, with what they approved: revoke again those that were revoked since (core token revoke NAME)`,
    );
  }
  const hasForge = manifest.files.some(({ path }) => path.startsWith('state/forge/'));
  if (hasForge && manifest.folders.state !== state) {
    notes.push(
      `runs of the local forge push to ${manifest.folders.state}, as it was approved: plan them again here, or restore to that path`,
    );
  }
  return notes;
}

/** What was right within containers is open to everybody on a host. */
function openNotes(config: Folders['config']): string[] {
  const open = readdirSync(config)
    .filter((name) => name.endsWith('.json') && opens(join(config, name)))
    .toSorted();
  if (open.length === 0) return [];
  return [
    `${open.join(', ')} in ${config} let services listen beyond loopback, as in containers: take host and behind_proxy out before you start them here`,
  ];
}

function opens(path: string): boolean {
  try {
    return hostsIn(JSON.parse(readFileSync(path, 'utf8'))).some((host) => !isLoopback(host));
  } catch {
    return false;
  }
}

/** `host` at the top, or of one service. */
function hostsIn(document: unknown): string[] {
  if (typeof document !== 'object' || document === null) return [];
  return [document, ...Object.values(document)].flatMap((part) =>
    typeof part === 'object' && part !== null && typeof part.host === 'string' ? [part.host] : [],
  );
}
