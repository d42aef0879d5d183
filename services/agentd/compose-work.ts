import { type KnownModel, readKnownModels } from '#kit/config/known-models.ts';
import { LiveConfig } from '#kit/config/live-config.ts';
import type { Settings } from '#kit/config/settings.ts';
import { smokeForge } from '#kit/config/smoke-forge.ts';
import { environment } from '#kit/environment.ts';
import { Failed } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { once } from '#kit/once.ts';
import { secretFinder } from '#kit/redaction/secret-finder.ts';
import { serviceToken, type Tokens } from '#kit/tokens/tokens.ts';
import { type ApprovalsNow, decisionProblem } from './approval/current.ts';
import { httpContext } from './context/http-context.ts';
import type { DecisionPolicy } from './execution/decisions.ts';
import { forgeFor } from './forges/find-forge.ts';
import { findIssue, findRepository } from './forges/find-issue.ts';
import { createForges, createSmokeForge } from './forges/registry.ts';
import { ContextOutbox } from './outbox/context-outbox.ts';
import { deliverEarlier } from './outbox/live-delivery.ts';
import { RunDelivery } from './outbox/run-delivery.ts';
import { readPolicy } from './policy.ts';
import type { RunStore } from './runs/run-store.ts';
import { ApprovalSignatures, signersFile } from './signatures/approval-signatures.ts';
import { readWorkConfiguration, type WorkConfiguration, workConcerns } from './work-configuration.ts';

export interface WorkOptions extends LastingParts {
  readonly folders: Folders;
  readonly settings: Settings;
  readonly store: RunStore;
  /** Their revocation takes back what they approved. */
  readonly tokens: Pick<Tokens, 'list' | 'fresh'>;
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

/**
 * Puts planning and execution together from the configuration, each when it is asked for first; work that has begun keeps what it
 * began with.
 */
function composeWork(
  { folders, settings, store, tokens, models, context, delivery }: WorkOptions,
  { policy, agents, validation: validationConfig, forges: forgesConfig }: WorkConfiguration,
) {
  const secrets = secretFinder(policy.released_secrets);
  const forgeFolders = { stateDir: folders.state, secretsDir: folders.secrets };
  const forges = createForges(forgesConfig, forgeFolders, secrets);

  const sandboxConfig = {
    ...validationConfig,
    hidden: [folders.state, folders.config],
    allow_weak: policy.allow_weak_sandbox,
  };
  const home = environment.HOME ?? folders.state;
  const validations = once(async () => {
    const { composeValidation } = await import('./compose-validation.ts');
    return composeValidation({ folders, home, config: sandboxConfig, secrets, forge: forgeNamed });
  });

  function forgeNamed(name: string) {
    const forge = forges.get(name);
    if (forge !== undefined) return forge;
    if (name === smokeForge.name) return createSmokeForge(forgeFolders, secrets);
    throw new Failed(
      'forge_not_configured',
      `forge '${name}' is not in config/forges.json any more; it has ${[...forges.keys()].join(', ')}`,
    );
  }

  const approvals = (): ApprovalsNow => {
    const now = readPolicy(folders);
    const signatures = new ApprovalSignatures(now.approval, signersFile(folders));
    return { policy: now, tokens: tokens.list(), forges: [...forges.keys()], signatures };
  };
  const approvalsFresh = async (): Promise<void> => tokens.fresh?.();
  const signatures = new ApprovalSignatures(policy.approval, signersFile(folders));
  const planners = once(async () => {
    const { composePlanners } = await import('./compose-planners.ts');
    return composePlanners({
      folders,
      home,
      agents,
      models,
      secrets,
      sandbox: sandboxConfig,
      limits: validationConfig.limits,
      context,
      forges,
      forge: forgeNamed,
      sandboxTerms: (await validations()).sandboxTerms,
    });
  });
  const planning = once(async () => {
    const { composePlanning } = await import('./compose-planning.ts');
    return composePlanning({
      folders,
      settings,
      store,
      context,
      deliverEarlier: async (signal) => (delivery === null ? null : deliverEarlier(delivery, signal)),
      policy,
      approvals: () => ({ policy, tokens: tokens.list(), forges: [...forges.keys()], signatures }),
      secrets,
      planners: (await planners()).services,
      validationConfig,
      validations: await validations(),
      forge: forgeNamed,
    });
  });
  const execution = once(async () => {
    const { composeExecution } = await import('./compose-execution.ts');
    return composeExecution({
      folders,
      checkouts: Object.values(settings.agentd.checkouts),
      store,
      policy,
      approvals,
      approvalsFresh,
      forge: forgeNamed,
      openApproved: (await validations()).openApproved,
    });
  });

  return {
    planners,
    planning,
    execution,
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
    approvalsFresh,
    decisionPolicy: (): DecisionPolicy => ({
      expires_after_days: policy.approval.expires_after_days,
      people: policy.people,
      stands: (subject, approval, now) => decisionProblem(subject, approval, approvals(), now) === null,
    }),
    signatures,
  };
}

/** What planning and execution are done with. */
export type Work = ReturnType<typeof composeWork>;
