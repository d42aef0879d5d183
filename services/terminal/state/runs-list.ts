import type { RunSummary } from '#kit/contracts/run.ts';
import { risks } from '#kit/contracts/vocabulary.ts';
import { subjectOf } from '#kit/repository-name.ts';
import type { RunsList, Sorting } from './state.ts';

/** The list with these runs in it, new or changed. */
export function withRuns(list: RunsList, runs: readonly RunSummary[]): RunsList {
  if (runs.length === 0) return list;
  const known = new Map(list.known);
  for (const run of runs) known.set(run.run_id, run);
  return arranged({ ...list, known });
}

/** Rebuilds the rows after what is known, the filter or the sorting has changed; the selection stays where it is. */
export function arranged(list: RunsList): RunsList {
  const words = list.filter.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = [...list.known.values()].filter(
    (run) =>
      (list.statuses.size === 0 || list.statuses.has(run.status)) &&
      (list.inbox?.has(run.run_id) ?? true) &&
      matches(run, words),
  );
  rows.sort(comparisons[list.sorting]);
  const { selected } = list;
  const stays = selected !== null && rows.some(({ run_id }) => run_id === selected);
  return { ...list, rows, selected: stays ? selected : (rows[0]?.run_id ?? null) };
}

/** The selection moved, kept on the screen of `height` rows. */
export function moved(list: RunsList, by: number, height: number): RunsList {
  const at = Math.max(0, Math.min(list.rows.length - 1, selectedIndex(list) + by));
  const run = list.rows[at];
  return run === undefined ? list : kept({ ...list, selected: run.run_id }, height);
}

export function kept(list: RunsList, height: number): RunsList {
  const at = selectedIndex(list);
  const most = Math.max(0, list.rows.length - height);
  const top = Math.max(0, Math.min(list.top, at, most), Math.min(at - height + 1, most));
  return top === list.top ? list : { ...list, top };
}

export function selectedIndex({ rows, selected }: RunsList): number {
  return Math.max(
    0,
    rows.findIndex(({ run_id }) => run_id === selected),
  );
}

function matches(run: RunSummary, words: readonly string[]): boolean {
  if (words.length === 0) return true;
  const text = `${subjectOf(run)} ${run.title ?? ''} ${run.status} ${run.run_id} ${run.forge}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

const newest = (a: RunSummary, b: RunSummary): number =>
  a.run_id < b.run_id ? 1 : a.run_id > b.run_id ? -1 : 0;

const comparisons: Readonly<Record<Sorting, (a: RunSummary, b: RunSummary) => number>> = {
  newest,
  changed: (a, b) => b.updated_at.localeCompare(a.updated_at, 'en') || newest(a, b),
  risk: (a, b) => riskOf(b) - riskOf(a) || newest(a, b),
  waiting: (a, b) => b.waiting - a.waiting || newest(a, b),
  repository: (a, b) => `${a.owner}/${a.repo}`.localeCompare(`${b.owner}/${b.repo}`, 'en') || newest(a, b),
};

function riskOf({ highest_risk }: RunSummary): number {
  return (risks as readonly (string | null)[]).indexOf(highest_risk);
}
