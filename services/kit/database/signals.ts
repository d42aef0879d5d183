/** Says to every process on the same database that things have changed. Only ever saves time: nothing is lost with a signal. */
export interface Signals {
  /** Returns at once and never fails. Called after the commit: a NOTIFY inside makes all commits wait for one lock. */
  notify(name: string): void;
  /**
   * Calls `look` when the thing of this name may have changed, any of them for null: often, at worst for nothing.
   * @returns ends it
   */
  watch(name: string | null, look: () => void): () => void;
  /** Whether signals of others are known to arrive. */
  readonly arrive: boolean;
  /** Whether anybody watches. */
  readonly watched: boolean;
  /** Sends what is left. */
  close(): Promise<void>;
}

/** Of work within a transaction that is not over. */
export const noSignals: Signals = {
  notify() {},
  watch: () => () => {},
  arrive: false,
  watched: false,
  close: async () => {},
};
