/** Replaces the lines from `from` up to, but without, `to`, counted from 0. */
export interface Edit {
  readonly from: number;
  readonly to: number;
  /** With their line ends. */
  readonly lines: readonly string[];
}

/** Lines with their line ends. One character is one byte, so that every file has lines and no byte is lost. */
export function linesOf(content: Uint8Array): string[] {
  if (content.length === 0) return [];
  return Buffer.from(content)
    .toString('latin1')
    .split(/(?<=\n)/);
}

/** Text of a patch in the form of `linesOf`. */
export function bytesText(text: string): string {
  return Buffer.from(text).toString('latin1');
}

export function shownText(line: string): string {
  return Buffer.from(line, 'latin1').toString('utf8');
}

/** The lines after the edits, which are sorted and do not overlap. */
export function edited<T>(
  lines: readonly T[],
  edits: readonly { readonly from: number; readonly to: number; readonly lines: readonly T[] }[],
): T[] {
  const result: T[] = [];
  let at = 0;
  for (const { from, to, lines: added } of edits) {
    for (; at < from; at += 1) result.push(lines[at]!);
    for (const line of added) result.push(line);
    at = to;
  }
  for (; at < lines.length; at += 1) result.push(lines[at]!);
  return result;
}

/** Where `old` is in `keys`. The search of Knuth, Morris and Pratt, so that repeated lines cost no more than others. */
export function occurrences(keys: readonly string[], old: readonly string[], limit: number): number[] {
  const fallback = new Int32Array(old.length);
  for (let index = 1, length = 0; index < old.length; index += 1) {
    while (length > 0 && old[index] !== old[length]) length = fallback[length - 1]!;
    if (old[index] === old[length]) length += 1;
    fallback[index] = length;
  }
  const found: number[] = [];
  for (let index = 0, length = 0; index < keys.length && found.length < limit; index += 1) {
    while (length > 0 && keys[index] !== old[length]) length = fallback[length - 1]!;
    if (keys[index] === old[length]) length += 1;
    if (length < old.length) continue;
    found.push(index - old.length + 1);
    length = fallback[length - 1]!;
  }
  return found;
}
