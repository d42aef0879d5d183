import { isChanged } from '../diff/line-text.ts';
import type { Patch } from '../diff/parse-patch.ts';
import { seenAfter } from './decisions.ts';
import type { Shown } from './messages.ts';
import type { OpenRun } from './state.ts';

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
