import { digestOf } from '#kit/digest.ts';
import {
  type ActionDefinition,
  type ActionHistory,
  type ActionKind,
  type FileChange,
  gateOf,
  type Influence,
  type ParamsOf,
  type SandboxTerms,
  type Target,
  type ValidationPlan,
} from '../action.ts';
import { actionDigest } from './digest.ts';
import type { Policy } from './policy.ts';
import { assess, assessPatch, type ChangeFacts, type RiskAssessment, withHistory } from './risk.ts';
import { commitMessage, issueComment, plainComment, pullRequestBody, pullRequestTitle } from './texts.ts';

export interface Common {
  readonly run_id: string;
  readonly number: number;
  readonly target: Target;
  readonly influences: readonly Influence[];
  readonly dry_run: boolean;
  readonly policy: Policy;
  /** Kinds that the role may propose. */
  readonly may_propose: readonly string[];
  /** How like actions went before, by kind. */
  readonly history: ReadonlyMap<string, ActionHistory>;
}

export interface ChangePlan extends Common {
  readonly title: string;
  readonly explanation: string;
  /** sha256 of the patch artifact. */
  readonly patch: string;
  readonly change: ChangeFacts;
  /** null where nothing was found to validate with, or nothing to validate in. */
  readonly validation: ValidationPlan | null;
  readonly sandbox: SandboxTerms | null;
  /** Workflow files that a push of this tree starts. */
  readonly workflows: readonly string[];
}

/** What a sandbox weaker than bubblewrap does not hold, for whoever decides about the validation. */
const openIn: Readonly<Record<string, string>> = {
  'unshare (weak)': 'no system call filter: keyrings, bpf, io_uring and sockets to the host stay open',
  none: 'no sandbox: the commands see your files and the network as you do',
};

/** Turns a prepared change into its actions, in execution order. Pure: same input, same bytes. */
export function proposeChange(plan: ChangePlan): ActionDefinition[] {
  const { target, policy, change, validation, sandbox } = plan;
  const branch = target.branch!;
  const tree = target.tree!;
  const base = policy.risk.base;
  const author = policy.commit_author;
  const list = new ActionList(plan);

  list.add('create_branch', {
    title: branch,
    rationale: `A new branch keeps ${target.base_branch} untouched.`,
    params: { branch, base_branch: target.base_branch, base_commit: target.base_commit, author },
    needs: [],
    risk: assess(base.create_branch, [], policy),
  });
  list.add('apply_patch', {
    title: describeFiles(change.files),
    rationale: plan.title,
    params: { patch: plan.patch, tree, files: [...change.files], author },
    needs: ['create_branch'],
    artifacts: { patch: plan.patch },
    risk: assessPatch(change, policy),
  });
  if (validation !== null && sandbox !== null) {
    const extras: [number, string][] = [];
    if (validation.prepare.length > 0 && validation.prepare_network) {
      extras.push([policy.risk.prepare_network, 'preparing uses the network']);
    }
    const open = openIn[sandbox.kind];
    if (open !== undefined) extras.push([0, open]);
    list.add('run_validation', {
      title: validation.commands.map(({ run }) => run).join(' && '),
      rationale: `Found in ${validation.found}.`,
      params: {
        tree,
        sandbox: sandbox.kind,
        plan: validation,
        tool_paths: [...sandbox.tool_paths],
        prepare_environment: validation.prepare_network ? { ...sandbox.prepare_environment } : {},
      },
      needs: ['apply_patch'],
      risk: assess(base.run_validation, extras, policy),
    });
  }
  const message = commitMessage(plan.title, plan.number, plan.run_id, plan.explanation);
  list.add('commit', {
    title: message.split('\n', 1)[0]!,
    rationale: 'Records the change and brings the branch into your checkout.',
    params: { tree, message, author, deliver_ref: `refs/heads/${branch}` },
    needs: ['apply_patch', 'run_validation'],
    risk: assess(base.commit, [], policy),
  });
  if (validation === null || sandbox === null) return list.actions;

  const starts: [number, string][] =
    plan.workflows.length > 0 ? [[policy.risk.starts_workflows, `starts ${plan.workflows.join(', ')}`]] : [];
  list.add('push_branch', {
    title: plan.workflows.length > 0 ? `origin, starts ${plan.workflows.join(', ')}` : 'origin',
    rationale: 'Makes the commit visible to others.',
    params: { branch, push_url: target.push_url, workflows: [...plan.workflows] },
    needs: ['commit', 'run_validation'],
    risk: assess(base.push_branch, starts, policy),
  });
  list.add('open_pull_request', {
    title: `into ${target.base_branch}`,
    rationale: 'Asks for review of the change.',
    params: ({ action_id, earlier }) => ({
      title: pullRequestTitle(plan.title, plan.number),
      body: pullRequestBody({
        run_id: plan.run_id,
        action_id,
        number: plan.number,
        explanation: plan.explanation,
        actions: earlier.map(({ ordinal, kind, title }) => ({ ordinal, kind, what: title })),
      }),
      head: branch,
      base: target.base_branch,
    }),
    needs: ['push_branch', 'run_validation'],
    risk: assess(base.open_pull_request, [], policy),
  });
  list.add('comment_issue', {
    title: 'links the pull request',
    rationale: 'Tells the people who follow the issue.',
    params: ({ action_id }) => ({ number: plan.number, body: issueComment(plan.run_id, action_id) }),
    needs: ['open_pull_request'],
    risk: assess(base.comment_issue, [], policy),
  });
  return list.actions;
}

/** A plan that only says something. */
export function proposeComment(plan: Common & { readonly body: string }): ActionDefinition[] {
  const list = new ActionList(plan);
  list.add('comment_issue', {
    title: `asks on #${plan.number}`,
    rationale: 'There is no change to propose yet.',
    params: ({ action_id }) => ({
      number: plan.number,
      body: plainComment(plan.body, plan.run_id, action_id),
    }),
    needs: [],
    risk: assess(plan.policy.risk.base.comment_issue, [], plan.policy),
  });
  return list.actions;
}

interface Draft<K extends ActionKind> {
  readonly title: string;
  readonly rationale: string;
  readonly params:
    | ParamsOf<K>
    | ((known: { action_id: string; earlier: readonly ActionDefinition[] }) => ParamsOf<K>);
  /** Kinds that must have succeeded before. Without the first there is no sense in this action; the others may be missing. */
  readonly needs: readonly ActionKind[];
  readonly risk: RiskAssessment;
  readonly artifacts?: Readonly<Record<string, string>>;
}

class ActionList {
  readonly actions: ActionDefinition[] = [];
  readonly #plan: Common;

  constructor(plan: Common) {
    this.#plan = plan;
  }

  /** Adds an action, unless the role may not propose it or what it builds on. */
  add<K extends ActionKind>(kind: K, draft: Draft<K>): void {
    const { run_id, target, influences, dry_run, may_propose, policy } = this.#plan;
    if (!may_propose.includes(kind)) return;
    const ordinal = this.actions.length + 1;
    const depends_on = draft.needs.flatMap(
      (need) => this.actions.find(({ kind }) => kind === need)?.action_id ?? [],
    );
    const essential = draft.needs[0];
    if (essential !== undefined && !this.actions.some(({ kind }) => kind === essential)) return;
    const action_id = `act_${ordinal}_${digestOf({ run_id, ordinal, kind, target, title: draft.title }).slice(0, 8)}`;
    const params =
      typeof draft.params === 'function' ? draft.params({ action_id, earlier: this.actions }) : draft.params;
    const history = this.#plan.history.get(kind) ?? null;
    const { risk, score, reasons } = withHistory(draft.risk, history, policy);
    const action = {
      run_id,
      action_id,
      ordinal,
      kind,
      gate: gateOf(kind),
      title: draft.title,
      rationale: draft.rationale,
      risk,
      risk_score: score,
      risk_reasons: [...reasons],
      params,
      dry_run,
      depends_on,
      artifacts: { ...draft.artifacts },
      influences: [...influences],
      history,
      target,
    } as unknown as Omit<ActionDefinition, 'digest'>;
    this.actions.push({ ...action, digest: actionDigest(action) } as ActionDefinition);
  }
}

/** For example `2 files, +6 −2     src/greet.js, test/greet.test.js`. */
export function describeFiles(files: readonly FileChange[]): string {
  const added = files.reduce((sum, file) => sum + (file.added ?? 0), 0);
  const removed = files.reduce((sum, file) => sum + (file.removed ?? 0), 0);
  const names = files.slice(0, 3).map(({ path }) => path);
  const more = files.length > 3 ? ` and ${files.length - 3} more` : '';
  return `${files.length} ${files.length === 1 ? 'file' : 'files'}, +${added} −${removed}  ${names.join(', ')}${more}`;
}
