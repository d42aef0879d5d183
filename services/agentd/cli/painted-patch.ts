import { maxPairedLines, type WordPiece, wordDifferences } from '#kit/diff/word-differences.ts';
import type { Paint } from './terminal.ts';

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
    if (removed.length > 0 && removed.length === added.length && removed.length <= maxPairedLines) {
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
  const words = wordDifferences(before.slice(1), after.slice(1));
  if (words === null) return [red(before), green(after)];
  const side = (sign: string, color: Paint['red'], pieces: readonly WordPiece[]) =>
    color(sign) + pieces.map(({ text, differs }) => color(differs ? inverse(text) : text)).join('');
  return [side('-', red, words.before), side('+', green, words.after)];
}
