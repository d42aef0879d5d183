import { posix } from 'node:path';
import { minimatch } from 'minimatch';
import { isPythonTest } from '../file-kinds.ts';
import { pytestScope } from '../runner-arguments.ts';
import { wordsOf } from '../shell-line.ts';
import { type Files, isBelow, present } from './project.ts';

const pytestMarks: readonly (readonly [string, RegExp])[] = [
  ['pytest.ini', /(?:)/],
  ['pyproject.toml', /^\s*\[tool\.pytest\b/m],
  ['setup.cfg', /^\s*\[tool:pytest\]/m],
  ['tox.ini', /^\s*\[pytest\]/m],
];

/** Files that show that a folder's tests are pytest's; null without one. */
export async function pytestFiles(files: Files, folder: string): Promise<string[] | null> {
  for (const [name, mark] of pytestMarks) {
    const path = posix.join(folder, name);
    if (files.has(path) && mark.test(await files.text(path))) return [path];
  }
  const tests = files.all.filter(
    (path) =>
      isBelow(path, folder) &&
      /^(tests?\/(.*\/)?)?(test_[^/]*|[^/]*_test|conftest)\.py$/.test(posix.relative(folder, path)),
  );
  if (tests.length === 0) return null;
  const manifests = [
    'pyproject.toml',
    'setup.py',
    'setup.cfg',
    'requirements.txt',
    'requirements-dev.txt',
    'tox.ini',
  ];
  for (const path of present(files, folder, manifests)) {
    if (/\bpytest\b/.test(await files.text(path))) return [path];
  }
  const conftests = present(files, folder, ['conftest.py', 'tests/conftest.py', 'test/conftest.py']);
  if (conftests.length > 0) return conftests.slice(0, 1);
  for (const path of tests.slice(0, 50)) {
    if (/^\s*(import|from) pytest\b/m.test(await files.text(path))) return [path];
  }
  return null;
}

interface PytestSettings {
  /** Names and globs of folders; those of pytest if the project says nothing. */
  readonly norecursedirs: readonly string[];
  /** null if they cannot be read as words. */
  readonly addopts: readonly string[] | null;
}

const usualNorecursedirs = [
  '*.egg',
  '.*',
  '_darcs',
  'build',
  'CVS',
  'dist',
  'node_modules',
  'venv',
  '{arch}',
];

/** @param path the file that configures pytest, or another one */
export async function pytestSettings(files: Files, path: string): Promise<PytestSettings> {
  const mark = pytestMarks.find(([name]) => name === posix.basename(path))?.[1];
  const text = mark === undefined ? '' : await files.text(path);
  const from = path.endsWith('pytest.ini') ? 0 : text.search(mark ?? /$/);
  const lines = text.slice(Math.max(0, from)).trimStart().split('\n');
  const end = lines.findIndex((line, at) => at > 0 && /^\[(?!tool\.pytest\b)/.test(line));
  const section = lines.slice(0, end < 0 ? lines.length : end).join('\n');
  const listed = settingIn(section, 'norecursedirs', path);
  const words = settingIn(section, 'addopts', path)?.trim() ?? '';
  return {
    norecursedirs: listed === null ? usualNorecursedirs : wordsIn(listed),
    addopts: words === '' ? [] : addoptsIn(words),
  };
}

/** The option that chooses tests, or may do so; null if none does. */
export function unclearOption(addopts: readonly string[] | null): string | null {
  const scope = addopts === null ? null : pytestScope(addopts);
  if (scope === null) return 'addopts';
  if (scope.kind === 'all') return null;
  return scope.kind === 'paths' ? scope.words[0]! : scope.argument;
}

/** Text of a setting of an INI or TOML file; null without it. */
function settingIn(text: string, name: string, path: string): string | null {
  const pattern = path.endsWith('.toml')
    ? new RegExp(String.raw`^\s*${name}\s*=\s*(\[[^\]]*\]|"""[^]*?"""|"(?:[^"\\]|\\.)*"|'[^']*')`, 'm')
    : new RegExp(String.raw`^${name}\s*=\s*(.*(?:\n[ \t]+.*)*)`, 'm');
  return pattern.exec(text)?.[1]?.replace(/(^|\s)#.*$/gm, '') ?? null;
}

function wordsIn(listed: string): string[] {
  return listed.split(/[\s,"'[\]]+/).filter((word) => word !== '');
}

/** An array has a word in each string. */
function addoptsIn(text: string): readonly string[] | null {
  if (text.startsWith('['))
    return [...text.matchAll(/"([^"]*)"|'([^']*)'/g)].map((word) => word[1] ?? word[2]!);
  const line = text.replace(/^("""|"|')(.*)\1$/s, '$2').replaceAll('\\"', '"');
  return wordsOf(`pytest ${line.replaceAll(/\s+/g, ' ').trim()}`)?.slice(1) ?? null;
}

/** Folders with tests that pytest leaves out by their names. */
export function skippedFolders(files: Files, folder: string, patterns: readonly string[]): string[] {
  const skips = (path: string) =>
    patterns.some((glob) =>
      minimatch(glob.includes('/') ? path : posix.basename(path), glob, { dot: true, nobrace: true }),
    );
  const found = files.all.flatMap((path) => {
    if (!isBelow(path, folder) || !isPythonTest(path)) return [];
    const parts = posix.relative(folder, posix.dirname(path)).split('/');
    const folders = parts.map((_, at) => posix.join(folder, ...parts.slice(0, at + 1)));
    return folders.find((one) => one !== folder && one !== '.' && skips(one)) ?? [];
  });
  return [...new Set(found)];
}

/** Folders that pytest takes tests from; undefined if it looks everywhere, as for testpaths that do not exist. */
export async function testPathsOf(files: Files, folder: string, path: string): Promise<string[] | undefined> {
  const text = await files.text(path);
  // The fixed part of a glob.
  const paths = wordsIn(settingIn(text, 'testpaths', path) ?? '').map((word) =>
    posix.join(folder, word.replace(/(^|\/)[^/]*[*?{].*$/, '')).replace(/^\.$|\/$/, ''),
  );
  const there = paths.filter(
    (one) => one === folder || files.all.some((at) => at === one || isBelow(at, one)),
  );
  return there.length === 0 || there.includes(folder) ? undefined : there;
}

/** Folders that have tests of their own, all outside the paths where pytest looks. */
export function untestedFolders(files: Files, folder: string, test_paths: readonly string[]): string[] {
  const outside = files.all.filter(
    (path) =>
      isBelow(path, folder) &&
      isPythonTest(path) &&
      !test_paths.some((at) => path === at || isBelow(path, at)),
  );
  const homes = outside.map((path) => posix.dirname(path).replace(/(^|\/)tests?$/, '') || '.');
  return [...new Set(homes)].filter(
    (home) => home !== '.' && home !== folder && !test_paths.some((at) => at === home || isBelow(at, home)),
  );
}
