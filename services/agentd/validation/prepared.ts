import { lstat, mkdir, readFile, rename, utimes, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { digestOf } from '#kit/digest.ts';
import { codeOf, Failed } from '#kit/errors.ts';
import type { MaskTally } from '#kit/redaction/secret-finder.ts';
import type { SandboxTerms, ValidationPlan } from '../action.ts';
import type { WholeTree } from '../git/tree.ts';
import { type Sandbox, type SandboxRun, scratchFolders } from '../ports/sandbox.ts';
import { lockedContent, lockfileContent } from './fetching.ts';
import { folderDigest } from './folder-digest.ts';
import { passed, runSteps, type StepWatch, type ValidationStep } from './steps.ts';
import { makeWorkFolder, removeTree } from './work-folder.ts';

export interface Preparation {
  /** What no other repository has, for example its mirror. */
  readonly repository: string;
  readonly plan: ValidationPlan;
  readonly base_commit: string;
  readonly base: WholeTree;
  readonly terms: SandboxTerms;
  readonly whyNotFound: (command: string) => string | null;
  /** In which ways the base commit is written otherwise than a checkout. */
  readonly differences: () => Promise<readonly string[]>;
  /** Writes the base commit into a folder that does not exist yet. */
  readonly exportBase: (into: string) => Promise<void>;
}

export interface Prepared {
  readonly result: 'none' | 'cached' | 'made' | 'failed';
  readonly mounts: SandboxRun['mounts'];
  readonly steps: readonly ValidationStep[];
}

/** Prefix of folders that are not finished; a crash leaves them behind. */
export const makingPrefix = '.making-';
/** Holds the digest of everything beside it. No sandbox sees it. */
const digestFile = '.digest';

/**
 * Folders that the plan's prepare commands make of the base commit, from the cache under `folder` or made now. A name in the
 * cache is a digest of all that the result depends on; it appears by a rename, so that it is whole or absent. A result that is not as
 * it was prepared is not used: it is made again.
 */
export async function prepare(
  folder: string,
  sandbox: Sandbox,
  preparation: Preparation,
  watch: StepWatch,
  tally: MaskTally,
): Promise<Prepared> {
  const { plan, whyNotFound, differences } = preparation;
  if (plan.prepare.length === 0) return { result: 'none', mounts: [], steps: [] };
  const target = join(folder, await keyOf(preparation));
  const there = (await lstat(target).catch(() => null)) !== null;
  if (there && (await isAsPrepared(target))) {
    await utimes(target, new Date(), new Date());
    watch.onStep?.('dependencies are as they were prepared before');
    return { result: 'cached', mounts: await mountsOf(target, plan), steps: [] };
  }
  const making = await makeWorkFolder(folder, makingPrefix);
  try {
    if (there) {
      watch.onStep?.('the prepared dependencies are not as they were prepared; preparing them again');
      await rename(target, join(making, 'changed')).catch(ignoreMissing);
    }
    const workspace = join(making, 'workspace');
    await preparation.exportBase(workspace);
    const phase = { name: 'prepare', workspace, mounts: [], commands: plan.prepare } as const;
    const steps = await runSteps(
      sandbox,
      { ...phase, network: plan.prepare_network, limits: plan.limits, notes: [], whyNotFound, differences },
      watch,
      tally,
    );
    if (!steps.every(passed)) return { result: 'failed', mounts: [], steps };
    const result = join(making, 'result');
    await collect(workspace, result, plan.prepared_paths).catch(explain);
    await moveInto(result, target);
    return { result: 'made', mounts: await mountsOf(target, plan), steps };
  } finally {
    await removeTree(making);
  }
}

/**
 * No result serves another repository, and within one it holds for a single commit, unless the lockfiles say all that it
 * depends on: what runs a repository's code can depend on any of its files.
 */
async function keyOf({ repository, plan, base, base_commit, terms }: Preparation): Promise<string> {
  const locked = await lockedContent(plan, base);
  return digestOf({
    repository,
    lockfiles: locked ?? (await lockfileContent(plan.lockfiles, base)),
    commit: locked === null ? base_commit : null,
    prepare: plan.prepare,
    prepared_paths: plan.prepared_paths,
    network: plan.prepare_network,
    tools: [process.version, process.platform, process.arch, terms.kind, ...terms.tool_paths],
    programs: (plan.programs ?? []).map(({ path, version }) => ({ path, version })),
    submodules: plan.submodules?.provided ?? [],
    lfs: plan.lfs?.provided ?? [],
    environment: plan.prepare_network ? terms.prepare_environment : {},
  });
}

/** Moves the prepared folders out of the workspace. A path behind a link, or that is no folder, is left out. */
async function collect(workspace: string, result: string, paths: readonly string[]): Promise<void> {
  await mkdir(result);
  for (const path of parentsFirst(paths)) {
    if (!(await isRealFolder(workspace, path))) continue;
    await mkdir(dirname(join(result, path)), { recursive: true });
    await rename(join(workspace, path), join(result, path));
    if (basename(path) !== 'node_modules') continue;
    for (const name of scratchFolders) await makeUnlessThere(join(result, path, name));
  }
  await writeFile(join(result, digestFile), await folderDigest(result));
}

/** True if everything has the digest that was noted when it was prepared; false for results of older versions, which noted none. */
async function isAsPrepared(target: string): Promise<boolean> {
  try {
    const noted = await readFile(join(target, digestFile), 'utf8');
    return noted === (await folderDigest(target, [digestFile]));
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES', 'EISDIR', 'ELOOP'].includes(codeOf(error))) return false;
    throw error;
  }
}

/** Another process may have moved it meanwhile. */
function ignoreMissing(error: unknown): void {
  if (codeOf(error) !== 'ENOENT') throw error;
}

/** The error of the system would name only where Core keeps its things. */
function explain(cause: unknown): never {
  if (!['EACCES', 'EPERM'].includes(codeOf(cause))) throw cause;
  throw new Failed(
    'prepared_unusable',
    'the prepared folders cannot be kept: preparing made them read-only',
    {
      cause,
      hint: 'Leave folders of prepared_paths writable for their owner.',
    },
  );
}

/** What stands there already, a file or a link even, is what the command made and stays. */
async function makeUnlessThere(path: string): Promise<void> {
  await mkdir(path).catch((error: unknown) => {
    if (codeOf(error) !== 'EEXIST') throw error;
  });
}

/** Somebody else may have made the same meanwhile; then theirs stands. */
async function moveInto(result: string, target: string): Promise<void> {
  await rename(result, target).catch((error: unknown) => {
    if (!['ENOTEMPTY', 'EEXIST'].includes(codeOf(error))) throw error;
  });
}

async function mountsOf(folder: string, plan: ValidationPlan): Promise<SandboxRun['mounts']> {
  const mounts: { source: string; target: string }[] = [];
  for (const path of parentsFirst(plan.prepared_paths)) {
    if (mounts.some(({ target }) => path.startsWith(`${target}/`))) continue;
    if (await isRealFolder(folder, path)) mounts.push({ source: join(folder, path), target: path });
  }
  return mounts;
}

async function isRealFolder(root: string, path: string): Promise<boolean> {
  let current = root;
  for (const part of path.split('/')) {
    current = join(current, part);
    const facts = await lstat(current).catch(() => null);
    if (!facts?.isDirectory()) return false;
  }
  return true;
}

function parentsFirst(paths: readonly string[]): string[] {
  return [...new Set(paths)].sort();
}
