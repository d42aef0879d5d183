import type { NewEvent } from '../../services/bridge/queue/stored-event.ts';

/** What the killed process says. */
export interface ToParent {
  readonly accepted?: string;
  /** Asks for the run of an event. */
  readonly plan?: string;
  readonly ended?: string;
  /** Asks to take a message of this key. */
  readonly delivered?: string;
  /** Events that are not at their end. */
  readonly left?: number;
  readonly due?: number;
  readonly events?: number;
  /** Issues of a forge that it knew. */
  readonly known?: number;
}

/** What it gets: the run of an event, or that a message was accepted. */
export type ToProcessor = { readonly for: string; readonly run_id: string } | { readonly stop: true };

/** An event of an issue of its own. */
export function killedEvent(id: string): NewEvent {
  return {
    event_id: id,
    source: 'dashboard',
    body_sha256: id,
    content: {
      kind: 'issue.created',
      occurred_at: '2026-01-01T00:00:00Z',
      issue: { id, title: id, status: 'todo', labels: [], url: null },
      actor: null,
    },
    target: { forge: 'local', owner: 'demo', repo: id, number: 1 },
    role: null,
    skip: null,
    notes: [],
    by: 'token:bridge',
  };
}
