/**
 * Seconds of a `Retry-After` header, which is a number or a date; 0 for a date that is past, null where it is neither.
 * @param now in milliseconds since 1970, by the clock that the date is held against
 * Source: RFC 9110, 10.2.3.
 */
export function retryAfterSeconds(header: string | null | undefined, now = Date.now()): number | null {
  const text = header?.trim() ?? '';
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  const time = httpDate(text);
  return time === null ? null : Math.max(0, (time - now) / 1000);
}

/** Milliseconds since 1970, from the three forms of RFC 9110, 5.6.7: JavaScript alone would read a date into nearly anything. */
export function httpDate(text: string): number | null {
  const asctime = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/.test(text);
  if (!asctime && !/^[A-Z][a-z]{2,8}, \d\d[ -][A-Z][a-z]{2}[ -]\d{2,4} \d\d:\d\d:\d\d GMT$/.test(text))
    return null;
  const time = Date.parse(asctime ? `${text} GMT` : text);
  return Number.isNaN(time) ? null : time;
}
