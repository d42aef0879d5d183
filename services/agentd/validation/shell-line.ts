/** Words of a plain command line without variables before it; null if it holds more than one command or anything computed. */
export function wordsOf(line: string): string[] | null {
  const inFolder = /^\(cd (?:'[^']*'|[\w@%+=:,./-]+) && (.*)\)$/s.exec(line.trim());
  let text = inFolder?.[1] ?? line.trim();
  // As in `PATH=/usr/bin:"$PATH" npm test`.
  const variables = /^(?:cross-env\s+|env\s+)?[A-Za-z_]\w*=(?:"[^"`(]*"|'[^']*'|[^\s"'`;&|<>()])*\s+/;
  while (variables.test(text)) text = text.replace(variables, '');
  const words: string[] = [];
  const word = /\s*((?:'[^']*'|"[^"`$\\]*"|[^\s"'`$\\;&|<>(){}#]+)+)(?=\s|$)/y;
  let at = 0;
  while (text.slice(at).trim() !== '') {
    word.lastIndex = at;
    const found = word.exec(text);
    if (found === null || /[\r\n]/.test(found[0])) return null;
    words.push(found[1]!.replace(/'([^']*)'|"([^"]*)"/g, '$1$2'));
    at = word.lastIndex;
  }
  while (words[0] === 'npx' || words[0] === 'cross-env') words.shift();
  return words.length === 0 ? null : words;
}
