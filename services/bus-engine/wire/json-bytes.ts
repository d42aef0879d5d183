const quote = 0x22;
const backslash = 0x5c;

/**
 * Where a string of JSON ends, after its closing quote; the end of all where it has none.
 * @param from its opening quote
 */
export function endOfString(json: Buffer, from: number): number {
  let at = from;
  for (;;) {
    at = nextQuote(json, at + 1);
    if (at === -1) return json.length;
    let slashes = 0;
    while (json[at - 1 - slashes] === backslash) slashes++;
    if (slashes % 2 === 0) return at + 1;
  }
}

/** Most texts are short: to look at their bytes here costs less than the call of a search. */
function nextQuote(json: Buffer, from: number): number {
  const near = Math.min(from + 24, json.length);
  for (let at = from; at < near; at++) if (json[at] === quote) return at;
  return near === json.length ? -1 : json.indexOf(quote, near);
}
