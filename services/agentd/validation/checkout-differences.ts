import { linkMode, readTree, submoduleMode, type TreeEntry } from '#kit/git/tree.ts';
import type { ValidationPlan } from '../action.ts';
import { type AttributedFile, attributesOf, textsOf } from './attributes.ts';
import { type LfsFile, pointersAmong } from './lfs.ts';

/** What decides how a checkout writes the files of a tree. */
export interface CheckoutFacts {
  readonly files: readonly AttributedFile[];
  /** Pointers of Git LFS whose objects are not provided, and why where that is known. */
  readonly lfs_pointers: readonly { readonly path: string; readonly why: string | null }[];
  /** Submodules whose files are not provided, and why where that is known. */
  readonly submodules: readonly { readonly path: string; readonly why: string | null }[];
  /** What asks git about the repository, for example `'git describe' in the command test`. */
  readonly git_users: readonly string[];
}

type Provided = Pick<ValidationPlan, 'prepare' | 'commands' | 'submodules' | 'lfs'>;
type Commands = Pick<Provided, 'prepare' | 'commands'>;

/**
 * A line for each way in which the files that a validation sees differ from those of a checkout by git on Linux, with LFS and
 * submodules. `export-ignore` and `export-subst` are not among them: they concern archives only.
 */
export function differencesFromCheckout(facts: CheckoutFacts): string[] {
  const of = (name: string, test: (value: string, all: Readonly<Record<string, string>>) => boolean) =>
    facts.files.filter(({ attributes }) => {
      const value = attributes[name];
      return value !== undefined && test(value, attributes);
    });
  const crlf = of('eol', (value, { text, crlf }) => value === 'crlf' && (text ?? crlf) !== 'unset');
  const encoded = of('working-tree-encoding', (value) => !/^(set|unset|utf-?8)$/i.test(value));
  const ident = of('ident', (value) => value === 'set');
  const filtered = of('filter', (value) => !['set', 'unset', 'lfs'].includes(value));
  const byReason = (files: CheckoutFacts['submodules']) =>
    Map.groupBy(files, ({ why }) => (why === null ? '' : ` (${why})`));
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
    ...[...byReason(facts.lfs_pointers)].flatMap(([why, files]) =>
      line(
        files,
        `is a pointer of Git LFS, not the file${why}`,
        `are pointers of Git LFS, not the files${why}`,
      ),
    ),
    ...[...byReason(facts.submodules)].flatMap(([why, missing]) =>
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
    lfs_pointers: unprovided(await pointersAmong(gitDir, marked), plan),
    submodules: emptySubmodules(
      entries.filter(({ mode }) => mode === submoduleMode),
      plan,
    ),
    git_users: await gitUsers(gitDir, regular, plan),
  };
}

/** Pointers of the tree that stay, and pointers within submodules. */
function unprovided(
  pointers: readonly LfsFile[],
  { submodules, lfs: { provided, missing } = { provided: [], missing: [] } }: Provided,
): CheckoutFacts['lfs_pointers'] {
  const isProvided = ({ object }: LfsFile) =>
    object !== null && provided.some(({ oid, size }) => oid === object.oid && size === object.size);
  const own = pointers
    .filter((file) => !isProvided(file))
    .map(({ path }) => ({ path, why: missing.find((one) => one.path === path)?.why ?? null }));
  const nested = missing.filter(({ path }) => isBelowOne(path, submodules?.provided ?? []));
  return [...own, ...nested.map(({ path, why }) => ({ path, why }))];
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

function line(files: readonly { readonly path: string }[], one: string, many: string): string[] {
  if (files.length === 0) return [];
  const named = files.slice(0, 3).map(({ path }) => path);
  const more = files.length > named.length ? ` and ${files.length - named.length} more` : '';
  return [`${named.join(', ')}${more} ${files.length > 1 ? many : one}`];
}
