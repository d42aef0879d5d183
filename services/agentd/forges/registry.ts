import * as t from 'io-ts';
import { smokeForge } from '#kit/config/smoke-forge.ts';
import { choiceBy } from '#kit/decode.ts';
import { Conflict, InvalidInput, NotFound } from '#kit/errors.ts';
import { type ForgeKind, traitsOf } from '#kit/forges/registry.ts';
import { type SecretFinder, secretFinder } from '#kit/redaction/secret-finder.ts';
import type { ForgeReport } from '../ports/forge-report.ts';
import type { ConfiguredForge, ForgeFolders } from './configured-forge.ts';
import { examineForge } from './examine.ts';
import { gitea } from './gitea/gitea-forge.ts';
import { github } from './github/github-forge.ts';
import { local, placeOf } from './local/local-forge.ts';
import { LocalForgeAdmin } from './local/local-forge-admin.ts';
import { MaskedForge } from './masked-forge.ts';
import type { ForgeAdapter } from './settings.ts';

const adapters = { local, github, gitea } satisfies Record<ForgeKind, ForgeAdapter<t.Mixed>>;

export const ForgeSettings = choiceBy('kind', 'settings', adapters);
export type ForgeSettings = t.TypeOf<typeof ForgeSettings>;

/** `config/forges.json` */
export const ForgesConfig = t.strict({
  /** Without `--forge` the one that knows owner and repository is used. */
  forges: t.array(ForgeSettings),
});
export type ForgesConfig = t.TypeOf<typeof ForgesConfig>;

export type Forges = ReadonlyMap<string, ConfiguredForge>;

/** What a file of the right shape may still lack. @throws InvalidInput (`forges_invalid`) */
export function checkForgesConfig(config: ForgesConfig): ForgesConfig {
  const names = new Set<string>();
  for (const { name, kind, ...rest } of config.forges) {
    if (names.has(name)) {
      throw new InvalidInput('forges_invalid', `two forges in config/forges.json are called '${name}'`);
    }
    names.add(name);
    const { default_url, default_root } = traitsOf(kind);
    if (default_root !== null) continue;
    const { base_url = default_url, clone_base_url = '' } = rest as {
      base_url?: string;
      clone_base_url?: string;
    };
    if (base_url === null) {
      throw new InvalidInput(
        'forges_invalid',
        `forge '${name}' in config/forges.json needs a base_url, for example https://git.example.org`,
      );
    }
    if (base_url.startsWith('https:') && clone_base_url.startsWith('http:')) {
      throw new InvalidInput(
        'forges_invalid',
        `forge '${name}' in config/forges.json has clone_base_url '${clone_base_url}', which would send its token without TLS although base_url is https; it must be https too`,
      );
    }
  }
  if (names.size > 0) return config;
  throw new InvalidInput('forges_invalid', 'config/forges.json names no forge; it needs at least one');
}

/** @throws InvalidInput (`forges_invalid`) */
export function createForges(config: ForgesConfig, folders: ForgeFolders, secrets: SecretFinder): Forges {
  const { forges } = checkForgesConfig(config);
  return new Map(forges.map((settings) => [settings.name, createForge(settings, folders, secrets)]));
}

/** How each configured forge stands, all of them asked side by side. */
export function examineForges(
  config: ForgesConfig,
  folders: ForgeFolders,
  answerMs: number,
): Promise<ForgeReport[]> {
  const { forges } = checkForgesConfig(config);
  const created = forges.map((settings) => createForge(settings, folders, secretFinder([]), 100));
  return Promise.all(created.map((forge) => examineForge(forge, answerMs)));
}

/** The forge of `core-status --smoke`, there without being configured and found by its name alone. */
export function createSmokeForge(folders: ForgeFolders, secrets: SecretFinder): ConfiguredForge {
  const { name, root } = smokeForge;
  return createForge({ name, kind: 'local', root, account: undefined }, folders, secrets);
}

function createForge(
  settings: ForgeSettings,
  folders: ForgeFolders,
  secrets: SecretFinder,
  retry_ms = 1_000,
): ConfiguredForge {
  const adapter: ForgeAdapter<t.Mixed> = adapters[settings.kind];
  return new MaskedForge(adapter.create(settings, { folders, retry_ms }), secrets);
}

/**
 * What people do on the local forge by hand.
 * @throws NotFound `forge_not_found` when no local forge is configured, Conflict `forge_ambiguous` when several are
 */
export function localForgeAdmin(
  config: ForgesConfig,
  folders: ForgeFolders,
  secrets: SecretFinder,
  name?: string,
): LocalForgeAdmin {
  const found = config.forges.filter((settings) => settings.kind === 'local');
  const named = found.filter((settings) => name === undefined || settings.name === name);
  const [settings, another] = named;
  if (settings === undefined) {
    throw new NotFound('forge_not_found', 'config/forges.json has no forge of kind local', {
      hint: 'add {"name": "local", "kind": "local"} to it',
    });
  }
  if (another !== undefined) {
    throw new Conflict(
      'forge_ambiguous',
      `several forges are local: ${named.map((entry) => entry.name).join(', ')}`,
    );
  }
  return new LocalForgeAdmin(...placeOf(settings, folders), secrets);
}
