import { posix } from 'node:path';
import { digestOf, sha256 } from '#kit/digest.ts';
import type { ValidationPlan } from '../action.ts';
import type { TreeReader, WholeTree } from '../git/tree.ts';

/** A command that only fetches what is locked, unless the repository's settings have it run a program. */
interface Fetcher {
  /** All of the line, but for variables before it. */
  readonly command: RegExp;
  /** Files by which it works, beside the lockfile. */
  readonly settings: readonly string[];
  /** What in them may lead to a program or a folder of the repository. */
  readonly programs: RegExp;
  /** Files that it would run. */
  readonly runs: readonly string[];
}

const options = '( --?[\\w-]+| --store-dir "\\$TMPDIR/pnpm")*$';

const fetchers: readonly Fetcher[] = [
  {
    command: new RegExp(`^npm ci( --[\\w-]+)*? --ignore-scripts${options}`),
    settings: ['.npmrc'],
    programs: /^\s*(git|[\w-]*(shell|config|prefix)|node-options)\s*=/im,
    runs: [],
  },
  {
    command: new RegExp(`^pnpm install(?=.* --frozen-lockfile)(?=.* --ignore-scripts)${options}`),
    settings: ['.npmrc', 'pnpm-workspace.yaml'],
    programs: /pnpmfile|configDependencies|config-dependencies|^\s*(git|[\w-]*shell)|node-?options/im,
    runs: ['.pnpmfile.cjs', '.pnpmfile.mjs'],
  },
  {
    command: new RegExp(`^yarn install(?=.* --frozen-lockfile)(?=.* --ignore-scripts)${options}`),
    settings: ['.npmrc', '.yarnrc'],
    programs: /path|git|shell|node-options/i,
    runs: ['.yarnrc.yml'],
  },
  {
    command: /^yarn install --immutable --mode=skip-build$/,
    settings: ['.yarnrc.yml'],
    programs: /yarnPath|plugins|shell|nodeOptions/i,
    runs: [],
  },
  {
    command: new RegExp(`^bun install(?=.* --frozen-lockfile)(?=.* --ignore-scripts)${options}`),
    settings: ['.npmrc', 'bunfig.toml'],
    programs: /preload|git|shell|node-options/i,
    runs: [],
  },
  {
    command: new RegExp(`^cargo fetch( --[\\w-]+)*? --locked${options}`),
    settings: ['.cargo/config.toml', '.cargo/config', 'rust-toolchain.toml', 'rust-toolchain'],
    programs: /wrapper|credential|rustc|directory|path\s*=|git-fetch-with-cli/i,
    runs: [],
  },
  { command: /^go mod download$/, settings: ['go.work', 'go.work.sum'], programs: /(?!)/, runs: [] },
];

/** As the detectors set them. */
const variables =
  /^(PATH=[\w@%+=:,./-]+:"\$PATH" )?((CARGO_HOME|GOMODCACHE|BUN_INSTALL_CACHE_DIR)=[\w"$./-]+ |GOFLAGS=-modcacherw |GOWORK=off |YARN_NODE_LINKER=node-modules )*/;

/** A line that runs in a folder, as the detectors write it. */
const inFolder = /^\(cd ([\w@%+=:,./-]+) && ([^()]+)\)$/;

interface Use {
  readonly fetcher: Fetcher;
  /** Paths of its settings and programs begin with it. */
  readonly folder: string;
}

function useOf(line: string): Use | undefined {
  const [, folder = '', inner = line] = inFolder.exec(line) ?? [];
  const fetcher = fetchers.find(({ command }) => command.test(inner.replace(variables, '')));
  return fetcher === undefined ? undefined : { fetcher, folder };
}

/**
 * What a preparation depends on of the files of its base: the content of lockfiles and settings, by path, where each command only
 * fetches what is locked; null where one may run or read any file, as pip and Maven do.
 */
export async function lockedContent(
  { prepare, lockfiles }: Pick<ValidationPlan, 'prepare' | 'lockfiles'>,
  base: WholeTree,
): Promise<Readonly<Record<string, string | null>> | null> {
  const used = prepare.map(({ run }) => useOf(run.trim()));
  if (lockfiles.length === 0) return null;
  const read = [
    ...lockfiles,
    ...used.flatMap((use) => (use === undefined ? [] : [...settingsOf(use), ...programsOf(use)])),
  ];
  // What a link leads to is not looked at.
  const links = await base.others();
  if (links.some((link) => read.some((path) => path === link || path.startsWith(`${link}/`)))) return null;
  const content: Record<string, string | null> = {};
  for (const use of used) {
    if (use === undefined) return null;
    for (const path of programsOf(use)) if ((await base.read(path)) !== null) return null;
    for (const path of settingsOf(use)) {
      const bytes = await base.read(path);
      if (bytes !== null && use.fetcher.programs.test(Buffer.from(bytes).toString('utf8'))) return null;
      content[path] = bytes === null ? null : sha256(bytes);
    }
  }
  return { ...content, ...(await lockfileContent(lockfiles, base)) };
}

/** Managers read the settings of a folder and of those above it. */
function settingsOf({ fetcher, folder }: Use): string[] {
  return parentsOf(folder).flatMap((at) => fetcher.settings.map((name) => posix.join(at, name)));
}

function programsOf({ fetcher, folder }: Use): string[] {
  return parentsOf(folder).flatMap((at) => fetcher.runs.map((name) => posix.join(at, name)));
}

/** A folder and those that hold it; the last is `''`, the root. */
function parentsOf(folder: string): string[] {
  const parts = folder === '' ? [] : folder.split('/');
  return [...parts, ''].map((_, left) => parts.slice(0, parts.length - left).join('/'));
}

export async function lockfileContent(
  lockfiles: readonly string[],
  base: TreeReader,
): Promise<Readonly<Record<string, string | null>>> {
  const content: Record<string, string | null> = {};
  for (const path of lockfiles) {
    const bytes = await base.read(path);
    content[path] = bytes === null ? null : digestOfLock(path, bytes);
  }
  return content;
}

/** What of a package.json is installed by; its version and its scripts say nothing about that. */
const installedBy =
  /dependencies|overrides|resolutions|workspaces|packageManager|engines|^(name|os|cpu|libc|bin|files|pnpm)$/i;

function digestOfLock(path: string, bytes: Uint8Array): string {
  if (posix.basename(path) !== 'package.json') return sha256(bytes);
  try {
    const manifest = JSON.parse(Buffer.from(bytes).toString('utf8')) as Record<string, unknown>;
    return digestOf(Object.fromEntries(Object.entries(manifest).filter(([name]) => installedBy.test(name))));
  } catch {
    return sha256(bytes);
  }
}
