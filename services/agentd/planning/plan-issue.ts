import { crashPoint } from '#kit/crash-point.ts';
import { decodeJson } from '#kit/decode.ts';
import { Conflict, codeOf, messageOf, Refused } from '#kit/errors.ts';
import type { Influence, Target, ValidationPlan } from '../action.ts';
import type { Watch } from '../agent.ts';
import type { Mirror } from '../git/mirror.ts';
import { copyTree } from '../git/objects.ts';
import { changesBetween, patchBetween, treeReader } from '../git/tree.ts';
import type { NewEvent } from '../runs/event.ts';
import { executorLease } from '../runs/lease-name.ts';
import type { Run } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import { branchName } from './branch-name.ts';
import { changeFacts } from './change-facts.ts';
import type { Context } from './context.ts';
import type { Forge, Repository } from './forge.ts';
import { type IssueText, maskSecrets, StoredIssue, trustedAssociations } from './issue-text.ts';
import type { ContextPassage, Planner, PlanningInput, PlanningResult, Proposal, Role } from './planner.ts';
import type { Policy } from './policy.ts';
import { type Common, proposeChange, proposeComment } from './propose-actions.ts';
import type { GitScratchCopy } from './scratch/git-scratch-copy.ts';
import type { TreeReader } from './scratch-copy.ts';
import { requireNoSecrets, type SecretFinder } from './secrets.ts';
import { storedConversation } from './stored-conversation.ts';
import { changeForAnotherRole } from './texts.ts';

/** What planning is made of. None of it can write to a repository or a forge. */
export interface PlanningPorts {
  readonly store: RunStore;
  readonly policy: Policy;
  readonly context: Context | null;
  readonly forge: (name: string) => Forge;
  readonly mirror: (forge: string, repository: Repository) => Promise<Mirror>;
  readonly scratch: (mirror: Mirror, run: Run, baseCommit: string) => Promise<GitScratchCopy>;
  readonly planner: (name: string, role: Role) => Planner;
  readonly role: (name: string) => Role;
  readonly findValidation: (tree: TreeReader, repository: Repository) => Promise<ValidationPlan | null>;
  /** Name of the sandbox that validations use here; null where there is none, with the reason. */
  readonly sandbox: () => Promise<{ readonly kind: string | null; readonly reason: string }>;
  readonly validate: (
    gitDir: string,
    base: string,
    tree: string,
    plan: ValidationPlan,
    signal: AbortSignal,
  ) => Promise<{ passed: boolean; output: string }>;
  readonly secrets: SecretFinder;
}

interface Sources extends IssueText {
  readonly repository: Repository;
  readonly mirror: Mirror;
  readonly base_commit: string;
  readonly base_branch: string;
}

/**
 * From an issue to sealed proposals. Each part of it is durable before the next begins, so that an interrupted planning goes on
 * where it was.
 */
export class PlanIssue {
  readonly #ports: PlanningPorts;

  constructor(ports: PlanningPorts) {
    this.#ports = ports;
  }

  /** Plans a run that was created and is not sealed yet. */
  async plan(runId: string, watch: Watch): Promise<Run> {
    const { store } = this.#ports;
    const lease = await store.lease(executorLease(runId));
    const cancel = new AbortController();
    const polling = setInterval(
      () =>
        void store.read(runId).then(
          (run) => run.cancelling && cancel.abort(),
          () => {},
        ),
      250,
    );
    const signal = AbortSignal.any([watch.signal, lease.lost, cancel.signal]);
    try {
      await store.append(runId, (run) => {
        if (run.plan !== null)
          throw new Conflict('run_planned', `run ${runId} is planned already; it is ${run.status}`);
        if (run.status === 'cancelled')
          throw new Conflict('run_cancelled', `run ${runId} was cancelled; plan the issue again`);
        return [{ type: 'planning_started', data: { pid: process.pid } }];
      });
      crashPoint('plan.started');
      return await this.#work(runId, { ...watch, signal });
    } catch (error) {
      await this.#recordFailure(runId, error, signal);
      throw error;
    } finally {
      clearInterval(polling);
      await store.writeViews(runId);
      lease.release();
    }
  }

  /** A cut-off planning stays resumable; a failed one says why. */
  async #recordFailure(runId: string, error: unknown, signal: AbortSignal): Promise<void> {
    await this.#ports.store.append(runId, (run): NewEvent[] => {
      if (run.plan !== null || run.status === 'cancelled') return [];
      if (run.cancelling) return [{ type: 'run_cancelled', data: { message: 'cancelled while planning' } }];
      if (signal.aborted) return [];
      return [{ type: 'planning_failed', data: { code: codeOf(error), message: messageOf(error) } }];
    });
  }

  async #work(runId: string, watch: Watch): Promise<Run> {
    const { store, policy } = this.#ports;
    let run = await store.read(runId);
    const role = this.#ports.role(run.request.role);
    const sources = await this.#readSources(run, watch);
    run = await store.read(runId);
    const { mirror, base_commit, repository } = sources;
    const base = treeReader(mirror.dir, base_commit);
    const scratch = await this.#ports.scratch(mirror, run, base_commit);
    const validation = await this.#ports.findValidation(base, repository);
    const sandbox = await this.#ports.sandbox();
    const context = await this.#gatherContext(sources, watch);
    const rejections = await this.#rejections(run);
    const planner = this.#ports.planner(run.request.planner, role);
    say(watch, 'planner', `${planner.name} planner is at work`);
    const result = await planner.propose({
      run_id: runId,
      repository,
      issue: sources.issue,
      comments: sources.comments,
      role,
      scratch,
      context: context.passages,
      rejections,
      validation,
      validate: this.#validator(sources, scratch, validation, sandbox.kind),
      conversation: await storedConversation(store, run, planner, this.#ports.secrets),
      progress: (text) => say(watch, 'planner', text),
      signal: watch.signal,
    });
    watch.signal.throwIfAborted();
    crashPoint('plan.proposed');

    const notices = [...context.notices];
    if (sandbox.kind === null) notices.push(sandbox.reason);
    const target = targetOf(run, sources);
    const influences = influencesOf(run, sources, result.proposal, context.passages, rejections);
    const common: Common = {
      run_id: runId,
      number: run.request.number,
      target,
      influences,
      dry_run: run.request.dry_run,
      policy,
      may_propose: role.may_propose,
    };
    const draft = await this.#draft(
      run,
      common,
      result.proposal,
      scratch,
      sources,
      role,
      validation,
      sandbox.kind,
      rejections.length,
    );
    watch.signal.throwIfAborted();
    return this.#seal(run, planner, result, draft, [...notices, ...draft.notices], context, validation);
  }

  async #readSources(run: Run, watch: Watch): Promise<Sources> {
    const { store } = this.#ports;
    const { request } = run;
    const forge = this.#ports.forge(request.forge);
    say(watch, 'source', `reading ${request.owner}/${request.repo}#${request.number} from ${forge.name}`);
    const repository = await forge.repository(request, watch.signal);
    const mirror = await this.#ports.mirror(forge.name, repository);
    if (run.source !== null) {
      const { base_branch, base_commit, issue } = run.source;
      const stored = decodeJson(
        StoredIssue,
        Buffer.from(await store.artifact(run.run_id, issue.content)).toString(),
        'stored issue',
      );
      if ((stored.masked ?? 0) > 0) {
        throw new Refused(
          'planning_not_resumable',
          'the issue held secrets, which were masked in the record; plan the issue again',
        );
      }
      if (!(await mirror.has(base_commit)))
        await mirror.update(repository.clone_url, await forge.gitCredential(), watch.signal);
      await mirror.pin(run.run_id, base_commit);
      return { ...stored, repository, mirror, base_branch, base_commit };
    }
    const issue = await forge.issue(repository, request.number, watch.signal);
    const comments = await forge.comments(repository, request.number, {}, watch.signal);
    say(watch, 'source', `fetching ${repository.owner}/${repository.repo}`);
    await mirror.update(repository.clone_url, await forge.gitCredential(), watch.signal);
    const base_branch = repository.default_branch;
    const base_commit = await mirror.branchCommit(base_branch);
    if (base_commit === null) {
      throw new Refused(
        'repository_empty',
        `${repository.owner}/${repository.repo} has no commit on '${base_branch}'; push a first commit, then plan again`,
      );
    }
    await mirror.pin(run.run_id, base_commit);
    const { masked, ...text } = maskSecrets({ issue, comments }, (value) => this.#ports.secrets.mask(value));
    const content = await store.putArtifact(run.run_id, `${JSON.stringify({ ...text, masked }, null, 2)}\n`);
    await store.append(run.run_id, () => [
      {
        type: 'source_read',
        data: {
          issue: {
            title: text.issue.title,
            author: issue.author.login,
            association: issue.author.association,
            state: issue.state,
            html_url: issue.html_url,
            comments: comments.length,
            content,
          },
          html_url: repository.html_url,
          clone_url: repository.clone_url,
          push_url: repository.push_url,
          base_branch,
          base_commit,
          forge_time: repository.forge_time,
        },
      },
    ]);
    crashPoint('plan.source_read');
    return { issue, comments, repository, mirror, base_branch, base_commit };
  }

  async #gatherContext({ issue, repository }: Sources, watch: Watch) {
    const { context } = this.#ports;
    if (context === null)
      return { passages: [], notices: ['no context service is configured; planned without it'] };
    const name = `${repository.owner}/${repository.repo}`;
    const query = `${issue.title}\n${issue.body}`.slice(0, 2000);
    try {
      const found = await Promise.all([
        context.search(query, name, 10, watch.signal),
        context.lookup(query, 'procedural', 3, watch.signal),
        context.lookup(query, 'episodic', 3, watch.signal),
        context.lookup(query, 'semantic', 3, watch.signal),
      ]);
      return { passages: found.flat(), notices: [] };
    } catch (error) {
      watch.signal.throwIfAborted();
      return { passages: [], notices: [`planned without the context service: ${messageOf(error)}`] };
    }
  }

  /** Why people rejected earlier proposals for the same issue; the next planning is shown it. */
  async #rejections(run: Run): Promise<PlanningInput['rejections']> {
    const { forge, owner, repo, number } = run.request;
    const page = await this.#ports.store.list({ limit: 20, forge, owner, repo, number });
    const rejections: { at: string; by: string; action: string; reason: string }[] = [];
    for (const { run_id } of page.runs) {
      if (run_id === run.run_id) continue;
      const earlier = await this.#ports.store.read(run_id);
      for (const { approval, decision, definition } of earlier.actions) {
        if (approval !== 'rejected' || decision?.reason == null) continue;
        rejections.push({
          at: decision.at,
          by: decision.approver,
          action: definition.kind,
          reason: decision.reason,
        });
      }
    }
    return rejections;
  }

  #validator(
    sources: Sources,
    scratch: GitScratchCopy,
    plan: ValidationPlan | null,
    sandbox: string | null,
  ): PlanningInput['validate'] {
    if (plan === null || sandbox === null) return null;
    return async (signal) => {
      const { tree } = await scratch.diff();
      return this.#ports.validate(scratch.gitDir, sources.base_commit, tree, plan, signal);
    };
  }

  async #draft(
    run: Run,
    common: Common,
    proposal: Proposal,
    scratch: GitScratchCopy,
    sources: Sources,
    role: Role,
    validation: ValidationPlan | null,
    sandbox: string | null,
    rejectedBefore: number,
  ): Promise<Draft> {
    const { store, policy, secrets } = this.#ports;
    if (proposal.kind === 'comment') {
      return {
        ...nothing,
        actions: proposeComment({ ...common, body: secrets.mask(proposal.body) }),
        target: common.target,
        title: 'a comment',
        explanation: secrets.mask(proposal.body),
      };
    }
    const { mirror, base_commit } = sources;
    const { tree } = await scratch.diff();
    const files = await changesBetween(scratch.gitDir, base_commit, tree);
    if (files.length === 0)
      throw new Refused('change_empty', 'the planner proposed a change, but no file differs from the base');
    const patch = await patchBetween(scratch.gitDir, base_commit, tree);
    requireSmall(files.length, patch.length, policy);
    requireNoSecrets(patch, secrets);
    if (!role.may_propose.includes('apply_patch')) {
      const body = changeForAnotherRole(
        role.name,
        run.source?.issue ?? (await store.read(run.run_id)).source!.issue,
        files.map(({ path }) => path),
      );
      return {
        ...nothing,
        actions: proposeComment({ ...common, body }),
        target: common.target,
        title: proposal.title,
        explanation: body,
      };
    }
    const branch = branchName(run.request.number, sources.issue.title, run.run_id);
    const target: Target = { ...common.target, branch, tree };
    await copyTree(scratch.gitDir, mirror.dir, tree, base_commit);
    const digest = await store.putArtifact(run.run_id, patch);
    const after = treeReader(scratch.gitDir, tree);
    const facts = await changeFacts(
      files,
      treeReader(mirror.dir, base_commit),
      after,
      validation,
      common.influences,
      rejectedBefore,
    );
    const workflows = (await after.list()).filter((path) =>
      /^\.(github|gitea|forgejo)\/workflows\/[^/]+\.ya?ml$|^\.gitlab-ci\.yml$/.test(path),
    );
    const usable = sandbox === null ? null : validation;
    const title = proposal.title;
    const explanation = secrets.mask(proposal.explanation);
    const actions = proposeChange({
      ...common,
      target,
      title,
      explanation,
      patch: digest,
      change: facts,
      validation: usable,
      sandbox: sandbox ?? 'none',
      workflows: workflows.map((path) => path.split('/').at(-1)!),
    });
    const notices = validation === null ? [noValidation(common.target)] : [];
    return {
      actions,
      target,
      title,
      explanation,
      patch: digest,
      notices,
      checks: planChecks(files.length, patch.length, policy, validation !== null),
    };
  }

  async #seal(
    run: Run,
    planner: Planner,
    result: PlanningResult,
    draft: Draft,
    notices: readonly string[],
    context: { readonly passages: readonly ContextPassage[] },
    validation: ValidationPlan | null,
  ): Promise<Run> {
    const { store } = this.#ports;
    const explanation = await store.putArtifact(run.run_id, draft.explanation);
    const memories = context.passages.filter(({ layer }) => layer !== 'graph').length;
    const influences = draft.actions[0]?.influences ?? [];
    const files = new Set(influences.filter(({ kind }) => kind === 'file').map(({ source }) => source));
    crashPoint('plan.before_seal');
    const sealed = await store.append(run.run_id, (now) => {
      if (now.cancelling)
        throw new Conflict('run_cancelled', `run ${run.run_id} was cancelled while it was planned`);
      return [
        ...draft.actions.map((action): NewEvent => ({ type: 'action_proposed', data: { action } })),
        {
          type: 'plan_sealed',
          data: {
            plan: {
              target: draft.target,
              planner: planner.name,
              stop_reason: result.stop_reason,
              title: draft.title,
              explanation,
              influences: [...influences],
              patch: draft.patch,
              files_of_context: files.size + context.passages.length - memories,
              memories,
              notices: [...notices],
              validation,
              checks: [...draft.checks],
              sealed: draft.actions.map(({ action_id, digest }) => ({ action_id, digest })),
            },
          },
        },
      ];
    });
    crashPoint('plan.sealed');
    return sealed;
  }
}

interface Draft {
  readonly actions: ReturnType<typeof proposeChange>;
  readonly target: Target;
  readonly title: string;
  readonly explanation: string;
  readonly patch: string | null;
  readonly notices: readonly string[];
  readonly checks: readonly { name: string; passed: boolean; detail: string }[];
}

const nothing = { patch: null, notices: [], checks: [] };

function targetOf(run: Run, { repository, base_branch, base_commit }: Sources): Target {
  const { forge } = run.request;
  const { owner, repo, push_url } = repository;
  return { forge, owner, repo, push_url, branch: null, base_branch, base_commit, tree: null };
}

function influencesOf(
  run: Run,
  { issue }: Sources,
  proposal: Proposal,
  passages: readonly ContextPassage[],
  rejections: PlanningInput['rejections'],
): Influence[] {
  const { owner, repo, number } = run.request;
  const list: Influence[] = [
    {
      kind: 'issue',
      source: `${owner}/${repo}#${number}`,
      author: issue.author.login,
      trusted: trustedAssociations.includes(issue.author.association),
    },
    ...proposal.influences,
    ...passages.map(
      ({ source, layer }): Influence => ({
        kind: layer === 'graph' ? 'file' : 'memory',
        source,
        author: null,
        trusted: true,
      }),
    ),
    ...rejections.map(
      ({ by, action, at }): Influence => ({
        kind: 'rejection',
        source: `${action} rejected ${at}`,
        author: by,
        trusted: true,
      }),
    ),
  ];
  const seen = new Set<string>();
  return list.filter(({ kind, source }) => !seen.has(`${kind} ${source}`) && seen.add(`${kind} ${source}`));
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

function planChecks(files: number, bytes: number, { limits }: Policy, validated: boolean): Draft['checks'] {
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
      detail: validated ? 'commands were found' : 'nothing to validate with',
    },
  ];
}

function noValidation({ owner, repo }: Target): string {
  return `nothing was found to validate with, so no push and no pull request is proposed; add commands for ${owner}/${repo} to config/validation.json, or a 'validation' member to .core.json in the repository`;
}

function say(watch: Watch, step: string, message: string): void {
  watch.progress({ step, state: 'info', message });
}
