const quote = 0x22;
const backslash = 0x5c;

/**
 * Whether JSON is nested deeper than that, told without building it: eight million brackets take seconds and half a gigabyte to
 * parse.
 */
export function isDeeperThan(limit: number, json: Buffer): boolean {
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === quote) at = endOfString(json, at + 1);
    else if (byte === 0x5b || byte === 0x7b) depth++;
    else if (byte === 0x5d || byte === 0x7d) depth--;
    if (depth > limit) return true;
  }
  return false;
}

/** Offset of the quote that ends the string which begins at `from`. */
function endOfString(json: Buffer, from: number): number {
  for (let at = json.indexOf(quote, from); at !== -1; at = json.indexOf(quote, at + 1)) {
    let escapes = 0;
    while (json[at - 1 - escapes] === backslash) escapes++;
    if (escapes % 2 === 0) return at;
  }
  return json.length;
}
