import type { ProposedAction } from '#kit/contracts/action.ts';
import { isChanged } from '#kit/diff/line-text.ts';
import type { Patch } from '#kit/diff/patch.ts';
import type { Shown } from './messages.ts';
import { type Decision, type Gate, needsApproval, type OpenRun, type Seen } from './state.ts';

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
  // After a new layout, lines stand in another order and break at other places.
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
  return (open.detail?.actions ?? []).filter((action) => action.gate === gate && needsApproval(action));
}

export function notYetShown(open: OpenRun, gate: Gate): readonly ProposedAction[] {
  return gateActions(open, gate).filter((action) => readiness(open, action) !== 'ready');
}

/** The run's page after a frame has stood; the same page where the frame showed nothing new. */
export function withSeen(open: OpenRun, shown: Shown): OpenRun {
  const { action_id } = shown;
  const before = open.seen[action_id];
  const { patchBegin } = shown;
  const blockBegin = (line: number) =>
    patchBegin === null || line < patchBegin
      ? Math.floor(line)
      : patchBegin + beginningOfBlock(open.patch, line - patchBegin);
  const seen = seenAfter(before, shown, blockBegin);
  if (
    before?.digest === seen.digest &&
    before.upTo === seen.upTo &&
    before.whole === seen.whole &&
    before.layout === seen.layout
  ) {
    return open;
  }
  return { ...open, seen: { ...open.seen, [action_id]: seen } };
}

/** Where the lines that change together with this one begin. */
function beginningOfBlock(patch: Patch | null, line: number): number {
  let first = Math.floor(line);
  if (patch === null) return first;
  if (!isChanged(patch, first)) return first;
  while (first > 0 && isChanged(patch, first - 1)) first--;
  return first;
}
