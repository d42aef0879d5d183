import { smokeForge } from '#kit/config/smoke-forge.ts';
import { risks } from '#kit/contracts/vocabulary.ts';
import { places, type Sql } from '#kit/database/database.ts';
import { sha256 } from '#kit/digest.ts';
import { InvalidInput } from '#kit/errors.ts';
import { isRunId } from '../log/run-folder.ts';
import type { Tombstone } from '../log/tombstone.ts';
import {
  isActive,
  isFailedPlanning,
  type Run,
  type RunStatus,
  type RunSummary,
  runStatuses,
  summaryOf,
} from '../run.ts';
import type { RunPage, RunQuery } from '../run-store.ts';
import { type Holder, holderColumns, lives, withHolder } from './holder.ts';

/** Columns of `runs` that never change. */
const fixedColumns = ['forge', 'owner', 'repo', 'number', 'role', 'created_at'] as const;
/** Columns of `runs`, besides the head, that later events of a run change. */
export const changingColumns = [
  'size',
  'status',
  'title',
  'updated_at',
  'highest_risk',
  'waiting',
  'waits_for',
  'actions',
  'asked_by',
  'decided_by',
] as const;
/** Columns of `runs`, besides `run_id` and the head, in the order of `valuesOf`. */
export const summaryColumns = [...fixedColumns, ...changingColumns, 'words'] as const;
type SummaryColumn = (typeof summaryColumns)[number];
const shownColumns = summaryColumns.filter(
  (name) => !['size', 'asked_by', 'decided_by', 'words'].includes(name),
);

/** Row of a run in lists. `size` is the number of bytes in its lines; -1 for a pruned run. */
interface Row extends Omit<RunSummary, 'status'> {
  readonly size: number;
  /** Never `interrupted`; `pruned` if only a tombstone is left. */
  readonly status: RunStatus | 'pruned';
  /** Names between line feeds, as `namesText` writes them. */
  readonly asked_by: string;
  readonly decided_by: string;
}

/** @param columns default `summaryColumns` */
export function valuesOf(run: Run, size: number, columns?: readonly SummaryColumn[]): readonly unknown[] {
  return rowValues({ ...summaryOf(run), status: run.status, size, ...peopleOf(run) }, columns);
}

/** Values of `summaryColumns` for a pruned run. */
export function prunedValues({
  run_id,
  forge,
  owner,
  repo,
  number,
  pruned_at,
}: Tombstone): readonly unknown[] {
  return rowValues({
    ...{ run_id, forge, owner, repo, number, size: -1, status: 'pruned', title: null, role: '' },
    ...{ created_at: pruned_at, updated_at: pruned_at, highest_risk: null, waiting: 0, waits_for: null },
    ...{ actions: 0, asked_by: '', decided_by: '' },
  });
}

function rowValues(row: Row, columns: readonly SummaryColumn[] = summaryColumns): readonly unknown[] {
  const { title, owner, repo, number } = row;
  const words = `${title ?? ''} ${owner}/${repo}${number === null ? '' : `#${number}`}`.toLowerCase();
  return columns.map((name) => (name === 'words' ? words : row[name]));
}

/** Puts line feeds around each name, so that a search matches whole names. */
function namesText(names: readonly string[]): string {
  return `\n${[...new Set(names.map((name) => name.replaceAll('\n', ' ').toLowerCase()))].join('\n')}\n`;
}

function peopleOf({ request, plan, actions }: Run): Pick<Row, 'asked_by' | 'decided_by'> {
  const { requested_by, trigger } = request;
  const asked = [requested_by, trigger?.actor ?? requested_by, ...(plan?.approval_terms?.requesters ?? [])];
  const decided = actions.flatMap(({ decisions }) =>
    decisions
      .filter(({ standing }) => standing === undefined)
      .flatMap(({ approver, person }) => [approver, person?.name ?? approver]),
  );
  return { asked_by: namesText(asked), decided_by: namesText(decided) };
}

/** Digest of the request's idempotency key; null without a key. Also null if a newer run has the key, which a repeated request gets. */
export async function keyDigestOf(sql: Sql, { run_id, request }: Run): Promise<string | null> {
  if (request.idempotency_key == null) return null;
  const digest = sha256(request.idempotency_key);
  const others = await sql.query('SELECT 1 AS other FROM runs WHERE key_digest = $1 AND run_id <> $2', [
    digest,
    run_id,
  ]);
  return others.length > 0 ? null : digest;
}

/**
 * One page, newest first.
 * @throws InvalidInput (`invalid_limit`, `invalid_status`, `invalid_cursor`)
 */
export async function listRows(sql: Sql, query: RunQuery): Promise<RunPage> {
  const { limit } = checkQuery(query);
  const runs: RunSummary[] = [];
  let before = query.cursor === undefined ? null : decodeCursor(query.cursor);
  while (runs.length <= limit) {
    const rows = await rowsBefore(sql, query, before, limit + 1);
    for (const { boot_id, pid_namespace, pid, process_started, host, ...row } of rows) {
      const alive = !isActive(row.status) || lives({ boot_id, pid_namespace, pid, process_started, host });
      const run: RunSummary = alive ? row : { ...row, status: 'interrupted' };
      if (fits(run, query)) runs.push(run);
    }
    if (rows.length <= limit) break;
    before = rows.at(-1)!.run_id;
  }
  const page = runs.slice(0, limit);
  const next_cursor = runs.length > limit ? encodeCursor(page.at(-1)!.run_id) : null;
  return { runs: page, next_cursor, problems: [] };
}

function checkQuery({ limit, status }: RunQuery): { readonly limit: number } {
  if (!Number.isInteger(limit) || limit < 1 || limit > 100) {
    throw new InvalidInput('invalid_limit', `limit is ${limit}: must be an integer from 1 to 100`);
  }
  if (status !== undefined && !runStatuses.includes(status)) {
    throw new InvalidInput(
      'invalid_status',
      `status is '${status}': must be one of ${runStatuses.join(', ')}`,
    );
  }
  return { limit };
}

/** Checks the status again, because it depends on the holder of the run's lease. */
function fits(run: RunSummary, { status, without_failed_plannings }: RunQuery): boolean {
  if (without_failed_plannings === true && isFailedPlanning(run)) return false;
  return status === undefined || run.status === status;
}

function rowsBefore(
  sql: Sql,
  query: RunQuery,
  before: string | null,
  limit: number,
): Promise<(RunSummary & Holder)[]> {
  const { text, values } = conditionsOf(sql, query, before);
  return sql.query(
    `SELECT runs.run_id, ${shownColumns.map((name) => `runs.${name}`).join(', ')}, ${holderColumns}
     FROM runs ${withHolder} WHERE ${text} ORDER BY runs.run_id DESC LIMIT $${values.length + 1}`,
    [...values, limit],
  );
}

/** The condition of a query, for runs older than `before`, and its values. */
function conditionsOf({ engine }: Sql, query: RunQuery, before: string | null) {
  const conditions = ["runs.status <> 'pruned'"];
  const values: (string | number)[] = [];
  const where = (condition: (value: string) => string, ...given: (string | number)[]): void => {
    conditions.push(condition(places(given, values.length + 1)));
    values.push(...given);
  };
  // Both functions compare bytes.
  const holds = (column: string) => (value: string) =>
    engine === 'postgres' ? `position(${value} in ${column}) > 0` : `instr(${column}, ${value}) > 0`;
  if (before !== null) where((value) => `runs.run_id < ${value}`, before);
  if (query.status !== undefined)
    where((given) => `runs.status IN (${given})`, ...storedStatuses(query.status));
  // Runs of smoke tests are listed only with their forge as a filter.
  if (query.forge === undefined) where((value) => `runs.forge <> ${value}`, smokeForge.name);
  for (const name of ['forge', 'owner', 'repo', 'number'] as const) {
    const wanted = query[name];
    if (wanted !== undefined) where((value) => `runs.${name} = ${value}`, wanted);
  }
  for (const word of (query.text ?? '').toLowerCase().split(/\s+/))
    if (word !== '') where(holds('runs.words'), word);
  if (query.since !== undefined) where((value) => `runs.created_at >= ${value}`, query.since);
  if (query.until !== undefined) where((value) => `runs.created_at < ${value}`, query.until);
  if (query.risk !== undefined)
    where((given) => `runs.highest_risk IN (${given})`, ...risks.slice(risks.indexOf(query.risk)));
  if (query.asker !== undefined) where(holds('runs.asked_by'), namesText([query.asker]));
  if (query.decider !== undefined) where(holds('runs.decided_by'), namesText([query.decider]));
  if (query.among !== undefined)
    where(
      (value) =>
        engine === 'postgres'
          ? `runs.run_id IN (SELECT json_array_elements_text(CAST(${value} AS json)))`
          : `runs.run_id IN (SELECT value FROM json_each(${value}))`,
      JSON.stringify(query.among),
    );
  if (query.without_failed_plannings === true)
    conditions.push("NOT (runs.status IN ('failed', 'cancelled') AND runs.actions = 0)");
  return { text: conditions.join(' AND '), values };
}

/** Statuses in rows of runs that are shown with this status. */
function storedStatuses(status: RunStatus): readonly RunStatus[] {
  return status === 'interrupted' ? runStatuses.filter(isActive) : [status];
}

function encodeCursor(runId: string): string {
  return Buffer.from(runId).toString('base64url');
}

function decodeCursor(cursor: string): string {
  const runId = Buffer.from(cursor, 'base64url').toString();
  if (isRunId(runId)) return runId;
  throw new InvalidInput(
    'invalid_cursor',
    `cursor '${cursor.slice(0, 80)}' is unknown; leave it out to start with the newest`,
  );
}

/** Maximum number of names in a statement. PostgreSQL takes at most 65,535 values, SQLite 32,766. */
const maxNames = 5_000;

/** True for each pruned run, by id. Leaves out runs that the database does not have. */
export async function whichArePruned(
  sql: Sql,
  runIds: readonly string[],
): Promise<ReadonlyMap<string, boolean>> {
  const there = new Map<string, boolean>();
  for (let start = 0; start < runIds.length; start += maxNames) {
    const some = runIds.slice(start, start + maxNames);
    const rows = await sql.query<{ run_id: string; tombstone: string | null }>(
      `SELECT run_id, tombstone FROM runs WHERE run_id IN (${places(some)})`,
      some,
    );
    for (const { run_id, tombstone } of rows) there.set(run_id, tombstone !== null);
  }
  return there;
}
