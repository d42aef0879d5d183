import { basename } from 'node:path';
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
    command: new RegExp(`^cargo fetch( --[\\w-]+)*? --locked${options}`),
    settings: ['.cargo/config.toml', '.cargo/config', 'rust-toolchain.toml', 'rust-toolchain'],
    programs: /wrapper|credential|rustc|directory|path\s*=|git-fetch-with-cli/i,
    runs: [],
  },
  { command: /^go mod download$/, settings: ['go.work', 'go.work.sum'], programs: /(?!)/, runs: [] },
];

/** As the detectors set them. */
const variables =
  /^((CARGO_HOME|GOMODCACHE)=[\w"$./-]+ |GOFLAGS=-modcacherw |YARN_NODE_LINKER=node-modules )*/;

/**
 * What a preparation depends on of the files of its base: the content of lockfiles and settings, by path, where each command only
 * fetches what is locked; null where one may run or read any file, as pip and Maven do.
 */
export async function lockedContent(
  { prepare, lockfiles }: Pick<ValidationPlan, 'prepare' | 'lockfiles'>,
  base: WholeTree,
): Promise<Readonly<Record<string, string | null>> | null> {
  const used = prepare.map(({ run }) =>
    fetchers.find(({ command }) => command.test(run.trim().replace(variables, ''))),
  );
  if (lockfiles.length === 0) return null;
  const read = [
    ...lockfiles,
    ...used.flatMap((fetcher) => [...(fetcher?.settings ?? []), ...(fetcher?.runs ?? [])]),
  ];
  // What a link leads to is not looked at.
  const links = await base.others();
  if (links.some((link) => read.some((path) => path === link || path.startsWith(`${link}/`)))) return null;
  const content: Record<string, string | null> = {};
  for (const fetcher of used) {
    if (fetcher === undefined) return null;
    for (const path of fetcher.runs) if ((await base.read(path)) !== null) return null;
    for (const path of fetcher.settings) {
      const bytes = await base.read(path);
      if (bytes !== null && fetcher.programs.test(Buffer.from(bytes).toString('utf8'))) return null;
      content[path] = bytes === null ? null : sha256(bytes);
    }
  }
  return { ...content, ...(await lockfileContent(lockfiles, base)) };
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
  if (basename(path) !== 'package.json') return sha256(bytes);
  try {
    const manifest = JSON.parse(Buffer.from(bytes).toString('utf8')) as Record<string, unknown>;
    return digestOf(Object.fromEntries(Object.entries(manifest).filter(([name]) => installedBy.test(name))));
  } catch {
    return sha256(bytes);
  }
}
