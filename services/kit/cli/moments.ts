/** Times as people say them. */

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** For example `3 min ago`; a date from a month on. */
export function age(at: string, now: Date): string {
  const past = now.getTime() - Date.parse(at);
  if (Number.isNaN(past)) return 'at an unknown time';
  if (past < 10_000) return 'just now';
  if (past < minute) return `${Math.floor(past / 1000)} s ago`;
  if (past < hour) return `${Math.floor(past / minute)} min ago`;
  if (past < day) return `${Math.floor(past / hour)} h ago`;
  if (past < 30 * day) return counted(Math.floor(past / day), 'day', 'ago');
  return at.slice(0, 10);
}

/** For example `in 7 days`. */
export function until(at: string, now: Date): string {
  const left = Date.parse(at) - now.getTime();
  if (Number.isNaN(left)) return 'at an unknown time';
  if (left <= 0) return 'now';
  if (left < hour) return `in ${Math.ceil(left / minute)} min`;
  if (left < 2 * day) return `in ${Math.round(left / hour)} h`;
  return `in ${counted(Math.round(left / day), 'day', '').trim()}`;
}

/** For example `0.4 s` or `2 min 10 s`. */
export function duration(milliseconds: number): string {
  if (milliseconds < 100) return `${Math.max(0, Math.round(milliseconds))} ms`;
  if (milliseconds < minute) return `${(milliseconds / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** A limit in whole units: `10 min`, `90 s`. */
export function limit(seconds: number): string {
  return seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`;
}

function counted(count: number, word: string, after: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'} ${after}`;
}
