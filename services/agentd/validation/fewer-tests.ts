import { posix } from 'node:path';
import type { FileChange } from '../action.ts';
import type { TreeReader } from '../git/tree.ts';
import type { UntestedFile } from './coverage.ts';
import { type Scripts, scriptsOf, usedFor } from './ecosystems/test-script.ts';
import { isTestFile } from './file-kinds.ts';

/** Where a change takes tests away, so that a validation that passes says less than before. */
export async function fewerTests(
  files: readonly FileChange[],
  base: TreeReader,
  after: TreeReader,
): Promise<UntestedFile[]> {
  const found: UntestedFile[] = [];
  for (const { path, old_path, status } of files) {
    if (status === 'added' || status === 'copied') {
      if (posix.basename(path) !== '.npmrc') continue;
    }
    const before = old_path ?? path;
    const [was, now] = await Promise.all([base.read(before), status === 'deleted' ? null : after.read(path)]);
    const why = await whyFewer(before, path, textOf(was), now === null ? null : textOf(now), base);
    if (why !== null) found.push({ path: before, what: 'fewer tests', why });
  }
  return found;
}

async function whyFewer(
  before: string,
  path: string,
  was: string,
  now: string | null,
  base: TreeReader,
): Promise<string | null> {
  const name = posix.basename(before);
  if (name === 'package.json') return whyFewerScripts(was, now);
  if (name === '.npmrc') return whyOtherRunning(was, now ?? '');
  const caller = isTestFile(before) ? null : await callerOf(before, base);
  if (caller === null && !isTestFile(before)) return null;
  const which = caller === null ? 'this test file' : `this file, which the test script of ${caller} runs`;
  if (now === null) return `the change deletes ${which}`;
  if (caller === null && !isTestFile(path)) return `the change renames ${which} to ${path}`;
  const [lines, left] = [linesIn(was), linesIn(now)];
  return left * 2 < lines ? `the change leaves ${left} of ${lines} lines of ${which}` : null;
}

function whyFewerScripts(was: string, now: string | null): string | null {
  if (!tests(scriptsOf(was))) return null;
  if (now === null) return 'the change deletes it, with its test script';
  const scripts = scriptsOf(now);
  if (tests(scripts)) return null;
  const use = scripts.test === undefined ? null : usedFor(scripts);
  return use === null ? 'the change takes its test script away' : `after the change its test script ${use}`;
}

function tests(scripts: Scripts): boolean {
  const { test = '' } = scripts;
  return test.trim() !== '' && !test.includes('no test specified') && usedFor(scripts) === null;
}

/** Settings of npm by which test scripts run otherwise, or not at all. */
function whyOtherRunning(was: string, now: string): string | null {
  const set = (text: string) =>
    [...text.matchAll(/^\s*(script-shell|ignore-scripts|workspaces?|node-options)\s*=.*$/gm)].map(([line]) =>
      line.trim(),
    );
  const added = set(now).filter((line) => !set(was).includes(line));
  return added.length === 0
    ? null
    : `the change sets ${added.join(', ')}, which decides how test scripts run`;
}

/** The package.json above a file whose test script names the file, at the base commit. */
async function callerOf(path: string, base: TreeReader): Promise<string | null> {
  for (let folder = posix.dirname(path); ; folder = posix.dirname(folder)) {
    const manifest = posix.join(folder, 'package.json');
    const words = wordsOfTest(scriptsOf(textOf(await base.read(manifest))));
    if (words.some((word) => posix.join(folder, word) === path)) return manifest;
    if (folder === '.') return null;
  }
}

/** The words of the test script, and of the scripts that it names. */
function wordsOfTest(scripts: Scripts): string[] {
  const words: string[] = [];
  const names = ['test'];
  for (const name of names) {
    const found = (scripts[name] ?? '').split(/[\s"'`;&|<>()=]+/);
    words.push(...found);
    names.push(...found.filter((word) => Object.hasOwn(scripts, word) && !names.includes(word)));
  }
  return words.filter((word) => word !== '');
}

function linesIn(text: string): number {
  return text.split('\n').filter((line) => line.trim() !== '').length;
}

function textOf(bytes: Uint8Array | null): string {
  return Buffer.from(bytes ?? []).toString('utf8');
}
