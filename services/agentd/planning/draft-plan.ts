import type { PatchAuthor } from '#kit/contracts/patch-author.ts';
import { hiddenCredentialsText } from '#kit/credential-files.ts';
import { digestOf, sha256 } from '#kit/digest.ts';
import { Refused } from '#kit/errors.ts';
import { copyTree } from '#kit/git/objects.ts';
import type { SecretFinder } from '#kit/redaction/secret-finder.ts';
import {
  actionKinds,
  type Influence,
  type SandboxTerms,
  type Target,
  type ValidationPlan,
} from '../action.ts';
import type { ChangeFacts, CommonPlan, Plan } from '../actions/kind.ts';
import { changeForAnotherRole, oneLine } from '../actions/published-texts.ts';
import { type ActionDefinition, actionDigest, actionType } from '../actions/registry.ts';
import { sameAsRejectedText, withHistory } from '../actions/risk.ts';
import type { Mirror } from '../git/mirror.ts';
import { changesBetween, fileSizes, treeReader } from '../git/tree.ts';
import { type Policy, whyProtected } from '../policy.ts';
import type { Forge, Repository } from '../ports/forge.ts';
import type { PlanFacts } from '../runs/event.ts';
import type { Run } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import { checkoutFacts, differencesFromCheckout } from '../validation/checkout-differences.ts';
import { untestedTexts } from '../validation/coverage.ts';
import { programNotices } from '../validation/wanted-programs.ts';
import { blockingNotices } from './blocking-refs.ts';
import { askProtections, ruleNotices, whyClosed } from './branch-notices.ts';
import {
  changeFacts,
  guardedPaths,
  requireCleanActions,
  requireNoSecrets,
  sameNameNotices,
} from './change-checks.ts';
import { type KnownHistory, noHistory } from './gather-context.ts';
import type { Proposal, RejectedPlan } from './planner.ts';
import type { Sources } from './read-sources.ts';
import type { Role } from './roles.ts';
import type { GitScratchCopy } from './scratch-copy.ts';

export interface DraftPorts {
  readonly store: RunStore;
  readonly policy: Policy;
  readonly secrets: SecretFinder;
  readonly forge: (name: string) => Forge;
  /** Folders of working copies that branches may be delivered to. */
  readonly checkouts: readonly string[];
  /** The tool that will build the commit on this base. */
  readonly vcs: (mirror: Mirror, baseCommit: string) => Promise<'jj' | 'git'>;
  /** Programs of a validation that its sandbox would not find, and what to do about it; null where it finds all. */
  readonly missingPrograms: (validation: ValidationPlan, sandbox: SandboxTerms) => MissingPrograms | null;
}

export interface MissingPrograms {
  readonly names: readonly string[];
  /** What to add to which file, line by line. */
  readonly text: string;
}

/** What the planner left behind, and what it is judged by. */
export interface Proposed {
  readonly run: Run;
  readonly role: Role;
  readonly sources: Sources;
  readonly scratch: GitScratchCopy;
  readonly influences: readonly Influence[];
  readonly rejections: readonly RejectedPlan[];
  /** Hosts and credentials of the agent that made it. */
  readonly reaches_out: readonly string[];
  readonly validation: ValidationPlan | null;
  /** null where no sandbox works, so that nothing can be validated. */
  readonly sandbox: SandboxTerms | null;
  /** How actions on these files went before. */
  readonly history: (files: readonly string[]) => Promise<KnownHistory>;
  readonly signal: AbortSignal;
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
  /** Who wrote it; null without a patch. */
  readonly patch_by: PatchAuthor | null;
  readonly notices: readonly string[];
  readonly checks: PlanFacts['checks'];
}

/**
 * Turns what the planner wants into actions. Nothing of a change is kept before it passed: no secrets, not too large.
 * @throws Refused (`change_empty`, `change_too_large`, `patch_adds_secret`, `action_holds_secret`)
 */
export async function draftPlan(ports: DraftPorts, proposed: Proposed, proposal: Proposal): Promise<Draft> {
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
    rejections: proposed.rejections,
    same_rejected: null,
  };
  let draft: Draft;
  if (proposal.kind === 'comment') {
    const { byKind, notices } = await proposed.history([]);
    const body = secrets.mask(proposal.body);
    const same_rejected = sameAsRejected(proposed.rejections, null, sha256(body));
    draft = commentOnly({ ...common, history: byKind, same_rejected }, 'a comment', body, [
      ...sameNotice(same_rejected),
      ...notices,
    ]);
  } else {
    const { title, explanation, patch_by, repair = null, displaces = null } = proposal;
    draft = await draftChange(ports, proposed, common, secrets.mask(title), secrets.mask(explanation), {
      repair,
      displaces,
      patch_by,
    });
    const notices = (proposal.notices ?? []).map((notice) => secrets.mask(notice));
    draft = { ...draft, notices: [...notices, ...draft.notices] };
  }
  requireCleanActions(draft.actions, secrets);
  return draft;
}

async function draftChange(
  ports: DraftPorts,
  proposed: Proposed,
  common: CommonPlan,
  title: string,
  explanation: string,
  made: Pick<ChangeFacts, 'repair' | 'displaces' | 'patch_by'>,
): Promise<Draft> {
  const { store, policy, secrets, vcs, missingPrograms } = ports;
  const { run, role, sources, scratch, validation, sandbox, signal } = proposed;
  const { mirror, base_commit, base, issue } = sources;
  const { tree, patch } = await scratch.diff();
  const files = await changesBetween(scratch.gitDir, base_commit, tree);
  if (files.length === 0) {
    throw new Refused('change_empty', 'the planner proposed a change, but no file differs from the base');
  }
  requireSmall(files.length, patch.length, policy);
  await requireNoSecrets(scratch.gitDir, base_commit, tree, secrets);
  if (!role.may_propose.includes('apply_patch')) {
    const paths = files.map(({ path }) => path);
    return commentOnly(common, title, changeForAnotherRole(role.name, issue.title, paths));
  }

  await copyTree(scratch.gitDir, mirror.dir, tree, base_commit);
  const target: Target = {
    ...common.target,
    branch: branchName(policy.branch.prefix, run.request.number, issue.title, run.run_id),
    tree,
    vcs: await vcs(mirror, base_commit),
  };
  const digest = await store.putArtifact(run.run_id, patch);
  const after = treeReader(mirror.dir, tree);
  const { influences, rejections } = proposed;
  const same_rejected = sameAsRejected(rejections, digest, null);
  const change = {
    ...(await changeFacts(files, base, after, validation, influences, rejections.length)),
    ...guardedPaths(files, policy),
    reaches_out: proposed.reaches_out,
    ...made,
  };
  const history = await proposed.history(files.map(({ path }) => path));
  const own = [sources.repository.default_branch, target.base_branch];
  const barred = sources.repository.archived
    ? `${target.owner}/${target.repo} is archived and takes no pushes`
    : whyProtected(target.branch!, own, policy);
  const forge = ports.forge(run.request.forge);
  const names = { branch: target.branch!, base: target.base_branch };
  const asks = barred === null && role.may_propose.includes('push_branch');
  const protections = asks ? await askProtections(forge, sources.repository, names, signal) : null;
  const known = typeof protections === 'string' ? null : protections;
  const push_refused = barred ?? (known === null ? null : whyClosed(known, forge, names.branch));
  const paths = await scratch.list();
  const actions = proposeActions({
    ...common,
    proposes: 'change',
    push_refused,
    same_rejected,
    history: history.byKind,
    target,
    title,
    explanation,
    patch: digest,
    change,
    ...(sandbox === null ? { validation: null, sandbox: null } : { validation, sandbox }),
    workflows: paths.filter(isWorkflow).map((path) => path.split('/').at(-1)!),
  });
  const branch_notices = [
    ...(push_refused === null ? [] : [`no push and no pull request is proposed: ${push_refused}`]),
    ...(await branchNotices()),
  ];
  const missing = validation === null || sandbox === null ? null : missingPrograms(validation, sandbox);
  const validated = validation !== null && sandbox !== null;
  const differences =
    validation === null ? [] : differencesFromCheckout(await checkoutFacts(mirror.dir, tree, validation));
  const notices = [
    ...sameNotice(same_rejected),
    ...sameNameNotices(files, paths),
    ...history.notices,
    ...(validation === null ? [noValidation(target)] : []),
    ...untestedTexts(change.untested),
    ...programNotices(validation?.programs),
    ...differences,
    ...(missing === null ? [] : [missing.text]),
    ...(await credentialNotices(validated ? sandbox : null)),
    ...branch_notices,
  ];
  const checks = [
    ...checksOf(files.length, patch.length, policy, validated),
    ...(validated ? [programsCheck(missing)] : []),
  ];
  const { patch_by } = made;
  return { actions, target, title, explanation, patch: digest, patch_by, notices, checks };

  /** Notices of what the forge, or a branch or tag that is there, has against our branch. */
  async function branchNotices(): Promise<string[]> {
    const pushes = actions.some(({ kind }) => kind === 'push_branch');
    const commit = actions.find((action) => action.kind === 'commit');
    const place = { branch: names.branch, forge: pushes ? forge.name : null, push_url: target.push_url };
    const credential = await forge.gitCredential();
    const blocking = await blockingNotices({ ...place, credential, checkouts: ports.checkouts }, signal);
    if (!pushes || commit === undefined || protections === null) return blocking;
    if (typeof protections === 'string') return [protections, ...blocking];
    const { message, author } = commit.params;
    const touched = files.flatMap(({ path, old_path }) => [path, ...(old_path === null ? [] : [old_path])]);
    const sizes = await fileSizes(mirror.dir, tree, touched);
    return [
      ...ruleNotices(protections, { ...names, message, email: author.email, paths: touched, sizes }),
      ...blocking,
    ];
  }
}

function commentOnly(
  common: CommonPlan,
  title: string,
  body: string,
  notices: readonly string[] = [],
): Draft {
  if (common.number === null)
    throw new Refused(
      'task_without_change',
      `no change is proposed, and a task has no issue to comment on; the planner says: ${oneLine(body, 1_000)}`,
    );
  const actions = proposeActions({ ...common, proposes: 'comment', body });
  const { target } = common;
  return { actions, target, title, explanation: body, patch: null, patch_by: null, notices, checks: [] };
}

/**
 * The newest rejection of the same bytes: of a patch, or of the comment of a plan without one. Who rejects the comment that links
 * a pull request does not reject its change.
 */
function sameAsRejected(
  rejections: readonly RejectedPlan[],
  patch: string | null,
  comment: string | null,
): RejectedPlan | null {
  const same = rejections.filter((rejected) =>
    patch === null
      ? rejected.patch === null && rejected.explanation === comment
      : rejected.patch === patch && rejected.action !== 'comment_issue',
  );
  return same[0] ?? null;
}

function sameNotice(rejected: RejectedPlan | null): string[] {
  return rejected === null ? [] : [`${sameAsRejectedText(rejected)}: ${rejected.reason}`];
}

function targetOf(run: Run, { repository, where, base_branch, base_commit }: Sources): Target {
  const { forge } = run.request;
  const { owner, repo, repository_id, push_url } = repository;
  const place = { forge, ...where, owner, repo, repository_id, push_url };
  return { ...place, branch: null, base_branch, base_commit, tree: null, vcs: null };
}

function isWorkflow(path: string): boolean {
  return /^\.(github|gitea|forgejo)\/workflows\/[^/]+\.ya?ml$|^\.gitlab-ci\.yml$/.test(path);
}

/** @throws Refused (`change_too_large`) */
export function requireSmall(files: number, bytes: number, { limits }: Policy): void {
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

/** Without a sandbox nothing is hidden. */
async function credentialNotices(sandbox: SandboxTerms | null): Promise<string[]> {
  const text =
    sandbox === null || sandbox.kind === 'none' ? null : await hiddenCredentialsText(sandbox.tool_paths);
  return text === null ? [] : [text];
}

function programsCheck(missing: MissingPrograms | null): Draft['checks'][number] {
  const detail =
    missing === null
      ? 'the sandbox finds the programs that the validation calls'
      : `the sandbox does not find ${missing.names.join(', ')}, so the validation would fail`;
  return { name: 'programs', passed: missing === null, detail };
}

function noValidation({ owner, repo }: Target): string {
  const example = '{"validation":{"commands":[{"name":"test","run":"npm test"}]}}';
  return `nothing was found to validate with, so no push and no pull request is proposed. Commit a .core.json such as ${example} to the base branch and push it, or add commands for ${owner}/${repo} to config/validation.json. Then plan again`;
}

/**
 * Turns a plan into its actions, in execution order, without those that the role may not propose, and what builds on them.
 * Pure: same input, same bytes.
 */
export function proposeActions(plan: Plan): ActionDefinition[] {
  const { run_id, target, influences, dry_run, may_propose, policy } = plan;
  const actions: ActionDefinition[] = [];
  for (const kind of actionKinds) {
    const { propose, gate } = actionType(kind);
    const proposed = may_propose.includes(kind) ? propose(plan) : null;
    if (proposed === null) continue;
    const idOf = (needed: string) => actions.find((earlier) => earlier.kind === needed)?.action_id;
    const [essential] = proposed.needs;
    if (essential !== undefined && idOf(essential) === undefined) continue;
    const { title, rationale, params, needs, artifacts } = proposed;
    const ordinal = actions.length + 1;
    const action_id = `act_${ordinal}_${digestOf({ run_id, ordinal, kind, target, title }).slice(0, 8)}`;
    const history = plan.history.get(kind) ?? null;
    const rejected_before = plan.rejections
      .filter(({ action }) => action === kind)
      .map(({ run_id, by, at, reason }) => ({ run_id, by, at, reason }));
    const { risk, score, reasons } = withHistory(proposed.risk, history, policy);
    const action = {
      run_id,
      action_id,
      ordinal,
      kind,
      gate,
      title,
      rationale,
      risk,
      risk_score: score,
      risk_reasons: [...reasons],
      params: typeof params === 'function' ? params({ action_id, earlier: actions }) : params,
      dry_run,
      depends_on: needs.flatMap((needed) => idOf(needed) ?? []),
      artifacts: { ...artifacts },
      influences: [...influences],
      history,
      ...(rejected_before.length > 0 && { rejected_before }),
      target,
    } as Omit<ActionDefinition, 'digest'>;
    actions.push({ ...action, digest: actionDigest(action) } as ActionDefinition);
  }
  return actions;
}

/** Said before a person spends an approval: what of the plan the account of the token could not do. */
export function rightsNotices(
  { owner, repo, access }: Pick<Repository, 'owner' | 'repo' | 'access'>,
  actions: readonly Pick<ActionDefinition, 'kind'>[],
): string[] {
  if (!actions.some(({ kind }) => kind === 'push_branch')) return [];
  const name = `${owner}/${repo}`;
  const { push, pull_request, reason } = access;
  if (push === false) return [`this plan cannot be pushed to ${name}: ${reason}`];
  if (pull_request === false) return [`no pull request can be opened in ${name}: ${reason}`];
  if (push === null || pull_request === null)
    return [`whether this plan can be pushed to ${name} is not known: ${reason}`];
  return [];
}

/**
 * `<prefix><number>-<slug>-<short run id>`, for a task `<prefix>task-…`: after the prefix letters, digits and dashes alone,
 * whatever the title holds.
 */
export function branchName(prefix: string, number: number | null, title: string, runId: string): string {
  const parts = [String(number ?? 'task'), slugOf(title), shortRunId(runId)];
  return `${prefix}${parts.filter((part) => part !== '').join('-')}`;
}

/** The first words of a title, at most 20 characters. */
export function slugOf(title: string): string {
  const words =
    title
      .normalize('NFKD')
      .toLowerCase()
      .replace(/[\u0300-\u036f]/g, '')
      .match(/[a-z0-9]+/g) ?? [];
  let slug = '';
  for (const word of words) {
    const longer = slug === '' ? word.slice(0, 20) : `${slug}-${word}`;
    if (longer.length > 20) break;
    slug = longer;
  }
  return slug;
}

/** The 48-bit time of the UUIDv7: eight digits would be shared by runs of the same minute. */
function shortRunId(runId: string): string {
  return runId.replace(/^run_/, '').replaceAll('-', '').slice(0, 12);
}
