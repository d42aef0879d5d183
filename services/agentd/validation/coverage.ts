import type { ValidationPlan } from '../action.ts';
import type { CoveredFolder, WithoutTests } from './ecosystems/project.ts';
import { isPythonTest, isTestFile, kindOf, testsOf } from './file-kinds.ts';
import { goConstraint } from './go-constraint.ts';

export interface ChangedFile {
  readonly path: string;
  /** The beginning of a file without an extension, or of one that may have a build constraint. */
  readonly head?: string;
}

export interface UntestedFile {
  readonly path: string;
  /** For example `no Python tests configured`. */
  readonly why: string;
  /** A command may test the file if it does not say which files it tests; `fewer tests` if the change takes some away. */
  readonly what: 'not tested' | 'may not be tested' | 'fewer tests';
}

type Coverage = Pick<ValidationPlan, 'source' | 'commands' | 'without_tests'> & {
  readonly covers?: readonly (Scope & Pick<Cover, 'command'>)[] | undefined;
};
type Cover = NonNullable<ValidationPlan['covers']>[number];
type Scope = Pick<Cover, 'folder' | 'except' | 'files'> & Partial<Pick<Cover, 'test_paths'>>;

/**
 * The changed files that need tests and that no command of the plan is about. A command that a person configured without saying
 * what it covers counts for the whole repository; of a detected one without coverage nothing is known.
 */
export function untestedFiles(plan: Coverage, files: readonly ChangedFile[]): UntestedFile[] {
  const { commands, covers = [], without_tests = [] } = plan;
  const silent = commands.filter(({ name }) => !covers.some(({ command }) => command === name));
  if (silent.length > 0 && plan.source !== 'detected') return [];
  return files.flatMap(({ path, head = '' }): UntestedFile[] => {
    const kind = kindOf(path, head.split('\n')[0]);
    if (kind === null) return [];
    const leftOut = plan.source === 'detected' ? whyLeftOut(covers, path, kind, head) : null;
    if (leftOut !== null) return [{ path, what: 'not tested', why: leftOut }];
    if (covers.some((scope) => isIn(scope, path, kind))) return [];
    if (silent.length > 0) {
      const names = silent.map(({ run }) => `'${run}'`).join(', ');
      return [{ path, what: 'may not be tested', why: `${names} does not say which files it tests` }];
    }
    const reason = without_tests
      .filter((scope) => isIn({ ...scope, except: [] }, path, kind))
      .toSorted((a, b) => b.folder.length - a.folder.length)[0];
    const may = reason?.may_test === 'all' || (reason?.may_test === 'code' && !isTestFile(path));
    const what = may ? 'may not be tested' : 'not tested';
    return [{ path, what, why: reason?.why ?? `no ${testsOf(path, kind)} configured` }];
  });
}

/** A covered folder as the plan has it. */
export function plannedCover(
  command: string,
  { folder, except, files, test_paths }: CoveredFolder,
): NonNullable<ValidationPlan['covers']>[number] {
  return {
    ...{ command, folder, except: [...except], files: [...files] },
    test_paths: test_paths && [...test_paths],
  };
}

/** Files without tests as the plan has them; undefined if there are none. */
export function plannedGaps(found: readonly WithoutTests[]): ValidationPlan['without_tests'] {
  if (found.length === 0) return undefined;
  return found.map(({ folder, files, why, may_test }) => ({ folder, files: [...files], why, may_test }));
}

/** A line for each reason, for example `not tested: api/app.py (no Python tests configured)`. */
export function untestedTexts(untested: readonly UntestedFile[]): string[] {
  return [...Map.groupBy(untested, ({ what, why }) => `${what} ${why}`).values()].map(
    (files) => `${files[0]!.what}: ${files.map(({ path }) => path).join(', ')} (${files[0]!.why})`,
  );
}

/** Files that a runner does not look at, wherever they are in its folder. */
function whyLeftOut(covers: readonly Scope[], path: string, kind: string, head: string): string | null {
  const scopes = covers.filter((scope) => isIn(scope, path, kind));
  if (kind === 'go' && /(^|\/)([_.][^/]*|(testdata|vendor)\/.*)$|(^|\/)[_.][^/]*\//.test(path))
    return scopes.length === 0 ? null : `'go test' leaves out ${goLeavesOut}`;
  if (kind === 'go') {
    const constraint = scopes.length === 0 ? null : goConstraint(path, head);
    return constraint === null ? null : `'go test' does not compile it: ${constraint}`;
  }
  if (kind !== 'python' || !isPythonTest(path) || scopes.length === 0) return null;
  const missed = scopes.every(({ test_paths }) => test_paths && !test_paths.some((at) => isBelow(path, at)));
  return missed ? 'pytest runs only the tests in its testpaths' : null;
}

const goLeavesOut = 'names that begin with _ or ., testdata and vendor';

function isIn({ folder, except, files }: Scope, path: string, kind: string): boolean {
  return files.includes(kind) && isBelow(path, folder) && !except.some((part) => isBelow(path, part));
}

function isBelow(path: string, folder: string): boolean {
  return folder === '' || path === folder || path.startsWith(`${folder}/`);
}
