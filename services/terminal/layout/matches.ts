import { type Row, rowText, type Span } from '../screen/cell.ts';

/** The row with every place that a search found standing out. */
export function withMatches(row: Row, search: string): Row {
  const text = rowText(row);
  const exact = search !== search.toLowerCase();
  const within = exact ? text : text.toLowerCase();
  // Some capitals have more characters in lower case; positions would not fit then.
  if (within.length !== text.length || !within.includes(search)) return row;
  const marked: Span[] = [];
  let offset = 0;
  for (const part of row) {
    let from = 0;
    for (let at = 0; at < part.text.length; at++) {
      const begins = within.startsWith(search, offset + at);
      if (!begins) continue;
      const end = Math.min(part.text.length, at + search.length);
      if (at > from) marked.push({ ...part, text: part.text.slice(from, at) });
      marked.push({ text: part.text.slice(at, end), style: { ...part.style, inverse: true } });
      from = end;
      at = end - 1;
    }
    if (from < part.text.length) marked.push({ ...part, text: part.text.slice(from) });
    offset += part.text.length;
  }
  return marked;
}
