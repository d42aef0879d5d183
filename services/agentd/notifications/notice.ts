import { visibleLine } from '#kit/cli/terminal-text.ts';
import { sha256 } from '#kit/digest.ts';
import type { NotificationEvent } from './configuration.ts';

/** One thing that a person is notified of. */
export interface Notice {
  /** The same again is the same notice. */
  readonly id: string;
  readonly event: NotificationEvent;
  /** When it happened, RFC 3339. */
  readonly at: string;
  readonly run_id: string;
  /** For example `demo/hello#12`. */
  readonly subject: string;
  /** Of the issue, as people wrote it; null where it was not read. */
  readonly title: string | null;
  /** What happened; never contents of the patch. */
  readonly text: string;
}

/** What one message says: the notices of a person that are due at once. */
export interface Letter {
  readonly person: string;
  readonly notices: readonly [Notice, ...Notice[]];
  /** Of a run's page. */
  readonly pageOf: (runId: string) => string;
}

const eventWords: Readonly<Record<NotificationEvent, string>> = {
  waits_for_you: 'Waits for you',
  validation_failed: 'Validation failed',
  planning_failed: 'Planning failed',
  execution_stopped: 'Execution stopped',
  merged: 'Merged',
};

const maxTitle = 200;
const maxText = 400;

/** On one line, with signs that cannot be seen by their numbers; for no markup yet. */
export function headline({ event, subject, title }: Notice): string {
  const what = title === null ? subject : `${subject} ${title}`;
  return `${eventWords[event]}: ${shortened(what, maxTitle)}`;
}

export function detail({ text }: Notice): string {
  return shortened(text, maxText);
}

export function letterTitle({ notices }: Letter): string {
  return notices.length === 1 ? headline(notices[0]) : `${notices.length} notices from Core`;
}

/** Names a message, so that a receiver knows the same one again. */
export function letterKey({ person, notices }: Letter): string {
  return sha256(JSON.stringify([person, ...notices.map(({ id }) => id)]));
}

function shortened(text: string, length: number): string {
  const line = visibleLine(text);
  return line.length <= length ? line : `${line.slice(0, length - 1)}…`;
}
