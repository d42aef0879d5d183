import type { Shown } from '../state/messages.ts';

/** Milliseconds that a frame has to stand to count as seen: pages that typed-ahead keys turn over were not. */
export const dwellMs = 60;

/** Runs `work` after so many milliseconds, unless what it returns is called before. */
export type Later = (work: () => void, ms: number) => () => void;

/** Tells what has been on the screen, once it has been there for a moment. */
export class Dwell {
  readonly #seen: (shown: Shown) => void;
  readonly #later: Later;
  #standing: Shown | null = null;
  #cancel: () => void = () => {};

  constructor(seen: (shown: Shown) => void, later: Later = onTimer) {
    this.#seen = seen;
    this.#later = later;
  }

  /** @param shown of the frame that was just drawn; null where it shows nothing that can be approved */
  drawn(shown: Shown | null): void {
    if (shown !== null && this.#standing !== null && isSame(shown, this.#standing)) return;
    this.#cancel();
    this.#standing = shown;
    if (shown !== null) this.#cancel = this.#later(() => this.#seen(shown), dwellMs);
  }

  stop(): void {
    this.#cancel();
  }
}

function onTimer(work: () => void, ms: number): () => void {
  const timer = setTimeout(work, ms);
  return () => clearTimeout(timer);
}

function isSame(one: Shown, other: Shown): boolean {
  const facts = ({ action_id, digest, payloadEnd, layout, spans }: Shown) =>
    [action_id, digest, payloadEnd, layout, spans.length, ...spans.flat()].join(' ');
  return facts(one) === facts(other);
}
