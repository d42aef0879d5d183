import type { State } from '../state/state.ts';
import { itemsOf } from '../state/state.ts';

/** Where things are on the screen, from its size alone; all in rows and columns from 0. */
export interface Geometry {
  readonly columns: number;
  readonly rows: number;
  readonly bodyTop: number;
  readonly bodyRows: number;
  readonly list: Area | null;
  readonly pane: Area | null;
}

export interface Area {
  readonly top: number;
  readonly left: number;
  readonly columns: number;
  readonly rows: number;
}

const sideBySideFrom = 110;
const stackedFrom = 18;
const splitFrom = 120;
/** With fewer columns the two sides are never beside each other. */
export const splittable = 40;

export function geometryOf(state: State): Geometry {
  const { columns, rows } = state.size;
  const bodyTop = rows >= 4 ? 1 : 0;
  const footer = rows >= 6 ? 2 : rows >= 3 ? 1 : 0;
  const bodyRows = Math.max(1, rows - bodyTop - footer);
  // The last cell of the screen is never written.
  const written = footer === 0 ? Math.max(1, columns - 1) : columns;
  const whole: Area = { top: bodyTop, left: 0, columns: written, rows: bodyRows };
  const base = { columns, rows, bodyTop, bodyRows };
  const { open } = state;
  if (open === null) return { ...base, list: whole, pane: null };
  if (open.zoomed) return { ...base, list: null, pane: whole };
  if (columns >= sideBySideFrom) {
    const left = columns >= 180 ? Math.min(76, Math.floor(columns * 0.36)) : 43;
    return {
      ...base,
      list: { ...whole, columns: left },
      pane: { ...whole, left: left + 2, columns: columns - left - 2 },
    };
  }
  if (bodyRows >= stackedFrom) {
    // One row each for the two gates' names.
    const wanted = itemsOf(open).length + 2;
    const height = Math.max(4, Math.min(wanted, Math.floor(bodyRows / 2)));
    return {
      ...base,
      list: { ...whole, rows: height },
      pane: { ...whole, top: bodyTop + height + 1, rows: bodyRows - height - 1 },
    };
  }
  return { ...base, list: whole, pane: null };
}

export function splitsFor(split: 'auto' | 'on' | 'off', columns: number): boolean {
  return (split === 'on' && columns >= splittable) || (split === 'auto' && columns >= splitFrom);
}
