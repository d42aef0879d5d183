import { elementsOf, membersOf } from './calls/json-members.ts';

/**
 * JSON pointer of the first member that stands twice in its object, of which a parser keeps the last without a word; null where
 * there is none.
 * @param json is JSON already. @throws NestedTooDeep
 */
export function repeatedMember(json: Buffer, from = 0, pointer = ''): string | null {
  if (json[from] === 0x5b) {
    for (const [index, start] of elementsOf(json, from).entries()) {
      const found = repeatedMember(json, start, `${pointer}/${index}`);
      if (found !== null) return found;
    }
    return null;
  }
  if (json[from] !== 0x7b) return null;
  const seen = new Set<string>();
  for (const { key, start } of membersOf(json, from).members) {
    const here = `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    const found = seen.has(key) ? here : repeatedMember(json, start, here);
    if (found !== null) return found;
    seen.add(key);
  }
  return null;
}
