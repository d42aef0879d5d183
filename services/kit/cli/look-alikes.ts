/**
 * Letters that look like Latin ones. Within a word that has Latin letters too they are shown by their number: `gr\u{435}et`
 * is not `greet`.
 */

const cyrillic = 'асеорхуіјѕһԁԛԝѵӏАВЕЅІЈКМНОРСТУХԌԚԜ';
const greek = 'ονρυικχαϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ';
const others = 'ɑɡɩıʏ᧐օսոհցզՏՕᎪᏴᏟᎠᎬᎻᎫᏦᏞᎷᏢᏚᎢᏙᏃⲟⲥⲣ';
const alike = new Set(cyrillic + greek + others);

const word = /[\p{L}\p{M}\p{N}_]+/gu;

/** Text whose words are mostly code or prose: words of one script stay as they are. */
export function withoutLookAlikes(text: string): string {
  if (isPlain(text)) return text;
  return text.replace(word, (found) => (/[A-Za-z]/.test(found) ? shownLetters(found) : found));
}

/** Names of files: a word that could be Latin altogether is shown by its numbers as well, as is what only looks composed. */
export function unmistakableName(name: string): string {
  if (isPlain(name)) return name;
  const composed = name.replace(/\p{M}/gu, (mark, at: number) =>
    name.slice(0, at).normalize('NFC') + mark === (name.slice(0, at) + mark).normalize('NFC')
      ? mark
      : numbered(mark),
  );
  return composed.replace(word, (found) =>
    /[A-Za-z]/.test(found) || [...found].every(isAlike) ? shownLetters(found) : found,
  );
}

function shownLetters(text: string): string {
  return [...text].map((letter) => (isAlike(letter) ? numbered(letter) : letter)).join('');
}

function isAlike(letter: string): boolean {
  return alike.has(letter) || (letter > '\x7f' && /^[A-Za-z0-9]$/.test(letter.normalize('NFKC')));
}

/** The number that stands for a letter which cannot be told by its looks. */
export function numbered(letter: string): string {
  return `\\u{${letter.codePointAt(0)!.toString(16)}}`;
}

/** Where `shown`, made of `text` by the functions above or `visibleLines`, has an escape in the place of a character. */
export function standInsOf(text: string, shown: string): { readonly at: number; readonly length: number }[] {
  const found: { at: number; length: number }[] = [];
  const standsFor = /\\(?:x[0-9a-f]{2}|u\{[0-9a-f]+\}|[nrt])/y;
  let at = 0;
  for (const character of text) {
    if (shown.startsWith(character, at)) {
      at += character.length;
      continue;
    }
    standsFor.lastIndex = at;
    const [standIn = ''] = standsFor.exec(shown) ?? [];
    found.push({ at, length: standIn.length });
    at += standIn.length;
  }
  return found;
}

function isPlain(text: string): boolean {
  return /^[\x00-\x7f]*$/.test(text);
}
