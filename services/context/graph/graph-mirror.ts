import type { Changes, Position } from './changes.ts';
import type { GraphDigests } from './digest.ts';

/** A copy of the record's graph elsewhere, which can be made again at any time. */
export interface GraphMirror {
  /** Makes constraints and indexes where they are missing. */
  prepare(): Promise<void>;
  /** What it has seen, as it says itself; null when it holds nothing, or not all of what it held. */
  position(): Promise<Position | null>;
  /** Changes and the position after them in one transaction: all or nothing; twice is once. */
  apply(changes: Changes): Promise<void>;
  /** Forgets all of Core's nodes and the position, the position first. */
  clear(): Promise<void>;
  /** What it really holds. */
  digests(): Promise<GraphDigests>;
  close(): Promise<void>;
}
