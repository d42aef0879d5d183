import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { decode } from '#kit/decode.ts';
import { makePrivateFolder, writeFileDurably } from '#kit/durable-file.ts';
import { environment } from '#kit/environment.ts';
import { Conflict, codeOf, InvalidInput } from '#kit/errors.ts';
import { type Folders, prepareFolder } from '#kit/folders.ts';
import { readGivenFile, readSmallFile } from '#kit/small-file.ts';
import { SecretName } from '../configuration.ts';
import { minHiddenLength } from '../providers/mask.ts';

/** What a secret file may hold. */
const oneKey = /^[\x21-\x7e]{1,65536}$/;

/**
 * Name of the secret file with the key of a file, which is copied there, readable by its owner alone, unless it lies there.
 * @param given a path; `-` is standard input, and `~/` is the person's home, also where no shell saw it
 * @throws InvalidInput (`key_file_invalid`), Conflict (`secret_exists`) where another key lies under the name that was asked for
 */
export function secretFrom(
  given: string,
  folders: Folders,
  upstream: { readonly name: string; readonly url: string; readonly secretName?: string | undefined },
): CopiedSecret {
  const path = given.replace(/^~(?=\/)/, environment.HOME ?? '~');
  const key = readKey(given);
  const isShort = key.length < minHiddenLength;
  if (path !== '-' && dirname(resolve(path)) === resolve(folders.secrets)) {
    const name = decode(SecretName, basename(path), 'the name of the key file', 'key_file_invalid');
    return { name, made: false, isShort };
  }
  const name = secretNameFor(key, folders, upstream);
  const target = join(folders.secrets, name);
  if (existsSync(target)) return { name, made: false, isShort };
  prepareFolder(folders.config, 'config');
  makePrivateFolder(folders.secrets);
  writeFileDurably(target, `${key}\n`);
  return { name, made: true, isShort };
}

/** One that is free, or holds the same key. */
function secretNameFor(
  key: string,
  { secrets }: Folders,
  upstream: { readonly name: string; readonly url: string; readonly secretName?: string | undefined },
): string {
  const fits = (name: string) => {
    const path = join(secrets, name);
    return !existsSync(path) || readSmallFile(path).trim() === key;
  };
  if (upstream.secretName === undefined) {
    const plain = ownSecretName(upstream);
    if (fits(plain)) return plain;
    for (let number = 2; ; number++) if (fits(`${plain}-${number}`)) return `${plain}-${number}`;
  }
  const asked = decode(SecretName, upstream.secretName, '--secret-name', 'invalid_option');
  if (fits(asked)) return asked;
  const target = join(secrets, asked);
  throw new Conflict('secret_exists', `${target} holds another key`, {
    hint: `Give it with --key-file '${target}' to use that one, choose another --secret-name, or remove it first.`,
  });
}

export interface CopiedSecret {
  readonly name: string;
  /** It was not there before. */
  readonly made: boolean;
  /** So short that it would be hidden in nothing that upstreams say. */
  readonly isShort: boolean;
}

/** @throws InvalidInput (`key_file_invalid`), which never says what was read */
export function readKey(given: string): string {
  const path = given.replace(/^~(?=\/)/, environment.HOME ?? '~');
  let text: string;
  try {
    text = readGivenFile(path).trim();
  } catch (cause) {
    throw new InvalidInput('key_file_invalid', `the key cannot be read from ${path}: ${codeOf(cause)}`, {
      cause,
    });
  }
  if (oneKey.test(text)) return text;
  throw new InvalidInput(
    'key_file_invalid',
    `${path} must hold one key and nothing else, in one line of ASCII`,
  );
}

const ownPrefix = 'model-';

/** Whether `model add` chose the name. */
export function isOwnSecret(name: string): boolean {
  return name.startsWith(ownPrefix);
}

function ownSecretName({ name, url }: { readonly name: string; readonly url: string }): string {
  const text = `${ownPrefix}${name}-${new URL(url).hostname}`;
  return text.replaceAll(/[^A-Za-z0-9._-]+/g, '-').slice(0, 90);
}
