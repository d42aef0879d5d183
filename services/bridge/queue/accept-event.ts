import { isDeepStrictEqual } from 'node:util';
import type { EventTarget } from '#kit/contracts/bridge/events.ts';
import { sha256 } from '#kit/digest.ts';
import { Conflict } from '#kit/errors.ts';
import { isOfForge, type NewEvent, type Reason, type StoredEvent, takenUpBySync } from './stored-event.ts';

export interface AcceptedEvent {
  readonly event: StoredEvent;
  /** It was here before. */
  readonly duplicate: boolean;
}

/** Events that the queue knows and that one that comes may repeat. */
export interface Known {
  readonly byId: StoredEvent | null;
  /** A delivery of a forge that had the same bytes. */
  readonly byBody: StoredEvent | null;
  /** The newest event of its issue, of those that contain all that it says and were not skipped. */
  readonly lastOfIssue: StoredEvent | null;
  /** The newest of those that `sync` took up, and that are neither skipped nor dead. */
  readonly takenUp: StoredEvent | null;
}

/** What is to be done with an event that comes. `before`: the row that it takes the place of. */
export type Judgement =
  | { readonly kind: 'repeats'; readonly event: StoredEvent }
  | { readonly kind: 'store'; readonly before: StoredEvent | null; readonly skip: Reason | null };

/**
 * Whether an event is new, or which one it repeats.
 * @param since what was planned before is planned again, also where it says the same
 * @throws Conflict (`event_id_reused`)
 */
export function judge(event: NewEvent, known: Known, since: number): Judgement {
  const sameId = known.byId;
  if (sameId !== null && !isSame(sameId, event)) throw reused(sameId);
  const before = sameId ?? known.byBody;
  if (before !== null && !isJudgedAnew(before, event)) return { kind: 'repeats', event: before };
  return { kind: 'store', before, skip: event.skip ?? alreadyHandled(event, known, since) };
}

function alreadyHandled(event: NewEvent, known: Known, since: number): Reason | null {
  const { target, issue_sha256 } = event;
  if (target === null || issue_sha256 == null) return null;
  const taken = takenUpBefore(event, known);
  if (taken !== null) {
    const message = `its content was handled before it came, by event ${JSON.stringify(taken.event_id)}`;
    return { code: takenUp, message };
  }
  const covering = event.replan ? null : coveringOf(event, known, since);
  return covering === null ? null : coveredBy(covering);
}

/**
 * The event whose planning another one with this content would only repeat: the last of its issue, which said the same, and waits,
 * is planned, or was planned since. A forge reports a new issue and each of its labels within a second.
 */
function coveringOf(event: NewEvent, known: Known, since: number): StoredEvent | null {
  const last = known.lastOfIssue;
  if (last === null || !mayStandFor(last, event)) return null;
  if (last.issue_sha256 !== event.issue_sha256 || last.state === 'dead') return null;
  return last.state !== 'done' || last.changed_at >= since ? last : null;
}

/**
 * False if the event of a person would be dropped for one of another account that may still be refused. An event that is planned
 * was not refused.
 */
function mayStandFor(earlier: StoredEvent, { source, content }: NewEvent): boolean {
  if (earlier.state === 'done' || !isOfForge(source) || content.actor_kind !== undefined) return true;
  return earlier.content.actor_kind === undefined && earlier.content.actor === content.actor;
}

/** The event that took up what this delivery says, before it came: the issue was no older then. */
function takenUpBefore(event: NewEvent, known: Known): StoredEvent | null {
  const { issue_sha256, replan = false, content, by } = event;
  const taken = by === takenUpBySync ? null : known.takenUp;
  if (taken === null || !mayStandFor(taken, event)) return null;
  const later = Date.parse(taken.content.occurred_at) - Date.parse(content.occurred_at);
  const same = replan || taken.issue_sha256 === issue_sha256;
  return later > 0 || (later === 0 && same) ? taken : null;
}

/** What was skipped and would be planned by now, since a forge, a role or a status was configured meanwhile. */
function isJudgedAnew(before: StoredEvent, given: NewEvent): boolean {
  return (
    before.state === 'skipped' &&
    given.skip === null &&
    ![sameContent, takenUp].includes(before.reason?.code ?? '')
  );
}

const sameContent = 'same_content';
const takenUp = 'taken_up';

function coveredBy({ event_id, run_id, target }: StoredEvent): Reason {
  const run = run_id === null ? 'is planned for both' : `was planned by ${run_id}`;
  return {
    code: sameContent,
    message: `${target?.number === null ? 'the task is that of event' : 'the issue says what it said in event'} ${JSON.stringify(event_id)}, which ${run}`,
  };
}

/**
 * Compared by their bytes, else by their content, since the rules that judge it may have changed. Events of a schedule are the same
 * if their ids are, because the id names the update.
 */
function isSame(known: StoredEvent, given: NewEvent): boolean {
  if (known.source !== given.source) return false;
  if (known.body_sha256 === given.body_sha256 || given.source === 'schedule') return true;
  if (!isDeepStrictEqual(known.content, given.content)) return false;
  return known.state === 'skipped' || isDeepStrictEqual(judged(known), judged(given));
}

function judged({ target, role }: Pick<NewEvent, 'target' | 'role'>): unknown {
  return { target, role };
}

function reused({ event_id }: StoredEvent): Conflict {
  return new Conflict(
    'event_id_reused',
    `event ${JSON.stringify(event_id)} came before with another content: an id names one event for good`,
    { facts: { event_id } },
  );
}

type Facts = Pick<NewEvent, 'content' | 'target' | 'role' | 'notes' | 'by'>;

interface Row extends Omit<StoredEvent, keyof Facts | 'reason' | 'issue_sha256'> {
  readonly facts: string;
  readonly issue_sha256: string | null;
  readonly reason_code: string | null;
  readonly reason: string | null;
}

/** The columns of an event that is judged by what is configured now. One that came before keeps its id, and the bytes that it is known by. */
export function judgedColumns({ target, issue_sha256 = null, ...event }: NewEvent, skip: Reason | null) {
  const { content, role, notes, by } = event;
  const facts: Facts = { content, target, role, notes, by };
  return {
    facts: JSON.stringify(facts),
    target: target === null ? null : targetKey(target),
    issue_sha256,
    state: skip === null ? 'pending' : 'skipped',
    reason_code: skip?.code ?? null,
    reason: skip?.message ?? null,
  };
}

/** @param row every column of an event; others are left out */
export function storedEvent(row: unknown): StoredEvent {
  const { facts, reason_code, reason, ...columns } = row as Row;
  const { seq, event_id, source, body_sha256, issue_sha256, state, received_at, changed_at } = columns;
  const { attempts, generation, due_at, run_id } = columns;
  return {
    ...{ seq, event_id, source, body_sha256, issue_sha256, state, received_at, changed_at },
    ...{ attempts, generation, due_at, run_id },
    ...(JSON.parse(facts) as Facts),
    reason: reason_code === null ? null : { code: reason_code, message: reason ?? '' },
  };
}

/** An issue is planned one event at a time, and so is a task. */
export function targetKey(target: EventTarget): string {
  const { forge, owner, repo } = target;
  const subject = target.number ?? sha256(target.task);
  return `${forge ?? ''}/${owner}/${repo}#${subject}`.toLowerCase();
}
