/** A text that core-context can keep: no more than it takes, no NUL, no half characters. */
export function wireText(text: string, most: number): string {
  const clean = text.replaceAll('\0', '\uFFFD').toWellFormed();
  return clean.length <= most ? clean : `${clean.slice(0, most - 1).toWellFormed()}…`;
}

/** The same on one line without control characters. */
export function wireLine(text: string, most = 500): string {
  return wireText(text.replace(/[\p{Cc}\s]+/gu, ' ').trim(), most);
}
