import type { Sql } from '#kit/database/database.ts';
import { postgresText } from '#kit/database/postgres-text.ts';
import { indexRow } from '../index/row-reader.ts';
import {
  type IndexRow,
  type RowDialect,
  type RowFilter,
  rowColumns,
  rowConditions,
} from '../index/run-index.ts';
import { checkQuery, encodeCursor, fits } from '../index/run-list.ts';
import { isActive, type Run, type RunSummary } from '../run.ts';
import type { RunPage, RunQuery } from '../run-store.ts';
import { type Holder, holderColumns, lives, withHolder } from './stored-runs.ts';

/** Of `runs`, beside `run_id` and the head; as `valuesOf` gives them. */
export const summaryColumns = [...rowColumns.filter((name) => name !== 'run_id'), 'words'] as const;

type SummaryColumn = (typeof summaryColumns)[number];

export function valuesOf(run: Run, size: number, columns?: readonly SummaryColumn[]): readonly unknown[] {
  return valuesOfRow(indexRow(run, size), columns);
}

export function valuesOfRow(
  row: IndexRow,
  columns: readonly SummaryColumn[] = summaryColumns,
): readonly unknown[] {
  const { title, owner, repo, number } = row;
  const words = `${title ?? ''} ${owner}/${repo}${number === null ? '' : `#${number}`}`.toLowerCase();
  return columns.map((name) => {
    const value = name === 'words' ? words : row[name];
    return typeof value === 'string' ? postgresText(value) : value;
  });
}

const dialect: RowDialect = {
  holdsWord: 'position(? in words) > 0',
  askedBy: 'position(? in asked_by) > 0',
  decidedBy: 'position(? in decided_by) > 0',
  among: 'runs.run_id IN (SELECT json_array_elements_text(?::json))',
};

const shown = summaryColumns.filter((name) => !['size', 'asked_by', 'decided_by', 'words'].includes(name));

/** Newest first. Nothing is stale: a row changes with its events. */
export async function listRows(sql: Sql, query: RunQuery): Promise<RunPage> {
  const { limit, filter, before } = checkQuery(query);
  const runs: RunSummary[] = [];
  let last = before;
  while (runs.length <= limit) {
    const rows = await pageOf(sql, filter, last, limit + 1);
    for (const { boot_id, pid_namespace, pid, process_started, host, ...row } of rows) {
      const alive = !isActive(row.status) || lives({ boot_id, pid_namespace, pid, process_started, host });
      const run: RunSummary = alive ? row : { ...row, status: 'interrupted' };
      if (fits(run, query)) runs.push(run);
    }
    if (rows.length <= limit) break;
    last = rows.at(-1)!.run_id;
  }
  const page = runs.slice(0, limit);
  return {
    runs: page,
    next_cursor: runs.length > limit ? encodeCursor(page.at(-1)!.run_id) : null,
    problems: [],
  };
}

function pageOf(
  sql: Sql,
  filter: RowFilter,
  before: string | null,
  limit: number,
): Promise<(RunSummary & Holder)[]> {
  const { conditions, values } = rowConditions(filter, before, dialect);
  const text = `SELECT runs.run_id, ${shown.map((name) => `runs.${name}`).join(', ')}, ${holderColumns}
    FROM runs ${withHolder} WHERE ${conditions.join(' AND ')} ORDER BY runs.run_id DESC LIMIT ?`;
  let given = 0;
  return sql.query(
    text.replaceAll('?', () => `$${++given}`),
    [...values, limit],
  );
}
