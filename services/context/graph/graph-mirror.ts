import type { Changes, Position } from './changes.ts';
import type { GraphDigests } from './digest.ts';

/** More than the mirror takes in one transaction: in its time, or its memory. Fewer changes may pass. */
export class TooMuchAtOnce extends Error {}

/** A copy of the record's graph elsewhere, which can be made again at any time. */
export interface GraphMirror {
  /** Makes constraints and indexes where they are missing. */
  prepare(): Promise<void>;
  /** What it had seen when it was written last, without asking it. */
  readonly lastKnown: Position | null;
  /** What it has seen; null when it holds nothing, or nobody can tell what it holds. */
  position(): Promise<Position | null>;
  /** All changes or nothing, then the position after them; twice is once. @throws TooMuchAtOnce */
  apply(changes: Changes): Promise<void>;
  /** Forgets all of Core's nodes and the position, the position first. */
  clear(): Promise<void>;
  /** What it really holds. */
  digests(): Promise<GraphDigests>;
  close(): Promise<void>;
}
