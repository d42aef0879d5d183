import { createRequire } from 'node:module';
import type { Paint } from './terminal.ts';

type Piece = { readonly value: string; readonly added: boolean; readonly removed: boolean };
const require = createRequire(import.meta.url);
/** Loaded when a line was changed in colour first. */
let diffWords: ((before: string, after: string) => Piece[]) | undefined;

/** Comparing words costs the product of their numbers; beyond this lines differ as a whole. */
const maxColumns = 1000;
const maxLines = 200;

/**
 * Colours a unified diff by the first character of each line. Where as many lines were added as were removed before them, the words
 * that differ are shown reversed.
 */
export function paintPatch(patch: string, paint: Paint): string {
  const { green, red, cyan, dim, bold } = paint;
  const paints: Readonly<Record<string, Paint['red']>> = { '+': green, '-': red, '@': cyan, '\\': dim };
  const lines = patch.split('\n');
  const painted: string[] = [];
  const plain = (line: string) => (/^(?: |$)/.test(line) ? line : (paints[line[0]!] ?? bold)(line));
  // Without colours there is nothing to show a word with.
  if (!paint.isColorSupported) return patch;
  let inHunk = false;
  for (let index = 0; index < lines.length; ) {
    const line = lines[index]!;
    inHunk = line.startsWith('@@') || (inHunk && /^[ +\-\\]/.test(line));
    const removed = inHunk ? linesWith(lines, index, '-') : [];
    const added = removed.length > 0 ? linesWith(lines, index + removed.length, '+') : [];
    if (removed.length > 0 && removed.length === added.length && removed.length <= maxLines) {
      const pairs = removed.map((before, row) => changed(before, added[row]!, paint));
      painted.push(...pairs.map(([before]) => before), ...pairs.map(([, after]) => after));
      index += 2 * removed.length;
    } else {
      painted.push(plain(line));
      index++;
    }
  }
  return painted.join('\n');
}

function linesWith(lines: readonly string[], from: number, sign: string): string[] {
  const end = lines.findIndex((line, index) => index >= from && !line.startsWith(sign));
  return lines.slice(from, end < 0 ? undefined : end);
}

/** A removed and an added line; as a whole where they have little in common. */
function changed(before: string, after: string, { red, green, inverse }: Paint): [string, string] {
  const whole: [string, string] = [red(before), green(after)];
  if (before.length > maxColumns || after.length > maxColumns) return whole;
  diffWords ??= (require('diff') as { diffWordsWithSpace: (before: string, after: string) => Piece[] })
    .diffWordsWithSpace;
  const pieces = diffWords(before.slice(1), after.slice(1));
  const common = pieces.filter(({ added, removed }) => !added && !removed);
  const shared = common.reduce((sum, { value }) => sum + value.trim().length, 0);
  if (shared * 2 < Math.min(before.trim().length, after.trim().length)) return whole;
  const side = (sign: string, color: Paint['red'], own: 'added' | 'removed', other: 'added' | 'removed') =>
    color(sign) +
    pieces
      .filter((piece) => !piece[other])
      .map((piece) => color(piece[own] ? inverse(piece.value) : piece.value))
      .join('');
  return [side('-', red, 'removed', 'added'), side('+', green, 'added', 'removed')];
}
