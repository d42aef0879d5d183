/** What one check of `core doctor` found. */
export interface Finding {
  readonly name: string;
  /** `works`; `warning`, works with a limit; `missing`, something optional is not there; `broken`, Core cannot do its work. */
  readonly state: 'works' | 'warning' | 'missing' | 'broken';
  readonly detail: string;
  /** What to do; null where nothing is to be done. */
  readonly fix: string | null;
}
