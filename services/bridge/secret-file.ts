import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { codeOf, Refused } from '#kit/errors.ts';
import { shellWord } from '#kit/shell-word.ts';

/** Shorter ones can be guessed. */
const shortest = 16;
const longest = 4_096;

/** Secrets for signatures, as they are now in their file. */
export interface SecretFile {
  readonly path: string;
  /**
   * The first is the one to sign with; signatures with any of them are good, so that a secret can be changed without a gap.
   * @throws Refused (`signing_secret_missing`, `signing_secret_unusable`)
   */
  read(): readonly [Buffer, ...Buffer[]];
}

/**
 * One secret on a line. The file is read again whenever it is another one or was written since.
 * @param learned is told each value once, so that logs hide it
 */
export function openSecretFile(folder: string, name: string, learned: (value: string) => void): SecretFile {
  const path = join(folder, name);
  let version = '';
  let secrets: readonly [Buffer, ...Buffer[]] | null = null;
  return {
    path,
    read() {
      const newest = versionOf(path);
      if (secrets !== null && newest === version) return secrets;
      const texts = linesOf(path);
      for (const text of texts) learned(text);
      secrets = texts.map((text) => Buffer.from(text)) as [Buffer, ...Buffer[]];
      version = newest;
      return secrets;
    },
  };
}

function versionOf(path: string): string {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(path);
    return `${ino} ${size} ${mtimeMs} ${ctimeMs}`;
  } catch (cause) {
    throw unusable(path, cause);
  }
}

function linesOf(path: string): string[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw unusable(path, cause);
  }
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const broken = lines.find((line) => line.length < shortest || line.length > longest);
  if (lines.length > 0 && broken === undefined) return lines;
  const what =
    broken === undefined
      ? 'holds no secret'
      : `holds a secret of ${broken.length} characters: must be ${shortest} to ${longest}`;
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
