import type { ProposedAction } from '#kit/contracts/action.ts';
import type { Shown } from './messages.ts';
import { type Decision, type Gate, isOpen, type OpenRun, type Seen } from './state.ts';

/** Nothing is approved that was not on the screen, and only with the digest of what was there. */

const tolerance = 1e-9;

/** How far the payload was on the screen after a frame: what follows a gap does not count. */
export function seenAfter(
  before: Seen | undefined,
  shown: Shown,
  blockBegin: (line: number) => number,
): Seen {
  const { digest, spans, payloadEnd, layout } = shown;
  const known = before?.digest === digest ? before : undefined;
  // Laid out anew, lines stand in another order and break at other places.
  let upTo = known === undefined ? 0 : known.layout === layout ? known.upTo : blockBegin(known.upTo);
  for (const [begin, end] of spans) if (begin <= upTo + tolerance) upTo = Math.max(upTo, end);
  const whole = known?.whole === true || upTo >= payloadEnd - tolerance;
  return { digest, upTo, layout, whole };
}

export type Readiness = 'ready' | 'not_seen' | 'changed' | 'not_whole';

/** Whether what was on the screen is enough to approve the action. */
export function readiness(open: OpenRun, action: ProposedAction): Readiness {
  const seen = open.seen[action.action_id];
  if (seen === undefined) return 'not_seen';
  if (seen.digest !== action.digest) return 'changed';
  return seen.whole ? 'ready' : 'not_whole';
}

/** The digest is that of the screen, whatever the action is by now. */
export function decisionOn(open: OpenRun, action: ProposedAction): Decision {
  const digest = open.seen[action.action_id]?.digest ?? action.digest;
  return { action_id: action.action_id, digest, seen_approval: action.approval };
}

/** What an approval of the gate would cover: never what was rejected. */
export function gateActions(open: OpenRun, gate: Gate): readonly ProposedAction[] {
  return (open.detail?.actions ?? []).filter(
    (action) => action.gate === gate && isOpen(action) && action.approval === 'required',
  );
}

export function notYetShown(open: OpenRun, gate: Gate): readonly ProposedAction[] {
  return gateActions(open, gate).filter((action) => readiness(open, action) !== 'ready');
}
