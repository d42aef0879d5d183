import type { OutcomeRecord, PlanRecord } from '#kit/contracts/context/execution.ts';
import type { RelationKind } from '#kit/contracts/context/vocabulary.ts';
import type { GraphRecord } from '../record/graph-record.ts';
import { nodeId } from '../record/node-id.ts';
import { indexText } from '../search/text-index.ts';

/** Writes the nodes and edges of a run: all of them from what was reported last, so that writing twice changes nothing. */
export function putRunGraph(record: GraphRecord, plan: PlanRecord, outcome: OutcomeRecord | null): void {
  const run = putEntities(record, plan, outcome);
  putArtifacts(record, run, plan, outcome);
  touchFiles(record, run, plan);
  const reasoning = putReasoning(record, plan, outcome);
  for (const entity of [nodeId.repository(plan.repository), nodeId.issue(plan.repository, issueKey(plan))])
    relate(record, record.nodeOf(entity)!, 'has_run', reasoning, plan.created_at);
}

/** What names the issue of a plan in its repository; a task is named by its run. */
export function issueKey({ run_id, issue }: Pick<PlanRecord, 'run_id' | 'issue'>): number | string {
  return issue.number ?? run_id;
}

function putEntities(record: GraphRecord, plan: PlanRecord, outcome: OutcomeRecord | null): number {
  const { repository: name, issue: facts, created_at } = plan;
  const repository = repositoryNode(record, name, created_at);
  const place = facts.number === null ? shortName(name) : `${shortName(name)}#${facts.number}`;
  const issueTitle = `${place} ${facts.title}`;
  const issue = putIssue(record, plan, issueTitle);
  const status = outcome?.status ?? plan.status;
  const title = plan.title ?? `planning of ${issueTitle}`;
  const run = record.putNode({
    id: nodeId.run(plan.run_id),
    label: 'CoreEntity',
    kind: 'run',
    title,
    repository: name,
    properties: {
      run_id: plan.run_id,
      agent: plan.role,
      status,
      recovery_branch: plan.recovery_branch,
      base_commit: plan.base_commit,
      issue_number: facts.number,
    },
    valid_from: created_at,
  });
  indexText(record, run, { title, path: null, body: outcome?.summary ?? plan.summary });

  const agent = record.putNode({
    id: nodeId.agent(plan.role),
    label: 'CoreEntity',
    kind: 'agent',
    title: plan.role,
    valid_from: created_at,
  });
  relate(record, repository, 'has_issue', issue, created_at);
  relate(record, issue, 'has_run', run, created_at);
  relate(record, agent, 'has_run', run, created_at);
  return run;
}

/** The issue and its task as the newest of their plans read them; an older run that is reported again turns nothing back. */
function putIssue(record: GraphRecord, plan: PlanRecord, title: string): number {
  const { repository, issue: facts, created_at, planned_at } = plan;
  const id = nodeId.issue(repository, issueKey(plan));
  const known = record.nodeOf(id);
  if (known !== null && readAt(record, known) > Date.parse(planned_at)) return known;
  const { number, state, author, association, url } = facts;
  const issue = record.putNode({
    id,
    label: 'CoreEntity',
    kind: 'issue',
    title,
    repository,
    properties: { number, state, author, association, url, read_at: planned_at },
    valid_from: created_at,
  });
  indexText(record, issue, { title, path: null, body: facts.body });
  record.putNode({
    id: nodeId.task(repository, issueKey(plan)),
    label: 'Task',
    kind: 'task',
    title: facts.title,
    repository,
    properties: { ...nameParts(repository), number, title: facts.title, url },
    valid_from: created_at,
  });
  return issue;
}

/** When the issue was read, in milliseconds; 0 where that was not noted. */
function readAt(record: GraphRecord, issue: number): number {
  const row = record.prepare("SELECT properties ->> '$.read_at' AS read_at FROM nodes WHERE node = ?");
  const { read_at } = row.get(issue) as { read_at: string | null };
  return read_at === null ? 0 : Date.parse(read_at);
}

/** A repository that nobody ingested is known by its name alone. */
function repositoryNode(record: GraphRecord, name: string, valid_from: string): number {
  const id = nodeId.repository(name);
  const known = record.nodeOf(id);
  if (known !== null) return known;
  const node = record.putNode({
    id,
    label: 'CoreEntity',
    kind: 'repository',
    title: name,
    repository: name,
    valid_from,
  });
  indexText(record, node, { title: name, path: null, body: '' });
  return node;
}

function putArtifacts(
  record: GraphRecord,
  run: number,
  plan: PlanRecord,
  outcome: OutcomeRecord | null,
): void {
  for (const { sha256, title } of [...plan.artifacts, ...(outcome?.artifacts ?? [])]) {
    const artifact = record.putNode({
      id: nodeId.artifact(sha256),
      label: 'CoreEntity',
      kind: 'artifact',
      title,
      repository: plan.repository,
      properties: { sha256 },
      valid_from: plan.planned_at,
    });
    relate(record, run, 'has_artifact', artifact, plan.planned_at);
  }
}

function touchFiles(record: GraphRecord, run: number, { repository, files, planned_at }: PlanRecord): void {
  for (const path of files) {
    const file = record.nodeOf(nodeId.file(repository, path));
    if (file !== null) relate(record, run, 'touches', file, planned_at);
  }
}

function putReasoning(record: GraphRecord, plan: PlanRecord, outcome: OutcomeRecord | null): number {
  const { run_id, repository, planned_at } = plan;
  const usage = outcome?.usage ?? null;
  const reasoning = record.putNode({
    id: nodeId.reasoning(run_id),
    label: 'ReasoningRun',
    kind: 'reasoning_run',
    title: plan.title ?? run_id,
    repository,
    properties: {
      run_id,
      agent: plan.role,
      status: outcome?.status ?? plan.status,
      summary: outcome?.summary ?? plan.summary,
      planner: plan.planner,
      model_provider: usage?.provider ?? plan.model?.provider ?? null,
      model: usage?.model ?? plan.model?.model ?? null,
      model_tier: usage?.tier ?? plan.model?.tier ?? null,
      recovery_branch: plan.recovery_branch,
      dry_run: plan.dry_run,
      ...outcomeProperties(outcome),
    },
    valid_from: plan.created_at,
  });
  const task = record.nodeOf(nodeId.task(repository, issueKey(plan)))!;
  record.putEdge({ from: reasoning, to: task, type: 'PLANS_FOR', valid_from: planned_at });
  putActions(record, reasoning, plan, outcome);
  return reasoning;
}

function outcomeProperties(outcome: OutcomeRecord | null): Record<string, string | number | boolean | null> {
  if (outcome === null) return {};
  const { validation, pull_request, usage, errors } = outcome;
  return {
    ended_at: outcome.summary === null ? null : outcome.at,
    validation_passed: validation?.passed ?? null,
    pull_request: pull_request?.number ?? null,
    pull_request_url: pull_request?.url ?? null,
    pull_request_state: pull_request?.state ?? null,
    checks: pull_request?.checks ?? null,
    input_tokens: usage?.input_tokens ?? 0,
    output_tokens: usage?.output_tokens ?? 0,
    cost: usage === null ? 0 : usage.cost,
    error: errors[0] === undefined ? null : `${errors[0].code}: ${errors[0].message}`,
  };
}

function putActions(
  record: GraphRecord,
  reasoning: number,
  plan: PlanRecord,
  outcome: OutcomeRecord | null,
): void {
  const actions = plan.actions.toSorted((a, b) => a.ordinal - b.ordinal);
  const ids = actions.map(({ action_id }) => nodeId.action(plan.run_id, action_id));
  dropOthers(record, reasoning, ids);
  let previous: number | null = null;
  for (const action of actions) {
    const { action_id, ordinal, kind, gate, title, risk, risk_score, dry_run, digest } = action;
    const now = outcome?.actions.find((candidate) => candidate.action_id === action_id);
    const node = record.putNode({
      id: nodeId.action(plan.run_id, action_id),
      label: 'Action',
      kind,
      title,
      repository: plan.repository,
      properties: {
        action_id,
        run_id: plan.run_id,
        kind,
        gate,
        risk,
        risk_score,
        approval: now?.approval ?? 'required',
        decided_by: now?.decided_by ?? null,
        reason: now?.reason ?? null,
        dry_run,
        ordinal,
        title,
        digest,
        state: now?.state ?? 'pending',
        outcome: now?.message ?? null,
        outcome_code: now?.code ?? null,
      },
      valid_from: plan.planned_at,
    });
    const valid_from = plan.planned_at;
    record.putEdge({ from: reasoning, to: node, type: 'PROPOSES', ordinal, valid_from });
    if (previous !== null) record.putEdge({ from: previous, to: node, type: 'NEXT_ACTION', valid_from });
    previous = node;
  }
}

function relate(record: GraphRecord, from: number, kind: RelationKind, to: number, valid_from: string): void {
  record.putEdge({ from, to, type: 'CORE_RELATION', kind, valid_from });
}

function nameParts(repository: string): { forge: string; owner: string; repo: string } {
  const parts = repository.split('/');
  return { forge: parts.at(-3) ?? '', owner: parts.at(-2) ?? '', repo: parts.at(-1)! };
}

function shortName(repository: string): string {
  return repository.split('/').slice(-2).join('/');
}

/** Removes the actions of an earlier plan of the run where this one proposes others, or in another order. */
function dropOthers(record: GraphRecord, reasoning: number, ids: readonly string[]): void {
  const proposed = record
    .prepare(
      `SELECT t.node, t.id FROM edges e JOIN nodes t ON t.node = e.to_node
       WHERE e.from_node = ? AND e.type = 'PROPOSES' ORDER BY e.ordinal`,
    )
    .all(reasoning) as { node: number; id: string }[];
  if (proposed.map(({ id }) => id).join('\n') === ids.join('\n')) return;
  for (const { node } of proposed) record.deleteNode(node);
}
