import { posix } from 'node:path';
import type { FileKind } from './file-kinds.ts';

/** What a call of a runner tests, as far as its arguments say. */
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
  /** Values that an option with the name of a configuration file may have. */
  readonly config?: RegExp;
  /** Words that name no path, such as `run` or the phases of Maven. */
  readonly verbs?: RegExp;
  /** True if a bare word names a path; otherwise it is not understood. */
  readonly paths: boolean;
  /** Path of a word; null if it is not understood. */
  readonly pathOf?: (word: string) => string | null;
  /** What the runner tests without a path; everything by default. */
  readonly bare?: ArgumentScope;
}

const javascript: readonly FileKind[] = ['javascript', 'resource'];
const java: readonly FileKind[] = ['java', 'resource'];

const runners = {
  jest: {
    files: javascript,
    flags:
      /^(-[ibeu]|--(ci|coverage|colors?|no-color|silent|verbose|runInBand|forceExit|detectOpenHandles|passWithNoTests|(no-)?cache|clearMocks|resetMocks|restoreMocks|logHeapUsage|expand|bail(=\d+)?|all|json|errorOnDeprecated|detectLeaks|useStderr|updateSnapshot|no-watchman|(watchAll|watch|watchman)=false|injectGlobals|randomize|noStackTrace|showSeed))$/,
    valued:
      /^(-w|--(maxWorkers|testTimeout|reporters|coverageReporters|coverageDirectory|collectCoverageFrom|coverageProvider|coverageThreshold|env|testEnvironment|maxConcurrency|workerIdleMemoryLimit|outputFile|cacheDirectory|seed|setupFiles|setupFilesAfterEnv|preset))$/,
    config: /^(\.\/)?(jest\.config\.\w+|package\.json)$/,
    paths: true,
  },
  vitest: {
    files: javascript,
    flags:
      /^(-u|--(run|coverage(\.\S+)?|silent|(no-)?color|globals|passWithNoTests|(no-)?threads|no-watch|watch=false|(no-)?isolate|allowOnly|logHeapUsage|typecheck|(no-)?file-parallelism|update|bail=\d+|(sequence|poolOptions)\.\S+|ui=false))$/,
    valued:
      /^--(reporter|reporters|environment|pool|testTimeout|hookTimeout|retry|maxWorkers|minWorkers|outputFile|bail|mode)$/,
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
  return { runner: name, files: runner.files, scope: scopeOf(name, runner, words) };
}

/** What words that pytest takes from its configuration choose. */
export function pytestScope(words: readonly string[]): ArgumentScope {
  return scopeOf('pytest', runners.pytest, words);
}

function scopeOf(name: RunnerName, runner: Runner, words: readonly string[]): ArgumentScope {
  const paths: string[] = [];
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index]!;
    const unknown: ArgumentScope = { kind: 'unknown', argument: word };
    const [option, ...after] = word.split('=');
    const value = after.length > 0 ? after.join('=') : words[index + 1];
    const takesNext = after.length === 0;
    if (
      (/^(-c|--config)$/.test(option!) && runner.config !== undefined && name !== 'mocha') ||
      option === '--config'
    ) {
      if (value === undefined || runner.config?.test(value) !== true)
        return { kind: 'unknown', argument: value ?? word };
      if (takesNext) index += 1;
    } else if (name === 'maven' && /^(-pl|--projects)$/.test(option!)) {
      if (value === undefined || !/^[\w./-]+(,[\w./-]+)*$/.test(value))
        return { kind: 'unknown', argument: value ?? word };
      paths.push(...value.split(','));
      if (takesNext) index += 1;
    } else if (name === 'mocha' && option === '--spec') {
      if (value === undefined) return unknown;
      paths.push(value);
      if (takesNext) index += 1;
    } else if (runner.valued?.test(option!) === true) {
      const next = words[index + 1];
      if (takesNext && next !== undefined && !next.startsWith('-')) index += 1;
    } else if (word.startsWith('-') || word.startsWith('+')) {
      if (!runner.flags.test(word)) return unknown;
    } else if (runner.verbs?.test(word) !== true) {
      const path = runner.pathOf === undefined ? word : runner.pathOf(word);
      if (!runner.paths || path === null) return unknown;
      paths.push(path);
    }
  }
  if (paths.length > 0) return { kind: 'paths', words: paths };
  return runner.bare ?? { kind: 'all' };
}
