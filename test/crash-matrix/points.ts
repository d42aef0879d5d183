import { actionKinds } from '../../services/agentd/action.ts';
import type { EffectName } from '../../services/agentd/execution/effects.ts';
import { isQuick } from '../needs.ts';

export const each = (prefix: string) => actionKinds.map((kind) => `${prefix}.${kind}`);

const effectPoints = (name: EffectName) => [`effect.permitted.${name}`, `effect.leaving.${name}`];

const planSteps = ['plan.started', 'plan.source_read', 'plan.proposed', 'plan.before_seal', 'plan.sealed'];
/** Of a plan that takes the place of two. */
export const secondPlanPoints = ['plan.before_seal', 'plan.sealed', 'plan.superseded', 'plan.superseded:2'];
const executeSteps = [
  'execute.started',
  ...each('execute.before_intent'),
  ...each('execute.intent'),
  'commit.built',
  'delivery.fetched',
  'commit.delivered',
  ...each('execute.effect'),
  ...actionKinds.map((_, index) => `execute.result:${index + 1}`),
  ...(['deliver', 'push', 'openPullRequest', 'comment'] as const).flatMap(effectPoints),
  'execute.before_finish',
];

/** Before and after the commit of an event, at some appends of an execution. */
const appendPoints = [2, 4, 6, 8, 10, 12, 14].flatMap((append) => [
  `events_decided:${append}`,
  `events_committed:${append + 1}`,
]);

export const planPoints = ['run_committed', ...planSteps];
export const executePoints = [...executeSteps, ...appendPoints];
export const undoPoints = [
  'undo.started',
  ...each('undo.intent'),
  ...each('undo.effect'),
  ...each('undo.result'),
  ...(['closePullRequest', 'deleteComment', 'unpublish', 'withdraw'] as const).flatMap(effectPoints),
];

/** One point of each family, for `npm test`. */
const representative = [
  'plan.started',
  'plan.sealed',
  'plan.superseded',
  'execute.intent.create_branch',
  'commit.built',
  'execute.effect.push_branch',
  'execute.effect.open_pull_request',
  'execute.result:7',
  'events_decided:6',
  'events_committed:7',
  'undo.intent.open_pull_request',
  'undo.effect.push_branch',
  'effect.leaving.comment',
  'vcs.git.pushed',
  'agent.prompted',
  'ingest_between_batches:1',
  'ingest_before_finish',
];

/** Whether this run of the tests kills at the point. */
export function isKilledHere(point: string): boolean {
  return !isQuick || representative.includes(point);
}
