import type { SearchHit } from '../scratch-copy.ts';

const longestLine = 400;

/** Lines that hold the text, at most `limit`; a long line is cut around its first occurrence. */
export function hitsIn(path: string, content: Uint8Array, text: string, limit: number): SearchHit[] {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  const hits: SearchHit[] = [];
  let line = 1;
  let lineStart = 0;
  for (let at = bytes.indexOf(text); at >= 0 && hits.length < limit; ) {
    for (
      let next = bytes.indexOf(10, lineStart);
      next >= 0 && next < at;
      next = bytes.indexOf(10, lineStart)
    ) {
      line += 1;
      lineStart = next + 1;
    }
    const lineEnd = bytes.indexOf(10, at);
    const end = lineEnd < 0 ? bytes.length : lineEnd;
    hits.push({ path, line, text: excerpt(bytes.subarray(lineStart, end), at - lineStart) });
    at = bytes.indexOf(text, end);
  }
  return hits;
}

function excerpt(line: Buffer, at: number): string {
  if (line.length <= longestLine) return line.toString('utf8').replace(/\r$/, '');
  const start = Math.max(0, at - 100);
  const end = Math.min(line.length, start + longestLine);
  return `${start > 0 ? '…' : ''}${line.toString('utf8', start, end)}${end < line.length ? '…' : ''}`;
}
