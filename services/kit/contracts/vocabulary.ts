/** The words of the wire, plain lists without a decoder, so that a command line can name them without loading one. */

export const actionKinds = [
  'create_branch',
  'apply_patch',
  'run_validation',
  'commit',
  'push_branch',
  'open_pull_request',
  'comment_issue',
] as const;

export const gates = ['build', 'publish'] as const;
/** What executing the actions of a gate does, for whoever approves it. */
export const gateEffects: Readonly<Record<(typeof gates)[number], string>> = {
  build: 'changes only this machine',
  publish: 'others will see it',
};

export const risks = ['low', 'medium', 'high', 'critical'] as const;

export const approvals = ['required', 'approved', 'rejected'] as const;

export const actionStates = [
  'pending',
  'running',
  'succeeded',
  'failed',
  'refused',
  'blocked',
  'unknown',
  'undone',
] as const;

/** Who plans: from a patch in the issue, by a model, or by a coding agent in a sandbox. */
export const plannerKinds = ['patch', 'model', 'agent'] as const;

/** How an action ended, as later plannings count it. */
export const caseOutcomes = ['succeeded', 'merged', 'rejected', 'failed', 'undone', 'closed'] as const;

export const pullRequestStates = ['open', 'merged', 'closed'] as const;

/** How the checks of a pull request stand, all of them together. */
export const checkStates = ['none', 'pending', 'passed', 'failed'] as const;

export const runStatuses = [
  'planning',
  'awaiting_approval',
  'executing',
  'completed',
  'partially_completed',
  'failed',
  'interrupted',
  'rejected',
  'undone',
  'cancelled',
  'superseded',
] as const;
