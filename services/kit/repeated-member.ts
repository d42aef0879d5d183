interface Level {
  readonly pointer: string;
  readonly isList: boolean;
  /** Of the members so far; made with the first, as a body may hold a million brackets. */
  names: Set<string> | null;
  /** Where a value that stands here lies. */
  here: string;
  index: number;
}

/**
 * JSON pointer of the first member that stands twice in its object, anywhere in this JSON text; null where there is none. Readers
 * disagree on which of the two counts, so that what one of them checked is not what another one does, and `JSON.parse` keeps one.
 */
export function repeatedMember(text: string): string | null {
  const levels: Level[] = [];
  let last = '';
  for (let at = 0; at < text.length; at++) {
    const level = levels.at(-1);
    switch (text[at]) {
      case '"': {
        const end = endOfString(text, at);
        last = text.slice(at, end + 1);
        at = end;
        break;
      }
      case '{':
      case '[': {
        const pointer =
          level === undefined ? '' : level.isList ? `${level.pointer}/${level.index}` : level.here;
        levels.push({ pointer, isList: text[at] === '[', names: null, here: pointer, index: 0 });
        break;
      }
      case '}':
      case ']':
        levels.pop();
        break;
      case ',':
        if (level !== undefined) level.index++;
        break;
      case ':': {
        const name: string = JSON.parse(last);
        level!.here = `${level!.pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
        level!.names ??= new Set();
        if (level!.names.has(name)) return level!.here;
        level!.names.add(name);
      }
    }
  }
  return null;
}

/** Index of the closing quote. */
function endOfString(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}
