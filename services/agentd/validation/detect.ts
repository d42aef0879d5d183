import { decode, parseJson } from '#kit/decode.ts';
import { Refused } from '#kit/errors.ts';
import type { ValidationPlan } from '../action.ts';
import type { TreeReader } from '../git/tree.ts';
import { planFromSettings, RepositoryFile, type ValidationConfig } from './configuration.ts';
import { plannedCover, plannedGaps } from './coverage.ts';
import { detectCargo } from './ecosystems/cargo.ts';
import { detectGo } from './ecosystems/go.ts';
import { detectGradle } from './ecosystems/gradle.ts';
import { detectJavaScript } from './ecosystems/javascript.ts';
import { detectMakefile } from './ecosystems/makefile.ts';
import { detectMaven } from './ecosystems/maven.ts';
import { type Detector, type Files, filesOf, type Project, unique } from './ecosystems/project.ts';
import { detectPython } from './ecosystems/python.ts';

const repositoryFile = '.core.json';
const detectors: readonly Detector[] = [
  detectJavaScript,
  detectCargo,
  detectGo,
  detectMaven,
  detectGradle,
  detectPython,
];
/** Projects below the root that are tested; more of them need a configuration. */
const maxNested = 20;

/**
 * How a repository is validated, decided at its base commit: what the configuration says about it, else its own `.core.json`,
 * else the projects that are found in it, at the root and in folders. All of them are prepared and tested; a Makefile is asked only
 * where none of them has tests, because it mostly calls the same ones in ways that need more than the sandbox gives.
 * @returns null when there is nothing to validate with
 * @throws InvalidInput (`validation_invalid`, `invalid_json`) naming file, pointer, value and rule
 */
export async function planValidation(
  tree: TreeReader,
  config: ValidationConfig,
  repository: { readonly owner: string; readonly repo: string },
): Promise<ValidationPlan | null> {
  const configured = settingsFor(config, `${repository.owner}/${repository.repo}`);
  const files = await filesOf(tree);
  if (configured) {
    const from = { source: 'configuration', found: 'config/validation.json' } as const;
    return planFromSettings(configured, from, config, files);
  }
  return (await planFromRepository(files, config)) ?? (await detect(files, config));
}

/**
 * What was approved to prepare with the network may still do so.
 * @throws Refused (`prepare_network_refused`)
 */
export function requirePrepareNetwork(
  { prepare_network }: ValidationPlan,
  config: ValidationConfig,
  repository: { readonly owner: string; readonly repo: string },
): void {
  const now = settingsFor(config, `${repository.owner}/${repository.repo}`)?.prepare_network;
  if (!prepare_network || (now ?? config.prepare_network)) return;
  throw new Refused(
    'prepare_network_refused',
    'config/validation.json says prepare_network false; approved was to prepare with the network. Set it back, or plan the issue again',
  );
}

function settingsFor(config: ValidationConfig, name: string) {
  const own = Object.entries(config.repositories).find(([key]) => key.toLowerCase() === name.toLowerCase());
  return own?.[1] ?? config.default;
}

async function planFromRepository(files: Files, config: ValidationConfig): Promise<ValidationPlan | null> {
  if (!files.has(repositoryFile)) return null;
  const document = parseJson(await files.text(repositoryFile), repositoryFile);
  const { validation } = decode(RepositoryFile, document, repositoryFile, 'validation_invalid');
  if (validation === undefined) return null;
  return planFromSettings(validation, { source: 'repository', found: repositoryFile }, config, files);
}

async function detect(files: Files, config: ValidationConfig): Promise<ValidationPlan | null> {
  const projects: Project[] = [];
  for (const detector of detectors) projects.push(...(await detector(files)));
  const tested = projects.filter(({ tests }) => tests.length > 0);
  const nested = tested.filter(({ folder }) => folder !== '').slice(maxNested);
  if (tested.length > 0) {
    return detectedPlan(
      tested.filter((project) => !nested.includes(project)),
      [...projects.flatMap(({ without_tests }) => without_tests), ...nested.map(tooMany)],
      config,
    );
  }
  const makefile = await detectMakefile(files);
  if (makefile === null) return null;
  const atRoot = projects.filter(({ folder }) => folder === '');
  const plan = detectedPlan(atRoot, [], config);
  const found = unique([[makefile.found], ...atRoot.map((project) => project.found)]).join(', ');
  return { ...plan, found, commands: [{ name: 'test', run: makefile.run }] };
}

function tooMany({ tests, found }: Project): Project['without_tests'][number] {
  const { folder, files } = tests[0]!.covers[0]!;
  return {
    folder,
    files,
    why: `${found[0]} is one of more than ${maxNested} projects in folders; name commands in ${repositoryFile}`,
  };
}

function detectedPlan(
  projects: readonly Project[],
  without_tests: Project['without_tests'],
  config: ValidationConfig,
): ValidationPlan {
  const names = commandNames();
  const tests = projects.flatMap((project) => project.tests.map((test) => ({ project, ...test })));
  const commands = tests.map(({ project, run }) => ({ name: names('test', project, tests.length), run }));
  const preparing = projects.flatMap((project) =>
    project.prepare.map((command) => ({ project, ...command })),
  );
  // Projects of one workspace prepare it by the same line.
  const lines = [...Map.groupBy(preparing, ({ run }) => run).values()].map(([first]) => first!);
  const prepare = lines.map(({ project, name, run }) => ({
    name: names(name, project, projects.length),
    run,
  }));
  return {
    source: 'detected',
    found: unique(projects.map(({ found }) => found)).join(', '),
    prepare,
    prepare_network: prepare.length > 0 && config.prepare_network,
    prepared_paths: unique(projects.map(({ prepared_paths }) => prepared_paths)),
    lockfiles: unique(projects.map(({ lockfiles }) => lockfiles)),
    commands,
    limits: config.limits,
    programs: undefined,
    submodules: undefined,
    lfs: undefined,
    covers: tests.flatMap(({ covers }, at) =>
      covers.map((covered) => plannedCover(commands[at]!.name, covered)),
    ),
    without_tests: plannedGaps(without_tests),
  };
}

/** `test`, or where several have one `test-npm`, in a folder `test-npm-packages-a`; each once. */
function commandNames() {
  const given = new Set<string>();
  return (verb: string, { name, folder }: Project, count: number): string => {
    const place = folder === '' ? '' : `-${folder.replace(/[^\w.]+/g, '-')}`;
    const wanted = count > 1 ? `${verb}-${name}${place}` : verb;
    let unused = wanted;
    for (let next = 2; given.has(unused); next++) unused = `${wanted}-${next}`;
    given.add(unused);
    return unused;
  };
}
