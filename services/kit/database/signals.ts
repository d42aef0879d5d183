/** Tells every process on the same database about changes. Signals only save time: a lost signal loses no change. */
export interface Signals {
  /** Returns immediately and never fails. Called after the commit: a NOTIFY inside makes all commits wait for one lock. */
  notify(name: string): void;
  /**
   * Calls `look` when the thing of this name may have changed, any of them for null: often, at worst for nothing.
   * @returns ends it
   */
  watch(name: string | null, look: () => void): () => void;
  /** True if signals of other processes are known to arrive. */
  readonly arrive: boolean;
  /** True if there is a watcher. */
  readonly watched: boolean;
  /** Sends pending signals. */
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
