import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Folders } from '#kit/folders.ts';
import { isLoopback } from '#kit/http/access.ts';
import type { Manifest } from './manifest.ts';

/** Where a backup was put. */
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
      'without keys and tokens: put keys of forges and models into config/secrets again; tokens are made anew',
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
