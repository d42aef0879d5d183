import { readKnownModels } from '#kit/config/known-models.ts';
import type { Settings } from '#kit/config/settings.ts';
import { smokeForge } from '#kit/config/smoke-forge.ts';
import { CoreError, codeOf, Failed, messageOf } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { ownToken } from '#kit/tokens.ts';
import { actionKinds } from './action.ts';
import { httpContext } from './adapters/context/http-context.ts';
import { checkNumber } from './adapters/forges/names.ts';
import { createForges, createSmokeForge, forgeFor } from './adapters/forges/registry.ts';
import { chooseSandbox } from './adapters/sandboxes/registry.ts';
import { chooseVcs, vcsAdapters } from './adapters/vcs/registry.ts';
import type { Work } from './core-agent.ts';
import type { Executors } from './execution/action-executor.ts';
import { ExecuteApproved } from './execution/execute-approved.ts';
import { applyPatch } from './execution/kinds/apply-patch.ts';
import { commentIssue } from './execution/kinds/comment-issue.ts';
import { commit } from './execution/kinds/commit.ts';
import { createBranch } from './execution/kinds/create-branch.ts';
import { openPullRequest } from './execution/kinds/open-pull-request.ts';
import { pushBranch } from './execution/kinds/push-branch.ts';
import { runValidation } from './execution/kinds/run-validation.ts';
import { RunWorkspace } from './execution/run-workspace.ts';
import { UndoRun } from './execution/undo-run.ts';
import { exportTree } from './git/export-tree.ts';
import { openMirror } from './git/mirror.ts';
import { ContextOutbox } from './outbox/context-outbox.ts';
import { tellEarlier } from './outbox/live-delivery.ts';
import { RunDelivery } from './outbox/run-delivery.ts';
import { chatModelFor } from './planning/chat-model.ts';
import type { PlanIssue } from './planning/plan-issue.ts';
import { type AgentsConfig, plannerFor, planningRole } from './planning/roles.ts';
import type { FileRunStore } from './runs/file-run-store.ts';
import { KeyedRuns } from './runs/keyed-runs.ts';
import type { Run } from './runs/run.ts';
import { createValidation, type Validation } from './validation/validation.ts';
import { readWorkConfiguration } from './work-configuration.ts';

export interface WorkOptions {
  readonly folders: Folders;
  readonly settings: Settings;
  readonly store: FileRunStore;
}

/** Puts planning and execution together from the configuration. */
export function composeWork({ folders, settings, store }: WorkOptions): Work {
  const {
    policy,
    agents,
    validation: validationConfig,
    forges: forgesConfig,
  } = readWorkConfiguration(folders);
  const forgeFolders = { stateDir: folders.state, configDir: folders.config, secretsDir: folders.secrets };
  const forges = createForges(forgesConfig, forgeFolders);

  const { url } = settings.context;
  const context = url === null ? null : httpContext({ baseUrl: url, token: () => tokenOrNone(folders) });
  const delivery =
    url === null || context === null
      ? null
      : new RunDelivery(store, new ContextOutbox(folders.state, url), context);

  let validation: Promise<Validation> | null = null;
  function openValidation(): Promise<Validation> {
    validation ??= chooseSandbox(validationConfig.sandbox, validationConfig.allow_unsandboxed, {
      ...validationConfig,
      hidden: [folders.state, folders.config],
    })
      .then((sandbox) => createValidation({ stateDir: folders.state, sandbox, exportTree }))
      .catch((error) => {
        validation = null;
        throw error;
      });
    return validation;
  }

  function forgeNamed(name: string) {
    const forge = forges.get(name);
    if (forge !== undefined) return forge;
    if (name === smokeForge.name) return createSmokeForge(forgeFolders);
    throw new Failed(
      'forge_not_configured',
      `forge '${name}' is not in config/forges.json any more; it has ${[...forges.keys()].join(', ')}`,
    );
  }

  async function executorsOf(run: Run): Promise<Executors> {
    const { target } = run.plan!;
    const forge = forgeNamed(target.forge);
    // Trying the sandbox takes a while, and nothing before the validation needs the result: a failure is told there.
    if (awaitsValidation(run)) openValidation().catch(() => undefined);
    const mirror = await openMirror({ stateDir: folders.state, ...target });
    const workspace = new RunWorkspace({
      vcs: () => chooseVcs(run.workspace?.vcs.kind ?? settings.vcs, mirror.dir, target.base_commit),
      store,
      run,
      mirror,
      state_dir: folders.state,
      credential: () => forge.gitCredential(),
    });
    return {
      create_branch: createBranch(workspace),
      apply_patch: applyPatch(workspace),
      run_validation: runValidation(workspace, openValidation, store),
      commit: commit(workspace),
      push_branch: pushBranch(workspace, forge, policy, store),
      open_pull_request: openPullRequest(workspace, forge, forge, policy, store),
      comment_issue: commentIssue(forge, forge),
    };
  }

  async function sandboxKind(): Promise<{ kind: string | null; reason: string }> {
    try {
      return { kind: (await openValidation()).sandbox, reason: '' };
    } catch (error) {
      if (codeOf(error) !== 'sandbox_unavailable') throw error;
      return { kind: null, reason: messageOf(error) };
    }
  }

  let planning: Promise<PlanIssue> | null = null;

  return {
    planning() {
      planning ??= import('./compose-planning.ts').then(({ composePlanning }) =>
        composePlanning({
          folders,
          store,
          context,
          tellEarlier: async (signal) => (delivery === null ? null : tellEarlier(delivery, signal)),
          policy,
          agents,
          validationConfig,
          forgeNamed,
          sandboxKind,
          openValidation,
        }),
      );
      return planning;
    },
    keyedRuns: new KeyedRuns(store),
    executeApproved: new ExecuteApproved(store, executorsOf, policy),
    undoRun: new UndoRun(store, executorsOf),
    delivery,
    forge: forgeNamed,
    forgeFor: (request, signal) => forgeFor(forges, request, signal),
    approvalDays: () => policy.approval.expires_after_days,
    tools: async () => (await import('./planning/model-planner/tools.ts')).tools,
    async runRequest(request, signal) {
      checkNumber(request.number);
      const role = planningRole(agents, request.role ?? 'Depute');
      const smoke = request.forge === smokeForge.name;
      const forge = smoke ? forgeNamed(smokeForge.name) : await forgeFor(forges, request, signal);
      const { owner, repo } = await forge.repository(request, signal);
      return {
        forge: forge.name,
        owner,
        repo,
        number: request.number,
        role: role.name,
        planner: plannerFor(agents, () => hasModel(folders), request.planner),
        dry_run: request.dry_run ?? false,
        requested_by: request.by.name,
        idempotency_key: request.idempotency_key ?? null,
        trigger: request.trigger,
      };
    },
    async capabilities() {
      return {
        action_kinds: actionKinds,
        forges: [...forges.values()].map((forge) => {
          const missing = forge.missing();
          return { name: forge.name, kind: forge.kind, works: missing === null, reason: missing };
        }),
        vcs: await Promise.all(
          Object.values(vcsAdapters).map(async (open) => ({
            kind: open().kind,
            ...(await works(() => open().version())),
          })),
        ),
        sandbox: await sandboxKind().then(({ kind, reason }) => ({
          kind,
          works: kind !== null,
          reason: reason || null,
        })),
        planners: [
          { name: 'patch', works: true, reason: null },
          { name: 'model', ...modelPlanner(agents, folders) },
        ],
        roles: agents.roles.map(({ name, key, purpose, may_propose }) => ({
          name,
          key,
          purpose,
          may_propose,
        })),
      };
    },
  };
}

function awaitsValidation({ actions }: Run): boolean {
  return actions.some(
    ({ definition, state }) => definition.kind === 'run_validation' && state !== 'succeeded',
  );
}

function hasModel(folders: Folders): boolean {
  return chatModelFor(readKnownModels(folders), null) !== null;
}

function modelPlanner(agents: AgentsConfig, folders: Folders): { works: boolean; reason: string | null } {
  try {
    plannerFor(agents, () => hasModel(folders), 'model');
    return { works: true, reason: null };
  } catch (error) {
    return { works: false, reason: messageOf(error) };
  }
}

/** Reading is open on this machine; what needs a token is refused there without one, and says so. */
function tokenOrNone(folders: Folders): string | null {
  try {
    return ownToken(folders).text;
  } catch (error) {
    if (error instanceof CoreError) return null;
    throw error;
  }
}

async function works<T extends object>(check: () => Promise<T>): Promise<object> {
  try {
    return { works: true, reason: null, ...(await check()) };
  } catch (error) {
    if (!(error instanceof CoreError)) throw error;
    return { works: false, reason: error.message };
  }
}
