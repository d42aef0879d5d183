import { lstatSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { Failed, InvalidInput, NotFound } from '#kit/errors.ts';
import { cutText } from '#kit/redaction/cut-text.ts';

/** Names in a run folder, besides the views. */
export const logName = 'events.jsonl';
export const artifactsName = 'artifacts';
export const tombstoneName = 'tombstone.json';

/**
 * Refuses a pipe or a device, whose read would never end, and a link, which leads out of the folder.
 * @returns null without a log
 * @throws Failed (`run_damaged`)
 */
export function requireLogFile(runId: string, folder: string): Stats | null {
  const stats = lstatSync(join(folder, logName), { throwIfNoEntry: false });
  if (stats === undefined || stats.isFile()) return stats ?? null;
  throw new Failed('run_damaged', `run ${runId} cannot be read: ${logName} is not a file`);
}

/** `run_` and a UUIDv7: sorting by name is sorting by time of creation. */
const pattern = /^run_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

export function isRunId(text: string): boolean {
  return pattern.test(text);
}

/** Guards every path that is made from a run id. */
export function checkRunId(text: string): string {
  if (isRunId(text)) return text;
  throw new InvalidInput(
    'invalid_run_id',
    `run id ${shown(text)} is not run_ and a UUIDv7; ./core runs lists them`,
  );
}

/** Turns the input of a person into the beginning of a run id: lower case, with `run_`. */
export function runIdPrefix(text: string): string {
  const prefix = text.trim().toLowerCase().replace(/^run_/, '');
  if (/^[0-9a-f][0-9a-f-]{0,35}$/.test(prefix)) return `run_${prefix}`;
  throw new InvalidInput(
    'invalid_run_id',
    `run ${shown(text)} is not a run: it must be the beginning of its identifier, last, or an issue as 12 or owner/repo#12; for example run_0199f3c2`,
  );
}

function shown(text: string): string {
  return JSON.stringify(cutText(text, 80));
}

export function notFound(runId: string): NotFound {
  return new NotFound('run_not_found', `there is no run ${runId}; ./core runs lists them`);
}
