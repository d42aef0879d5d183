import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { git } from '#kit/git/git.ts';
import { isLfsPointer, maxPointerBytes } from '#kit/git/lfs-pointer.ts';
import { readObjects } from '#kit/git/objects.ts';
import { linkMode, readTree, splitAtNul, submoduleMode, type TreeEntry } from '#kit/git/tree.ts';
import type { ValidationPlan } from '../action.ts';

/** What decides how a checkout writes the files of a tree. */
export interface CheckoutFacts {
  /** Files with attributes. A value is `set`, `unset` or the text after `=`. */
  readonly files: readonly { readonly path: string; readonly attributes: Readonly<Record<string, string>> }[];
  /** Paths of files that are pointers of Git LFS. */
  readonly lfs_pointers: readonly string[];
  /** Submodules whose files are not provided, and why where that is known. */
  readonly submodules: readonly { readonly path: string; readonly why: string | null }[];
  /** What asks git about the repository, for example `'git describe' in the command test`. */
  readonly git_users: readonly string[];
}

type Provided = Pick<ValidationPlan, 'prepare' | 'commands' | 'submodules'>;
type Commands = Pick<Provided, 'prepare' | 'commands'>;

/** Attributes that change what a checkout writes; `text` and `crlf` only together with `eol`. */
const attributeNames = ['text', 'crlf', 'eol', 'working-tree-encoding', 'ident', 'filter'];
/** Matches rules that may change a file, also within macros. */
const mayConvert = /(^|\s)(eol|working-tree-encoding|ident|filter)(=|\s|$)/m;

/**
 * A line for each way in which the files that a validation sees differ from those of a checkout by git on Linux, with LFS and
 * submodules. `export-ignore` and `export-subst` are not among them: they concern archives only.
 */
export function differencesFromCheckout(facts: CheckoutFacts): string[] {
  const pointers = new Set(facts.lfs_pointers);
  const of = (name: string, test: (value: string, all: Readonly<Record<string, string>>) => boolean) =>
    facts.files.filter(({ attributes }) => {
      const value = attributes[name];
      return value !== undefined && test(value, attributes);
    });
  const crlf = of('eol', (value, { text, crlf }) => value === 'crlf' && (text ?? crlf) !== 'unset');
  const encoded = of('working-tree-encoding', (value) => !/^(set|unset|utf-?8)$/i.test(value));
  const ident = of('ident', (value) => value === 'set');
  const filtered = of('filter', (value) => !['set', 'unset', 'lfs'].includes(value));
  const lfs = of('filter', (value) => value === 'lfs').filter(({ path }) => pointers.has(path));
  const submodules = Map.groupBy(facts.submodules, ({ why }) => (why === null ? '' : ` (${why})`));
  const byValue = (files: typeof facts.files, name: string) =>
    Map.groupBy(files, ({ attributes }) => attributes[name]!);
  const endings = 'recorded line endings, and CRLF in a checkout (eol=crlf)';
  const expanded = '$Id$ as recorded, and expanded in a checkout (ident)';
  return [
    ...line(crlf, `has its ${endings}`, `have their ${endings}`),
    ...[...byValue(encoded, 'working-tree-encoding')].flatMap(([name, files]) => {
      const encoding = `recorded UTF-8, and ${name} in a checkout (working-tree-encoding)`;
      return line(files, `has its ${encoding}`, `have their ${encoding}`);
    }),
    ...line(ident, `has ${expanded}`, `have ${expanded}`),
    ...[...byValue(filtered, 'filter')].flatMap(([name, files]) => {
      const raw = `as recorded: the filter '${name}' is not run`;
      return line(files, `is ${raw}`, `are ${raw}`);
    }),
    ...line(lfs, 'is a pointer of Git LFS, not the file', 'are pointers of Git LFS, not the files'),
    ...[...submodules].flatMap(([why, missing]) =>
      line(missing, `is an empty folder: a submodule${why}`, `are empty folders: submodules${why}`),
    ),
    ...facts.git_users.map((user) => `there is no .git folder, and ${user} asks git`),
  ].map((text) => `not as in a checkout: ${text}`);
}

/** For the hint after a failure. */
export const noGitFolder = 'not as in a checkout: there is no .git folder';

/** What `differencesFromCheckout` needs to know of a tree. @param treeish a tree or commit */
export async function checkoutFacts(gitDir: string, treeish: string, plan: Provided): Promise<CheckoutFacts> {
  const entries = await readTree(gitDir, treeish);
  const regular = entries.filter(({ mode }) => mode !== linkMode && mode !== submoduleMode);
  const files = await attributesOf(gitDir, treeish, regular);
  const lfs = new Set(files.filter(({ attributes }) => attributes.filter === 'lfs').map(({ path }) => path));
  const marked = regular.filter(({ path }) => lfs.has(path));
  return {
    files,
    lfs_pointers: await pointersAmong(gitDir, marked),
    submodules: emptySubmodules(
      entries.filter(({ mode }) => mode === submoduleMode),
      plan,
    ),
    git_users: await gitUsers(gitDir, regular, plan),
  };
}

/** Submodules of the tree that are not provided, and submodules within provided ones. */
function emptySubmodules(
  entries: readonly TreeEntry[],
  { submodules: { provided, missing } = { forge: '', provided: [], missing: [] } }: Provided,
): CheckoutFacts['submodules'] {
  const isProvided = ({ path, id }: TreeEntry) =>
    provided.some((one) => one.path === path && one.commit === id);
  const own = entries.filter((entry) => !isProvided(entry)).map(({ path }) => path);
  const nested = missing.map(({ path }) => path).filter((path) => isBelowOne(path, provided));
  return [...new Set([...own, ...nested])].map((path) => ({
    path,
    why: missing.find((one) => one.path === path)?.why ?? null,
  }));
}

function isBelowOne(path: string, folders: readonly { readonly path: string }[]): boolean {
  return folders.some((folder) => path.startsWith(`${folder.path}/`));
}

/** As git reads them from the tree itself. */
async function attributesOf(
  gitDir: string,
  treeish: string,
  files: readonly TreeEntry[],
): Promise<CheckoutFacts['files']> {
  const rules = files.filter(({ path }) => /(^|\/)\.gitattributes$/.test(path));
  if (!(await textsOf(gitDir, rules)).some(([, text]) => mayConvert.test(text))) return [];
  const folder = await mkdtemp(join(tmpdir(), 'core-index-'));
  try {
    const env = { GIT_INDEX_FILE: join(folder, 'index') };
    await git(['read-tree', '--end-of-options', treeish], { gitDir, env });
    const input = Buffer.concat(files.flatMap(({ bytes }) => [bytes, Buffer.from([0])]));
    const args = ['check-attr', '--cached', '-z', '--stdin', ...attributeNames];
    const { stdout } = await git(args, { gitDir, env, input });
    const found = new Map<string, Record<string, string>>();
    const answers = splitAtNul(stdout).map((part) => part.toString('utf8'));
    for (let at = 0; at + 2 < answers.length; at += 3) {
      const [path, name, value] = answers.slice(at, at + 3) as [string, string, string];
      if (value === 'unspecified') continue;
      const attributes = found.get(path) ?? {};
      attributes[name] = value;
      found.set(path, attributes);
    }
    return [...found].map(([path, attributes]) => ({ path, attributes }));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function pointersAmong(gitDir: string, files: readonly TreeEntry[]): Promise<string[]> {
  if (files.length === 0) return [];
  const input = `${files.map(({ id }) => id).join('\n')}\n`;
  const { stdout } = await git(['cat-file', '--batch-check=%(objectsize)'], { gitDir, input });
  const sizes = stdout.toString('latin1').split('\n').map(Number);
  const small = files.filter((_, at) => sizes[at]! < maxPointerBytes);
  const pointers: string[] = [];
  let at = 0;
  for await (const { bytes } of readObjects(
    gitDir,
    small.map(({ id }) => id),
  )) {
    const { path } = small[at++]!;
    if (isLfsPointer(bytes)) pointers.push(path);
  }
  return pointers;
}

const callsGit = /(?:^|[\s;&|($`])(git [a-z][a-z-]*)/;
/** Python build tools that take the version from git. */
const versionTools =
  /\b(setuptools[-_]scm|hatch-vcs|versioneer|poetry-dynamic-versioning|versioningit|pbr)\b/;

async function gitUsers(
  gitDir: string,
  files: readonly TreeEntry[],
  { prepare, commands }: Commands,
): Promise<string[]> {
  const users: string[] = [];
  for (const { name, run } of [...prepare, ...commands]) {
    const call = callsGit.exec(run)?.[1];
    if (call !== undefined) users.push(`'${call}' in the command '${name}'`);
  }
  const manifests = files.filter(({ path }) =>
    /(^|\/)(package\.json|pyproject\.toml|setup\.(cfg|py))$/.test(path),
  );
  for (const [path, text] of await textsOf(gitDir, manifests.filter(isNear))) {
    if (path.endsWith('package.json')) {
      const call = /"(?:pre|post)?test"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(text)?.[1];
      const found = callsGit.exec(call ?? '')?.[1];
      if (found !== undefined) users.push(`'${found}' in the test script of ${path}`);
    } else {
      const tool = versionTools.exec(text)?.[1];
      if (tool !== undefined) users.push(`'${tool}' in ${path}`);
    }
  }
  return users;
}

/** At the root, or in a folder of it. */
function isNear({ path }: TreeEntry): boolean {
  return path.split('/').length <= 2;
}

async function textsOf(gitDir: string, files: readonly TreeEntry[]): Promise<[path: string, text: string][]> {
  const texts: [string, string][] = [];
  for await (const { bytes } of readObjects(
    gitDir,
    files.map(({ id }) => id),
  ))
    texts.push([files[texts.length]!.path, bytes.toString('utf8')]);
  return texts;
}

function line(files: readonly { readonly path: string }[], one: string, many: string): string[] {
  if (files.length === 0) return [];
  const named = files.slice(0, 3).map(({ path }) => path);
  const more = files.length > named.length ? ` and ${files.length - named.length} more` : '';
  return [`${named.join(', ')}${more} ${files.length > 1 ? many : one}`];
}
