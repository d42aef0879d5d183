import { Refused } from '#kit/errors.ts';
import { copyTree } from '#kit/git/objects.ts';
import type { SecretFinder } from '#kit/redaction/secret-finder.ts';
import type { Influence, SandboxTerms, Target, ValidationPlan } from '../action.ts';
import type { CommonPlan } from '../actions/kind.ts';
import type { ActionDefinition } from '../actions/registry.ts';
import { changeForAnotherRole } from '../actions/texts.ts';
import type { Mirror } from '../git/mirror.ts';
import { changesBetween, patchBetween, treeReader } from '../git/tree.ts';
import type { Policy } from '../policy.ts';
import type { PlanFacts } from '../runs/event.ts';
import type { Run } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import { type KnownHistory, noHistory } from './action-history.ts';
import { branchName } from './branch-name.ts';
import { changeFacts, guardedPaths } from './change-facts.ts';
import type { Proposal, Role } from './planner.ts';
import { proposeActions } from './propose-actions.ts';
import type { Sources } from './read-sources.ts';
import type { GitScratchCopy } from './scratch/git-scratch-copy.ts';
import { requireCleanActions, requireNoSecrets } from './secrets.ts';

export interface DraftPorts {
  readonly store: RunStore;
  readonly policy: Policy;
  readonly secrets: SecretFinder;
  /** The tool that will build the commit on this base. */
  readonly vcs: (mirror: Mirror, baseCommit: string) => Promise<'jj' | 'git'>;
}

/** What the planner left behind, and what it is judged by. */
export interface Proposed {
  readonly run: Run;
  readonly role: Role;
  readonly sources: Sources;
  readonly scratch: GitScratchCopy;
  readonly influences: readonly Influence[];
  readonly rejected_before: number;
  readonly validation: ValidationPlan | null;
  /** null where no sandbox works, so that nothing can be validated. */
  readonly sandbox: SandboxTerms | null;
  /** How actions on these files went before. */
  readonly history: (files: readonly string[]) => Promise<KnownHistory>;
}

/** Actions ready to be sealed. */
export interface Draft {
  readonly actions: readonly ActionDefinition[];
  readonly target: Target;
  readonly title: string;
  /** Markdown. */
  readonly explanation: string;
  /** sha256 of the patch artifact. */
  readonly patch: string | null;
  readonly notices: readonly string[];
  readonly checks: PlanFacts['checks'];
}

/**
 * Turns what the planner wants into actions. Nothing of a change is kept before it passed: no secrets, not too large.
 * @throws Refused (`change_empty`, `change_too_large`, `patch_adds_secret`, `action_holds_secret`)
 */
export async function draftPlan(ports: DraftPorts, proposed: Proposed, proposal: Proposal): Promise<Draft> {
  const draft = await draftOf(ports, proposed, proposal);
  requireCleanActions(draft.actions, ports.secrets);
  return draft;
}

async function draftOf(ports: DraftPorts, proposed: Proposed, proposal: Proposal): Promise<Draft> {
  const { policy, secrets } = ports;
  const { run, role, sources } = proposed;
  const common: CommonPlan = {
    run_id: run.run_id,
    number: run.request.number,
    target: targetOf(run, sources),
    influences: proposed.influences,
    dry_run: run.request.dry_run,
    policy,
    may_propose: role.may_propose,
    history: noHistory.byKind,
  };
  if (proposal.kind === 'comment') {
    const { byKind, notices } = await proposed.history([]);
    return commentOnly({ ...common, history: byKind }, 'a comment', secrets.mask(proposal.body), notices);
  }
  return draftChange(
    ports,
    proposed,
    common,
    secrets.mask(proposal.title),
    secrets.mask(proposal.explanation),
  );
}

async function draftChange(
  { store, policy, secrets, vcs }: DraftPorts,
  proposed: Proposed,
  common: CommonPlan,
  title: string,
  explanation: string,
): Promise<Draft> {
  const { run, role, sources, scratch, validation, sandbox } = proposed;
  const { mirror, base_commit, issue } = sources;
  const { tree } = await scratch.diff();
  const files = await changesBetween(scratch.gitDir, base_commit, tree);
  if (files.length === 0) {
    throw new Refused('change_empty', 'the planner proposed a change, but no file differs from the base');
  }
  const patch = await patchBetween(scratch.gitDir, base_commit, tree);
  requireSmall(files.length, patch.length, policy);
  await requireNoSecrets(scratch.gitDir, base_commit, tree, secrets);
  if (!role.may_propose.includes('apply_patch')) {
    const paths = files.map(({ path }) => path);
    return commentOnly(common, title, changeForAnotherRole(role.name, issue.title, paths));
  }

  await copyTree(scratch.gitDir, mirror.dir, tree, base_commit);
  const target: Target = {
    ...common.target,
    branch: branchName(run.request.number, issue.title, run.run_id),
    tree,
    vcs: await vcs(mirror, base_commit),
  };
  const digest = await store.putArtifact(run.run_id, patch);
  const before = treeReader(mirror.dir, base_commit);
  const after = treeReader(mirror.dir, tree);
  const { influences, rejected_before } = proposed;
  const change = {
    ...(await changeFacts(files, before, after, validation, influences, rejected_before)),
    ...guardedPaths(files, policy),
  };
  const history = await proposed.history(files.map(({ path }) => path));
  const actions = proposeActions({
    ...common,
    proposes: 'change',
    history: history.byKind,
    target,
    title,
    explanation,
    patch: digest,
    change,
    ...(sandbox === null ? { validation: null, sandbox: null } : { validation, sandbox }),
    workflows: (await after.list()).filter(isWorkflow).map((path) => path.split('/').at(-1)!),
  });
  const notices = [...history.notices, ...(validation === null ? [noValidation(target)] : [])];
  const checks = checksOf(files.length, patch.length, policy, validation !== null && sandbox !== null);
  return { actions, target, title, explanation, patch: digest, notices, checks };
}

function commentOnly(
  common: CommonPlan,
  title: string,
  body: string,
  notices: readonly string[] = [],
): Draft {
  const actions = proposeActions({ ...common, proposes: 'comment', body });
  return { actions, target: common.target, title, explanation: body, patch: null, notices, checks: [] };
}

function targetOf(run: Run, { repository, where, base_branch, base_commit }: Sources): Target {
  const { forge } = run.request;
  const { owner, repo, push_url } = repository;
  const place = { forge, ...where, owner, repo, push_url };
  return { ...place, branch: null, base_branch, base_commit, tree: null, vcs: null };
}

function isWorkflow(path: string): boolean {
  return /^\.(github|gitea|forgejo)\/workflows\/[^/]+\.ya?ml$|^\.gitlab-ci\.yml$/.test(path);
}

function requireSmall(files: number, bytes: number, { limits }: Policy): void {
  if (files > limits.files) {
    throw new Refused(
      'change_too_large',
      `the change touches ${files} files; config/policy.json allows ${limits.files}`,
    );
  }
  if (bytes > limits.patch_bytes) {
    throw new Refused(
      'change_too_large',
      `the patch has ${bytes} bytes; config/policy.json allows ${limits.patch_bytes}`,
    );
  }
}

function checksOf(files: number, bytes: number, { limits }: Policy, validated: boolean): Draft['checks'] {
  return [
    { name: 'applies', passed: true, detail: 'the patch makes the approved tree of the base commit' },
    {
      name: 'size',
      passed: true,
      detail: `${files} of at most ${limits.files} files, ${bytes} of at most ${limits.patch_bytes} bytes`,
    },
    { name: 'secrets', passed: true, detail: 'no secret is added' },
    {
      name: 'validation',
      passed: validated,
      detail: validated ? 'commands and a sandbox were found' : 'nothing to validate with',
    },
  ];
}

function noValidation({ owner, repo }: Target): string {
  return `nothing was found to validate with, so no push and no pull request is proposed; add commands for ${owner}/${repo} to config/validation.json, or a 'validation' member to .core.json in the repository`;
}
