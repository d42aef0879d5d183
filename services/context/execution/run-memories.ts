import type { OutcomeRecord, PlanRecord } from '#kit/contracts/context/execution.ts';
import type { RecordRequest } from '#kit/contracts/context/memory.ts';
import { sha256 } from '#kit/digest.ts';
import { nodeId } from '../record/node-id.ts';
import { decisionFacts } from './decisions.ts';

/** Its key names it among the memories of its run. */
export type RunMemoryRequest = RecordRequest & { readonly key: string };

/**
 * What a run teaches: each thing that happened is an episode of the session that the run is, its end is summed up there, and
 * why people rejected what it proposed is a fact, one for each decision. Each has a key, so that telling it again changes nothing.
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

/** Beyond every event of a run: an episode and a summary must not want the same place. */
const summariesFrom = 1_000_000_000;

/** One for each way in which the run was summed up: the last may come long after the first, when its pull request is merged. */
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

function decisionsOf(plan: PlanRecord, outcome: OutcomeRecord): RunMemoryRequest[] {
  const { run_id, repository } = plan;
  const about = [
    nodeId.issue(repository, plan.issue.number),
    nodeId.run(run_id),
    nodeId.repository(repository),
  ];
  return decisionFacts(plan, outcome).map(({ key, kind, content, source, actions, at }) => ({
    ...empty,
    layer: 'semantic',
    kind,
    content,
    about,
    source,
    subject: actions.length === 1 ? nodeId.action(run_id, actions[0]!) : nodeId.run(run_id),
    predicate: actions.length === 1 ? 'decision' : `decision on ${actions.join(', ')}`,
    valid_from: at,
    key: `${run_id}/decision/${key}`,
  }));
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
