export interface ContextPassage {
  /** As core-context names it. */
  readonly id: string;
  /** For example `file`, `symbol`, `issue`, `rejection`. */
  readonly kind: string;
  /** A path, with lines where it has them, else the id. */
  readonly source: string;
  /** Path of the file it is from; null for what is no file. */
  readonly path: string | null;
  readonly title: string;
  readonly text: string;
  readonly layer: 'graph' | 'semantic' | 'episodic' | 'procedural';
  /** What it was found by, for people. */
  readonly why: string;
  /** 0 to 1; comparable within one layer alone. */
  readonly score: number;
  /** Ids of the entities that it is about. */
  readonly about: readonly string[];
  /** The run that it is about; null where there is none. */
  readonly run_id: string | null;
  /** A memory that an agent or a token without the scope `approve` stored: it may come from anywhere. */
  readonly unvouched: boolean;
}

/** A passage, and whether outsiders had a hand in it. */
export type JudgedPassage = ContextPassage & { readonly trusted: boolean };
