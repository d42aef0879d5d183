import { partsOf } from './words.ts';

/** What of a query can be a whole title or path. */
export interface NamesInQuery {
  /** All of it; null where it is too long for a name. */
  readonly whole: string | null;
  /** Paths, file names and identifiers among its words; none of a long text, which names much in passing. */
  readonly parts: readonly string[];
}

const longestName = 300;
const mostWords = 12;

export function namesIn(query: string): NamesInQuery {
  const text = query.normalize('NFKC').trim();
  const words = text.split(/\s+/, mostWords + 1);
  const whole = text.length <= longestName && !text.includes('\n') ? bare(text) : null;
  if (words.length > mostWords || text.length > mostWords * longestName) return { whole, parts: [] };
  const parts = words.filter((word) => isName(word)).map(bare);
  return { whole, parts: [...new Set(parts)].filter((part) => part !== whole && part !== '') };
}

/** Written as nobody writes a word: with a file's ending, folders, or parts; or marked as code. */
function isName(word: string): boolean {
  const name = bare(word);
  if (name.length < 4 || name.length > longestName || /:\/\//.test(name)) return false;
  if (/^`[^`]+`[,.;:]?$/.test(word)) return true;
  if (/^[^/]+\.[A-Za-z]\w{0,7}$/.test(name) || /^[\w.@-]+(\/[\w.@-]+)+$/.test(name)) return true;
  return (
    /^[\w$.#]+$/.test(name) && partsOf(name).length > 1 && !/^\d/.test(name) && !/^[A-Z][a-z]+\.$/.test(name)
  );
}

/** Without quotes around it and what ends a sentence. */
function bare(text: string): string {
  return text.replace(/^[`'"(<\s]{1,10}|[`'")>\s,;:.?!]{1,10}$/g, '');
}
