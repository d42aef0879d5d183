import { randomBytes } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { makePrivateFolder, writeFileDurably } from '#kit/durable-file.ts';
import { codeOf, Failed, InvalidInput, messageOf } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { webhookForges } from '#kit/forges/registry.ts';
import { readSmallFile } from '#kit/small-file.ts';
import { tokenPath } from '#kit/tokens/token-files.ts';
import { ensureTokens, openTokens, rotateToken } from '#kit/tokens/tokens.ts';

/** Files that are made up here, in this order, by their name in the folder. */
const made: Readonly<Record<string, (folder: string) => string>> = {
  'neo4j-password': (folder) => passwordIn(join(folder, 'neo4j-auth')) ?? randomBytes(24).toString('hex'),
  'neo4j-auth': (folder) => `neo4j/${contentOf(join(folder, 'neo4j-password'))}`,
  'dashboard-webhook': () => randomBytes(32).toString('hex'),
  ...Object.fromEntries(
    webhookForges.map((kind) => [`${kind}-webhook`, () => randomBytes(32).toString('hex')]),
  ),
};
/** Folders that containers mount; others give what is in the last three. */
const folders = ['tokens', 'registry', 'forges', 'models', 'database'];

export interface SecretFiles {
  readonly folder: string;
  readonly made: readonly string[];
  readonly kept: readonly string[];
}

/** @throws Failed (`secret_file_empty`, `secret_file_invalid`, `config_not_writable`), InvalidInput (`folder_invalid`) */
export function makeSecretFiles(project: string, person?: string): SecretFiles {
  const folder = join(project, 'secrets');
  for (const name of ['', ...folders]) makeFolder(join(folder, name));
  const there = Object.keys(made).filter((name) => existsSync(join(folder, name)));
  for (const name of there) contentOf(join(folder, name));
  const missing = Object.keys(made).filter((name) => !there.includes(name));
  for (const name of missing) writeFileDurably(join(folder, name), `${made[name]!(folder)}\n`);
  checkPassword(folder);
  const tokens = { tokens: join(folder, 'tokens'), registry: join(folder, 'registry') };
  const known = openTokens(tokens)
    .list()
    .map(({ name }) => name);
  ensureTokens(tokens, person);
  const renewed = renewLostTokens(tokens);
  const names = openTokens(tokens)
    .list()
    .map(({ name }) => name);
  const isKept = (name: string) => known.includes(name) && !renewed.includes(name);
  const file = (name: string) => `tokens/${name}.token`;
  return {
    folder,
    made: [...missing, ...names.filter((name) => !isKept(name)).map(file)],
    kept: [...there, ...names.filter(isKept).map(file)],
  };
}

function makeFolder(path: string): void {
  try {
    makePrivateFolder(path);
  } catch (cause) {
    if (codeOf(cause) === 'EACCES')
      throw new Failed('secrets_owner_refused', `${path} cannot be made: ${messageOf(cause)}`, {
        cause,
        facts: { folder: path },
        hint: 'Run this as the owner of the project, or with sudo.',
      });
    if (codeOf(cause) !== 'EEXIST' && codeOf(cause) !== 'ENOTDIR') throw cause;
    throw new InvalidInput('folder_invalid', `${path} is no folder: must be one, or not be there`, { cause });
  }
}

/** Who lost a service's token has no other way to it than a new one. */
function renewLostTokens(folders: Pick<Folders, 'tokens' | 'registry'>): string[] {
  const lost = openTokens(folders)
    .list()
    .filter(
      ({ name, kind, revoked }) =>
        kind === 'service' && revoked === null && !existsSync(tokenPath(folders.tokens, name)),
    );
  for (const { name } of lost) rotateToken(folders, { name });
  return lost.map(({ name }) => name);
}

/** null where there is no such file. */
function passwordIn(auth: string): string | null {
  return existsSync(auth) ? contentOf(auth).replace(/^[^/]*\//, '') : null;
}

/** Neo4j keeps the password of its first start: one of two that differ locks core-context out. */
function checkPassword(folder: string): void {
  const [auth, password] = [join(folder, 'neo4j-auth'), join(folder, 'neo4j-password')];
  if (passwordIn(auth) === contentOf(password)) return;
  throw new Failed(
    'secret_file_invalid',
    `${auth} and ${password} hold two passwords: must be neo4j/PASSWORD and PASSWORD`,
    { facts: { path: auth }, hint: 'Remove the wrong one, and run ./core secrets init again.' },
  );
}

function contentOf(path: string): string {
  if (!statSync(path).isFile())
    throw new Failed('secret_file_invalid', `${path} is no file: must be one with one secret`, {
      facts: { path },
      hint: 'Remove it, and run ./core secrets init again.',
    });
  const text = readSmallFile(path).trim();
  if (text !== '') return text;
  throw new Failed('secret_file_empty', `${path} is empty: must hold one secret`, {
    facts: { path },
    hint: `Remove it, and run ./core secrets init again.`,
  });
}
