import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { decodeJson } from '#kit/decode.ts';
import { messageOf } from '#kit/errors.ts';
import { readSmallFile } from '#kit/small-file.ts';
import type { FoundProblem, Verification } from '../../agent.ts';
import type { ApprovalSignatures } from '../../signatures/approval-signatures.ts';
import { eventTypes, type RawEvent, type RunEvent } from '../event.ts';
import { artifactReferences } from '../log/artifacts.ts';
import { beforeFirst, decodeEvent, type Head, hashOf, parseLine, wholeLines } from '../log/event-line.ts';
import { logName, notFound, tombstoneName } from '../log/run-folder.ts';
import { Tombstone, wasPruned } from '../log/tombstone.ts';
import { type CheckedLog, checkFiles } from './files.ts';
import { type RunRecord, recordInFolder } from './record.ts';
import { stateOf } from './recover.ts';
import { checkSignatures } from './signatures.ts';
import { checkStory } from './story.ts';

/**
 * Checks the record of a run: every line and the chain, the newest acknowledged event, sealed definitions, approvals, starts, and
 * artifacts. Checks signatures of approvals only if `signatures` is given.
 */
export function verifyRecord(record: RunRecord, signatures?: ApprovalSignatures): Checked {
  const { run_id, names } = record;
  const { problem, acknowledged } = stateOf(record);
  const cut = problem === null ? [] : [{ where: names.log, what: problem }];
  const { events, lines, head, problems } = checkChain(record.log ?? new Uint8Array(), names.log);
  const artifacts = checkArtifacts(record, events);
  const explained = problem?.startsWith(`${names.log} line`) && lines >= (acknowledged?.seq ?? 0);
  const signed =
    signatures === undefined
      ? { approvals: [], problems: [] }
      : checkSignatures(run_id, events, signatures, names.log);
  return {
    events,
    lines,
    sound: problems.length === 0 && events[0]!.type === 'run_created',
    head,
    artifacts: artifacts.sound,
    approvals: signed.approvals,
    problems: [
      ...(explained ? [] : cut),
      ...problems,
      ...record.problems,
      ...checkStory(run_id, events, names.log),
      ...signed.problems,
      ...artifacts.problems,
    ],
  };
}

interface Checked extends CheckedLog, Pick<Verification, 'artifacts' | 'approvals' | 'problems'> {
  readonly head: Head;
}

/**
 * Checks a run by its folder only. Also checks that the views match the events and that the folder has no unexpected files.
 * @throws NotFound (`run_not_found`, `run_pruned`)
 */
export function verifyFolder(runId: string, runsDir: string, signatures?: ApprovalSignatures): Verification {
  const record = recordInFolder(runId, runsDir);
  const folder = join(runsDir, runId);
  if (record.log === null) throw withoutLog(runId, folder);
  const checked = verifyRecord(record, signatures);
  const { problems, ...found } = verificationOf(runId, checked);
  return { ...found, problems: [...problems, ...checkFiles(runId, folder, checked)] };
}

export function verificationOf(run_id: string, checked: Checked): Verification {
  const { lines, head, artifacts, approvals, problems } = checked;
  return { run_id, events: lines, head: head.hash, artifacts, approvals, problems };
}

function withoutLog(runId: string, folder: string): Error {
  const path = join(folder, tombstoneName);
  return existsSync(path) ? wasPruned(decodeJson(Tombstone, readSmallFile(path), path)) : notFound(runId);
}

function checkArtifacts(
  { names, artifacts }: RunRecord,
  events: readonly RunEvent[],
): { readonly sound: number; readonly problems: FoundProblem[] } {
  const problems: FoundProblem[] = [];
  const named = new Map<string, string>();
  for (const event of events) {
    for (const { digest, field } of artifactReferences(event)) {
      if (!named.has(digest)) named.set(digest, `named by ${field} of event ${event.seq}`);
    }
  }
  for (const digest of artifacts.keys()) if (!named.has(digest)) named.set(digest, 'named by no event');
  let sound = 0;
  for (const [digest, by] of named) {
    const found = artifacts.get(digest);
    if (found === digest) sound++;
    else {
      const what =
        found === undefined
          ? 'removed'
          : found === null
            ? 'cannot be read'
            : `damaged: it was changed: its sha256 is now ${found}`;
      problems.push({ where: `${names.artifacts}/${digest}`, what: `${what} (${by})` });
    }
  }
  return { sound, problems };
}

/** Result of checking every line of a log. */
export interface ChainCheck {
  /** Events that can be decoded, sound or not, for the later checks. */
  readonly events: readonly RunEvent[];
  /** Number of complete lines, with or without an event. */
  readonly lines: number;
  readonly head: Head;
  readonly problems: readonly FoundProblem[];
}

/**
 * Checks every line of a log by itself and against the line before. After a broken line, continues from what that line claims, so that
 * one change is reported once.
 */
export function checkChain(log: Uint8Array, name: string = logName): ChainCheck {
  const problems: FoundProblem[] = [];
  const events: RunEvent[] = [];
  let head: Head = beforeFirst;
  let lines = 0;
  let length = 0;
  for (const { line, start } of wholeLines(log)) {
    lines++;
    const where = `${name} line ${lines}`;
    const { raw, event, problem } = checkLine(line, head);
    for (const what of problem)
      problems.push({ where: raw === null ? where : `${where} (${raw.type})`, what });
    if (event !== null) events.push(event);
    if (event !== null && events.length > 1 && event.at < events.at(-2)!.at) {
      problems.push({ where, what: `at is ${event.at}, before the event before it (${events.at(-2)!.at})` });
    }
    head = { seq: head.seq + 1, hash: raw?.hash ?? '' };
    length = start + line.length + 1;
  }
  if (length < log.length) {
    const what = `${log.length - length} bytes after event ${lines} end without a line feed: a write that a crash cut off, or a change; the next write sets them aside`;
    problems.push({ where: `${name} line ${lines + 1}`, what });
  }
  if (lines === 0) problems.push({ where: name, what: 'holds no event' });
  return { events, lines, head, problems };
}

function checkLine(
  bytes: Uint8Array,
  head: Head,
): { readonly raw: RawEvent | null; readonly event: RunEvent | null; readonly problem: readonly string[] } {
  let raw: RawEvent;
  let canonical: string;
  try {
    ({ raw, canonical } = parseLine(bytes));
  } catch (error) {
    return { raw: null, event: null, problem: [messageOf(error)] };
  }
  const problem = chainProblems(raw, canonical, head);
  try {
    return { raw, event: decodeEvent(raw), problem };
  } catch (error) {
    return { raw, event: null, problem: [...problem, messageOf(error)] };
  }
}

/** Finds the changed field if it can: the hash matches again once the field has its right value. */
function chainProblems(raw: RawEvent, canonical: string, head: Head): string[] {
  const problems: string[] = [];
  const seq = head.seq + 1;
  // The line before could not be read, so there is nothing to compare with.
  const prev = head.hash === '' ? raw.prev : head.hash;
  if (raw.seq !== seq)
    problems.push(`seq is ${raw.seq} and must be ${seq}: an event was added, removed or moved`);
  if (raw.prev !== prev) problems.push(`prev is ${raw.prev}, but the event before has the hash ${prev}`);
  const hash = hashOf(raw, canonical);
  if (hash === raw.hash) return problems;
  if (hashOf({ ...raw, seq, prev }, canonical) === raw.hash) return problems;
  const type = eventTypes.find((name) => hashOf({ ...raw, seq, prev, type: name }, canonical) === raw.hash);
  const changed = type === undefined ? 'at, data or hash' : `type, which was ${type},`;
  return [
    ...problems,
    `${changed} was changed after it was written: the content gives the hash ${hash}, the line says ${raw.hash}`,
  ];
}
