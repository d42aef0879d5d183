import { posix } from 'node:path';
import type { FileKind } from './file-kinds.ts';

/** Tests of a call of a runner, as far as its arguments say. */
export type ArgumentScope =
  | { readonly kind: 'all' }
  /** Words that name files, folders or globs, seen from the folder of the call. */
  | { readonly kind: 'paths'; readonly words: readonly string[] }
  | { readonly kind: 'unknown'; readonly argument: string };

/** A runner, and the arguments that are known not to choose among its tests. All others make its scope unknown. */
interface Runner {
  readonly files: readonly FileKind[];
  /** Without a value, or with one after `=`. */
  readonly flags: RegExp;
  /** With a value after `=` or in the next word. */
  readonly valued?: RegExp;
  /** Options that name a configuration file; default `--config`. */
  readonly configOption?: RegExp;
  /** Configuration files whose settings Core knows. */
  readonly config?: RegExp;
  /** Options whose value names paths, and these; null if the value is not understood. */
  readonly pathOption?: { readonly name: RegExp; readonly pathsOf: (value: string) => string[] | null };
  /** Words that name no path, such as `run` or the phases of Maven. */
  readonly verbs?: RegExp;
  /** True if a bare word names a path; otherwise it is not understood. */
  readonly paths: boolean;
  /** Path of a word; null if it is not understood. */
  readonly pathOf?: (word: string) => string | null;
  /** Scope without a path; default everything. */
  readonly bare?: ArgumentScope;
}

const javascript: readonly FileKind[] = ['javascript', 'resource'];
const java: readonly FileKind[] = ['java', 'resource'];
const shortConfig = /^(-c|--config)$/;

const runners = {
  jest: {
    files: javascript,
    flags:
      /^(-[ibeu]|--(ci|coverage|colors?|no-color|silent|verbose|runInBand|forceExit|detectOpenHandles|passWithNoTests|(no-)?cache|clearMocks|resetMocks|restoreMocks|logHeapUsage|expand|bail(=\d+)?|all|json|errorOnDeprecated|detectLeaks|useStderr|updateSnapshot|no-watchman|(watchAll|watch|watchman)=false|injectGlobals|randomize|noStackTrace|showSeed))$/,
    valued:
      /^(-w|--(maxWorkers|testTimeout|reporters|coverageReporters|coverageDirectory|collectCoverageFrom|coverageProvider|coverageThreshold|env|testEnvironment|maxConcurrency|workerIdleMemoryLimit|outputFile|cacheDirectory|seed|setupFiles|setupFilesAfterEnv|preset))$/,
    configOption: shortConfig,
    config: /^(\.\/)?(jest\.config\.\w+|package\.json)$/,
    paths: true,
  },
  vitest: {
    files: javascript,
    flags:
      /^(-u|--(run|coverage(\.\S+)?|silent|(no-)?color|globals|passWithNoTests|(no-)?threads|no-watch|watch=false|(no-)?isolate|allowOnly|logHeapUsage|typecheck|(no-)?file-parallelism|update|bail=\d+|(sequence|poolOptions)\.\S+|ui=false))$/,
    valued:
      /^--(reporter|reporters|environment|pool|testTimeout|hookTimeout|retry|maxWorkers|minWorkers|outputFile|bail|mode)$/,
    configOption: shortConfig,
    config: /^(\.\/)?(vitest|vite)\.config\.\w+$/,
    verbs: /^run$/,
    paths: true,
  },
  mocha: {
    files: javascript,
    flags:
      /^(-[bcpAS]|--(recursive|exit|bail|(no-)?colors?|check-leaks|parallel|forbid-only|forbid-pending|full-trace|inline-diffs|no-timeouts?|(no-)?diff|async-only|delay|sort|allow-uncaught|no-warnings|enable-source-maps|expose-gc))$/,
    valued:
      /^(-[tsRrOujn]|--(timeout|slow|reporter|reporter-options?|require|import|loader|ui|jobs|retries|extension|ext|node-option|global))$/,
    config: /^(\.\/)?\.mocharc\.\w+$/,
    pathOption: { name: /^--spec$/, pathsOf: (value) => [value] },
    paths: true,
  },
  node: {
    files: javascript,
    flags:
      /^--(test|test-force-exit|test-(concurrency|reporter|reporter-destination|timeout|isolation|coverage-\w+)=\S+|experimental-[\w-]+|no-[\w-]*warnings|enable-source-maps|expose-gc|no-deprecation|trace-[\w-]+|disable-warning=\S+|max-old-space-size=\d+|unhandled-rejections=\w+|(import|require|loader|conditions)=\S+)$/,
    valued:
      /^(-[rC]|--(import|require|loader|conditions|test-(reporter|reporter-destination|concurrency|timeout)))$/,
    paths: true,
  },
  pytest: {
    files: ['python', 'resource'],
    flags:
      /^(-[vqsxl]+|-r\w+|-n\w+|-p\S+|--(verbose|quiet|exitfirst|strict(-markers|-config)?|no-header|no-summary|showlocals|cache-clear|no-cov|cov-append|cov|disable-(pytest-)?warnings|full-trace|doctest-modules|ff|nf|failed-first|new-first|setup-show|benchmark-disable|self-contained-html))$/,
    valued:
      /^(-[pnW]|--(numprocesses|dist|maxfail|cov|cov-report|cov-config|durations|durations-min|tb|color|junit-?xml|timeout|timeout-method|basetemp|log-cli-level|log-level|log-file|capture|import-mode|asyncio-mode|doctest-glob|reruns|reruns-delay|html|verbosity|show-capture))$/,
    configOption: shortConfig,
    config: /^(\.\/)?(pytest\.ini|pyproject\.toml|setup\.cfg|tox\.ini)$/,
    paths: true,
  },
  go: {
    files: ['go', 'resource'],
    flags:
      /^--?(v|race|cover|json|failfast|benchmem|trimpath|x|work|(count|timeout|coverprofile|covermode|coverpkg|parallel|p|cpu|shuffle|vet|mod|bench|benchtime|ldflags|gcflags)=\S*)$/,
    valued:
      /^--?(count|timeout|coverprofile|covermode|coverpkg|parallel|p|cpu|shuffle|vet|mod|ldflags|gcflags)$/,
    verbs: /^test$/,
    paths: true,
    pathOf: (word) => (/^\.\.?(\/|$)/.test(word) ? word : null),
    bare: { kind: 'paths', words: ['.'] },
  },
  cargo: {
    files: ['rust', 'resource'],
    flags:
      /^(\+\S+|-[qvr]+|--(workspace|all|all-targets|all-features|offline|locked|frozen|no-fail-fast|release|quiet|verbose|keep-going|nocapture|show-output|test-threads=\d+)|--)$/,
    valued: /^(-[jF]|--(jobs|features|color|target-dir|profile|message-format|test-threads))$/,
    verbs: /^test$/,
    paths: false,
  },
  maven: {
    files: java,
    flags:
      /^(-[BoqeUC]|-ntp|-fae|-am|-Dmaven\.(repo\.local|test\.failure\.ignore)=\S+|--(batch-mode|offline|quiet|errors|no-transfer-progress|fail-at-end|also-make))$/,
    valued: /^(-[Ts]|--(threads|settings))$/,
    pathOption: {
      name: /^(-pl|--projects)$/,
      pathsOf: (value) => (/^[\w./-]+(,[\w./-]+)*$/.test(value) ? value.split(',') : null),
    },
    verbs: /^(clean|validate|compile|test-compile|test|package|verify|install)$/,
    paths: false,
  },
  gradle: {
    files: java,
    flags:
      /^(-[qiSs]|--((no-)?daemon|offline|continue|stacktrace|info|quiet|(no-)?parallel|(no-)?build-cache|rerun-tasks|scan|(console|warning-mode)=\S+))$/,
    verbs: /^(clean|test|check|build)$/,
    paths: true,
    pathOf: (word) => {
      const [, project] = /^:((?:[\w.-]+:)*[\w.-]+):(?:test|check|build)$/.exec(word) ?? [];
      return project?.replaceAll(':', '/') ?? null;
    },
  },
} as const satisfies Readonly<Record<string, Runner>>;

export type RunnerName = keyof typeof runners;

const names: readonly (readonly [RegExp, RunnerName])[] = [
  [/^jest(\.m?js)?$/, 'jest'],
  [/^vitest(\.m?js)?$/, 'vitest'],
  [/^_?mocha(\.m?js)?$/, 'mocha'],
  [/^(pytest|py\.test)$/, 'pytest'],
  [/^go$/, 'go'],
  [/^cargo$/, 'cargo'],
  [/^mvnw?$/, 'maven'],
  [/^gradlew?$/, 'gradle'],
];

export interface RunnerCall {
  readonly runner: RunnerName;
  readonly files: readonly FileKind[];
  readonly scope: ArgumentScope;
}

/** The runner that some words call, also behind a wrapper such as `c8` or `uv run`; null if they call none that is known. */
export function runnerCall(words: readonly string[]): RunnerCall | null {
  for (const [index, word] of words.entries()) {
    const name = posix.basename(word);
    const runner = names.find(([pattern]) => pattern.test(name))?.[1];
    const rest = words.slice(index + 1);
    if (runner === 'go' || runner === 'cargo') {
      if (rest.find((one) => !one.startsWith('+')) === 'test') return called(runner, rest);
    } else if (runner !== undefined) return called(runner, rest);
    if (/^(node|tsx)$/.test(name) && rest.includes('--test')) return called('node', rest);
  }
  return null;
}

/** True for a line that may call a known runner, for example with words that a shell computes. */
export function mentionsRunner(line: string): boolean {
  return /(^|[\s/(])(jest|vitest|mocha|pytest|cargo test|go test|mvnw?|gradlew?)(\s|$)|\bnode\b.* --test\b/.test(
    line,
  );
}

function called(name: RunnerName, words: readonly string[]): RunnerCall {
  const runner: Runner = runners[name];
  return { runner: name, files: runner.files, scope: scopeOf(runner, words) };
}

/** Tests that pytest runs with words from its configuration. */
export function pytestScope(words: readonly string[]): ArgumentScope {
  return scopeOf(runners.pytest, words);
}

function scopeOf(runner: Runner, words: readonly string[]): ArgumentScope {
  const { configOption = /^--config$/, config, pathOption, valued, flags, verbs } = runner;
  const paths: string[] = [];
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index]!;
    const [option = '', ...after] = word.split('=');
    const takesNext = after.length === 0;
    const value = takesNext ? words[index + 1] : after.join('=');
    const unknown = (argument = word): ArgumentScope => ({ kind: 'unknown', argument });
    if (configOption.test(option)) {
      if (value === undefined || config?.test(value) !== true) return unknown(value);
      if (takesNext) index += 1;
    } else if (pathOption?.name.test(option) === true) {
      const named = value === undefined ? null : pathOption.pathsOf(value);
      if (named === null) return unknown(value);
      paths.push(...named);
      if (takesNext) index += 1;
    } else if (valued?.test(option) === true) {
      if (takesNext && value !== undefined && !value.startsWith('-')) index += 1;
    } else if (word.startsWith('-') || word.startsWith('+')) {
      if (!flags.test(word)) return unknown();
    } else if (verbs?.test(word) !== true) {
      const path = runner.pathOf === undefined ? word : runner.pathOf(word);
      if (!runner.paths || path === null) return unknown();
      paths.push(path);
    }
  }
  if (paths.length > 0) return { kind: 'paths', words: paths };
  return runner.bare ?? { kind: 'all' };
}
