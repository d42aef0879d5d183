import { Minimatch } from 'minimatch';
import { parseJson } from '#kit/decode.ts';
import type { FileChange, Influence, ValidationPlan } from '../action.ts';
import type { ChangeFacts } from '../actions/kind.ts';
import type { TreeReader } from '../git/tree.ts';
import type { Policy } from '../policy.ts';

/** What the change touches beyond its lines: the validation's own configuration, install scripts, outsiders' words. */
export async function changeFacts(
  files: readonly FileChange[],
  base: TreeReader,
  after: TreeReader,
  validation: ValidationPlan | null,
  influences: readonly Influence[],
  rejectedBefore: number,
): Promise<Omit<ChangeFacts, 'sensitive' | 'critical'>> {
  const decides = new Set(validation === null ? [] : decidingFiles(validation));
  const validation_files: string[] = [];
  const install_scripts: string[] = [];
  for (const path of new Set(touchedPaths(files))) {
    if (path.split('/').at(-1) === 'package.json') {
      const before = scriptsOf(await base.read(path));
      const now = scriptsOf(await after.read(path));
      if (before.all !== now.all) validation_files.push(`scripts of ${path}`);
      if (before.install !== now.install) install_scripts.push(path);
    } else if (decides.has(path)) {
      validation_files.push(path);
    }
  }
  return {
    files,
    untrusted: outsiders(influences),
    validation_files,
    install_scripts,
    rejected_before: rejectedBefore,
  };
}

/** Paths of the change that the policy calls sensitive or critical, in any case. */
export function guardedPaths(
  files: readonly FileChange[],
  { risk }: Policy,
): Pick<ChangeFacts, 'sensitive' | 'critical'> {
  const touched = touchedPaths(files);
  const matching = (globs: readonly string[]) => {
    const patterns = globs.map((glob) => new Minimatch(glob, { dot: true, nocase: true }));
    return touched.filter((path) => patterns.some((pattern) => pattern.match(path)));
  };
  return { sensitive: matching(risk.sensitive_paths), critical: matching(risk.critical_paths) };
}

function touchedPaths(files: readonly FileChange[]): string[] {
  return files.flatMap(({ path, old_path }) => (old_path === null ? [path] : [path, old_path]));
}

/** Memories by their number alone: their names tell nobody anything, and they are listed among the influences. */
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
