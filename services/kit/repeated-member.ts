/**
 * JSON pointer of the first member that stands twice in its object, anywhere in this JSON text; null where there is none. Readers
 * disagree on which of the two counts, so that what one of them checked is not what another one does.
 * @param value what `JSON.parse` made of the text
 */
export function repeatedMember(text: string, value: unknown): string | null {
  return memberNames(text) === keysOf(value) ? null : firstRepeated(text);
}

const [quote, backslash, colon] = [...'"\\:'].map((character) => character.charCodeAt(0));

/** How many members the text writes: a colon outside of strings stands behind each name. */
function memberNames(text: string): number {
  let names = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === colon) names++;
    else if (code === quote) at = endOfString(text, at);
  }
  return names;
}

/** How many of them are left: the last of two that are named alike took the place of the first. */
function keysOf(value: unknown): number {
  let keys = 0;
  const left = [value];
  // Not by calls, of which a value that is nested deeply would take too many.
  while (left.length > 0) {
    const one = left.pop();
    if (typeof one !== 'object' || one === null) continue;
    const values = Object.values(one);
    if (!Array.isArray(one)) keys += values.length;
    for (const inner of values) if (typeof inner === 'object') left.push(inner);
  }
  return keys;
}

interface Level {
  readonly pointer: string;
  readonly isList: boolean;
  readonly seen: Set<string>;
  /** Where a value that stands here lies. */
  here: string;
  index: number;
}

/** Slow, and only asked for the sake of a message. */
function firstRepeated(text: string): string {
  const levels: Level[] = [];
  let last = '';
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    const level = levels.at(-1);
    if (character === '"') {
      const end = endOfString(text, at);
      last = text.slice(at, end + 1);
      at = end;
    } else if (character === '{' || character === '[') {
      const pointer =
        level === undefined ? '' : level.isList ? `${level.pointer}/${level.index}` : level.here;
      levels.push({ pointer, isList: character === '[', seen: new Set(), here: pointer, index: 0 });
    } else if (character === '}' || character === ']') levels.pop();
    else if (character === ',' && level !== undefined) level.index++;
    else if (character === ':' && level !== undefined) {
      const name: string = JSON.parse(last);
      level.here = `${level.pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
      if (level.seen.has(name)) return level.here;
      level.seen.add(name);
    }
  }
  return '/';
}

/** Index of the closing quote. */
function endOfString(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text.charCodeAt(at) !== quote) at += text.charCodeAt(at) === backslash ? 2 : 1;
  return at;
}
