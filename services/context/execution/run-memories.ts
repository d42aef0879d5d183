import type { OutcomeRecord, PlanRecord } from '#kit/contracts/context/execution.ts';
import type { RecordRequest } from '#kit/contracts/context/memory.ts';
import { sha256 } from '#kit/digest.ts';
import { nodeId } from '../record/node-id.ts';
import { issueKey } from './run-graph.ts';

/** Its key names it among the memories of its run. */
export type RunMemoryRequest = RecordRequest & { readonly key: string };

/**
 * What a run teaches: each thing that happened is an episode of the session that the run is, its end is summed up there, and
 * why people rejected what it proposed is a fact, one for each decision. Each has a key, so that recording it again changes nothing.
 */
export function memoriesOf(plan: PlanRecord, outcome: OutcomeRecord): RunMemoryRequest[] {
  return [...episodesOf(plan, outcome), ...summaryOf(plan, outcome), ...decisionsOf(plan, outcome)];
}

function episodesOf(plan: PlanRecord, { run_id, episodes }: OutcomeRecord): RunMemoryRequest[] {
  return episodes.map(({ seq, at, speaker, text }) => ({
    layer: 'episodic',
    kind: 'run_event',
    content: text,
    about: [nodeId.run(run_id), nodeId.issue(plan.repository, issueKey(plan))],
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
      layer: 'episodic',
      kind: 'summary',
      content: summary,
      about: [
        nodeId.run(run_id),
        nodeId.issue(plan.repository, issueKey(plan)),
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
  const about = [nodeId.issue(repository, issueKey(plan)), nodeId.run(run_id), nodeId.repository(repository)];
  return decisionFacts(plan, outcome).map(({ key, kind, content, source, actions, at }) => ({
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

type PlannedAction = PlanRecord['actions'][number];

/** What a person decided at one moment about some actions of a run, for one reason. */
interface Decision {
  readonly approval: string;
  readonly by: string;
  readonly at: string;
  readonly reason: string | null;
}

export interface DecisionFact {
  readonly kind: 'rejection' | 'decision';
  readonly content: string;
  /** Who decided. */
  readonly source: string;
  /** Ids of the actions that it is about, in their order: a newer fact about the same ones ends it. */
  readonly actions: readonly string[];
  readonly at: string;
  /** Names it among those of its run. */
  readonly key: string;
}

/** Each rejection with its actions; and where people decided otherwise later about some of them, what holds since. */
export function decisionFacts(plan: PlanRecord, outcome: OutcomeRecord): DecisionFact[] {
  const now = new Map<string, Decision>();
  const batches = new Map<string, { rejection: Decision; actions: PlannedAction[] }>();
  for (const planned of plan.actions.toSorted((a, b) => a.ordinal - b.ordinal)) {
    const action = outcome.actions.find(({ action_id }) => action_id === planned.action_id);
    if (action === undefined) continue;
    const { approval, decided_by: by, decided_at: at, reason } = action;
    const current = by === null || at === null ? null : { approval, by, at, reason };
    if (current !== null) now.set(planned.action_id, current);
    const earlier = action.earlier_rejections.map((one): Decision => ({ approval: 'rejected', ...one }));
    for (const rejection of current?.approval === 'rejected' ? [...earlier, current] : earlier) {
      const batch = batches.get(nameOf(rejection)) ?? { rejection, actions: [] };
      batch.actions.push(planned);
      batches.set(nameOf(rejection), batch);
    }
  }
  const facts = [...batches.values()].flatMap(({ rejection, actions }) => {
    const first = factOf(plan, actions, () => rejection);
    const latest = factOf(plan, actions, ({ action_id }) => now.get(action_id) ?? rejection);
    return [first, latest];
  });
  return [...new Map(facts.map((fact) => [fact.key, fact])).values()];
}

function factOf(
  plan: PlanRecord,
  actions: readonly PlannedAction[],
  decisionOn: (action: PlannedAction) => Decision,
): DecisionFact {
  const decisions = Map.groupBy(actions, (action) => nameOf(decisionOn(action)));
  const parts = [...decisions.values()]
    .map((some) => ({ some, decision: decisionOn(some[0]!) }))
    .toSorted((a, b) => (a.decision.at < b.decision.at ? -1 : 1));
  const newest = parts.at(-1)!.decision;
  const issue = `${plan.repository}#${issueKey(plan)}`;
  const sentences = parts.map(({ some, decision: { approval, by, reason } }) => {
    const what = some.map(({ kind, title }) => `${kind} (${title})`).join(', ');
    return `${by} ${approval} ${what} for ${issue}${reason === null ? '' : `: ${reason}`}`;
  });
  const content = sentences.join('; ');
  const ids = actions.map(({ action_id }) => action_id);
  return {
    kind: parts.some(({ decision }) => decision.approval === 'rejected') ? 'rejection' : 'decision',
    content,
    source: newest.by,
    actions: ids,
    at: newest.at,
    key: `${newest.at}/${sha256(JSON.stringify([ids, content])).slice(0, 12)}`,
  };
}

function nameOf({ approval, by, at, reason }: Decision): string {
  return JSON.stringify([approval, by, at, reason]);
}
