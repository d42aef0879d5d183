import { isUtf8 } from 'node:buffer';
import { parseJson } from '#kit/decode.ts';
import { Refused } from '#kit/errors.ts';
import { readObjects } from '#kit/git/objects.ts';
import { differenceBetween, submoduleMode } from '#kit/git/tree.ts';
import type { SecretFinder } from '#kit/redaction/secret-finder.ts';
import type { FileChange, Influence, ValidationPlan } from '../action.ts';
import type { ChangeFacts } from '../actions/kind.ts';
import type { ActionDefinition } from '../actions/registry.ts';
import { guarded } from '../approval/guarding-globs.ts';
import { touchedPaths } from '../approval/terms.ts';
import { canonicalPath, maySpellSame } from '../git/path-spelling.ts';
import type { TreeReader } from '../git/tree.ts';
import type { Policy } from '../policy.ts';
import { type ChangedFile, untestedFiles } from '../validation/coverage.ts';
import { fewerTests } from '../validation/fewer-tests.ts';
import { hasNoExtension } from '../validation/file-kinds.ts';

/** What the change touches beyond its lines: the validation's own configuration, install scripts, outsiders' words. */
export async function changeFacts(
  files: readonly FileChange[],
  base: TreeReader,
  after: TreeReader,
  validation: ValidationPlan | null,
  influences: readonly Influence[],
  rejectedBefore: number,
): Promise<
  Omit<ChangeFacts, 'sensitive' | 'critical' | 'reaches_out' | 'repair' | 'displaces' | 'patch_by'>
> {
  const decides = validation === null ? [] : [...new Set(decidingFiles(validation))];
  const validation_files: string[] = [];
  const install_scripts: string[] = [];
  for (const path of touchedPaths(files)) {
    if (maySpellSame(baseName(path), 'package.json')) {
      const before = scriptsOf(await base.read(path));
      const now = scriptsOf(await after.read(path));
      if (before.all !== now.all) validation_files.push(`scripts of ${path}`);
      if (before.install !== now.install) install_scripts.push(path);
    } else if (decides.some((file) => maySpellSame(file, path))) {
      validation_files.push(path);
    }
  }
  return {
    files,
    untrusted: outsiders(influences),
    validation_files,
    install_scripts,
    rejected_before: rejectedBefore,
    untested: [
      ...(validation === null ? [] : untestedFiles(validation, await changedFiles(files, base, after))),
      ...(await fewerTests(files, base, after)),
    ],
  };
}

/** A build constraint of Go may follow a licence. */
const maxHeadBytes = 8192;

/** The changed files, with what says which program runs a script whose name does not say it, or when Go compiles it. */
async function changedFiles(
  files: readonly FileChange[],
  base: TreeReader,
  after: TreeReader,
): Promise<ChangedFile[]> {
  const changed: ChangedFile[] = [];
  for (const path of touchedPaths(files)) {
    const wanted = hasNoExtension(path) || path.endsWith('.go');
    const bytes = wanted ? ((await after.read(path)) ?? (await base.read(path))) : null;
    changed.push({ path, head: Buffer.from(bytes?.subarray(0, maxHeadBytes) ?? []).toString('latin1') });
  }
  return changed;
}

/**
 * A note for each name that the change creates and that Windows or macOS take for another one of the tree: there, only one of them is
 * checked out.
 * @param tree every path after the change
 */
export function sameNameNotices(files: readonly FileChange[], tree: readonly string[]): string[] {
  const created = files.filter(({ status }) => ['added', 'renamed', 'copied'].includes(status));
  const names = new Set(created.flatMap(({ path }) => withFolders(path)));
  if (names.size === 0) return [];
  const all = Map.groupBy(new Set(tree.flatMap(withFolders)), canonicalPath);
  const short = [...names].filter((name) => baseName(name).includes('~'));
  const notices = new Set<string>();
  for (const name of names) {
    const same = (all.get(canonicalPath(name)) ?? []).filter((other) => other !== name);
    for (const other of same) notices.add([name, other].sort().join(' and '));
  }
  for (const name of short)
    for (const other of [...all.values()].flat())
      if (other !== name && maySpellSame(name, other)) notices.add([name, other].sort().join(' and '));
  return [...notices].map(
    (pair) =>
      `the patch creates a second spelling of a name: Windows or macOS take ${pair} for the same file`,
  );
}

/** The path and every folder above it. */
function withFolders(path: string): string[] {
  const names = path.split('/');
  return names.map((_, at) => names.slice(0, at + 1).join('/'));
}

function baseName(path: string): string {
  return path.split(/[/\\]/).at(-1)!;
}

/** Paths of the change that the policy calls sensitive or critical. */
export function guardedPaths(
  files: readonly FileChange[],
  { risk }: Policy,
): Pick<ChangeFacts, 'sensitive' | 'critical'> {
  const touched = touchedPaths(files);
  return {
    sensitive: guarded(risk.sensitive_paths, touched),
    critical: guarded(risk.critical_paths, touched),
  };
}

/** Memories as a count: their names mean nothing to people, and the influences list them. */
function outsiders(influences: readonly Influence[]): string[] {
  const untrusted = influences.filter(({ trusted }) => !trusted);
  const memories = untrusted.filter(({ kind }) => kind === 'memory').length;
  const texts = untrusted
    .filter(({ kind }) => kind !== 'memory')
    .map(({ source, author }) => (author === null ? source : `${source} by ${author}`));
  if (memories === 0) return texts;
  return [...texts, memories === 1 ? 'a memory of earlier work' : `${memories} memories of earlier work`];
}

/** Where the commands were found, what decides what is installed, and the files that the commands name. */
function decidingFiles({ found, lockfiles, prepare, commands }: ValidationPlan): string[] {
  const words = [...prepare, ...commands].flatMap(({ run }) => run.split(/[\s"'`;&|<>()=]+/));
  return [...found.split(', '), ...lockfiles, ...words.map((word) => word.replace(/^(\.\/+)+/, ''))];
}

const lifecycle = ['preinstall', 'install', 'postinstall', 'prepare', 'prepublish', 'prepack'];

/** The scripts of a package.json in a form that compares; a file that is no JSON counts as its bytes. */
function scriptsOf(bytes: Uint8Array | null): { all: string; install: string } {
  if (bytes === null) return { all: '', install: '' };
  const text = Buffer.from(bytes).toString('utf8');
  try {
    const scripts = Object.entries(
      (parseJson(text, 'package.json') as { scripts?: Record<string, unknown> }).scripts ?? {},
    );
    const install = scripts.filter(([name]) => lifecycle.includes(name));
    return { all: JSON.stringify(scripts), install: JSON.stringify(install) };
  } catch {
    return { all: text, install: text };
  }
}

/**
 * No change that brings a secret becomes an action, and its bytes stay in the scratch copy. Looks at the files that the change
 * leaves and at their names, whatever the patch looks like; what the files it touches held before is not new.
 * @throws Refused (`patch_adds_secret`) naming file, kind and fingerprint, never the value
 */
export async function requireNoSecrets(
  gitDir: string,
  base: string,
  tree: string,
  secrets: SecretFinder,
): Promise<void> {
  const found = await secretsOfChange(gitDir, base, tree, secrets);
  if (found.length === 0) return;
  const before = await secretsOfChange(gitDir, tree, base, secrets);
  const known = new Set(before.map(({ fingerprint }) => fingerprint));
  const list = found
    .filter(({ fingerprint }) => !known.has(fingerprint))
    .map(({ kind, place, fingerprint }) => `${kind} in ${place} (${fingerprint})`);
  if (list.length === 0) return;
  throw new Refused(
    'patch_adds_secret',
    `the patch adds what looks like a secret: ${list.join('; ')}. Nothing of it was stored`,
    { facts: { found: list }, hint: releaseHint },
  );
}

export const releaseHint =
  'If it is harmless, add its fingerprint to released_secrets in policy.json and plan again.';

/**
 * What an action does is approved and shown as it is, so it cannot be masked.
 * @throws Refused (`action_holds_secret`) naming action, kind and fingerprint, never the value
 */
export function requireCleanActions(actions: readonly ActionDefinition[], secrets: SecretFinder): void {
  const list = actions.flatMap((action) =>
    textsIn(action).flatMap((text) =>
      secrets.find(text).map(({ kind, fingerprint }) => `${kind} in ${action.kind} (${fingerprint})`),
    ),
  );
  if (list.length === 0) return;
  throw new Refused(
    'action_holds_secret',
    `what would be proposed holds what looks like a secret: ${[...new Set(list)].join('; ')}`,
    { facts: { found: [...new Set(list)] }, hint: releaseHint },
  );
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => [key, ...textsIn(item)]);
}

interface PlacedSecret {
  readonly kind: string;
  readonly place: string;
  readonly fingerprint: string;
}

/** Secrets in the names and contents of those entries of `to` that `from` has not, or has otherwise. */
async function secretsOfChange(
  gitDir: string,
  from: string,
  to: string,
  secrets: SecretFinder,
): Promise<PlacedSecret[]> {
  const { changed } = await differenceBetween(gitDir, from, to);
  const files = changed.filter(({ mode }) => mode !== submoduleMode);
  const found: PlacedSecret[] = [];
  for (const { path } of changed) {
    for (const { kind, fingerprint } of secrets.find(path)) {
      found.push({ kind, place: `the name ${secrets.mask(path)}`, fingerprint });
    }
  }
  let at = 0;
  for await (const { bytes } of readObjects(
    gitDir,
    files.map(({ id }) => id),
  )) {
    const place = secrets.mask(files[at++]!.path);
    for (const { kind, fingerprint } of secrets.find(textOf(bytes))) found.push({ kind, place, fingerprint });
  }
  return found;
}

/** Every byte as a character where it is no text in Unicode, so that tokens in binary files are seen too. */
function textOf(bytes: Buffer): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le').decode(bytes);
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder('utf-16be').decode(bytes);
  return bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1');
}
