import { resolve } from 'node:path';
import { changeConcern } from '#kit/config/change-concern.ts';
import { type Environment, environment } from '#kit/environment.ts';
import { Conflict, NotFound } from '#kit/errors.ts';
import { type Folders, resolveFolders } from '#kit/folders.ts';
import { checkModels, GatewayConfig, type ModelEntry, readModelsFile } from '../configuration.ts';

/** What an entry does to a model that is there already. */
export type Existing = 'refuse' | 'replace' | 'fallback';

/** The configuration as it would be with the entry, without writing it. @throws Conflict (`model_exists`), InvalidInput */
export function withModel(
  config: GatewayConfig,
  name: string,
  entry: ModelEntry,
  existing: Existing,
): GatewayConfig {
  const before = Object.hasOwn(config.models, name) ? config.models[name] : undefined;
  if (before === undefined || existing === 'replace')
    return { ...config, models: { ...config.models, [name]: entry } };
  if (existing === 'fallback') {
    const merged = { ...before, upstreams: [...before.upstreams, ...entry.upstreams] };
    return { ...config, models: { ...config.models, [name]: merged } };
  }
  throw new Conflict('model_exists', `model ${JSON.stringify(name)} is configured already`, {
    hint: '--fallback adds this as a further upstream of it, --replace puts it in its place; or choose another name.',
  });
}

/**
 * Changes the models in the user's own `models.json`, whole or not at all, and leaves everything else in it as it is.
 * @throws InvalidInput (`config_invalid`) where the result would not be right; then nothing is written
 */
export function changeModels(folders: Folders, change: (config: GatewayConfig) => GatewayConfig): string {
  return changeConcern(folders, {
    name: 'models',
    codec: GatewayConfig,
    members: () => ({ models: change(readModelsFile(folders).config).models }),
    check: (config, path) => checkModels(path, config),
  });
}

/** @throws NotFound (`model_not_found`) */
export function withoutModel(config: GatewayConfig, name: string): GatewayConfig {
  if (!Object.hasOwn(config.models, name)) {
    const known = Object.keys(config.models).join(', ') || 'none';
    throw new NotFound(
      'model_not_found',
      `there is no model ${JSON.stringify(name)}; configured are ${known}`,
    );
  }
  const { [name]: _, ...models } = config.models;
  return { ...config, models };
}

/** Names of secrets that the first configuration uses and the second does not. */
export function secretsOnlyIn(
  before: Pick<GatewayConfig, 'models'>,
  after: Pick<GatewayConfig, 'models'>,
): readonly string[] {
  const still = secretsOf(after);
  return [...secretsOf(before)].filter((name) => !still.has(name));
}

function secretsOf({ models }: Pick<GatewayConfig, 'models'>): ReadonlySet<string> {
  const upstreams = Object.values(models).flatMap((model) => model.upstreams);
  return new Set(upstreams.flatMap(({ credential }) => (credential == null ? [] : [credential])));
}

/** The folders of an installation, with the keys of models where only the gateway sees them, as in the tools container. */
export function modelFolders(home: string | undefined, variables: Environment = environment): Folders {
  const folders = resolveFolders({ home }, variables);
  const secrets = variables.CORE_MODEL_SECRETS_DIR;
  return home === undefined && secrets ? { ...folders, secrets: resolve(secrets) } : folders;
}
