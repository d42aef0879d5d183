/** A fenced suggestion: lines that replace others. */
export interface Suggestion {
  readonly path: string;
  /** Lines from 1, both included. */
  readonly from: number;
  readonly to: number;
  readonly lines: readonly string[];
}

interface Location {
  readonly path: string;
  readonly from: number;
  readonly to: number;
}

const looksBack = 4;
const path = String.raw`(?<path>[^\s\x60"'()<>\[\]]+?|\x60[^\x60]+?\x60)`;
const number = String.raw`(?<from>\d{1,7})(?:\s*(?:-|–|to|bis)\s*L?(?<to>\d{1,7}))?`;
const forms: readonly RegExp[] = [
  // A permanent link to lines of a file on a forge.
  /https?:\/\/\S+?\/(?:blob|src\/commit|src\/branch)\/[^/\s]+\/(?<path>[^\s#)]+)#L(?<from>\d{1,7})(?:-L?(?<to>\d{1,7}))?/u,
  new RegExp(`${path}#L${number}`, 'u'),
  new RegExp(`${path}:L?${number}(?![\\w/])`, 'u'),
  new RegExp(`${path}\\x60?\\s*[,:(]?\\s*(?:at\\s+|on\\s+)?lines?\\s+${number}`, 'iu'),
];

/** Reads file and lines from the prose before a suggestion, the nearest line first; null where there is none. */
export function locationIn(prose: readonly string[]): Location | null {
  const near = prose.filter((line) => line.trim() !== '').slice(-looksBack);
  for (const line of near.reverse()) {
    // Bounds the work of the patterns.
    const text = line.slice(0, 300).replaceAll('**', '');
    for (const form of forms) {
      const groups = form.exec(text)?.groups;
      if (groups === undefined) continue;
      const from = Number(groups.from);
      const to = Number(groups.to ?? groups.from);
      const name = decodedPath(groups.path!.replaceAll('`', ''), text);
      return { path: name.replace(/^\.?\//, ''), from: Math.min(from, to), to: Math.max(from, to) };
    }
  }
  return null;
}

function decodedPath(name: string, line: string): string {
  if (!line.includes('://')) return name;
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** GitLab writes how many lines above and below are replaced: `suggestion:-1+2`. */
export function widened(location: Location, info: string): Location {
  const match = /^suggestion:-(\d{1,4})\+(\d{1,4})$/.exec(info);
  if (match === null) return location;
  return { ...location, from: location.from - Number(match[1]), to: location.to + Number(match[2]) };
}

export function isSuggestion(info: string): boolean {
  return /^suggestion(?::-\d{1,4}\+\d{1,4})?$/.test(info);
}

/**
 * A patch that makes all suggestions for one file at once, by the file's own lines and line ends.
 * @returns the patch, or in words why there is none
 */
export function suggestionPatch(
  content: string,
  suggestions: readonly Suggestion[],
): { readonly hunk: string } | { readonly problem: string } {
  const lines = content.split(/(?<=\n)/);
  const inOrder = [...suggestions].sort((left, right) => left.from - right.from);
  const [first] = inOrder;
  const last = inOrder.at(-1);
  if (first === undefined || last === undefined) return { problem: 'there is no suggestion' };
  for (const [index, { from, to }] of inOrder.entries()) {
    if (from < 1 || to > lines.length) {
      return { problem: `lines ${from} to ${to} are asked for, and the file has ${lines.length}` };
    }
    const before = inOrder[index - 1];
    if (before !== undefined && before.to >= from) {
      return { problem: `two suggestions replace line ${from}` };
    }
  }
  const start = Math.max(1, first.from - 3);
  const end = Math.min(lines.length, last.to + 3);
  const body: string[] = [];
  let oldCount = 0;
  let newCount = 0;
  function push(sign: ' ' | '-' | '+', line: string): void {
    body.push(line.endsWith('\n') ? `${sign}${line}` : `${sign}${line}\n\\ No newline at end of file\n`);
    if (sign !== '+') oldCount += 1;
    if (sign !== '-') newCount += 1;
  }
  let at = start;
  for (const { from, to, lines: replacement } of inOrder) {
    while (at < from) push(' ', lines[at++ - 1]!);
    const lineEnd = lines[from - 1]!.endsWith('\r\n') ? '\r\n' : '\n';
    const lastLine = lines[to - 1]!;
    while (at <= to) push('-', lines[at++ - 1]!);
    for (const [index, line] of replacement.entries()) {
      const endsFile = index === replacement.length - 1 && !lastLine.endsWith('\n');
      push('+', `${line}${endsFile ? '' : lineEnd}`);
    }
  }
  while (at <= end) push(' ', lines[at++ - 1]!);
  const newStart = newCount === 0 ? start - 1 : start;
  return { hunk: `@@ -${start},${oldCount} +${newStart},${newCount} @@\n${body.join('')}` };
}
