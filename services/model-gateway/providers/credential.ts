import { type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf, messageOf } from '#kit/errors.ts';
import { readSmallFile } from '#kit/small-file.ts';
import { ownFailure, type UpstreamFailure } from './failure.ts';
import { Mask } from './mask.ts';

const maxBytes = 64 * 1024;

export interface Credential {
  /** Value of the `authorization` header; null where the upstream wants none. */
  readonly text: string | null;
  /** Hides it, what it was before, and what other upstreams have. */
  readonly mask: Mask;
}

/** Gives the credential as it is now in its file, so that it can be changed while the gateway runs. */
export type ReadCredential = () => Credential;

/**
 * The file is read again whenever it is another one or was written since.
 * @param name of a file in the secrets folder; null for an upstream that wants no credential
 * @param learned gets each value once, so that logs hide it
 * @param known is shared by all upstreams
 */
export function credentialReader(
  secrets: string,
  name: string | null,
  learned: (value: string) => void,
  known = new KnownSecrets(),
): ReadCredential {
  let version = '';
  let text: string | null = null;

  return () => {
    if (name === null) return { text, mask: known.mask };
    const path = join(secrets, name);
    const found = versionOf(path, name);
    if (found !== version) {
      text = readSecret(path, name);
      learned(text);
      known.learn(name, text);
      version = found;
    }
    return { text, mask: known.mask };
  };
}

function versionOf(path: string, name: string): string {
  let stats: Stats;
  try {
    stats = statSync(path);
  } catch (cause) {
    throw unusable(
      name,
      codeOf(cause) === 'ENOENT' ? 'is missing' : `cannot be read (${codeOf(cause)})`,
      cause,
    );
  }
  // A pipe would be waited for.
  if (!stats.isFile()) throw unusable(name, 'is no ordinary file');
  if (stats.size > maxBytes) throw unusable(name, `has more than ${maxBytes} bytes`);
  const mode = stats.mode & 0o777;
  if (process.platform !== 'win32' && (mode & 0o022) !== 0) {
    const shown = mode.toString(8).padStart(4, '0');
    throw unusable(
      name,
      `has mode ${shown}: must not be writable by others than its owner, for example 0600`,
    );
  }
  const { ino, size, mtimeMs, ctimeMs } = stats;
  return `${ino} ${size} ${mtimeMs} ${ctimeMs} ${mode}`;
}

function readSecret(path: string, name: string): string {
  let text: string;
  try {
    text = readSmallFile(path).trim();
  } catch (cause) {
    throw unusable(name, `cannot be read: ${messageOf(cause)}`, cause);
  }
  if (text === '') throw unusable(name, 'is empty');
  if (text.length > maxBytes) throw unusable(name, `has more than ${maxBytes} characters`);
  // What is not visible ASCII can stand in no header, and a newline would begin another one.
  if (!/^[\x21-\x7e]+$/.test(text))
    throw unusable(name, 'has spaces, line breaks or characters that no header can hold: must be one word');
  return text;
}

/** Says nothing of the content. */
function unusable(name: string, what: string, cause?: unknown): UpstreamFailure {
  const message = `the gateway has no credential for this model: secret file ${name} ${what}`;
  return ownFailure(502, 'credential_unusable', message, { remedy: 'next', cause });
}

/** Of each credential: what was changed more often is no key in use any more. */
const maxOfEach = 4;

/** The values that credentials have and had since the start. Any upstream may send back any of them. */
export class KnownSecrets {
  readonly #byName = new Map<string, string[]>();
  /** Another one whenever a value was learned. */
  mask = new Mask([]);

  learn(name: string, value: string): void {
    const values = this.#byName.get(name) ?? [];
    if (values.includes(value)) return;
    this.#byName.set(name, [...values, value].slice(-maxOfEach));
    this.mask = new Mask([...new Set([...this.#byName.values()].flat())]);
  }
}
