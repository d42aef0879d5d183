import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { environment } from '#kit/environment.ts';
import { readSmallFile } from '#kit/small-file.ts';

/**
 * The installation behind a program that a version manager starts for the person: its folder holds `bin/NAME` and no credentials.
 * @param path where PATH has the program
 * @returns undefined for a program of no version manager; null where its installation cannot be found
 */
export function managedInstallation(name: string, path: string): string | null | undefined {
  for (const manager of [rustup, volta, shims, mise, links]) {
    const found = manager(name, path);
    if (found !== undefined) return found;
  }
  return undefined;
}

type Manager = (name: string, path: string) => string | null | undefined;

/**
 * `~/.cargo/bin/cargo` is rustup under another name. The toolchains lie where RUSTUP_HOME says, in `~/.rustup`, or beside the folder
 * of cargo, as `/opt/rustup` for `/opt/cargo`.
 */
const rustup: Manager = (name, path) => {
  const proxy = join(dirname(path), 'rustup');
  if (name === 'rustup' || !isSameFile(path, proxy)) return undefined;
  const beside = [dirname(path), dirname(realOf(path))].flatMap((bin) => [
    join(bin, '../../.rustup'),
    join(bin, '../../rustup'),
  ]);
  const own = environment.HOME ? [join(environment.HOME, '.rustup')] : [];
  const homes = [...(environment.RUSTUP_HOME ? [environment.RUSTUP_HOME] : []), ...beside, ...own];
  return firstWith(name, homes.flatMap(toolchainsIn));
};

/** The default toolchain first. */
function toolchainsIn(home: string): string[] {
  const settings = textOf(join(home, 'settings.toml'));
  const [, wanted] = /^default_toolchain\s*=\s*"([^"]+)"/m.exec(settings) ?? [];
  const toolchains = join(home, 'toolchains');
  const names = namesIn(toolchains).sort((a, b) => Number(b === wanted) - Number(a === wanted));
  return names.map((toolchain) => join(toolchains, toolchain));
}

/** `~/.volta/bin/node` is a shim; `platform.json` names the default versions. VOLTA_HOME may be a folder of another name. */
const volta: Manager = (name, path) => {
  const home = dirname(dirname(path));
  if (basename(dirname(path)) !== 'bin') return undefined;
  if (basename(home) !== '.volta' && basename(realOf(path)) !== 'volta-shim') return undefined;
  const image = join(home, 'tools/image');
  const wanted = new Set(textOf(join(home, 'tools/user/platform.json')).match(/\d+\.\d+\.\d+[\w.+-]*/g));
  const versions = ['node', 'npm', 'pnpm', 'yarn'].flatMap((tool) => versionsIn(join(image, tool), wanted));
  return firstWith(name, [...versions, join(image, 'packages', name)]);
};

/** pyenv and asdf: a script in `shims` for each program. */
const shims: Manager = (name, path) => {
  const home = /^(.*)\/shims\/[^/]+$/.exec(path)?.[1];
  if (home === undefined || basename(home) === 'mise') return undefined;
  if (existsSync(join(home, 'installs'))) {
    const lines = textOf(path).matchAll(/^# asdf-plugin: (\S+) (\S+)$/gm);
    return firstWith(
      name,
      [...lines].map(([, plugin, version]) => join(home, 'installs', plugin!, version!)),
    );
  }
  const versions = join(home, 'versions');
  if (!existsSync(versions)) return undefined;
  const wanted = new Set(textOf(join(home, 'version')).split(/\s+/));
  return firstWith(name, versionsIn(versions, wanted));
};

/** `mise/shims/node` is a link to mise. */
const mise: Manager = (name, path) => {
  const home = /^(.*\/mise)\/shims\/[^/]+$/.exec(path)?.[1];
  if (home === undefined) return undefined;
  const installs = join(home, 'installs');
  const versions = namesIn(installs).flatMap((tool) => versionsIn(join(installs, tool), new Set(['latest'])));
  return firstWith(name, versions);
};

/** In folders of any name: NVM_DIR, FNM_DIR and SDKMAN_DIR name others. */
const ofLinks =
  /\/(\.nvm|\.?fnm|fnm_multishells|versions\/node\/v[\d.]+|node-versions\/[^/]+\/installation|\.sdkman|candidates\/[^/]+\/[^/]+|sdk\/go[^/]*|toolchain@[^/]*)\//;

/** nvm, fnm, SDKMAN and go: PATH, or a link in it, leads to a version's own folder. */
const links: Manager = (name, path) => {
  if (!ofLinks.test(path)) return undefined;
  const folder = dirname(realOf(path));
  return basename(folder) === 'bin'
    ? firstWith(name, [dirname(folder)])
    : firstWith(name, [join(dirname(path), '..')]);
};

/** Versions of one tool: the wanted ones first, then the newest. */
function versionsIn(folder: string, wanted: ReadonlySet<string>): string[] {
  const newest = namesIn(folder).sort((a, b) => b.localeCompare(a, 'en', { numeric: true }));
  return [...newest.filter((name) => wanted.has(name)), ...newest.filter((name) => !wanted.has(name))].map(
    (name) => join(folder, name),
  );
}

function firstWith(name: string, folders: readonly string[]): string | null {
  const found = folders.find((folder) => existsSync(join(folder, 'bin', name)));
  return found === undefined ? null : realOf(found);
}

function isSameFile(a: string, b: string): boolean {
  const [one, other] = [a, b].map((path) => statSync(path, { throwIfNoEntry: false }));
  return one !== undefined && other !== undefined && one.dev === other.dev && one.ino === other.ino;
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function textOf(path: string): string {
  try {
    return readSmallFile(path);
  } catch {
    return '';
  }
}
