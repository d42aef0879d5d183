import { posix } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { ActionScore, CaseOutcome, ScoreRequest } from '#kit/contracts/context/execution.ts';

/**
 * The runs of core-agentd as they were reported last, how each of their actions ended, and which memories were made of them: one
 * that was forgotten since does not come back when its run is reported again.
 */
export const executionTables = `
  CREATE TABLE executions (
    run_id TEXT PRIMARY KEY,
    plan TEXT,
    plan_seq INTEGER NOT NULL DEFAULT -1,
    outcome TEXT,
    outcome_seq INTEGER NOT NULL DEFAULT -1
  ) STRICT;

  CREATE TABLE run_memories (
    run_id TEXT NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY (run_id, key)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE action_cases (
    run_id TEXT NOT NULL,
    action_id TEXT NOT NULL,
    repository TEXT NOT NULL,
    role TEXT NOT NULL,
    kind TEXT NOT NULL,
    areas TEXT NOT NULL,
    outcome TEXT NOT NULL,
    went_well INTEGER NOT NULL,
    at TEXT NOT NULL,
    reason TEXT,
    PRIMARY KEY (run_id, action_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX action_cases_here ON action_cases (kind, repository, at);
  CREATE INDEX action_cases_anywhere ON action_cases (kind, at);
`;

export const executionQueries = { scorePaths, runMemories } as const;

/** Keys of the memories that were made of a run, forgotten ones too. */
function runMemories(db: DatabaseSync, runId: string): string[] {
  const rows = db.prepare('SELECT key FROM run_memories WHERE run_id = ?').all(runId);
  return rows.map(({ key }) => String(key));
}

/**
 * How well actions like these went. The score is the mean of a Beta distribution: `(priorCases · expected + Σ weight · went well)
 * / (priorCases + Σ weight)`, so that one case moves it a little and ten cases move it far. `expected` is fixed: a prior that is
 * learnt from the same decisions would count each of them twice.
 */
const priorCases = 3;
const expected = 2 / 3;

/** How much a case of another repository, role or place counts beside one of the same. */
const weights = { otherRepository: 0.25, otherRole: 0.75, otherArea: 0.5 };

/** How many of the newest of the kind are looked at, in this repository and in others. */
const newest = { here: 300, elsewhere: 100 };
const shownCases = 5;

interface CaseRow {
  readonly run_id: string;
  readonly action_id: string;
  readonly repository: string;
  readonly role: string;
  readonly areas: string;
  readonly outcome: CaseOutcome;
  readonly went_well: number;
  readonly at: string;
  readonly reason: string | null;
}

function scorePaths(db: DatabaseSync, { repository, role, actions }: ScoreRequest): ActionScore[] {
  const columns = 'run_id, action_id, repository, role, areas, outcome, went_well, at, reason';
  const here = db.prepare(
    `SELECT ${columns} FROM action_cases WHERE kind = ? AND repository = ? ORDER BY at DESC LIMIT ?`,
  );
  const elsewhere = db.prepare(
    `SELECT ${columns} FROM action_cases INDEXED BY action_cases_anywhere
     WHERE kind = ? AND repository <> ? ORDER BY at DESC LIMIT ?`,
  );
  return actions.map(({ kind, files }) => {
    const rows = [
      ...here.all(kind, repository, newest.here),
      ...elsewhere.all(kind, repository, newest.elsewhere),
    ] as unknown as CaseRow[];
    const areas = areasOf(files);
    const weighted = rows.map((row) => ({ row, weight: weightOf(row, { repository, role, areas }) }));
    const total = weighted.reduce((sum, { weight }) => sum + weight, 0);
    const well = weighted.reduce((sum, { row, weight }) => sum + weight * row.went_well, 0);
    return {
      kind,
      score: rounded((priorCases * expected + well) / (priorCases + total)),
      expected: rounded(expected),
      counts: countsOf(rows),
      cases: weighted
        .toSorted((a, b) => b.weight - a.weight || (a.row.at < b.row.at ? 1 : -1))
        .slice(0, shownCases)
        .map(({ row: { run_id, action_id, repository, outcome, at, reason } }) => ({
          run_id,
          action_id,
          repository,
          outcome,
          at,
          reason,
        }))
        .toSorted((a, b) => (a.at < b.at ? 1 : -1)),
    };
  });
}

function weightOf(
  row: CaseRow,
  like: { readonly repository: string; readonly role: string; readonly areas: readonly string[] },
): number {
  const repository = row.repository === like.repository ? 1 : weights.otherRepository;
  const role = row.role === like.role ? 1 : weights.otherRole;
  const overlap = areaOverlap(JSON.parse(row.areas) as string[], like.areas);
  return repository * role * (weights.otherArea + (1 - weights.otherArea) * overlap);
}

function countsOf(rows: readonly CaseRow[]): ActionScore['counts'] {
  const counts = { succeeded: 0, merged: 0, rejected: 0, failed: 0, undone: 0, closed: 0 };
  for (const { outcome } of rows) counts[outcome]++;
  return counts;
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}

/** Where a change works: the upper folders and kinds of its files, for example `src/http *.ts`. Sorted, each once. */
export function areasOf(files: readonly string[]): string[] {
  const areas = files.map((file) => {
    const folders = posix.dirname(file).split('/').slice(0, 2).join('/');
    const extension = posix.extname(file);
    return `${folders} ${extension === '' ? posix.basename(file) : `*${extension}`}`;
  });
  return [...new Set(areas)].sort();
}

/** 0 to 1: how much of the smaller one lies in the other; 1 where one of them is nowhere. */
export function areaOverlap(one: readonly string[], other: readonly string[]): number {
  if (one.length === 0 || other.length === 0) return 1;
  const known = new Set(other);
  return one.filter((area) => known.has(area)).length / Math.min(one.length, other.length);
}
