import { readdirSync, statSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { isRunId } from './run-folder.ts';
import type { IndexRow, Problem, RunIndex } from './run-index.ts';

/** What a run folder holds now: a row for the index, or why there is none. Null when the folder is gone. */
export type ReadRow = (runId: string) => IndexRow | Problem | null;

const batch = 100;

/** Folders of runs that are being made; see `createRunFolder`. */
export const unfinished = /^\.run_[0-9a-f-]{36}\.new$/;

/**
 * Brings the index up to the runs folder: new folders in, vanished ones out, among the problems what is no run, and runs whose
 * folder is gone though their head is kept.
 * Costs one stat while nothing was added or removed.
 * @param withHead runs that must be there, unless they were pruned
 * @param reader loads what reads event logs; only asked for when there is something to read
 */
export async function refreshFolder(
  index: RunIndex,
  runsDir: string,
  withHead: () => readonly string[],
  reader: () => Promise<ReadRow>,
): Promise<void> {
  const stamp = folderStamp(runsDir);
  if (stamp.text === index.reading(() => index.scannedFolder())) return;
  const { unread, gone, foreign } = compare(index, runsDir, withHead);
  if (gone.length > 0 || foreign.length > 0) {
    index.locked(() => {
      for (const name of gone) index.remove(name);
      for (const problem of foreign) index.putProblem(problem);
    });
  }
  await refreshRuns(index, unread, reader);
  if (stamp.settled) index.locked(() => index.setScannedFolder(stamp.text));
}

/** Reads these runs anew and gives back the rows of those that can be shown. */
export async function refreshRuns(
  index: RunIndex,
  runIds: readonly string[],
  reader: () => Promise<ReadRow>,
): Promise<Map<string, IndexRow>> {
  const rows = new Map<string, IndexRow>();
  if (runIds.length === 0) return rows;
  const readRow = await reader();
  for (let start = 0; start < runIds.length; start += batch) {
    if (start > 0) await setImmediate();
    index.locked(() => {
      for (const runId of runIds.slice(start, start + batch)) {
        const found = readRow(runId);
        if (found === null) index.remove(runId);
        else if ('what' in found) index.putProblem(found);
        else {
          index.put(found);
          rows.set(runId, found);
        }
      }
    });
  }
  return rows;
}

/**
 * The folder's time of change. Not `settled` while it is so young that a change right after could carry the same time.
 */
function folderStamp(runsDir: string): { readonly text: string; readonly settled: boolean } {
  const now = BigInt(Date.now()) * 1_000_000n;
  const { ino, mtimeNs } = statSync(runsDir, { bigint: true });
  return { text: `${ino}:${mtimeNs}`, settled: now - mtimeNs > 100_000_000n };
}

function compare(
  index: RunIndex,
  runsDir: string,
  withHead: () => readonly string[],
): { readonly unread: string[]; readonly gone: string[]; readonly foreign: Problem[] } {
  const problems = new Map(index.problems().map((problem) => [problem.name, problem]));
  const known = new Set(index.sizes().map(({ run_id }) => run_id));
  const present = new Set<string>();
  const unread: string[] = [];
  const foreign: Problem[] = [];
  for (const entry of readdirSync(runsDir, { withFileTypes: true })) {
    const { name } = entry;
    if (unfinished.test(name)) continue;
    const isRun = entry.isDirectory() && isRunId(name);
    if (isRun && !known.has(name) && !problems.has(name)) unread.push(name);
    if (!isRun && !problems.has(name)) foreign.push(foreignEntry(name, entry.isDirectory()));
    present.add(name);
    known.delete(name);
    problems.delete(name);
  }
  for (const runId of withHead()) if (!present.has(runId) && !problems.delete(runId)) unread.push(runId);
  return { unread, gone: [...known, ...problems.keys()], foreign };
}

function foreignEntry(name: string, isFolder: boolean): Problem {
  const why = isFolder ? 'its name is not run_ and a UUIDv7' : 'it is not a folder';
  return { name, stamp: '', what: `runs/${JSON.stringify(name).slice(1, -1)} is no run: ${why}` };
}
