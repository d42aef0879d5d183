export type Tone = 'red' | 'green' | 'yellow' | 'blue' | 'cyan';

/** Neighbouring characters of one style. */
export interface Run {
  /** From 0. */
  readonly column: number;
  readonly text: string;
  readonly tone: Tone | null;
  readonly bold: boolean;
  readonly dim: boolean;
  readonly inverse: boolean;
}

/** A line of a terminal. */
export type Row = readonly Run[];
