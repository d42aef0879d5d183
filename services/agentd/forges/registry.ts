import { isAbsolute, join } from 'node:path';
import { smokeForge } from '#kit/config/smoke-forge.ts';
import { Conflict, Interrupted, messageOf, NotFound, Unavailable } from '#kit/errors.ts';
import type { RepositoryRef } from '../planning/forge.ts';
import { checkForgesConfig, type ForgeSettings, type ForgesConfig } from './configuration.ts';
import type { ConfiguredForge } from './configured-forge.ts';
import { examineForge, type ForgeReport } from './examine.ts';
import { GiteaForge } from './gitea/gitea-forge.ts';
import { GitHubForge } from './github/github-forge.ts';
import { ForgeFolder } from './local/forge-folder.ts';
import { LocalForge } from './local/local-forge.ts';
import { LocalForgeDesk } from './local/local-forge-desk.ts';
import { checkRepositoryRef, nameOf } from './names.ts';

export interface ForgeFolders {
  readonly stateDir: string;
  readonly configDir: string;
  readonly secretsDir: string;
}

export type Forges = ReadonlyMap<string, ConfiguredForge>;

/** @throws InvalidInput (`forges_invalid`) */
export function createForges(config: ForgesConfig, folders: ForgeFolders): Forges {
  const { forges } = checkForgesConfig(config);
  return new Map(forges.map((settings) => [settings.name, createForge(settings, folders)]));
}

/** How each configured forge stands, all of them asked side by side. */
export function examineForges(
  config: ForgesConfig,
  folders: ForgeFolders,
  answerMs: number,
): Promise<ForgeReport[]> {
  const { forges } = checkForgesConfig(config);
  return Promise.all(
    forges.map((settings) => examineForge(createForge(settings, folders, { retry_ms: 100 }), answerMs)),
  );
}

/** The forge of `core-status --smoke`, there without being configured and found by its name alone. */
export function createSmokeForge(folders: ForgeFolders): ConfiguredForge {
  const { name, root } = smokeForge;
  return createForge({ name, kind: 'local', root, account: undefined }, folders);
}

function createForge(
  settings: ForgeSettings,
  folders: ForgeFolders,
  { retry_ms }: { readonly retry_ms: number } = { retry_ms: 1000 },
): ConfiguredForge {
  if (settings.kind === 'local') return new LocalForge(folderOf(settings, folders), accountOf(settings));
  const github = settings.kind === 'github';
  const options = {
    name: settings.name,
    base_url: settings.base_url ?? 'https://github.com',
    clone_base_url: settings.clone_base_url ?? null,
    token_file: settings.token_file === undefined ? null : within(folders.secretsDir, settings.token_file),
    account: settings.account ?? null,
    timeout_ms: (settings.timeout_s ?? 30) * 1000,
    retry_ms,
    throttle: !('throttle' in settings) || settings.throttle !== false,
  };
  return github ? new GitHubForge(options) : new GiteaForge(options);
}

/**
 * What people do on the local forge by hand.
 * @throws NotFound `forge_not_found` when no local forge is configured, Conflict `forge_ambiguous` when several are
 */
export function localForgeDesk(config: ForgesConfig, folders: ForgeFolders, name?: string): LocalForgeDesk {
  const local = config.forges.filter((settings) => settings.kind === 'local');
  const named = local.filter((settings) => name === undefined || settings.name === name);
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
  return new LocalForgeDesk(folderOf(settings, folders), accountOf(settings));
}

/**
 * The forge that is meant. With `forge` the one of that name, else the only one that knows owner and repository: two
 * that know it are an error, and so is one that cannot be asked, since it might know it too.
 * @throws NotFound `forge_not_found` or `repository_not_found`, Conflict `forge_ambiguous`, Unavailable `forge_unavailable`
 */
export async function forgeFor(
  forges: Forges,
  request: RepositoryRef & { readonly forge?: string },
  signal?: AbortSignal,
): Promise<ConfiguredForge> {
  checkRepositoryRef(request);
  if (request.forge !== undefined) return namedForge(forges, request.forge);
  const ready = [...forges.values()].filter((forge) => forge.missing() === null);
  const answers = await Promise.all(ready.map((forge) => knows(forge, request, signal)));
  const interrupted = answers.find((answer) => answer instanceof Interrupted);
  if (interrupted !== undefined) throw interrupted;
  const knowing = ready.filter((_, index) => answers[index] === true);
  const wanted = nameOf(request);
  const names = knowing.map(({ name }) => name);
  if (knowing.length > 1) {
    throw new Conflict('forge_ambiguous', `${wanted} is known to several forges: ${names.join(', ')}`, {
      facts: { forges: names },
      hint: `say which with --forge ${names[0]}`,
    });
  }
  const silent = answers.findIndex((answer) => answer instanceof Error);
  if (silent >= 0 && ready.length > 1)
    throw cannotTell(ready[silent]!.name, wanted, answers[silent], names[0]);
  if (silent >= 0) throw answers[silent];
  if (knowing[0] !== undefined) return knowing[0];
  const asked = ready.map(({ name }) => name).join(', ') || 'none';
  const others = [...forges.values()].flatMap((forge) => {
    const missing = forge.missing();
    return missing === null ? [] : [`${forge.name} (no ${missing})`];
  });
  const unasked = others.length === 0 ? '' : `; not asked: ${others.join(', ')}`;
  throw new NotFound('repository_not_found', `no forge knows ${wanted}; asked: ${asked}${unasked}`, {
    hint: `make it with './core forge init --owner ${request.owner} --repo ${request.repo}', or name a forge with --forge`,
  });
}

function namedForge(forges: Forges, name: string): ConfiguredForge {
  const forge = forges.get(name);
  if (forge !== undefined) return forge;
  throw new NotFound(
    'forge_not_found',
    `there is no forge '${name}'; there are ${[...forges.keys()].join(', ')}`,
    {
      hint: 'forges are named in config/forges.json',
    },
  );
}

async function knows(
  forge: ConfiguredForge,
  ref: RepositoryRef,
  signal: AbortSignal | undefined,
): Promise<boolean | Error> {
  try {
    await forge.repository(ref, signal);
    return true;
  } catch (error) {
    if (error instanceof NotFound) return false;
    return error instanceof Error ? error : new Error(messageOf(error), { cause: error });
  }
}

function cannotTell(forge: string, wanted: string, cause: unknown, known: string | undefined): Unavailable {
  const also = known === undefined ? '' : `; '${known}' does`;
  return new Unavailable(
    'forge_unavailable',
    `forge '${forge}' cannot be asked whether it knows ${wanted}${also}: ${messageOf(cause)}`,
    { cause, hint: `say which forge is meant with --forge ${known ?? forge}` },
  );
}

function folderOf(settings: { name: string; root?: string | undefined }, folders: ForgeFolders): ForgeFolder {
  return new ForgeFolder(settings.name, within(folders.stateDir, settings.root ?? 'forge'));
}

function accountOf(settings: { account?: string | undefined }): string {
  return settings.account ?? 'core';
}

function within(folder: string, path: string): string {
  return isAbsolute(path) ? path : join(folder, path);
}
