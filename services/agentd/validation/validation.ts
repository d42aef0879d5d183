import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { treeOf } from '#kit/git/tree.ts';
import { type MaskedSecret, MaskTally, type SecretFinder } from '#kit/redaction/secret-finder.ts';
import type { SandboxTerms, ValidationPlan } from '../action.ts';
import { type TreeReader, treeReader, type WholeTree } from '../git/tree.ts';
import type { Sandbox } from '../ports/sandbox.ts';
import { type BaseComparison, compareWithBase, comparisonText } from './base-comparison.ts';
import { baseResults } from './base-results.ts';
import { checkoutFacts, differencesFromCheckout, noGitFolder } from './checkout-differences.ts';
import { makingPrefix, type Prepared, prepare } from './prepared.ts';
import { passed, runSteps, type ValidationStep } from './steps.ts';
import { type FoundProgram, foundPrograms, listPrograms } from './wanted-programs.ts';
import {
  copyTree,
  type ExportTree,
  makeWorkFolder,
  removeTree,
  sweep,
  sweepWorkFolders,
  type TreeCopy,
  type TreeSource,
} from './work-folder.ts';

export type { ValidationStep } from './steps.ts';

export interface ValidationReport {
  readonly passed: boolean;
  readonly tree: string;
  readonly base_commit: string;
  readonly sandbox: Sandbox['kind'];
  readonly started_at: string;
  readonly duration_ms: number;
  /** `none` also where preparing failed. */
  readonly prepared: 'none' | 'cached' | 'made';
  readonly steps: readonly ValidationStep[];
  /** The same commands on the base, if one failed; missing where preparing failed. */
  readonly base?: BaseReport;
  /** Secrets that the commands wrote; the logs have marks in their place. */
  readonly masked: readonly MaskedSecret[];
}

export interface BaseReport extends BaseComparison {
  /** Tree of the base commit. */
  readonly tree: string;
  readonly steps: readonly ValidationStep[];
}

export interface ValidationRequest {
  readonly mirror_dir: string;
  readonly base_commit: string;
  readonly tree: string;
  readonly plan: ValidationPlan;
  readonly signal: AbortSignal;
  /** The files of `tree`, where they were prepared earlier; the caller removes them. */
  readonly copy?: TreeCopy;
  readonly onOutput?: (text: string) => void;
  /** What is being done now, and what is to be known about it. */
  readonly onStep?: (text: string) => void;
}

export interface Validation {
  readonly terms: SandboxTerms;
  /** Begins to write a tree's files for a later `run`, which would wait for them. The caller removes them. */
  copy(source: TreeSource): TreeCopy;
  /** Prepared dependencies of the base commit, to mount read-only; none where preparing failed. @throws as `run` */
  prepare(request: Omit<ValidationRequest, 'tree' | 'copy'>): Promise<Prepared['mounts']>;
  /** The programs that repositories ask for, as the commands find them. @param files of the workspace, for programs that choose by them */
  programs(files: Readonly<Record<string, string>>, signal: AbortSignal): Promise<FoundProgram[]>;
  /**
   * Runs the plan on an export of `tree`. A failing command is a report that did not pass, never an error.
   * @throws Interrupted (`cancelled`), Refused and Failed of the sandbox
   */
  run(request: ValidationRequest): Promise<ValidationReport>;
}

export interface ValidationOptions {
  readonly stateDir: string;
  readonly sandbox: Sandbox;
  /** What `sandbox` was made with. */
  readonly terms: SandboxTerms;
  readonly exportTree: ExportTree;
  readonly secrets: SecretFinder;
  /** What a command that was not found needs, for its log; null where that is not known. */
  readonly whyNotFound?: (command: string) => string | null;
}

const runPrefix = 'run-';
/** For programs that say their version. */
const listLimits = { seconds: 60, memory_mib: 2048, processes: 64, disk_mib: 16, output_bytes: 65_536 };
const hour = 60 * 60 * 1000;
const day = 24 * hour;
/** Age at which prepared folders and results of a base that are no longer used are removed, in ms. */
const preparedFor = 30 * day;

export function createValidation({
  stateDir,
  sandbox,
  terms,
  exportTree,
  secrets,
  whyNotFound = () => null,
}: ValidationOptions): Validation {
  const runsFolder = join(stateDir, 'validation');
  const preparedFolder = join(stateDir, 'prepared');
  const baseFolder = join(stateDir, 'base-results');
  let swept: Promise<void> | null = null;

  async function validate(request: ValidationRequest): Promise<ValidationReport> {
    const { mirror_dir, base_commit, tree, plan } = request;
    const started_at = new Date().toISOString();
    const began = performance.now();
    const tally = new MaskTally(secrets);
    const base = treeReader(mirror_dir, base_commit);
    const prepared = await prepareBase(request, base, tally);
    const notes = await changedLockfiles(plan, prepared, base, treeReader(mirror_dir, tree));
    for (const note of notes) request.onStep?.(note);
    const steps = prepared.result === 'failed' ? [] : await runTree(request, prepared, notes, tally);
    const succeeded = steps.length > 0 && steps.every(passed);
    const compared = steps.length > 0 && !succeeded ? await compare(request, prepared, steps, tally) : null;
    return {
      passed: succeeded,
      tree,
      base_commit,
      sandbox: sandbox.kind,
      started_at,
      duration_ms: Math.round(performance.now() - began),
      prepared: prepared.result === 'failed' ? 'none' : prepared.result,
      steps: [...prepared.steps, ...steps],
      ...(compared !== null && { base: compared }),
      masked: tally.found,
    };
  }

  function prepareBase(
    request: Omit<ValidationRequest, 'tree' | 'copy'>,
    base: WholeTree,
    tally: MaskTally,
  ): Promise<Prepared> {
    const { mirror_dir, base_commit, plan } = request;
    const exportBase = (into: string) => exportTree({ mirror_dir, tree: base_commit, plan }, into);
    const of = { repository: mirror_dir, plan, base_commit, base, terms };
    const differences = () => allDifferences(mirror_dir, base_commit, plan);
    const preparation = { ...of, exportBase, whyNotFound, differences };
    return prepare(preparedFolder, sandbox, preparation, request, tally);
  }

  /** Runs the commands on the base too, unless that is known already. */
  async function compare(
    request: ValidationRequest,
    prepared: Prepared,
    steps: readonly ValidationStep[],
    tally: MaskTally,
  ): Promise<BaseReport> {
    const { mirror_dir, base_commit, plan } = request;
    const tree = await treeOf(mirror_dir, base_commit);
    const { copy: _, onOutput: __, ...quiet } = request;
    const baseSteps = await baseResults(baseFolder, { tree, plan, terms }, () => {
      request.onStep?.('a command failed; running the same commands on the base, to compare');
      return runTree({ ...quiet, tree }, prepared, [], tally);
    });
    const comparison = compareWithBase(steps, baseSteps, plan.commands);
    request.onStep?.(comparisonText(comparison));
    return { tree, steps: baseSteps, ...comparison };
  }

  async function runTree(
    request: ValidationRequest,
    prepared: Prepared,
    notes: readonly string[],
    tally: MaskTally,
  ): Promise<ValidationStep[]> {
    const { mirror_dir, plan } = request;
    const tree = request.copy ?? copy(request);
    const differences = () => allDifferences(mirror_dir, request.tree, plan);
    try {
      const workspace = await tree.workspace();
      const phase = { name: 'run', workspace, mounts: prepared.mounts, commands: plan.commands } as const;
      return await runSteps(
        sandbox,
        { ...phase, network: false, limits: plan.limits, notes, whyNotFound, differences },
        request,
        tally,
      );
    } finally {
      if (request.copy === undefined) await tree.remove();
    }
  }

  function withoutLeftovers(): Promise<void> {
    swept ??= sweepLeftovers(runsFolder, preparedFolder, baseFolder);
    return swept;
  }

  const copy = (source: TreeSource) => copyTree(source, runsFolder, runPrefix, exportTree);

  return {
    terms,
    copy,
    async prepare(request) {
      await withoutLeftovers();
      const base = treeReader(request.mirror_dir, request.base_commit);
      return (await prepareBase(request, base, new MaskTally(secrets))).mounts;
    },
    async programs(files, signal) {
      await withoutLeftovers();
      const folder = await makeWorkFolder(runsFolder, runPrefix);
      try {
        const workspace = join(folder, 'workspace');
        await mkdir(workspace);
        for (const [name, text] of Object.entries(files)) await writeFile(join(workspace, name), text);
        const line = { workspace, mounts: [], command: listPrograms, network: false, signal };
        const { output } = await sandbox.run({ ...line, limits: listLimits });
        return foundPrograms(Buffer.from(output).toString('utf8'));
      } finally {
        await removeTree(folder);
      }
    },
    async run(request) {
      await withoutLeftovers();
      return validate(request);
    },
  };
}

/** What a crash left, and dependencies that nobody uses any more. */
async function sweepLeftovers(runs: string, prepared: string, base: string): Promise<void> {
  await sweepWorkFolders(runs, runPrefix);
  await sweepWorkFolders(prepared, makingPrefix);
  await sweep(prepared, preparedFor, (name) => !name.startsWith('.'));
  await sweep(base, preparedFor, () => true);
  // Needed for seconds, and while a command runs.
  await sweep(tmpdir(), hour, (name) => /^core-(pipe|sandbox|index)-/.test(name));
  await sweep(tmpdir(), day, (name) => name.startsWith('core-run-'));
}

async function allDifferences(gitDir: string, treeish: string, plan: ValidationPlan): Promise<string[]> {
  const facts = await checkoutFacts(gitDir, treeish, plan);
  return [...differencesFromCheckout(facts), ...(facts.git_users.length === 0 ? [noGitFolder] : [])];
}

async function changedLockfiles(
  plan: ValidationPlan,
  prepared: Prepared,
  base: TreeReader,
  tree: TreeReader,
): Promise<string[]> {
  if (prepared.result === 'none' || prepared.result === 'failed') return [];
  const notes: string[] = [];
  for (const path of plan.lockfiles) {
    const [before, now] = await Promise.all([base.read(path), tree.read(path)]);
    if (Buffer.compare(before ?? Buffer.alloc(0), now ?? Buffer.alloc(0)) === 0) continue;
    notes.push(`the change touches ${path}; dependencies are those of the base commit`);
  }
  return notes;
}
