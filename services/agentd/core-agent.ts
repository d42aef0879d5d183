import { resolve } from 'node:path';

import type { Inbox } from '#kit/contracts/inbox.ts';
import { crashPoint } from '#kit/crash-point.ts';
import { Conflict, CoreError, InvalidInput, NotFound, Unavailable } from '#kit/errors.ts';

import type {
  DecisionRequest,
  ExecutionRequest,
  NamedRun,
  Person,
  PlanRequest,
  PromptsForgotten,
  PruneRequest,
  RecoveryRequest,
  SyncRequest,
  Watch,
} from './agent.ts';
import type { ReadApprovals } from './approval/current.ts';
import { checkScope } from './check-scope.ts';
import type { Work } from './compose-work.ts';
import type { DecisionPolicy } from './execution/decisions.ts';
import type { ExecuteOptions } from './execution/execute-approved.ts';
import type { InboxRequest } from './inbox/read-inbox.ts';
import { deliverWithTimeout, withLiveDelivery } from './outbox/live-delivery.ts';
import type { ChangeQuery, IssueQuery } from './planning/issues.ts';
import {
  canBePlanned,
  draftOf,
  isOpen,
  type JudgedRun,
  mayHaveEffects,
  type Run,
  willPublish,
} from './runs/run.ts';
import {
  executorLease,
  issueLease,
  patientLease,
  type RunChoice,
  type RunPage,
  type RunQuery,
  type RunStore,
} from './runs/run-store.ts';
import type { ApprovalSignatures } from './signatures/approval-signatures.ts';

/** True if the notices of the plan say that the context service did not answer. */
function plannedWithout({ plan }: Run): boolean {
  return plan?.notices.some((notice) => notice.startsWith('context: ')) === true;
}

/** Timeout for checking whether the base branch moved, in ms. */
const baseMs = 5_000;

/** For a run without decisions about open actions: there is nothing to judge. */
const unneeded: ReadApprovals = () => {
  throw new Error('an undecided action was judged');
};

/** Use cases of core-agentd, for the command line and the HTTP routes. */
export class CoreAgent {
  readonly #store: RunStore;
  /** Loads lazily, because reading runs does not need it. */
  readonly #work: () => Promise<Work>;

  constructor(store: RunStore, work: () => Promise<Work>) {
    this.#store = store;
    this.#work = work;
  }

  /** Creates a run, or finds the run with the same idempotency key, and plans it to the end. */
  async planIssue(request: PlanRequest, watch: Watch): Promise<JudgedRun> {
    const { run } = await this.createRun(request, watch.signal);
    return canBePlanned(run) ? this.plan(run.run_id, watch) : this.#judged(run);
  }

  /**
   * The first half of `planIssue`, for callers that answer before the planning ends; `plan` is the second.
   * @param mayCreate called before a run is created; throws to refuse
   */
  async createRun(request: PlanRequest, signal: AbortSignal, mayCreate = () => {}): Promise<NamedRun> {
    checkScope(request.by, 'plan');
    const work = await this.#work();
    const resolve = async () => (await work.planners()).runRequest(request, signal);
    const { idempotency_key } = request;
    if (idempotency_key !== undefined) {
      const { keyedRun } = await import('./runs/keyed-runs.ts');
      return keyedRun(this.#store, { ...request, idempotency_key }, { resolve, mayCreate });
    }
    mayCreate();
    return { run: await this.#store.begin(await resolve(), request.task), created: true };
  }

  /** Gives up a run of `createRun` that this process does not plan, so that other processes may resume it. */
  leaveUnplanned(runId: string): Promise<void> {
    return this.#store.abandon(runId);
  }

  async plan(runId: string, watch: Watch): Promise<JudgedRun> {
    const { planning, delivery } = await this.#work();
    let run: Run;
    try {
      const planIssue = await planning();
      const work = () => planIssue.plan(runId, watch);
      run = await withLiveDelivery(delivery, runId, watch, work, plannedWithout);
    } finally {
      await this.leaveUnplanned(runId);
    }
    if (delivery !== null)
      for (const id of run.plan?.supersedes ?? []) await deliverWithTimeout(delivery, id);
    return this.#judged(await this.#approveStanding(run));
  }

  /** Applies standing approvals, after the plan was delivered. */
  async #approveStanding(run: Run): Promise<Run> {
    const [{ approvals, approvalsFresh, delivery }, { approveStanding }] = await Promise.all([
      this.#work(),
      import('./execution/standing.ts'),
    ]);
    await approvalsFresh();
    const after = await approveStanding(this.#store, run, approvals);
    if (delivery !== null && after !== run) await deliverWithTimeout(delivery, run.run_id);
    return after;
  }

  /** Lists runs as their records say, without judging approvals. */
  recordedRuns(query: RunQuery): Promise<RunPage> {
    return this.#store.list(query);
  }

  /** Lists runs with the actions that wait as approvals count now. */
  async runs(query: RunQuery): Promise<RunPage> {
    const page = await this.recordedRuns(query);
    const { mayLapse, pageNow } = await import('./execution/page-now.ts');
    return page.runs.some(mayLapse) ? pageNow(this.#store, page, await this.#readApprovals()) : page;
  }

  countRuns(): Promise<number> {
    return this.#store.count();
  }

  /** Work that waits for a person. @throws NotFound (`person_not_found`) */
  async inbox(request: InboxRequest): Promise<Inbox> {
    const [read, { readInbox }] = await Promise.all([this.#readApprovals(), import('./inbox/read-inbox.ts')]);
    return readInbox(this.#store, read(), request);
  }

  /**
   * Identifier of the run that a person names, in any form that the store accepts.
   * @param folder current folder. Its repository decides what `last` means, and an issue number that several repositories have.
   */
  runId(name: string, folder: string, choice: Omit<RunChoice, 'here' | 'judge'> = {}): Promise<string> {
    return this.#store.resolve(name, {
      ...choice,
      here: () => this.#repositoryOf(folder),
      judge: (run) => this.#judged(run),
    });
  }

  async #repositoryOf(folder: string) {
    const work = await this.#work();
    return work.repositoryOf(folder).catch((error) => {
      if (error instanceof CoreError) return null;
      throw error;
    });
  }

  /** Resolves and verifies runs by this host's folders, without the database. */
  async offline(): Promise<Pick<CoreAgent, 'runId' | 'verify'>> {
    const { RunFolders } = await import('./runs/run-folders.ts');
    const folders = new RunFolders(this.#store.stateDir);
    return {
      runId: (name, folder, choice = {}) =>
        folders.resolve(name, { ...choice, here: () => this.#repositoryOf(folder) }),
      verify: async (runId, signersFile) => folders.verify(runId, await this.#signatures(signersFile)),
    };
  }

  /** Issue that a person names: a number in the repository of `folder`, `owner/repo#12`, or the address of its page. */
  async issueNamed(text: string, folder: string) {
    return (await this.#work()).issueNamed(text, folder);
  }

  /** The repository of the checkout around `folder`. @throws InvalidInput (`repository_unclear`) */
  async repositoryOf(folder: string) {
    return (await this.#work()).repositoryOf(folder);
  }

  /** Checkout around `folder`, to which the run is delivered by default; null if it is not a checkout of the run's repository. */
  async checkoutFor(run: Run, folder: string): Promise<string | null> {
    if (run.plan?.target.branch == null) return null;
    const { checkoutOf } = await import('./git/checkout.ts');
    return checkoutOf(folder, run.plan.target.push_url);
  }

  /** Names of the checkouts that the run can be delivered to: readable checkouts of its repository. */
  async checkoutsFor(run: Run, checkouts: Readonly<Record<string, string>>): Promise<string[]> {
    const found = await Promise.all(
      Object.entries(checkouts).map(async ([name, path]) =>
        (await this.checkoutFor(run, path).catch(() => null)) === null ? [] : [name],
      ),
    );
    return found.flat();
  }

  /** Full id or unique prefix. */
  async run(idOrPrefix: string): Promise<JudgedRun> {
    return this.#judged(await this.#store.read(await this.#store.resolve(idOrPrefix)));
  }

  /** Run as every view shows it, with each approval judged as an execution would now. */
  async #judged(run: Run): Promise<JudgedRun> {
    const { judgedRun } = await import('./execution/judged-run.ts');
    const decided = run.actions.some((action) => isOpen(action) && action.decisions.length > 0);
    return judgedRun(run, decided ? await this.#readApprovals() : unneeded);
  }

  /** Current state that approvals are judged by. If it cannot be read, the returned function throws, so that runs are still shown. */
  async #readApprovals(): Promise<ReadApprovals> {
    const { onceRead } = await import('./execution/judged-run.ts');
    try {
      const { approvals, approvalsFresh } = await this.#work();
      await approvalsFresh();
      return onceRead(approvals);
    } catch (error) {
      if (!(error instanceof CoreError)) throw error;
      return () => {
        throw error;
      };
    }
  }

  /**
   * Same as `run`, after two checks. Asks the forge for the name of the repository if the run has published something or still may.
   * Asks the remote whether the base branch moved if the run may still publish something.
   */
  async runWithBase(idOrPrefix: string): Promise<JudgedRun> {
    return this.#judged(await this.#withBase(await this.#store.read(await this.#store.resolve(idOrPrefix))));
  }

  async #withBase(given: Run): Promise<Run> {
    let run = given;
    try {
      run = await this.#finishSuperseding(run);
      const published = mayHaveEffects(run).some(({ definition }) => definition.gate === 'publish');
      if ((!willPublish(run) && !published) || run.status === 'executing') return run;
      const [{ baseEvents }, { recordName }] = await Promise.all([
        import('./execution/moved-base.ts'),
        import('./execution/renamed-repository.ts'),
      ]);
      const { lookAtBase, lookAtName } = await (await this.#work()).execution();
      run = await recordName(this.#store, lookAtName, run, AbortSignal.timeout(baseMs));
      if (!willPublish(run)) return run;
      const seen = await lookAtBase(run, AbortSignal.timeout(baseMs));
      if (baseEvents(run, seen).length === 0) return run;
      await this.#store.append(run.run_id, (now) => (willPublish(now) ? baseEvents(now, seen) : []));
      await this.#store.writeViews(run.run_id);
      return await this.#store.read(run.run_id);
    } catch (error) {
      if (error instanceof CoreError) return run;
      throw error;
    }
  }

  /** Issues of a repository as its forge has them, each with its newest run. */
  async issues(query: IssueQuery, signal: AbortSignal) {
    const [{ forgeFor }, { listIssues }] = await Promise.all([this.#work(), import('./planning/issues.ts')]);
    return listIssues({ store: this.#store, forge: await forgeFor(query, signal) }, query, signal);
  }

  /** Issues that changed on a forge since a time. */
  async changedIssues(query: ChangeQuery, signal: AbortSignal) {
    const [{ forgeFor }, { changedIssues }] = await Promise.all([
      this.#work(),
      import('./planning/issues.ts'),
    ]);
    return changedIssues({ store: this.#store, forge: await forgeFor(query, signal) }, query, signal);
  }

  /** See `RunStore.watch`. */
  watch(runId: string | null, look: () => void): () => void {
    return this.#store.watch(runId, look);
  }

  events(runId: string, afterSeq: number) {
    return this.#store.events(runId, afterSeq);
  }

  /** The patch of the whole run, bytes as they will be applied; empty when only a comment is proposed. */
  async diff(runId: string): Promise<Uint8Array> {
    const { plan } = await this.#store.read(runId);
    if (plan?.patch == null) return new Uint8Array();
    return this.#store.artifact(runId, plan.patch);
  }

  /** A file as it is before the change of a planned run. @throws NotFound (`base_file_not_found`) */
  async baseFile(runId: string, path: string): Promise<Uint8Array> {
    const [{ plan }, { readBaseFile }] = await Promise.all([
      this.#store.read(runId),
      import('./git/base-file.ts'),
    ]);
    return readBaseFile(this.#store.stateDir, plan!.target, path);
  }

  /** Draft patch of an agent that was stopped before it finished. @throws NotFound (`no_draft`) */
  async draft(runId: string): Promise<Uint8Array> {
    const run = await this.#store.read(runId);
    const draft = draftOf(run);
    if (draft !== null) return this.#store.artifact(runId, draft);
    throw new NotFound(
      'no_draft',
      run.plan === null
        ? `run ${run.run_id} has no draft: no agent was stopped in it that had changed something`
        : `run ${run.run_id} has a plan and no draft; ./core diff shows it`,
    );
  }

  /** Bytes of one artifact that the run names, for example a validation log. */
  artifact(runId: string, digest: string): Promise<Uint8Array> {
    return this.#store.artifact(runId, digest);
  }

  async decide(request: DecisionRequest): Promise<JudgedRun> {
    checkScope(request.by, 'approve');
    const { approvalsFresh, decisionPolicy, delivery, signatures } = await this.#work();
    await approvalsFresh();
    const policy = decisionPolicy();
    if (request.decision === 'approve') await this.#store.requireUnaltered(request.run_id);
    // Delivers the plan before the decision, if the context service was unavailable when the plan was made.
    const undelivered = delivery === null ? null : await deliverWithTimeout(delivery, request.run_id);
    const run = await this.#decided(request, policy, signatures);
    await this.#store.writeViews(request.run_id);
    if (delivery !== null && undelivered === null) await deliverWithTimeout(delivery, request.run_id);
    return this.#judged(run);
  }

  /** Decides under the lease of the issue, so that no other process seals a plan that supersedes the run. */
  async #decided(
    request: DecisionRequest,
    policy: DecisionPolicy,
    signatures: ApprovalSignatures,
  ): Promise<Run> {
    const { decideActions } = await import('./execution/decisions.ts');
    const { request: issue } = await this.#store.read(request.run_id);
    const lease = await patientLease(this.#store, issueLease(issue));
    try {
      await this.#finishSuperseding(await this.#store.read(request.run_id));
      const run = await this.#store.append(request.run_id, (now) => {
        const events = decideActions(now, request, policy, signatures);
        crashPoint('decision.checked');
        return events;
      });
      crashPoint('decision.recorded');
      return run;
    } finally {
      await lease.release();
    }
  }

  async #finishSuperseding(run: Run): Promise<Run> {
    const { finishSuperseding } = await import('./planning/earlier-runs.ts');
    return finishSuperseding(this.#store, run);
  }

  execute(request: ExecutionRequest, watch: Watch): Promise<JudgedRun> {
    const { repo_dir } = request;
    const named = typeof repo_dir === 'string' ? resolve(repo_dir) : repo_dir;
    return this.#execute({ ...request, repo_dir: named, kind: 'execute' }, watch);
  }

  async #execute(options: ExecuteOptions, watch: Watch): Promise<JudgedRun> {
    checkScope(options.by, 'execute');
    const { execution, delivery } = await this.#work();
    const { execute } = await execution();
    return this.#judged(
      await withLiveDelivery(delivery, options.run_id, watch, () => execute(options, watch)),
    );
  }

  /** Continues the planning, execution or undo that a crash or a stop interrupted. */
  async resume(request: { readonly run_id: string; readonly by: Person }, watch: Watch): Promise<JudgedRun> {
    await this.#store.requireSound(request.run_id);
    const { run_id, status, plan, execution, undo } = await this.#store.read(request.run_id);
    if (undo !== null && !undo.complete) return this.undo(request, watch);
    if (plan === null && (status === 'planning' || status === 'interrupted')) {
      checkScope(request.by, 'plan');
      return this.plan(run_id, watch);
    }
    if (execution === null || undo !== null || ['completed', 'cancelled'].includes(status)) {
      throw new Conflict('nothing_to_resume', `run ${run_id} is ${status}; there is nothing to resume`);
    }
    const { checkout, checkout_named, selected: actions, dry_run } = execution;
    const repo_dir = checkout_named === false ? undefined : (checkout?.dir ?? execution.repo_dir);
    return this.#execute({ ...request, kind: 'resume', repo_dir, actions, dry_run }, watch);
  }

  /** Steps of `undo`, in order, without doing them. */
  async undoPlan(runId: string) {
    const { previewUndo } = await (await this.#work()).execution();
    await this.#store.requireSound(runId);
    return previewUndo(runId);
  }

  async undo(request: { readonly run_id: string; readonly by: Person }, watch: Watch): Promise<JudgedRun> {
    checkScope(request.by, 'execute');
    const { execution, delivery } = await this.#work();
    const { undo } = await execution();
    await this.#store.requireSound(request.run_id);
    return this.#judged(await withLiveDelivery(delivery, request.run_id, watch, () => undo(request, watch)));
  }

  async cancel(request: {
    readonly run_id: string;
    readonly by: Person;
    readonly reason: string | null;
  }): Promise<JudgedRun> {
    checkScope(request.by, 'plan');
    const { cancelRun } = await import('./execution/decisions.ts');
    const run = await this.#store.append(request.run_id, (now) => cancelRun(now, request));
    await this.#store.writeViews(request.run_id);
    const { delivery } = await this.#work();
    if (delivery !== null) await deliverWithTimeout(delivery, run.run_id);
    return this.#judged(run);
  }

  /** Asks the forges for the state of pull requests, and delivers to the context service what it does not have yet. */
  async sync(request: SyncRequest, watch: Watch) {
    checkScope(request.by, 'plan');
    const [{ delivery, forge }, { syncRuns }] = await Promise.all([
      this.#work(),
      import('./sync/sync-runs.ts'),
    ]);
    return syncRuns({ store: this.#store, forge, delivery }, request, watch);
  }

  /** Delivers pending events to the context service; null if none is configured. */
  async deliverPending(signal: AbortSignal) {
    const { delivery } = await this.#work();
    return delivery === null ? null : delivery.deliverPending(signal);
  }

  /** Client of core-context. @throws Unavailable (`context_unavailable`) if none is configured */
  async context() {
    const { context } = await this.#work();
    if (context !== null) return context;
    throw new Unavailable('context_unavailable', 'no core-context is configured', {
      hint: 'Set context.url in core.json; ./core up does so.',
    });
  }

  /** Backlog of deliveries to the context service; null if none is configured. */
  async contextBacklog() {
    const { delivery } = await this.#work();
    return delivery === null ? null : delivery.backlog();
  }

  /**
   * Verifies the record of a run, damaged or not, by full id or unique prefix.
   * @param signersFile `allowed_signers` at the time of the approvals; default: the current file
   */
  async verify(idOrPrefix: string, signersFile?: string) {
    const runId = await this.#store.resolve(idOrPrefix);
    return this.#store.verify(runId, await this.#signatures(signersFile));
  }

  /** Writes this host's folder of the run again. @returns the folder */
  async mirror(idOrPrefix: string): Promise<string> {
    return this.#store.mirror(await this.#store.resolve(idOrPrefix));
  }

  /** True if policy.json requires a signature for every approval. */
  async requiresSignature(): Promise<boolean> {
    return (await this.#work()).signatures.required;
  }

  async #signatures(signersFile: string | undefined): Promise<ApprovalSignatures> {
    const { signatures } = await this.#work();
    return signersFile === undefined ? signatures : signatures.withSigners(resolve(signersFile));
  }

  /** Signed decisions of a run, for checks without Core. */
  async signatures(idOrPrefix: string) {
    const run_id = await this.#store.resolve(idOrPrefix);
    const { signedDecisions } = await import('./runs/verify/signatures.ts');
    const { signersFile: signers_file } = await this.#signatures(undefined);
    return { run_id, signers_file, decisions: signedDecisions(run_id, await this.#store.events(run_id)) };
  }

  /** in-toto statement of a run, as of event `seq`; by default the newest. */
  async statement(idOrPrefix: string, seq?: number): Promise<string> {
    const { statementOf } = await import('./attestation/statement.ts');
    return statementOf(this.#store, await this.#store.resolve(idOrPrefix), seq);
  }

  /** @param text a DSSE envelope of `core attest` */
  async verifyAttestation(text: string, signersFile?: string) {
    const { verifyAttestation } = await import('./attestation/verify-attestation.ts');
    return verifyAttestation(text, { store: this.#store, signatures: await this.#signatures(signersFile) });
  }

  /** Full id or unique prefix of a run whose record may be damaged. */
  async record(idOrPrefix: string) {
    return this.#store.record(await this.#store.resolve(idOrPrefix));
  }

  /** Lets a run with a damaged record continue from its sound events. Actions that have not started need new decisions. */
  async recoverRecord(request: RecoveryRequest): Promise<JudgedRun> {
    checkScope(request.by, 'admin');
    if (request.reason.trim() === '') {
      throw new InvalidInput('reason_required', 'going on with a cut record needs a reason', {
        errors: [{ pointer: '/reason', detail: 'is missing: must be a string that is not empty' }],
      });
    }
    const run_id = await this.#store.resolve(request.run_id);
    const run = await this.#store.recover({ ...request, run_id });
    await this.#store.writeViews(run_id);
    return this.#judged(run);
  }

  /** Restores events and artifacts that the database lost, from this host's mirror. */
  async restoreRecord({ run_id, by }: Pick<RecoveryRequest, 'run_id' | 'by'>): Promise<JudgedRun> {
    checkScope(by, 'admin');
    const run = await this.#store.restore(await this.#store.resolve(run_id));
    await this.#store.writeViews(run.run_id);
    return this.#judged(run);
  }

  /** Deletes what models and agents were sent and answered for a run. @throws Conflict (`lease_held`) while a process works on it */
  async forgetPrompts({
    run_id,
    by,
  }: {
    readonly run_id: string;
    readonly by: Person;
  }): Promise<PromptsForgotten> {
    checkScope(by, 'admin');
    const runId = await this.#store.resolve(run_id);
    const lease = await this.#store.lease(executorLease(runId));
    try {
      return { run_id: runId, artifacts: await this.#store.forgetPrompts(runId) };
    } finally {
      await lease.release();
    }
  }

  prune(request: PruneRequest) {
    if (Number.isNaN(Date.parse(request.before))) {
      throw new InvalidInput('invalid_input', `'${request.before}' is not a date and time`);
    }
    return this.#store.prune(request);
  }

  /** Recovery manifest of a run. Fields are null if the run has not built anything yet. */
  async recovery(runId: string): Promise<Readonly<Record<string, unknown>>> {
    const run = await this.#store.read(runId);
    const { recoveryManifest } = await import('./runs/views/recovery-manifest.ts');
    return { ...recoveryManifest(run) };
  }

  async capabilities() {
    const { capabilities } = await (await this.#work()).planners();
    return capabilities();
  }

  /** The planner's tools with their JSON schemas. */
  async tools() {
    const { tools } = await (await this.#work()).planners();
    return tools;
  }
}
