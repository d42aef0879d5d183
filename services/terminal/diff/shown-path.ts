import { safeText } from './line-text.ts';
import { unmistakableName } from './look-alikes.ts';

/** The name of a file or folder: no two names look the same. */
export function shownPath(path: string): string {
  return unmistakableName(safeText(path));
}
