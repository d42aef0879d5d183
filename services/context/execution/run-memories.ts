import type { OutcomeRecord, PlanRecord } from '#kit/contracts/context/execution.ts';
import type { RecordRequest } from '#kit/contracts/context/memory.ts';
import { sha256 } from '#kit/digest.ts';
import { nodeId } from '../record/node-id.ts';

/** Its key names it among the memories of its run. */
export type RunMemoryRequest = RecordRequest & { readonly key: string };

/**
 * What a run teaches: each thing that happened is an episode of the session that the run is, its end is summed up there, and
 * why people rejected what it proposed is a fact about the action. Each has a key, so that telling it again changes nothing.
 */
export function memoriesOf(plan: PlanRecord, outcome: OutcomeRecord): RunMemoryRequest[] {
  return [...episodesOf(plan, outcome), ...summaryOf(plan, outcome), ...decisionsOf(plan, outcome)];
}

function episodesOf(plan: PlanRecord, { run_id, episodes }: OutcomeRecord): RunMemoryRequest[] {
  return episodes.map(({ seq, at, speaker, text }) => ({
    ...empty,
    layer: 'episodic',
    kind: 'run_event',
    content: text,
    about: [nodeId.run(run_id), nodeId.issue(plan.repository, plan.issue.number)],
    source: speaker,
    session: run_id,
    seq,
    speaker,
    at,
    valid_from: at,
    key: `${run_id}/event/${seq}`,
  }));
}

/** One for each way in which the run was summed up: the last may come long after the first, when its pull request is merged. */
/** Beyond every event of a run: an episode and a summary must not want the same place. */
const summariesFrom = 1_000_000_000;

function summaryOf(plan: PlanRecord, { run_id, summary, seq, at }: OutcomeRecord): RunMemoryRequest[] {
  if (summary === null) return [];
  return [
    {
      ...empty,
      layer: 'episodic',
      kind: 'summary',
      content: summary,
      about: [
        nodeId.run(run_id),
        nodeId.issue(plan.repository, plan.issue.number),
        nodeId.repository(plan.repository),
        nodeId.agent(plan.role),
      ],
      source: 'core',
      session: run_id,
      seq: summariesFrom + seq,
      speaker: 'core',
      at,
      valid_from: at,
      key: `${run_id}/summary/${sha256(summary).slice(0, 12)}`,
    },
  ];
}

/** A decision that came after a rejection ends it: both are facts about one action, and the newer one holds. */
function decisionsOf(plan: PlanRecord, outcome: OutcomeRecord): RunMemoryRequest[] {
  return outcome.actions.flatMap((action): RunMemoryRequest[] => {
    const planned = plan.actions.find(({ action_id }) => action_id === action.action_id);
    if (planned === undefined) return [];
    const { run_id } = plan;
    const issue = nodeId.issue(plan.repository, plan.issue.number);
    const what = `${planned.kind} (${planned.title}) for ${plan.repository}#${plan.issue.number}`;
    const decided = (approval: string, by: string, at: string, reason: string | null): RunMemoryRequest => ({
      ...empty,
      layer: 'semantic',
      kind: approval === 'rejected' ? 'rejection' : 'decision',
      content: `${by} ${approval} ${what}${reason === null ? '' : `: ${reason}`}`,
      about: [issue, nodeId.run(run_id), nodeId.repository(plan.repository)],
      source: by,
      subject: nodeId.action(run_id, action.action_id),
      predicate: 'decision',
      valid_from: at,
      key: `${run_id}/${action.action_id}/decision/${at}`,
    });
    const earlier = action.earlier_rejections.map(({ by, at, reason }) =>
      decided('rejected', by, at, reason),
    );
    const { approval, decided_by, decided_at, reason } = action;
    if (decided_by === null || decided_at === null) return earlier;
    if (approval !== 'rejected' && earlier.length === 0) return [];
    return [...earlier, decided(approval, decided_by, decided_at, reason)];
  });
}

const empty = {
  kind: undefined,
  about: undefined,
  source: undefined,
  subject: undefined,
  predicate: undefined,
  valid_from: undefined,
  valid_to: undefined,
  confidence: undefined,
  key: undefined,
  session: undefined,
  seq: undefined,
  speaker: undefined,
  at: undefined,
  steps: undefined,
} as const;
