const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;

/**
 * Where a string of JSON ends, after its closing quote; the end of all where it has none.
 * @param from its opening quote
 */
export function endOfString(json: Buffer, from: number): number {
  let at = from;
  for (;;) {
    at = json.indexOf(quote, at + 1);
    if (at === -1) return json.length;
    let slashes = 0;
    while (json[at - 1 - slashes] === backslash) slashes++;
    if (slashes % 2 === 0) return at + 1;
  }
}

interface JsonShape {
  /** Levels of lists and objects in each other. */
  readonly depth: number;
  /** About how many values there are. */
  readonly values: number;
}

/**
 * The shape of JSON without parsing it: eight million brackets take seconds and half a gigabyte to parse. Stops as soon as one of the
 * limits is exceeded.
 */
export function shapeOf(json: Buffer, limits: JsonShape): JsonShape {
  let [depth, maxDepth, values] = [0, 0, 1];
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === quote) at = endOfString(json, at) - 1;
    else if (byte === comma) values++;
    else if (byte === 0x5b || byte === 0x7b) {
      values++;
      if (++depth > maxDepth) maxDepth = depth;
    } else if (byte === 0x5d || byte === 0x7d) depth--;
    if (maxDepth > limits.depth || values > limits.values) break;
  }
  return { depth: maxDepth, values };
}

/** The members of an object that are strings, found without building the others. */
export function stringMembers(json: Buffer): Readonly<Record<string, string>> {
  const members = new Map<string, string>();
  let depth = 0;
  let name: string | null = null;
  let isName = true;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === quote) {
      const end = endOfString(json, at);
      if (depth === 1) {
        const text = textOf(json.subarray(at, end));
        if (isName) name = text;
        else if (name !== null && text !== null) members.set(name, text);
      }
      at = end - 1;
    } else if (byte === 0x5b || byte === 0x7b) depth++;
    else if (byte === 0x5d || byte === 0x7d) depth--;
    else if (depth === 1 && (byte === comma || byte === colon)) isName = byte === comma;
  }
  return Object.fromEntries(members);
}

const maxTextBytes = 4_096;

function textOf(json: Buffer): string | null {
  if (json.length > maxTextBytes) return null;
  try {
    return JSON.parse(json.toString());
  } catch {
    return null;
  }
}
