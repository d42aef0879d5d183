import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { signedBy } from '#kit/contracts/action.ts';
import { issueAuthorText, patchAuthorText } from '#kit/contracts/patch-author.ts';
import { replaceFile, syncFolder } from '#kit/durable-file.ts';
import { codeOf } from '#kit/errors.ts';
import { subjectOf } from '#kit/repository-name.ts';
import { risks } from '../../action.ts';
import type { RunEvent } from '../event.ts';
import { readArtifact } from '../log/artifacts.ts';
import { fold } from '../log/fold.ts';
import { type ActionState, type Run, summaryOf } from '../run.ts';
import { recoveryManifest } from './recovery-manifest.ts';
import { traceOf } from './trace.ts';

/** JSON views; each says with `as_of_seq` up to which event it is folded. */
export const jsonViews = [
  'request.json',
  'session.json',
  'actions.json',
  'branch-recovery.json',
  'eval.json',
  'summary.json',
  'validation/index.json',
] as const;

/**
 * Rewrites the views of a run folder, each atomically. They are for people and other programs; Core never reads them back, and
 * they can be deleted at any time.
 */
export function writeViews(runId: string, folder: string, events: readonly RunEvent[]): void {
  const run = fold(runId, events);
  const views = new Map<string, string | Uint8Array>();
  for (const [name, digest] of validationCopies(run)) {
    const content = artifactIfThere(folder, digest);
    if (content !== null) views.set(`validation/${name}`, content);
  }
  for (const [name, content] of viewsOf(run, events)) views.set(name, content);
  for (const [name, content] of views) {
    const path = join(folder, name);
    if (!existsSync(dirname(path))) {
      mkdirSync(dirname(path), { mode: 0o700 });
      syncFolder(folder);
    }
    replaceFile(path, content);
  }
  for (const changed of new Set([...views.keys()].map((name) => dirname(join(folder, name)))))
    syncFolder(changed);
  removeOthers(join(folder, 'validation'), (name) => views.has(`validation/${name}`));
}

/** The text of every view that is made of events alone. `events` are those that `run` is folded from. */
export function viewsOf(run: Run, events: readonly RunEvent[]): Map<string, string> {
  const json: Record<Exclude<(typeof jsonViews)[number], 'validation/index.json'>, object> = {
    'request.json': { ...run.request, issue: run.issue, source: run.source },
    'session.json': sessionOf(run, events),
    'actions.json': { actions: run.actions.map(actionOf) },
    'branch-recovery.json': recoveryManifest(run),
    'eval.json': evaluationOf(run),
    'summary.json': {
      ...summaryOf(run),
      head: run.head,
      plan: run.plan?.title ?? null,
      failure: run.failure,
      pull_request: run.pull_request,
    },
  };
  const views = new Map<string, string>();
  const put = (name: string, value: object): void => {
    views.set(
      name,
      `${JSON.stringify({ as_of_seq: run.head.seq, run_id: run.run_id, ...value }, null, 2)}\n`,
    );
  };
  for (const [name, value] of Object.entries(json)) put(name, value);
  views.set('summary.md', summaryText(run));
  views.set(
    'trace.jsonl',
    traceOf(run, events)
      .map((span) => `${JSON.stringify(span)}\n`)
      .join(''),
  );
  const validation = validationOf(run);
  if (validation === null) return views;
  const { action, facts, report } = validation;
  put('validation/index.json', {
    action_id: action.definition.action_id,
    state: action.state,
    passed: facts.passed === true,
    report,
    logs: facts.logs ?? {},
  });
  return views;
}

/** Which artifacts are copied into `validation/`, by the name of the copy. */
export function validationCopies(run: Run): Map<string, string> {
  const validation = validationOf(run);
  const copies = new Map<string, string>();
  if (validation === null) return copies;
  copies.set('report.json', validation.report);
  for (const [name, digest] of Object.entries(validation.facts.logs ?? {})) {
    if (typeof digest === 'string') copies.set(`${fileNameOf(name)}.log`, digest);
  }
  return copies;
}

function validationOf(run: Run) {
  const action = run.actions.find(({ definition }) => definition.kind === 'run_validation');
  const facts = action?.outcome?.facts;
  if (action === undefined || facts === undefined || typeof facts.report !== 'string') return null;
  return { action, facts, report: facts.report };
}

function sessionOf(run: Run, events: readonly RunEvent[]): object {
  const ended = events.findLast(({ type }) => type === 'plan_sealed' || type === 'planning_failed');
  return {
    role: run.request.role,
    planner: run.request.planner,
    agent: run.agent,
    provider: run.usage?.provider ?? null,
    model: run.usage?.model ?? null,
    tier: run.usage?.tier ?? null,
    input_tokens: run.usage?.input_tokens ?? 0,
    output_tokens: run.usage?.output_tokens ?? 0,
    cached_tokens: run.usage?.cached_tokens ?? 0,
    cost: run.usage === null ? 0 : run.usage.cost,
    prompt: run.prompt,
    turns: run.turns,
    masked: run.masked,
    stop_reason: run.plan?.stop_reason ?? run.failure?.code ?? null,
    started_at: events.find(({ type }) => type === 'planning_started')?.at ?? null,
    ended_at: ended?.at ?? null,
  };
}

function actionOf({ definition, ...rest }: ActionState): object {
  return { ...definition, ...rest };
}

/** The plan's checks before execution, and afterwards what came of it. */
function evaluationOf(run: Run): object {
  const definitions = run.actions.map(({ definition }) => definition);
  const patch = definitions.find(({ kind }) => kind === 'apply_patch');
  const files = patch?.kind === 'apply_patch' ? patch.params.files : [];
  const sum = (side: 'added' | 'removed'): number =>
    files.reduce((total, file) => total + (file[side] ?? 0), 0);
  const levels = definitions.map(({ risk }) => risks.indexOf(risk));
  const validation = run.actions.find(({ definition }) => definition.kind === 'run_validation')?.outcome;
  return {
    checks: run.plan?.checks ?? [],
    size: { files: files.length, added: sum('added'), removed: sum('removed') },
    risk: {
      highest: levels.length === 0 ? null : risks[Math.max(...levels)],
      highest_score: Math.max(0, ...definitions.map(({ risk_score }) => risk_score)),
    },
    outcome: {
      status: run.status,
      states: Object.fromEntries(run.actions.map(({ definition, state }) => [definition.action_id, state])),
      validation_passed: typeof validation?.facts.passed === 'boolean' ? validation.facts.passed : null,
      pull_request: recoveryManifest(run).pull_request,
      pull_request_state: run.pull_request?.state ?? null,
      checks: run.pull_request?.checks ?? null,
    },
  };
}

/** What was removed is left out. */
function artifactIfThere(folder: string, digest: string): Uint8Array | null {
  try {
    return readArtifact(folder, digest);
  } catch (error) {
    if (['artifact_not_found', 'artifact_damaged', 'invalid_digest'].includes(codeOf(error))) return null;
    throw error;
  }
}

/** Names of commands may come from the repository: nothing of them may leave the folder. */
function fileNameOf(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, 80) || '_';
}

function removeOthers(folder: string, wanted: (name: string) => boolean): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) if (!wanted(name)) rmSync(join(folder, name), { recursive: true });
}

/** `summary.md`: the run on one page. */
export function summaryText(run: Run): string {
  const { role, number } = run.request;
  const { pull_request, commit, branch } = recoveryManifest(run);
  const authors = [run.issue && issueAuthorText(number, run.issue), patchAuthorText(run.plan)].filter(
    (text) => text !== null,
  );
  const facts: [string, string | null][] = [
    ['Status', run.status.replaceAll('_', ' ')],
    ['Authors', authors.length === 0 ? null : authors.join(', ')],
    ['Role', role],
    ['Base', run.source === null ? null : `${run.source.base_branch} at ${run.source.base_commit}`],
    ['Branch', branch],
    ['Commit', commit],
    [
      'Pull request',
      pull_request === null ? null : `#${pull_request.number} ${pull_request.url ?? ''}`.trim(),
    ],
    ['Failure', run.failure === null ? null : `${run.failure.message} (${run.failure.code})`],
  ];
  const lines = [
    `# ${subjectOf(run.request)} ${inline(run.issue?.title ?? '')}`.trimEnd(),
    '',
    ...facts.filter(([, value]) => value !== null).map(([name, value]) => `- ${name}: ${inline(value!)}`),
    '',
  ];
  if (run.actions.length > 0) {
    lines.push('| # | Action | Risk | Approval | State | Outcome |', '|---|---|---|---|---|---|');
    for (const { definition, approval, decision, state, outcome } of run.actions) {
      const by = decision === null ? approval : `${approval} by ${decision.approver}${signedBy(decision)}`;
      const cells = [
        `${definition.ordinal}`,
        `${definition.kind}: ${definition.title}`,
        `${definition.risk} ${definition.risk_score}`,
        by,
        state,
        outcome?.message ?? '',
      ];
      lines.push(`| ${cells.map(inline).join(' | ')} |`);
    }
    lines.push('');
  }
  lines.push(`${run.run_id}, as of event ${run.head.seq} (${run.head.hash}), ${run.updated_at}.`, '');
  return lines.join('\n');
}

/** Text from outside stays on its line and in its cell. */
function inline(text: string): string {
  return text.replace(/\s+/g, ' ').replaceAll('|', '\\|').replaceAll('<', '&lt;');
}
