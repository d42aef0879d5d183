import { linkSync, lstatSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { decodeJson } from '#kit/decode.ts';
import { replaceFile, syncFolder } from '#kit/durable-file.ts';
import { codeOf, messageOf } from '#kit/errors.ts';
import { fileNameOf, fileNamePattern, Recording } from './recording.ts';
import { keyOf } from './recording-key.ts';

/** A file of the folder that is no recording, or no whole one; it is left out. */
export interface SkippedFile {
  readonly file: string;
  readonly why: string;
}

export interface FoundRecordings {
  /** By name, so that identical requests stand in their order. */
  readonly recordings: readonly { readonly file: string; readonly recording: Recording }[];
  readonly skipped: readonly SkippedFile[];
}

/** @throws where the folder cannot be read; one that is not there holds none */
export function readRecordings(folder: string): FoundRecordings {
  const recordings: { file: string; recording: Recording }[] = [];
  const skipped: SkippedFile[] = [];
  for (const file of namesIn(folder)) {
    if (file.startsWith('.')) {
      if (file.endsWith('.tmp'))
        skipped.push({ file, why: 'was not finished: the gateway ended while it wrote it' });
      continue;
    }
    if (!fileNamePattern.test(file)) {
      if (file.endsWith('.json'))
        skipped.push({ file, why: 'has no name of a recording, such as 0123456789abcdef-0001.json' });
      continue;
    }
    try {
      // A pipe would never end, and a link leads to what is no recording.
      if (!lstatSync(join(folder, file)).isFile()) throw new Error(`${file} is no ordinary file`);
      const recording = decodeJson(Recording, readFileSync(join(folder, file), 'utf8'), file);
      recordings.push({ file, recording: checked(recording, file) });
    } catch (error) {
      skipped.push({ file, why: messageOf(error) });
    }
  }
  return { recordings, skipped };
}

/** People may edit what a recording answers; one whose request was edited is found by what it says now. */
function checked(recording: Recording, file: string): Recording {
  if ((recording.answer === null) === (recording.refusal === null))
    throw new Error(`${file} must have either an answer or a refusal`);
  return { ...recording, key: keyOf(recording.endpoint, recording.request) };
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

/** The first name for a key that nobody has taken. */
export function nextFile(
  folder: string,
  key: string,
  ordinals: Map<string, number>,
): { file: string; ordinal: number } {
  const beginning = key.slice(0, 16);
  let last = ordinals.get(key);
  if (last === undefined) {
    const taken = namesIn(folder).filter((name) => fileNamePattern.test(name) && name.startsWith(beginning));
    last = Math.max(0, ...taken.map((name) => Number(name.slice(17, -5))));
  }
  ordinals.set(key, last + 1);
  return { file: fileNameOf(key, last + 1), ordinal: last + 1 };
}

/** Whole or not at all; false where another process has taken the name. */
export function writeNewFile(folder: string, file: string, content: string): boolean {
  const path = join(folder, file);
  const temporary = join(folder, `.${file}.${crypto.randomUUID()}.tmp`);
  replaceFile(temporary, content);
  try {
    linkSync(temporary, path);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    // Some file systems have no links.
    renameSync(temporary, path);
  } finally {
    rmSync(temporary, { force: true });
  }
  syncFolder(folder);
  return true;
}
