import { termsOf } from './words/words.ts';

const maxLines = 5;
const maxLineLength = 240;
/** More of a text is not looked through. */
const maxRead = 100_000;

/**
 * The lines of a text that match best, at most five that stand together, as plain text.
 * @param rarity of each term of the query
 */
export function snippetOf(text: string, rarity: ReadonlyMap<string, number>): string {
  const lines = text.slice(0, maxRead).split('\n');
  const matched = lines.map((line) => termsIn(line, rarity));
  const start = bestWindow(lines, matched, rarity);
  return withoutMargin(lines.slice(start, start + maxLines))
    .map((line) => shortened(plain(line), rarity))
    .join('\n')
    .trimEnd();
}

/** The query's terms that a text has. */
export function termsIn(text: string, rarity: ReadonlyMap<string, number>): Set<string> {
  return new Set([...termsOf(text).keys()].filter((term) => rarity.has(term)));
}

/** Where the window begins whose different terms are worth most; earlier and tighter ones first. */
function bestWindow(
  lines: readonly string[],
  matched: readonly ReadonlySet<string>[],
  rarity: ReadonlyMap<string, number>,
): number {
  let best = { start: firstWithText(lines), worth: 0 };
  for (let line = 0; line < lines.length; line++) {
    if (matched[line]!.size === 0) continue;
    const seen = new Set<string>();
    let worth = 0;
    for (let at = line; at < Math.min(lines.length, line + maxLines); at++) {
      for (const term of matched[at]!) {
        if (seen.has(term)) continue;
        seen.add(term);
        worth += rarity.get(term)!;
      }
    }
    if (worth > best.worth + 1e-9) best = { start: line, worth };
  }
  return best.start;
}

function firstWithText(lines: readonly string[]): number {
  return Math.max(
    0,
    lines.findIndex((line) => line.trim() !== ''),
  );
}

function withoutMargin(lines: readonly string[]): string[] {
  const margins = lines.filter((line) => line.trim() !== '').map((line) => /^[ \t]*/.exec(line)![0].length);
  const margin = margins.length === 0 ? 0 : Math.min(...margins);
  return lines.map((line) => line.slice(Math.min(margin, /^[ \t]*/.exec(line)![0].length)));
}

/** Of a long line, the piece around its first match. */
function shortened(line: string, rarity: ReadonlyMap<string, number>): string {
  if (line.length <= maxLineLength) return line;
  const step = Math.floor(maxLineLength / 2);
  for (let start = 0; start < line.length; start += step) {
    if (termsIn(line.slice(start, start + step), rarity).size === 0) continue;
    const from = Math.max(0, start - Math.floor(step / 2));
    const piece = line.slice(from, from + maxLineLength).toWellFormed();
    return `${from > 0 ? '…' : ''}${piece}${from + maxLineLength < line.length ? '…' : ''}`;
  }
  return `${line.slice(0, maxLineLength).toWellFormed()}…`;
}

/** Nothing that moves a terminal's cursor or reverses a line. */
function plain(line: string): string {
  return line.replace(/\t/g, '  ').replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '');
}
