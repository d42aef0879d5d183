import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makePrivateFolder, writeFileDurably } from '#kit/durable-file.ts';
import { Failed } from '#kit/errors.ts';
import { ensureTokens, openTokens } from '#kit/tokens.ts';

/** Files that are made up here, in this order, by their name in the folder. */
const made: Readonly<Record<string, (folder: string) => string>> = {
  'neo4j-password': () => randomBytes(24).toString('hex'),
  'neo4j-auth': (folder) => `neo4j/${contentOf(join(folder, 'neo4j-password'))}`,
  'dashboard-webhook': () => randomBytes(32).toString('hex'),
  'github-webhook': () => randomBytes(32).toString('hex'),
  'gitea-webhook': () => randomBytes(32).toString('hex'),
};
/** Folders that containers mount; others give what is in the last two. */
const folders = ['tokens', 'registry', 'forges', 'models'];

export interface SecretFiles {
  readonly folder: string;
  readonly made: readonly string[];
  readonly kept: readonly string[];
}

/** @throws Failed (`secret_file_empty`, `config_not_writable`) */
export function makeSecretFiles(project: string): SecretFiles {
  const folder = join(project, 'secrets');
  for (const name of ['', ...folders]) makePrivateFolder(join(folder, name));
  const there = Object.keys(made).filter((name) => existsSync(join(folder, name)));
  const missing = Object.keys(made).filter((name) => !there.includes(name));
  for (const name of missing) writeFileDurably(join(folder, name), `${made[name]!(folder)}\n`);
  const tokens = { tokens: join(folder, 'tokens'), registry: join(folder, 'registry') };
  const before = openTokens(tokens).list();
  ensureTokens(tokens);
  const names = openTokens(tokens)
    .list()
    .map(({ name }) => name);
  const known = before.map(({ name }) => name);
  const file = (name: string) => `tokens/${name}.token`;
  return {
    folder,
    made: [...missing, ...names.filter((name) => !known.includes(name)).map(file)],
    kept: [...there, ...known.map(file)],
  };
}

function contentOf(path: string): string {
  const text = readFileSync(path, 'utf8').trim();
  if (text !== '') return text;
  throw new Failed('secret_file_empty', `${path} is empty: must hold one secret`, {
    facts: { path },
    hint: `Remove it, and run ./core secrets init again.`,
  });
}
