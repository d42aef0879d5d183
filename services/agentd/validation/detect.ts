import { decode, parseJson } from '#kit/decode.ts';
import { Refused } from '#kit/errors.ts';
import type { ValidationCommand, ValidationPlan } from '../action.ts';
import type { TreeReader } from '../git/tree.ts';
import { planFromSettings, RepositoryFile, type ValidationConfig } from './configuration.ts';
import {
  detectCargo,
  detectGo,
  detectJavaScript,
  detectMakefile,
  detectMaven,
  detectPytest,
  type Ecosystem,
  type Files,
  filesOf,
} from './ecosystems.ts';

const repositoryFile = '.core.json';
const detectors = [detectJavaScript, detectCargo, detectGo, detectMaven, detectPytest];

/**
 * How a repository is validated, decided at its base commit: what the configuration says about it, else its own `.core.json`,
 * else what is found at its root. Several kinds of project are all prepared and all tested; a Makefile is asked only where
 * none of them has tests, because it mostly calls the same ones in ways that need more than the sandbox gives.
 * @returns null when there is nothing to validate with
 * @throws InvalidInput (`validation_invalid`, `invalid_json`) naming file, pointer, value and rule
 */
export async function planValidation(
  tree: TreeReader,
  config: ValidationConfig,
  repository: { readonly owner: string; readonly repo: string },
): Promise<ValidationPlan | null> {
  const configured = settingsFor(config, `${repository.owner}/${repository.repo}`);
  if (configured) {
    return planFromSettings(configured, { source: 'configuration', found: 'config/validation.json' }, config);
  }
  const files = await filesOf(tree);
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
  return planFromSettings(validation, { source: 'repository', found: repositoryFile }, config);
}

async function detect(files: Files, config: ValidationConfig): Promise<ValidationPlan | null> {
  const ecosystems: Ecosystem[] = [];
  for (const detector of detectors) {
    const ecosystem = await detector(files);
    if (ecosystem) ecosystems.push(ecosystem);
  }
  const tested = ecosystems.filter(({ test }) => test !== null);
  if (tested.length > 0) {
    const commands = tested.map(({ name, test }) => ({ name: named('test', name, tested), run: test! }));
    return detectedPlan(
      tested,
      tested.flatMap(({ found }) => found),
      commands,
      config,
    );
  }
  const makefile = await detectMakefile(files);
  if (makefile === null) return null;
  const found = [makefile.found, ...ecosystems.flatMap((ecosystem) => ecosystem.found)];
  return detectedPlan(ecosystems, found, [{ name: 'test', run: makefile.run }], config);
}

function detectedPlan(
  ecosystems: readonly Ecosystem[],
  found: readonly string[],
  commands: readonly ValidationCommand[],
  config: ValidationConfig,
): ValidationPlan {
  const prepare = ecosystems.flatMap((ecosystem) =>
    ecosystem.prepare.map(({ name, run }) => ({ name: named(name, ecosystem.name, ecosystems), run })),
  );
  const unique = (lists: readonly (readonly string[])[]) => [...new Set(lists.flat())];
  return {
    source: 'detected',
    found: unique([found]).join(', '),
    prepare,
    prepare_network: prepare.length > 0 && config.prepare_network,
    prepared_paths: unique(ecosystems.map(({ prepared_paths }) => prepared_paths)),
    lockfiles: unique(ecosystems.map(({ lockfiles }) => lockfiles)),
    commands: [...commands],
    limits: config.limits,
  };
}

/** `test`, or `test-npm` where several have one. */
function named(name: string, ecosystem: string, all: readonly Ecosystem[]): string {
  return all.length > 1 ? `${name}-${ecosystem}` : name;
}
