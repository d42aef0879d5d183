import { sha256 } from '#kit/digest.ts';
import type { ActionKind } from '../../services/agentd/action.ts';
import { type ActionDefinition, actionDigest, actions } from '../../services/agentd/actions/registry.ts';
import type { DataOf, NewEvent, PlanFacts, RunRequest } from '../../services/agentd/runs/event.ts';

/** Events of a run as the service writes them, small. */

export function sampleRequest(change: Partial<RunRequest> = {}): RunRequest {
  return {
    forge: 'local',
    owner: 'demo',
    repo: 'hello',
    number: 1,
    task: undefined,
    role: 'Depute',
    planner: 'patch',
    agent: undefined,
    dry_run: false,
    keep: undefined,
    note: undefined,
    anyway: undefined,
    requested_by: 'mira',
    idempotency_key: null,
    trigger: undefined,
    ...change,
  };
}

const commit = '1'.repeat(40);
export const tree = '2'.repeat(40);
const content = sha256('content');

export const sourceRead: NewEvent = {
  type: 'source_read',
  data: {
    issue: {
      title: 'Greeting is wrong',
      author: 'mira',
      association: 'contributor',
      state: 'open',
      html_url: null,
      comments: 0,
      content,
    },
    repository_id: '7',
    html_url: null,
    clone_url: '/srv/hello.git',
    push_url: '/srv/hello.git',
    base_branch: 'main',
    base_commit: commit,
    forge_time: '2026-01-02T03:04:05.000Z',
  },
};

const validation = {
  source: 'detected',
  found: 'package.json',
  prepare: [],
  prepare_network: false,
  prepared_paths: [],
  lockfiles: [],
  commands: [{ name: 'test', run: 'npm test' }],
  limits: { seconds: 1, memory_mib: 1, processes: 1, output_bytes: 1 },
};

export function sampleAction(runId: string, ordinal: number, kind: ActionKind): ActionDefinition {
  const author = { name: 'Core', email: 'core@localhost' };
  const params = {
    create_branch: { branch: 'core/1-x', base_branch: 'main', base_commit: commit, author },
    apply_patch: { patch: content, tree, files: [], author },
    run_validation: { tree, sandbox: 'none', plan: validation, tool_paths: [], prepare_environment: {} },
    commit: {
      tree,
      message: 'Greet (#1)',
      author,
      deliver_ref: 'refs/heads/core/1-x',
    },
    push_branch: { branch: 'core/1-x', push_url: '/srv/hello.git', workflows: [] },
    open_pull_request: { title: 'Greet', body: '{{run_id}}', head: 'core/1-x', base: 'main' },
    comment_issue: { number: 1, body: 'See {{pull_request}}' },
  }[kind];
  const action = {
    run_id: runId,
    action_id: `act_${ordinal}_${kind}`,
    ordinal,
    kind,
    params,
    gate: actions[kind].gate,
    title: `Do ${kind}`,
    rationale: 'Because',
    risk: ordinal === 3 ? 'medium' : 'low',
    risk_score: ordinal,
    risk_reasons: [],
    dry_run: false,
    depends_on: [],
    artifacts: {},
    influences: [],
    target: {
      forge: 'local',
      forge_url: '/srv',
      account: { login: 'core', id: 'core' },
      owner: 'demo',
      repo: 'hello',
      repository_id: '7',
      push_url: '/srv/hello.git',
      branch: 'core/1-x',
      base_branch: 'main',
      base_commit: commit,
      tree,
      vcs: 'git',
    },
  } as unknown as Omit<ActionDefinition, 'digest'>;
  return { ...action, digest: actionDigest(action) } as ActionDefinition;
}

const kinds = ['create_branch', 'apply_patch', 'commit', 'push_branch', 'open_pull_request'] as const;

/** From `planning_started` to `plan_sealed`: one batch, as a planner writes it. */
export function planned(runId: string, howMany = 3): NewEvent[] {
  const actions = kinds.slice(0, howMany).map((kind, index) => sampleAction(runId, index + 1, kind));
  const plan: PlanFacts = {
    target: actions[0]!.target,
    planner: 'patch',
    stop_reason: 'submitted',
    title: 'Greet strangers',
    explanation: content,
    influences: [],
    patch: content,
    patch_by: { kind: 'model', model: 'large' },
    files_of_context: 1,
    context: [],
    memories: 0,
    notices: [],
    validation: null,
    checks: [{ name: 'applies', passed: true, detail: '' }],
    sealed: actions.map(({ action_id, digest }) => ({ action_id, digest })),
    supersedes: undefined,
    approval_terms: undefined,
  };
  return [
    { type: 'planning_started', data: { pid: 1 } },
    sourceRead,
    ...actions.map((action): NewEvent => ({ type: 'action_proposed', data: { action } })),
    { type: 'plan_sealed', data: { plan } },
  ];
}

export function decided(
  action: ActionDefinition,
  decision: 'approve' | 'reject' = 'approve',
  expires_at = '2999-01-01T00:00:00.000Z',
): NewEvent {
  return {
    type: 'approval_recorded',
    data: {
      action_id: action.action_id,
      approval: {
        decision,
        approver: 'mira',
        person: undefined,
        token: undefined,
        account: undefined,
        standing: undefined,
        claimed_approver: null,
        reason: decision === 'reject' ? 'not this way' : null,
        digest: action.digest,
        at: '2026-01-02T03:04:05.000Z',
        expires_at: decision === 'approve' ? expires_at : null,
        signature: undefined,
      },
    },
  };
}

export function executionStarted(change: Partial<DataOf<'execution_started'>> = {}): NewEvent {
  return {
    type: 'execution_started',
    data: {
      execution_id: 'exe_1',
      kind: 'execute',
      repo_dir: '/home/mira/hello',
      checkout: undefined,
      checkout_named: undefined,
      selected: [],
      dry_run: false,
      by: 'mira',
      pid: 1,
      ...change,
    },
  };
}

export function intended(actionId: string): NewEvent {
  return {
    type: 'action_intent',
    data: {
      action_id: actionId,
      attempt: 1,
      effect_at: '2026-01-02T03:04:05.000Z',
      forge_time: null,
      account: undefined,
      operation_before: 'op0',
      deliver_to: undefined,
      rendered: {},
    },
  };
}

export function resulted(
  actionId: string,
  change: Partial<DataOf<'action_result'>> = {},
  facts: Record<string, unknown> = {},
): NewEvent {
  return {
    type: 'action_result',
    data: {
      action_id: actionId,
      state: 'succeeded',
      rehearsal: false,
      reconciled: false,
      outcome: { code: undefined, message: 'done', facts },
      vcs: null,
      ...change,
    },
  };
}

export function refused(
  actionId: string,
  state: 'refused' | 'blocked' = 'refused',
  code = 'branch_protected',
): NewEvent {
  const outcome = { code, message: 'not now', facts: {} };
  return { type: 'action_refused', data: { action_id: actionId, state, outcome } };
}

export function executionFinished(stopped: 'cancelled' | 'failed' | null = null): NewEvent {
  return { type: 'execution_finished', data: { execution_id: 'exe_1', stopped, message: 'ended' } };
}

export function pullRequestSeen(number: number, change: Partial<DataOf<'pull_request_seen'>> = {}): NewEvent {
  return {
    type: 'pull_request_seen',
    data: {
      number,
      url: null,
      state: 'open',
      ended_at: null,
      head_commit: commit,
      checks: 'none',
      failed_checks: [],
      ...change,
    },
  };
}

export function turn(text = 'one'): NewEvent {
  return {
    type: 'planner_turn',
    data: {
      content: sha256(text),
      tool_calls: ['read_file'],
      usage: {
        provider: 'openai',
        model: 'm',
        tier: 'small',
        input_tokens: 10,
        output_tokens: 5,
        cached_tokens: 0,
        cost: null,
      },
    },
  };
}

export function agentStarted(attempt = 1): NewEvent {
  return {
    type: 'agent_started',
    data: {
      attempt,
      agent: 'claude',
      protocol: 'acp',
      sandbox: 'bubblewrap',
      model: 'm',
      bounds: { money: 2, seconds: 60, turns: 60 },
      hosts: [],
      credentials: [],
    },
  };
}

type AgentUse = DataOf<'agent_progressed'>;

export function agentUse(change: Partial<AgentUse> = {}): AgentUse {
  return { attempt: 1, seconds: 5, turns: null, usage: null, program: null, transcript: null, ...change };
}

export function agentEnded(
  end: DataOf<'agent_ended'>['end'],
  change: Partial<DataOf<'agent_ended'>> = {},
): NewEvent {
  const data = { ...agentUse(), end, bound: null, stop_reason: null, message: '', connections: [] };
  return { type: 'agent_ended', data: { ...data, ...change } };
}

export function agentReadBack(submitted: boolean): NewEvent {
  const text = sha256('left');
  return {
    type: 'agent_read_back',
    data: {
      ...{ attempt: 1, submitted, patch: text, title: 'Left', explanation: text },
      influences: [{ kind: 'memory', source: 'memory:1', author: null, trusted: false }],
    },
  };
}
