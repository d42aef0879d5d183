import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Conflict } from '#kit/errors.ts';
import type { FoundProblem } from '../../agent.ts';
import { digestOfArtifact } from '../log/artifacts.ts';
import { artifactsName, logName, requireLogFile } from '../log/run-folder.ts';

/** Place of an event in its chain, and its type. */
export interface HeadMark {
  readonly seq: number;
  readonly hash: string;
  readonly type: string;
}

/** Record of a run in the database or in a folder, sound or not. */
export interface RunRecord {
  readonly run_id: string;
  /** Names of the log and the artifacts, for messages. */
  readonly names: { readonly log: string; readonly artifacts: string };
  /** Lines of events, each with its line feed; null without a log. */
  readonly log: Uint8Array | null;
  /** Newest acknowledged event; null if nothing outside the log names it. */
  readonly acknowledged: HeadMark | null;
  /** sha256 of each artifact's content, by the digest that names it; null if the content cannot be read. */
  readonly artifacts: ReadonlyMap<string, string | null>;
  /** Contradictions between the log and data stored beside it. */
  readonly problems: readonly FoundProblem[];
}

/** @throws Failed (`run_damaged`) if the log is not a regular file */
export function recordInFolder(run_id: string, runsDir: string): RunRecord {
  const folder = join(runsDir, run_id);
  const log = requireLogFile(run_id, folder) === null ? null : readFileSync(join(folder, logName));
  const artifacts = new Map(
    storedArtifacts(folder).map((digest) => [digest, digestOfArtifact(folder, digest)]),
  );
  return {
    run_id,
    names: { log: logName, artifacts: artifactsName },
    log,
    acknowledged: null,
    artifacts,
    problems: [],
  };
}

function storedArtifacts(folder: string): string[] {
  const path = join(folder, artifactsName);
  if (!existsSync(path) || !lstatSync(path).isDirectory()) return [];
  return readdirSync(path).filter((name) => /^[0-9a-f]{64}$/.test(name));
}

export function recordCut(runId: string, what: string, cause?: unknown): Conflict {
  return new Conflict('record_cut', `the record of run ${runId} is not whole: ${what}. Nothing of it runs`, {
    cause,
    facts: { run_id: runId },
    hint: `./core recover ${runId} shows what is missing; a backup may have it.`,
  });
}
