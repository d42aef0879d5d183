/** One word for a POSIX shell; quoted only where it must be. */
export function shellWord(word: string): string {
  if (/^[\w@%+=:,./…-]+$/.test(word)) return word;
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
