import { join } from 'node:path';
import { codeOf, messageOf } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { once } from '#kit/once.ts';
import type { SecretFinder } from '#kit/redaction/secret-finder.ts';
import type { SandboxTerms, ValidationPlan } from './action.ts';
import type { ApprovedValidation } from './actions/executor.ts';
import { planOutdated } from './actions/kind.ts';
import { exportTree } from './git/export-tree.ts';
import { openMirror } from './git/mirror.ts';
import type { MissingPrograms } from './planning/draft-plan.ts';
import type { Sources } from './planning/read-sources.ts';
import { missingPrograms, missingProgramsText } from './sandboxes/missing-programs.ts';
import {
  approvedSandbox,
  chooseSandbox,
  type SandboxChoice,
  sandboxOptions,
  termsOf,
} from './sandboxes/registry.ts';
import type { ValidationConfig } from './validation/configuration.ts';
import { requirePrepareNetwork } from './validation/detect.ts';
import { fetchLfs, findLfs, placeLfs } from './validation/lfs.ts';
import {
  fetchSubmodules,
  findSubmodules,
  placeSubmodules,
  type SubmoduleForge,
  storeOf,
} from './validation/submodules.ts';
import { createValidation, type Validation } from './validation/validation.ts';
import type { ExportTree } from './validation/work-folder.ts';

interface ValidationParts {
  readonly folders: Pick<Folders, 'state' | 'config'>;
  readonly home: string;
  /** With what the policy and the places of Core add. */
  readonly config: ValidationConfig & SandboxChoice & { readonly hidden: readonly string[] };
  readonly secrets: SecretFinder;
  readonly forge: (name: string) => SubmoduleForge;
}

export type Validations = ReturnType<typeof composeValidation>;

/** Puts validation together: as planning proposes it, and as it was approved. */
export function composeValidation({ folders, home, config, secrets, forge }: ValidationParts) {
  const { state: stateDir } = folders;
  const submoduleTerms = {
    hosts: config.fetch_hosts,
    maxBytes: config.fetch_limits.submodules_mib * 1024 * 1024,
  };
  const lfsTerms = { hosts: config.fetch_hosts, limits: config.fetch_limits };

  /** What commands lack in a sandbox with these terms. */
  function missingIn(commands: readonly string[], terms: SandboxTerms): MissingPrograms | null {
    const missing = missingPrograms(commands, terms, [home, ...config.hidden]);
    if (missing.length === 0) return null;
    const file = join(folders.config, 'validation.json');
    return {
      names: missing.map(({ name }) => name),
      text: missingProgramsText(missing, config.tool_paths, file),
    };
  }

  const whyNotFound = (terms: SandboxTerms) => (command: string) => missingIn([command], terms)?.text ?? null;

  const exportWhole: ExportTree = async (source, into) => {
    await exportTree(source.mirror_dir, source.tree, into);
    const { submodules, lfs } = source.plan;
    if (submodules !== undefined) await placeSubmodules(stateDir, source, submodules, into);
    if (lfs !== undefined) await placeLfs(source, lfs, into);
  };

  /** A plan with the submodules and the LFS objects of the base commit, if they are wanted. */
  async function withFetched(
    plan: ValidationPlan,
    { mirror, base_commit, repository }: Pick<Sources, 'mirror' | 'base_commit' | 'repository'>,
    forgeName: string,
    signal: AbortSignal,
  ): Promise<ValidationPlan> {
    const { clone_url } = repository;
    const from = { gitDir: mirror.dir, commit: base_commit, clone_url };
    const submodules = config.submodules
      ? await findSubmodules(stateDir, forge(forgeName), from, submoduleTerms, signal)
      : null;
    const below = (submodules?.provided ?? []).map((one) => ({
      ...one,
      dir: storeOf(stateDir, forgeName, one).dir,
    }));
    const credential = config.lfs ? await forge(forgeName).gitCredential() : null;
    const source = { mirror_dir: mirror.dir, base_commit, clone_url, credential };
    const lfs = config.lfs ? await findLfs(source, lfsTerms, below, signal) : null;
    return {
      ...plan,
      ...(submodules !== null && { submodules }),
      ...(lfs !== null && { lfs }),
    };
  }

  /** Fetches the approved objects that are no longer in the mirror. */
  async function fetchApproved({ target, plan }: ApprovedValidation): Promise<void> {
    if (plan.lfs === undefined) return;
    const { owner, repo, base_commit } = target;
    const { dir } = await openMirror({ stateDir, forge: target.forge, owner, repo });
    const from = forge(target.forge);
    const { signal } = new AbortController();
    const source = async () => ({
      mirror_dir: dir,
      base_commit,
      clone_url: (await from.repository({ owner, repo }, signal)).clone_url,
      credential: await from.gitCredential(),
    });
    await fetchLfs(source, dir, config.fetch_hosts, plan.lfs, signal);
  }

  /** As planning proposes it. */
  const open = once(async () => {
    const { sandbox: setting, allow_unsandboxed } = config;
    const sandbox = await chooseSandbox(setting, allow_unsandboxed, config);
    const terms = termsOf(sandbox.kind, sandboxOptions(config));
    return createValidation({
      stateDir,
      sandbox,
      terms,
      exportTree: exportWhole,
      secrets,
      whyNotFound: whyNotFound(terms),
    });
  });

  async function openApproved(approved: ApprovedValidation): Promise<Validation> {
    const { run_id, target, sandbox: kind, tool_paths, prepare_environment, plan } = approved;
    if (tool_paths === undefined || prepare_environment === undefined) throw planOutdated(run_id);
    requirePrepareNetwork(plan, config, target);
    if (plan.submodules !== undefined)
      await fetchSubmodules(stateDir, forge(plan.submodules.forge), plan.submodules, submoduleTerms);
    await fetchApproved(approved);
    const terms = { kind, tool_paths, prepare_environment };
    const opened = await approvedSandbox(terms, plan.prepare_network, config);
    return createValidation({
      stateDir,
      ...opened,
      exportTree: exportWhole,
      secrets,
      whyNotFound: whyNotFound(opened.terms),
    });
  }

  /** null with the reason where no sandbox works here. */
  async function sandboxTerms(): Promise<{ terms: SandboxTerms | null; reason: string }> {
    try {
      return { terms: (await open()).terms, reason: '' };
    } catch (error) {
      if (codeOf(error) !== 'sandbox_unavailable') throw error;
      return { terms: null, reason: messageOf(error) };
    }
  }

  return { open, openApproved, withFetched, missingIn, sandboxTerms };
}
