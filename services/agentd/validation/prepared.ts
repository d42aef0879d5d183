import { lstat, mkdir, mkdtemp, rename, utimes, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { digestOf, sha256 } from '#kit/digest.ts';
import { makePrivateFolder } from '#kit/durable-file.ts';
import { codeOf } from '#kit/errors.ts';
import type { ValidationPlan } from '../action.ts';
import type { Sandbox, SandboxRun } from '../execution/sandbox.ts';
import type { TreeReader } from '../planning/scratch-copy.ts';
import { removeTree } from './remove-tree.ts';
import { scratchFolders } from './scratch-folders.ts';
import { passed, runSteps, type StepWatch, type ValidationStep } from './steps.ts';

export interface Preparation {
  readonly plan: ValidationPlan;
  readonly base_commit: string;
  readonly base: TreeReader;
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
const doneFile = '.done';

/**
 * Folders that the plan's prepare commands make of the base commit, from the cache under `folder` or made now. A name in the
 * cache is a digest of all that the result depends on; it appears by a rename, so that it is whole or absent.
 */
export async function prepare(
  folder: string,
  sandbox: Sandbox,
  preparation: Preparation,
  watch: StepWatch,
): Promise<Prepared> {
  const { plan } = preparation;
  if (plan.prepare.length === 0) return { result: 'none', mounts: [], steps: [] };
  const target = join(folder, await keyOf(preparation, sandbox));
  if (await lstat(join(target, doneFile)).catch(() => null)) {
    await utimes(target, new Date(), new Date());
    watch.onStep?.('dependencies are as they were prepared before');
    return { result: 'cached', mounts: await mountsOf(target, plan), steps: [] };
  }
  makePrivateFolder(folder);
  const making = await mkdtemp(join(folder, makingPrefix));
  try {
    const workspace = join(making, 'workspace');
    await preparation.exportBase(workspace);
    const phase = { name: 'prepare', workspace, mounts: [], commands: plan.prepare } as const;
    const steps = await runSteps(
      sandbox,
      { ...phase, network: plan.prepare_network, limits: plan.limits, notes: [] },
      watch,
    );
    if (!steps.every(passed)) return { result: 'failed', mounts: [], steps };
    const result = join(making, 'result');
    await collect(workspace, result, plan.prepared_paths);
    await moveInto(result, target);
    return { result: 'made', mounts: await mountsOf(target, plan), steps };
  } finally {
    await removeTree(making);
  }
}

/** Without lockfiles nothing says what the result depends on, so that it holds for one commit alone. */
async function keyOf({ plan, base, base_commit }: Preparation, sandbox: Sandbox): Promise<string> {
  const lockfiles: Record<string, string | null> = {};
  for (const path of plan.lockfiles) {
    const bytes = await base.read(path);
    lockfiles[path] = bytes === null ? null : sha256(bytes);
  }
  return digestOf({
    lockfiles,
    commit: plan.lockfiles.length === 0 ? base_commit : null,
    prepare: plan.prepare,
    prepared_paths: plan.prepared_paths,
    network: plan.prepare_network,
    tools: [process.version, process.platform, process.arch, sandbox.kind],
  });
}

/** Moves the prepared folders out of the workspace. One behind a link, or that is none, is not what was promised and stays. */
async function collect(workspace: string, result: string, paths: readonly string[]): Promise<void> {
  await mkdir(result);
  for (const path of parentsFirst(paths)) {
    if (!(await isRealFolder(workspace, path))) continue;
    await mkdir(dirname(join(result, path)), { recursive: true });
    await rename(join(workspace, path), join(result, path));
    if (basename(path) !== 'node_modules') continue;
    for (const name of scratchFolders) await mkdir(join(result, path, name), { recursive: true });
  }
  await writeFile(join(result, doneFile), '');
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
