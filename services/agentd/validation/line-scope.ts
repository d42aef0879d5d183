import { posix } from 'node:path';
import { minimatch } from 'minimatch';
import { type CoveredFolder, type Files, isBelow, type WithoutTests } from './ecosystems/project.ts';
import { scriptsOf, testsAllPackages } from './ecosystems/test-script.ts';
import { isTestFile, kindOf } from './file-kinds.ts';
import { mentionsRunner, type RunnerCall, runnerCall } from './runner-arguments.ts';
import { wordsOf } from './shell-line.ts';

/** Tests of a line that runs less than all of its folder. */
export interface Narrowed {
  readonly covers: readonly CoveredFolder[];
  readonly without_tests: readonly WithoutTests[];
}

type Call = RunnerCall & { readonly folder: string };
/** A path that a call tests; direct if the folders below it are not. */
interface Place {
  readonly path: string;
  readonly direct: boolean;
}

const maxDepth = 5;

/**
 * Finds the tests that a command line runs, also by the scripts of package.json that it calls.
 * @returns null if they are all of its folder, or if the line calls no runner whose arguments are known
 */
export async function narrowedBy(files: Files, line: string, folder: string): Promise<Narrowed | null> {
  const calls = await callsOf(files, line, folder, [], 0);
  if (calls.length === 0) return null;
  const kinds = [...new Set(calls.flatMap((call) => call.files))];
  const unknown = calls.find(({ scope }) => scope.kind === 'unknown');
  if (unknown?.scope.kind === 'unknown') return notUnderstood(unknown.scope.argument, folder, kinds);
  const places: Place[] = [];
  const words: string[] = [];
  for (const call of calls) {
    if (call.scope.kind !== 'paths') {
      places.push({ path: call.folder, direct: false });
      words.push(call.folder);
      continue;
    }
    for (const word of call.scope.words) {
      const found = placesOf(files, call, word);
      if (found === null) return notUnderstood(word, folder, kinds);
      places.push(...found);
      words.push(word);
    }
  }
  if (places.some(({ path, direct }) => path === folder && !direct)) return null;
  const own = files.all.filter((path) => isBelow(path, folder) && isOf(path, kinds));
  const left = own.filter((path) => isTestFile(path) && !places.some((place) => isAt(path, place)));
  if (left.length === 0 && own.some(isTestFile)) return null;
  const why = `'${line}' runs only the tests in ${[...new Set(words)].slice(0, 5).join(', ')}`;
  const homes = new Set(places.flatMap(({ path }) => homeOf(path) ?? []));
  return {
    covers: places.map(({ path, direct }) => ({
      folder: path,
      except: direct ? foldersBelow(own, path) : [],
      files: kinds,
    })),
    without_tests: [...new Set([folder, ...homes])].map((one) => ({
      folder: one,
      files: kinds,
      why,
      ...(homes.has(one) && { may_test: 'code' as const }),
    })),
  };
}

function notUnderstood(argument: string, folder: string, files: CoveredFolder['files']): Narrowed {
  const why = `the command's argument '${argument}' is not understood`;
  return { covers: [{ folder, except: [], files: [] }], without_tests: [{ folder, files, why }] };
}

/** The calls of runners in a line and in the scripts that it runs. @param more arguments that the caller adds */
async function callsOf(
  files: Files,
  line: string,
  folder: string,
  more: readonly string[],
  depth: number,
): Promise<Call[]> {
  const [, at, inside] = /^\(cd ('[^']*'|[\w@%+=:,./-]+) && (.*)\)$/s.exec(line.trim()) ?? [];
  if (inside !== undefined) return callsOf(files, inside, below(folder, at!), more, depth);
  const calls: Call[] = [];
  let here = folder;
  const parts = line.split(/&&|\|\||;/);
  for (const [index, part] of parts.entries()) {
    const words = wordsOf(part);
    if (words === null) {
      if (mentionsRunner(part)) calls.push(unclearCall(part.trim(), here));
      continue;
    }
    const added = index === parts.length - 1 ? more : [];
    if (words[0] === 'cd' && words.length === 2) here = below(here, words[1]!);
    else if (!testsAllPackages(part))
      calls.push(...(await callsIn(files, [...words, ...added], here, depth)));
  }
  return calls;
}

async function callsIn(
  files: Files,
  words: readonly string[],
  folder: string,
  depth: number,
): Promise<Call[]> {
  const program = posix.basename(words[0]!);
  if (/^(npm|pnpm|yarn|bun)$/.test(program) && depth < maxDepth) {
    const scripts = scriptsOf(await files.text(posix.join(folder, 'package.json')));
    const end = words.indexOf('--');
    const own = words.slice(1, end < 0 ? words.length : end);
    const [called = '', ...rest] = own.filter(
      (word) => !/^(run|run-script|-s|--silent|--if-present)$/.test(word),
    );
    const name = /^(t|tst)$/.test(called) ? 'test' : called;
    const line = Object.hasOwn(scripts, name) ? scripts[name] : undefined;
    if (line !== undefined) {
      const passed = program === 'npm' ? [] : rest;
      const [ignored] = program === 'npm' ? rest : [];
      if (ignored !== undefined) return [unclearCall(ignored, folder)];
      return callsOf(files, line, folder, [...passed, ...(end < 0 ? [] : words.slice(end + 1))], depth + 1);
    }
    if (called.startsWith('-') && own.some((word) => /^(t|tst|test)$/.test(word)))
      return [unclearCall(called, folder)];
  }
  const call = /^(eslint|prettier|biome|echo|install)$/.test(program) ? null : runnerCall(words);
  return call === null ? [] : [{ ...call, folder }];
}

/** A call whose runner the line does not tell, because of this argument. */
function unclearCall(argument: string, folder: string): Call {
  return { runner: 'jest', files: ['javascript'], scope: { kind: 'unknown', argument }, folder };
}

/** Files and folders that a word names; null if it names none. */
function placesOf(files: Files, { runner, folder }: Call, word: string): Place[] | null {
  const recursive = runner === 'go' ? /(^|\/)\.\.\.$/.test(word) : true;
  const path = below(folder, runner === 'go' ? word.replace(/\/?\.\.\.$/, '') : word);
  if (path.startsWith('..')) return null;
  if (/[*?[{]/.test(word)) {
    const found = files.all.filter((one) => minimatch(one, path, { dot: true }));
    return found.length === 0 ? null : found.map((one) => ({ path: one, direct: false }));
  }
  if (path === folder || files.has(path)) return [{ path, direct: !recursive }];
  return files.all.some((one) => isBelow(one, path)) ? [{ path, direct: !recursive }] : null;
}

function isOf(path: string, kinds: CoveredFolder['files']): boolean {
  const kind = kindOf(path);
  return kind !== null && kinds.includes(kind);
}

function isAt(file: string, { path, direct }: Place): boolean {
  if (file === path) return true;
  return isBelow(file, path) && !(direct && posix.dirname(file) !== (path === '' ? '.' : path));
}

/** The folder whose code the tests of a path are about; null if its name does not tell. */
function homeOf(path: string): string | null {
  const [, home] = /^(.*?)(?:^|\/)(?:__tests__|tests?|specs?|e2e)(?:\/|$)/.exec(path) ?? [];
  return home ?? null;
}

function foldersBelow(paths: readonly string[], folder: string): string[] {
  const inner = paths
    .filter((path) => isBelow(path, folder))
    .map((path) => posix.relative(folder, path).split('/'));
  return [...new Set(inner.filter((parts) => parts.length > 1).map(([first]) => posix.join(folder, first!)))];
}

function below(folder: string, word: string): string {
  const path = posix.join(folder, word.replace(/^'(.*)'$/, '$1'));
  return path === '.' ? '' : path.replace(/\/$/, '');
}
