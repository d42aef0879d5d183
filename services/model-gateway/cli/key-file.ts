import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { makePrivateFolder, writeFileDurably } from '#kit/durable-file.ts';
import { environment } from '#kit/environment.ts';
import { Conflict, codeOf, InvalidInput } from '#kit/errors.ts';
import { type Folders, prepareFolder } from '#kit/folders.ts';

/** What a secret file may hold. */
const oneKey = /^[\x21-\x7e]{1,65536}$/;

/**
 * Name of the secret file with the key of a file, which is copied there, readable by its owner alone, unless it lies there.
 * @param given a path; `-` is standard input, and `~/` is the person's home, also where no shell saw it
 * @throws InvalidInput (`key_file_invalid`), Conflict (`secret_exists`) where another key lies under that name
 */
export function secretFrom(
  given: string,
  folders: Folders,
  upstream: { readonly name: string; readonly url: string },
): { readonly name: string; readonly made: boolean } {
  const path = given.replace(/^~(?=\/)/, environment.HOME ?? '~');
  const key = readKey(path);
  const known = path !== '-' && dirname(resolve(path)) === resolve(folders.secrets);
  const name = known ? resolve(path).slice(resolve(folders.secrets).length + 1) : secretName(upstream);
  const target = join(folders.secrets, name);
  if (known) return { name, made: false };
  const present = existsSync(target);
  if (present && readFileSync(target, 'utf8').trim() !== key) {
    throw new Conflict('secret_exists', `${target} holds another key`, {
      hint: `Give it with --key-file '${target}' to use that one, or remove it first.`,
    });
  }
  prepareFolder(folders.config, 'config');
  makePrivateFolder(folders.secrets);
  writeFileDurably(target, `${key}\n`);
  return { name, made: !present };
}

/** Never says what it read. */
function readKey(path: string): string {
  let text: string;
  try {
    text = readFileSync(path === '-' ? 0 : path, 'utf8').trim();
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

function secretName({ name, url }: { readonly name: string; readonly url: string }): string {
  const text = `model-${name}-${new URL(url).hostname}`;
  return text.replaceAll(/[^A-Za-z0-9._-]+/g, '-').slice(0, 100);
}
