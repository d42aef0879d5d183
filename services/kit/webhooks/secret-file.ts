import { dirname, join } from 'node:path';
import { counted } from '../counted.ts';
import { CoreError, codeOf, Refused } from '../errors.ts';
import { shellWord } from '../shell-word.ts';
import { readSmallFile } from '../small-file.ts';

/** Shorter ones can be guessed. */
const minLength = 16;
const maxLength = 4_096;

const lengths = `${minLength} to ${maxLength.toLocaleString('en')}`;

/** What a file must hold, for readers who may not know what it does. */
export const secretRule = `the file must be readable and have secrets of ${lengths} characters, one a line`;

/** Secrets for signatures, as they are now in their file. */
export interface SecretFile {
  readonly path: string;
  /**
   * The first is the one to sign with; signatures with any of them are good, so that a secret can be changed without a gap.
   * @throws Refused (`signing_secret_missing`, `signing_secret_unusable`)
   */
  read(): readonly [Buffer, ...Buffer[]];
}

/** Why the secrets of a file cannot be used; null if they can, or if there is no file. */
export function problemOf(file: SecretFile): CoreError | null {
  try {
    file.read();
    return null;
  } catch (error) {
    if (!(error instanceof CoreError)) throw error;
    return error.code === 'signing_secret_missing' ? null : error;
  }
}

/**
 * One secret on a line. The file is read each time, so that it can be changed while the bridge runs.
 * @param learned gets each value once, so that logs hide it
 */
export function openSecretFile(folder: string, name: string, learned: (value: string) => void): SecretFile {
  const path = join(folder, name);
  const known = new Set<string>();
  return {
    path,
    read() {
      const texts = linesOf(path);
      for (const text of texts) {
        if (!known.has(text)) learned(text);
        known.add(text);
      }
      return texts.map((text) => Buffer.from(text)) as [Buffer, ...Buffer[]];
    },
  };
}

function linesOf(path: string): string[] {
  let text: string;
  try {
    text = readSmallFile(path);
  } catch (cause) {
    throw unusable(path, cause);
  }
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const broken = lines.find((line) => line.length < minLength || line.length > maxLength);
  if (lines.length > 0 && broken === undefined) return lines;
  const what =
    broken === undefined
      ? 'holds no secret'
      : `holds a secret of ${counted(broken.length, 'character')}: must have ${lengths}`;
  throw new Refused('signing_secret_unusable', `${path} ${what}`, { facts: { path }, hint: howTo(path) });
}

function unusable(path: string, cause: unknown): Refused {
  if (codeOf(cause) === 'ENOENT')
    return new Refused('signing_secret_missing', `there is no secret for signatures in ${path}`, {
      cause,
      facts: { path },
      hint: howTo(path),
    });
  return new Refused('signing_secret_unusable', `${path} cannot be read (${codeOf(cause)})`, {
    cause,
    facts: { path },
  });
}

function howTo(path: string): string {
  const make = `mkdir -p -m 700 ${shellWord(dirname(path))} && (umask 077; openssl rand -hex 32 > ${shellWord(path)})`;
  return `Make one, and give it to the other side too: ${make}`;
}
