/**
 * Letters and signs that look like others, above all like Latin ones. Within a word that has Latin letters too they are shown by their number: `gr\u{435}et`
 * is not `greet`.
 */

const cyrillic = 'асеорхуіјѕһԁԛԝѵӏАВЕЅІЈКМНОРСТУХԌԚԜ';
const greek = 'ονρυικχαϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ';
const others = 'ɑɡɩıʏ᧐օսոհցզՏՕᎪᏴᏟᎠᎬᎻᎫᏦᏞᎷᏢᏚᎢᏙᏃⲟⲥⲣ';
const alike = new Set(cyrillic + greek + others);
/** Those of which Unicode does not say that they are a form of an ASCII sign. */
const signs = new Set('ǃǀ\u2010\u2011−∕⁄∶։׃꞉‚∣∗ꓸ');
/** More marks on one letter are written to cover what stands around it. */
const maxMarks = 5;

const word = /[\p{L}\p{M}\p{N}_]+/gu;

/** Text whose words are mostly code or prose: words of one script stay as they are. */
export function withoutLookAlikes(text: string): string {
  if (isPlain(text)) return text;
  return withoutPiledMarks(text).replace(word, (found) =>
    /[A-Za-z]/.test(found) ? shownLetters(found) : found,
  );
}

/** Text that is compared with other text: signs count as well, and what is composed in another way than usual. */
export function unmistakableText(text: string): string {
  if (isPlain(text)) return text;
  return withoutLookAlikes(withoutOtherForms(text));
}

/** Names of files: a word that could be Latin altogether is shown by its numbers as well. */
export function unmistakableName(name: string): string {
  if (isPlain(name)) return name;
  return withoutOtherForms(name).replace(word, (found) =>
    /[A-Za-z]/.test(found) || [...found].every(isAlike) ? shownLetters(found) : found,
  );
}

/** A letter with what is put on it, or put together with it: parts of Korean syllables are no marks. */
const composed = /[^\p{M}\u1160-\u11ff][\p{M}\u1160-\u11ff]+/gu;

function withoutPiledMarks(text: string): string {
  return text.replace(/\p{M}{6,}/gu, (marks) =>
    [...marks].map((mark, at) => (at < maxMarks ? mark : numbered(mark))).join(''),
  );
}

function withoutOtherForms(text: string): string {
  const decomposed = text.normalize('NFC') !== text;
  const parts = decomposed ? withoutPiledMarks(text).replace(composed, withoutCompositions) : text;
  return parts.replace(/[^\x00-\x7f]/gu, (character) =>
    isOtherForm(character) ? numbered(character) : character,
  );
}

/** Marks that make a letter of its own together with what they are put on. */
function withoutCompositions(cluster: string): string {
  let before = '';
  let shown = '';
  for (const part of cluster) {
    const stands = before === '' || (before + part).normalize('NFC') === before.normalize('NFC') + part;
    shown += stands ? part : numbered(part);
    before += part;
  }
  return shown;
}

function isOtherForm(character: string): boolean {
  if (signs.has(character) || character.normalize('NFC') !== character) return true;
  // Wide forms are as wide as the letters among which they stand.
  return !/[\uff01-\uff60]/.test(character) && /^[!-/:-@[-`{-~]$/.test(character.normalize('NFKC'));
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
