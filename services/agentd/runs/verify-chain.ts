import { messageOf } from '#kit/errors.ts';
import { eventTypes, type RunEvent } from './event.ts';
import { beforeFirst, decodeEvent, type Head, hashOf, parseLine, type RawEvent } from './event-line.ts';
import { logName } from './run-folder.ts';

export interface FoundProblem {
  readonly where: string;
  readonly what: string;
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
 * claims, so that one change is told once.
 */
export function checkChain(log: Uint8Array): ChainCheck {
  const problems: FoundProblem[] = [];
  const events: RunEvent[] = [];
  let head: Head = beforeFirst;
  let lines = 0;
  let start = 0;
  for (let end = log.indexOf(lineFeed); end >= 0; end = log.indexOf(lineFeed, start)) {
    lines++;
    const where = `${logName} line ${lines}`;
    const { raw, event, problem } = checkLine(log.subarray(start, end), head);
    for (const what of problem)
      problems.push({ where: raw === null ? where : `${where} (${raw.type})`, what });
    if (event !== null) events.push(event);
    if (event !== null && events.length > 1 && event.at < events.at(-2)!.at) {
      problems.push({ where, what: `at is ${event.at}, before the event before it (${events.at(-2)!.at})` });
    }
    head = { seq: head.seq + 1, hash: raw?.hash ?? '' };
    start = end + 1;
  }
  if (start < log.length) {
    const what = `${log.length - start} bytes after event ${lines} end without a line feed: a write that a crash cut off, or a change; the next write sets them aside`;
    problems.push({ where: `${logName} line ${lines + 1}`, what });
  }
  if (lines === 0) problems.push({ where: logName, what: 'holds no event' });
  return { events, lines, head, problems };
}

const lineFeed = 0x0a;

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

/** Which field was changed, as far as the hash can tell: with the right value in its place the hash fits again. */
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
