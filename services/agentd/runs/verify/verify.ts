import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf, messageOf } from '#kit/errors.ts';
import { headsName } from '#kit/folders.ts';
import type { FoundProblem, Verification } from '../../agent.ts';
import type { ApprovalSignatures } from '../../signatures/approval-signatures.ts';
import { eventTypes, type RawEvent, type RunEvent } from '../event.ts';
import { artifactReferences, readArtifact } from '../log/artifacts.ts';
import { beforeFirst, decodeEvent, type Head, hashOf, parseLine, wholeLines } from '../log/event-line.ts';
import type { Heads } from '../log/heads.ts';
import { withoutLog } from '../log/open-runs.ts';
import { artifactsName, logName, notFound } from '../log/run-folder.ts';
import { checkFiles } from './files.ts';
import { readRecord } from './recover.ts';
import { checkSignatures } from './signatures.ts';
import { checkStory } from './story.ts';

/**
 * Checks a run from its folder and its head: every line and the chain, sealed definitions, approvals with their signatures and starts, artifacts, that
 * the views say what the events say, and that nothing else lies there. A cut-off tail leaves no trace in the log itself: the head outside the folder shows it, and so
 * does the one in the pull request.
 * @throws NotFound (`run_not_found`, `run_pruned`)
 */
export function verifyRun(
  runId: string,
  runsDir: string,
  heads: Heads,
  signatures?: ApprovalSignatures,
): Verification {
  const folder = join(runsDir, runId);
  const { problem, acknowledged } = readRecord(runId, runsDir, heads);
  const cut = problem === null ? [] : [{ where: `${headsName}/${runId}`, what: problem }];
  if (!existsSync(join(folder, logName))) {
    if (cut.length === 0) throw withoutLog(runsDir, runId, null, notFound(runId));
    return {
      run_id: runId,
      events: 0,
      head: acknowledged?.hash ?? '',
      artifacts: 0,
      approvals: [],
      problems: cut,
    };
  }
  const { events, lines, head, problems } = checkChain(readFileSync(join(folder, logName)));
  const artifacts = checkArtifacts(folder, events);
  const explained = problem?.startsWith(logName) && lines >= (acknowledged?.seq ?? 0);
  const signed =
    signatures === undefined ? { approvals: [], problems: [] } : checkSignatures(runId, events, signatures);
  const sound = problems.length === 0 && events[0]!.type === 'run_created';
  return {
    run_id: runId,
    events: lines,
    head: head.hash,
    artifacts: artifacts.sound,
    approvals: signed.approvals,
    problems: [
      ...(explained ? [] : cut),
      ...problems,
      ...checkStory(runId, events),
      ...signed.problems,
      ...artifacts.problems,
      ...checkFiles(runId, folder, { events, lines, sound }),
    ],
  };
}

function checkArtifacts(
  folder: string,
  events: readonly RunEvent[],
): { readonly sound: number; readonly problems: FoundProblem[] } {
  const problems: FoundProblem[] = [];
  const named = new Map<string, string>();
  for (const event of events) {
    for (const { digest, field } of artifactReferences(event)) {
      if (!named.has(digest)) named.set(digest, `named by ${field} of event ${event.seq}`);
    }
  }
  for (const digest of storedArtifacts(folder))
    if (!named.has(digest)) named.set(digest, 'named by no event');
  let sound = 0;
  for (const [digest, by] of named) {
    const what = artifactProblem(folder, digest);
    if (what === null) sound++;
    else problems.push({ where: `${artifactsName}/${digest}`, what: `${what} (${by})` });
  }
  return { sound, problems };
}

function artifactProblem(folder: string, digest: string): string | null {
  try {
    readArtifact(folder, digest);
    return null;
  } catch (error) {
    if (codeOf(error) === 'artifact_not_found') return 'removed';
    if (codeOf(error) === 'artifact_damaged') return `damaged: ${messageOf(error)}`;
    return `cannot be read: ${messageOf(error)}`;
  }
}

function storedArtifacts(folder: string): string[] {
  const path = join(folder, artifactsName);
  return existsSync(path) ? readdirSync(path).filter((name) => /^[0-9a-f]{64}$/.test(name)) : [];
}

/** The lines of a log, judged one by one. */
export interface ChainCheck {
  /** Events that can be decoded, sound or not, so that the rest of the check can go on. */
  readonly events: readonly RunEvent[];
  /** Whole lines, events or not. */
  readonly lines: number;
  readonly head: Head;
  readonly problems: readonly FoundProblem[];
}

/**
 * Checks every line of a log by itself and against the one before. After a broken one it goes on from what the line
 * claims, so that one change is reported once.
 */
export function checkChain(log: Uint8Array): ChainCheck {
  const problems: FoundProblem[] = [];
  const events: RunEvent[] = [];
  let head: Head = beforeFirst;
  let lines = 0;
  let length = 0;
  for (const { line, start } of wholeLines(log)) {
    lines++;
    const where = `${logName} line ${lines}`;
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
    problems.push({ where: `${logName} line ${lines + 1}`, what });
  }
  if (lines === 0) problems.push({ where: logName, what: 'holds no event' });
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

/** Finds the changed field where it can: with the right value in its place the hash matches again. */
function chainProblems(raw: RawEvent, canonical: string, head: Head): string[] {
  const problems: string[] = [];
  const seq = head.seq + 1;
  // The line before could not be read: there is nothing to compare with.
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
