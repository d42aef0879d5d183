import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf, messageOf } from '#kit/errors.ts';
import { UpstreamFailure } from '../calls/upstream-failure.ts';
import { ThisTurn } from '../this-turn.ts';
import { Mask } from './mask.ts';

const largest = 64 * 1024;

export interface Credential {
  /** Value of the `authorization` header; null where the upstream wants none. */
  readonly text: string | null;
  readonly mask: Mask;
}

/** Gives the credential as it is now in its file, so that it can be changed while the gateway runs. */
export type ReadCredential = () => Credential;

const none: Credential = { text: null, mask: new Mask([]) };

/**
 * The file is read again whenever it is another one or was written since.
 * @param name of a file in the secrets folder; null for an upstream that wants no credential
 * @param learned is told each value once, so that logs hide it
 */
export function credentialReader(
  secrets: string,
  name: string | null,
  learned: (value: string) => void,
): ReadCredential {
  if (name === null) return () => none;
  const path = join(secrets, name);
  const turn = new ThisTurn<Credential>();
  let version = '';
  let credential = none;

  function newest(): Credential {
    const found = versionOf(path, name!);
    if (found === version) return credential;
    const text = readSecret(path, name!);
    learned(text);
    credential = { text, mask: new Mask([text]) };
    version = found;
    return credential;
  }

  return () => turn.get(newest);
}

function versionOf(path: string, name: string): string {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(path);
    return `${ino} ${size} ${mtimeMs} ${ctimeMs}`;
  } catch (cause) {
    throw unusable(
      name,
      codeOf(cause) === 'ENOENT' ? 'is missing' : `cannot be read (${codeOf(cause)})`,
      cause,
    );
  }
}

function readSecret(path: string, name: string): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
  } catch (cause) {
    throw unusable(name, `cannot be read: ${messageOf(cause)}`, cause);
  }
  if (text === '') throw unusable(name, 'is empty');
  if (text.length > largest) throw unusable(name, `has more than ${largest} characters`);
  // What is not visible ASCII can stand in no header, and a newline would begin another one.
  if (!/^[\x21-\x7e]+$/.test(text))
    throw unusable(name, 'has spaces, line breaks or characters that no header can hold: must be one word');
  return text;
}

/** Says nothing of the content. */
function unusable(name: string, what: string, cause?: unknown): UpstreamFailure {
  return new UpstreamFailure({
    status: 502,
    remedy: 'next',
    error: {
      message: `the gateway has no credential for this model: secret file ${name} ${what}`,
      type: 'server_error',
      param: null,
      code: 'credential_unusable',
    },
    cause,
  });
}
