import { gatewayUrl } from '#kit/config/client-urls.ts';
import { type KnownModel, readKnownModels } from '#kit/config/known-models.ts';
import { LiveConfig } from '#kit/config/live-config.ts';
import type { Settings } from '#kit/config/settings.ts';
import { smokeForge } from '#kit/config/smoke-forge.ts';
import { environment } from '#kit/environment.ts';
import { Failed } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { once } from '#kit/once.ts';
import { ownVersion } from '#kit/program.ts';
import { secretFinder } from '#kit/redaction/secret-finder.ts';
import { openTokens, serviceToken } from '#kit/tokens/tokens.ts';
import { planOutdated } from './actions/kind.ts';
import { type Executors, executorsFor } from './actions/registry.ts';
import type { PlanRequest, Watch } from './agent.ts';
import type { ApprovalsNow } from './approval/current.ts';
import { statementDigest } from './attestation/statement.ts';
import { capabilitiesOf } from './capabilities.ts';
import { composeValidation } from './compose-validation.ts';
import { httpContext } from './context/http-context.ts';
import { checkCheckout, deliver, whyInUse, withdraw } from './execution/delivery.ts';
import { type ExecuteOptions, type ExecutionParts, executeApproved } from './execution/execute-approved.ts';
import { type BaseSeen, lookAtBase } from './execution/moved-base.ts';
import { runClone } from './execution/run-clone.ts';
import { requireSameForge, safeguardsFor } from './execution/safeguards.ts';
import { previewUndo, undoRun } from './execution/undo-run.ts';
import { forgeFor } from './forges/find-forge.ts';
import { findIssue, findRepository } from './forges/find-issue.ts';
import { createForges, createSmokeForge } from './forges/registry.ts';
import { openMirror } from './git/mirror.ts';
import { gatewayModel } from './models/gateway-model.ts';
import { gatewayKeys } from './models/run-key.ts';
import { ContextOutbox } from './outbox/context-outbox.ts';
import { deliverEarlier } from './outbox/live-delivery.ts';
import { RunDelivery } from './outbox/run-delivery.ts';
import { AgentAdmin } from './planners/agent/agent-admin.ts';
import type { ContextListener } from './planners/agent/doors/context-door.ts';
import { sandboxRooms } from './planners/agent/sandbox-room.ts';
import { tools } from './planners/model/tools.ts';
import type { PlannerServices } from './planning/planner.ts';
import { readPolicy } from './policy.ts';
import type { Vcs } from './ports/vcs.ts';
import { runRequest } from './run-request.ts';
import { maskedEvents, type Run } from './runs/run.ts';
import type { RunStore } from './runs/run-store.ts';
import { chooseSandbox } from './sandboxes/registry.ts';
import { ApprovalSignatures, signersFile } from './signatures/approval-signatures.ts';
import { approvedVcs, chooseVcs } from './vcs/registry.ts';
import { readWorkConfiguration, type WorkConfiguration, workConcerns } from './work-configuration.ts';

export interface WorkOptions extends LastingParts {
  readonly folders: Folders;
  readonly settings: Settings;
  readonly store: RunStore;
}

/** What stays when the configuration of work changes. */
interface LastingParts {
  /** As models.json says now. */
  readonly models: () => readonly KnownModel[];
  /** The way to core-context; null where none is configured. */
  readonly context: ReturnType<typeof httpContext> | null;
  readonly delivery: RunDelivery | null;
}

/** What planning and execution are done with, as configured now: the files are read again when one of them was written. */
export function openWork(options: Omit<WorkOptions, keyof LastingParts>): LiveConfig<Work> {
  const { folders, settings, store } = options;
  const { url } = settings.context;
  let known: LiveConfig<readonly KnownModel[]> | null = null;
  const models = () => {
    const read = (): readonly KnownModel[] => readKnownModels(folders);
    known ??= new LiveConfig({ names: ['models'], folders, read });
    return known.current;
  };
  let link: LastingParts = { models, context: null, delivery: null };
  if (url !== null) {
    const context = httpContext({
      baseUrl: url,
      token: () => serviceToken(folders, 'agentd'),
      timeoutMs: settings.answers.seconds * 1000,
    });
    link = {
      models,
      context,
      delivery: new RunDelivery(store, new ContextOutbox(folders.state, url), context),
    };
  }
  return new LiveConfig({
    names: workConcerns,
    folders,
    read: () => composeWork({ ...options, ...link }, readWorkConfiguration(folders)),
  });
}

/** Puts planning and execution together from the configuration; work that has begun keeps what it began with. */
function composeWork(
  { folders, settings, store, models, context, delivery }: WorkOptions,
  { policy, agents, validation: validationConfig, forges: forgesConfig }: WorkConfiguration,
) {
  const secrets = secretFinder(policy.released_secrets);
  const forgeFolders = { stateDir: folders.state, secretsDir: folders.secrets };
  const forges = createForges(forgesConfig, forgeFolders);

  const sandboxConfig = {
    ...validationConfig,
    hidden: [folders.state, folders.config],
    allow_weak: policy.allow_weak_sandbox,
  };
  const home = environment.HOME ?? folders.state;
  // Also where a validation may do with less.
  const rooms = sandboxRooms({
    stateDir: folders.state,
    home,
    sandbox: () => chooseSandbox('bubblewrap', false, sandboxConfig),
    limits: validationConfig.limits,
    proxies: environment,
    context: context === null ? null : contextListener(context),
  });

  const gateway = () => ({
    url: gatewayUrl({ folders, environment }),
    token: () => serviceToken(folders, 'agentd'),
  });
  const planners: PlannerServices = {
    agents,
    models,
    rooms,
    openRunKey: (request) => gatewayKeys(gateway())(request),
    openModel: (known, tier, run) =>
      gatewayModel({
        ...gateway(),
        known,
        tier,
        run,
        bounds: agents.planner.bounds,
      }),
  };

  const validations = composeValidation({ folders, home, config: sandboxConfig, secrets });

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
    requireSameForge(forge, target);
    const clone = runClone({
      chooseVcs: () => vcsFor(run),
      store,
      run,
      mirror: await openMirror({ stateDir: folders.state, ...target }),
      state_dir: folders.state,
      credential: () => forge.gitCredential(),
    });
    return executorsFor({
      forge,
      writer: forge,
      clone,
      checkout: { check: checkCheckout, deliver, withdraw, whyInUse },
      safeguards: safeguardsFor(forge, policy, store),
      record: {
        putArtifact: (content) => store.putArtifact(run.run_id, content),
        statementDigest: (seq) => statementDigest(store, run.run_id, seq),
        addMasked: async (found) => void (await store.append(run.run_id, (now) => maskedEvents(now, found))),
      },
      validation: validations.openApproved,
    });
  }

  async function baseOf(run: Run, signal: AbortSignal): Promise<BaseSeen> {
    const { target } = run.plan!;
    const forge = forgeNamed(target.forge);
    requireSameForge(forge, target);
    const mirror = await openMirror({ stateDir: folders.state, ...target });
    return lookAtBase(run, mirror, await forge.gitCredential(), signal);
  }

  const agentAdmin = new AgentAdmin({ folders, home, services: planners, secrets });

  const tokens = openTokens(folders);
  const approvals = (): ApprovalsNow => {
    const now = readPolicy(folders);
    const signatures = new ApprovalSignatures(now.approval, signersFile(folders));
    return { policy: now, tokens: tokens.list(), signatures };
  };
  const signatures = new ApprovalSignatures(policy.approval, signersFile(folders));
  const execution: ExecutionParts = { store, executors: executorsOf, lookAtBase: baseOf, approvals };
  /** Loaded when something is planned first. */
  const planning = once(async () => {
    const { composePlanning } = await import('./compose-planning.ts');
    return composePlanning({
      folders,
      store,
      context,
      deliverEarlier: async (signal) => (delivery === null ? null : deliverEarlier(delivery, signal)),
      policy,
      approvals: () => ({ policy, tokens: tokens.list(), signatures }),
      secrets,
      planners,
      validationConfig,
      forge: forgeNamed,
      sandbox: validations.sandboxTerms,
      missingPrograms: ({ prepare, commands }, terms) =>
        validations.missingIn(
          [...prepare, ...commands].map(({ run }) => run),
          terms,
        ),
      vcs: async (mirror, baseCommit) => (await chooseVcs(settings.vcs, mirror.dir, baseCommit)).kind,
      openValidation: validations.open,
    });
  });

  return {
    planning,
    execute: (options: ExecuteOptions, watch: Watch) => executeApproved(execution, options, watch),
    /** Where the base branch of a planned run is now. */
    lookAtBase: baseOf,
    previewUndo: (runId: string) => previewUndo(execution, runId),
    undo: (request: Parameters<typeof undoRun>[1], watch: Watch) => undoRun(execution, request, watch),
    agents: agentAdmin,
    /** null where no context service is configured. */
    context,
    /** null where no context service is configured. */
    delivery,
    forge: forgeNamed,
    /** The forge named, else the one that knows the repository. @throws NotFound, Conflict (`forge_ambiguous`), Unavailable */
    forgeFor: (request: Parameters<typeof forgeFor>[1], signal: AbortSignal) =>
      forgeFor(forges, request, signal),
    issueNamed: (text: string, folder: string) => findIssue(forges, text, folder),
    repositoryOf: (folder: string) => findRepository(forges, folder),
    approvals,
    decisionPolicy: () => ({
      expires_after_days: policy.approval.expires_after_days,
      people: policy.people,
    }),
    signatures,
    tools: async () => tools,
    /** @throws as `runRequest` */
    runRequest: (request: PlanRequest, signal: AbortSignal) =>
      runRequest({ planners, forges, forgeNamed, secrets }, request, signal),
    capabilities: () =>
      capabilitiesOf({
        planners,
        forges,
        agents: agentAdmin,
        sandboxTerms: validations.sandboxTerms,
      }),
  };
}

/** What planning and execution are done with. */
export type Work = ReturnType<typeof composeWork>;

/** The tool that was approved; for the undo of a run that an older version planned, the one that built it. */
function vcsFor({ run_id, plan, workspace }: Run): Promise<Vcs> {
  const kind = plan?.target.vcs ?? workspace?.vcs.kind;
  if (kind === undefined) throw planOutdated(run_id);
  return approvedVcs(kind);
}

/** What an agent may ask about the repository that it works on; the protocol's library is loaded with the first question. */
function contextListener({ search, lookup }: ReturnType<typeof httpContext>): ContextListener {
  return (repository, onRead) => {
    const listener = once(async () => {
      const [{ readOnlyContextServer }, { mcpListener }] = await Promise.all([
        import('./mcp/context-server.ts'),
        import('./mcp/over-http.ts'),
      ]);
      return mcpListener(() =>
        readOnlyContextServer(
          { search, lookup, repository, onRead },
          { version: ownVersion(), onError: () => {} },
        ),
      );
    });
    return async (request, response) => (await listener())(request, response);
  };
}
