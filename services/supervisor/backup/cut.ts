import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Folders, headsName } from '#kit/folders.ts';
import { whileNoRunChanges } from './append-lock.ts';
import { type CapturedTree, capture, emptyTree, namesIn, reading } from './captured-tree.ts';
import { SqliteStore } from './sqlite-store.ts';
import { disposable, isPassing, mirrors } from './state-folder.ts';

/** The installation at one moment. */
export interface Cut {
  readonly at: Date;
  readonly tree: CapturedTree;
  /** Pinned; to be closed. */
  readonly stores: readonly SqliteStore[];
  /** Bytes of the log of each run; -1 for one of which only a tombstone is left. */
  readonly logs: ReadonlyMap<string, number>;
  /** What was known of each run's head then; also of runs whose folder is gone. */
  readonly heads: ReadonlyMap<string, Uint8Array>;
}

export interface CutOptions {
  readonly withSecrets: boolean;
  readonly withMirrors: boolean;
}

/** Which runs the outbox says were told must not be newer than what was told, so it comes before everybody else. */
const outbox = 'context-outbox.sqlite';
/** Others wait for ten seconds before they give up an append. */
const captureMs = 2_000;

/**
 * Takes the cut while no run changes, which takes milliseconds. Whatever a service did because of a run, the run says so already;
 * whatever a run says that a service did, the service has done. So no store shows a later state than another knows the cause of.
 */
export function takeCut(folders: Folders, options: CutOptions): Cut {
  const stores: SqliteStore[] = [];
  const pin = (name: string, path: string) => {
    const store = new SqliteStore(name, path);
    stores.push(store);
    store.pin();
  };
  try {
    return whileNoRunChanges(join(folders.state, 'index.sqlite'), () => {
      const at = new Date();
      // Of a run that is made meanwhile nobody is told before the lock is free.
      const logs = logSizes(join(folders.state, 'runs'));
      const heads = readHeads(join(folders.state, headsName));
      if (existsSync(join(folders.state, outbox))) pin(`state/${outbox}`, join(folders.state, outbox));
      const tree = captureAll(folders, options);
      // Calls that a log lists as open were read above: those that end before this are in the ledger then.
      for (const { name, path } of tree.stores) if (name !== `state/${outbox}`) pin(name, path);
      return { at, tree, stores, logs, heads };
    });
  } catch (error) {
    for (const store of stores) store.close();
    throw error;
  }
}

function captureAll(folders: Folders, { withSecrets, withMirrors }: CutOptions): CapturedTree {
  const tree = emptyTree();
  const deadline = performance.now() + captureMs;
  const without = [...disposable, ...(withMirrors ? [] : [mirrors])].map(({ path }) => path);
  capture(tree, 'state', folders.state, {
    without: [...without, 'runs', headsName],
    followLinks: false,
    deadline,
  });
  const kept = withSecrets ? [] : ['secrets', 'tokens'];
  capture(tree, 'config', folders.config, { without: kept, followLinks: true, deadline });
  return tree;
}

/** The head of a run that goes on is soon ahead of the log as it is now. */
function readHeads(folder: string): Map<string, Uint8Array> {
  const heads = new Map<string, Uint8Array>();
  for (const name of (namesIn(folder) ?? []).filter((one) => !isPassing(one)).toSorted()) {
    const bytes = reading(join(folder, name), () => readFileSync(join(folder, name)));
    if (bytes !== null) heads.set(name, bytes);
  }
  return heads;
}

function logSizes(runs: string): Map<string, number> {
  const names = (namesIn(runs) ?? []).filter((name) => name.startsWith('run_')).toSorted();
  return new Map(
    names.map((name) => {
      const stats = statSync(join(runs, name, 'events.jsonl'), { throwIfNoEntry: false });
      return [name, stats?.isFile() === true ? stats.size : -1];
    }),
  );
}
