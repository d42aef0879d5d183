/**
 * The stem of an English word, so that `validates`, `validated` and `validation` meet.
 * M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980.
 * @param word of lower-case letters; anything else comes back as it is
 */
export function stem(word: string): string {
  if (word.length < 3 || !/^[a-z]+$/.test(word)) return word;
  return withoutLastE(
    withoutLongSuffix(withoutDerivation(withoutDerivedPair(withoutY(withoutTense(withoutPlural(word)))))),
  );
}

const consonant = '[^aeiou]';
const vowel = '[aeiouy]';
const consonants = `${consonant}[^aeiouy]*`;
const vowels = `${vowel}[aeiou]*`;
const hasOnePair = new RegExp(`^(${consonants})?${vowels}${consonants}`);
const isOnePair = new RegExp(`^(${consonants})?${vowels}${consonants}(${vowels})?$`);
const hasTwoPairs = new RegExp(`^(${consonants})?${vowels}${consonants}${vowels}${consonants}`);
const hasVowel = new RegExp(`^(${consonants})?${vowel}`);
const isShort = new RegExp(`^${consonants}${vowel}[^aeiouwxy]$`);

function withoutPlural(word: string): string {
  if (word.endsWith('sses') || word.endsWith('ies')) return word.slice(0, -2);
  return word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word;
}

function withoutTense(word: string): string {
  if (word.endsWith('eed')) return hasOnePair.test(word.slice(0, -3)) ? word.slice(0, -1) : word;
  const rest = word.endsWith('ed') ? word.slice(0, -2) : word.endsWith('ing') ? word.slice(0, -3) : null;
  if (rest === null || !hasVowel.test(rest)) return word;
  if (/(at|bl|iz)$/.test(rest)) return `${rest}e`;
  if (/([^aeioulsz])\1$/.test(rest)) return rest.slice(0, -1);
  return isShort.test(rest) ? `${rest}e` : rest;
}

function withoutY(word: string): string {
  return word.endsWith('y') && hasVowel.test(word.slice(0, -1)) ? `${word.slice(0, -1)}i` : word;
}

const derivedPairs: readonly (readonly [suffix: string, replacement: string])[] = [
  ['ational', 'ate'],
  ['ization', 'ize'],
  ['iveness', 'ive'],
  ['fulness', 'ful'],
  ['ousness', 'ous'],
  ['tional', 'tion'],
  ['biliti', 'ble'],
  ['entli', 'ent'],
  ['ousli', 'ous'],
  ['ation', 'ate'],
  ['alism', 'al'],
  ['aliti', 'al'],
  ['iviti', 'ive'],
  ['enci', 'ence'],
  ['anci', 'ance'],
  ['izer', 'ize'],
  ['alli', 'al'],
  ['ator', 'ate'],
  ['logi', 'log'],
  ['bli', 'ble'],
  ['eli', 'e'],
];

const derivations: readonly (readonly [suffix: string, replacement: string])[] = [
  ['icate', 'ic'],
  ['ative', ''],
  ['alize', 'al'],
  ['iciti', 'ic'],
  ['ical', 'ic'],
  ['ness', ''],
  ['ful', ''],
];

function withoutDerivedPair(word: string): string {
  return replaced(word, derivedPairs);
}

function withoutDerivation(word: string): string {
  return replaced(word, derivations);
}

function replaced(word: string, rules: readonly (readonly [string, string])[]): string {
  for (const [suffix, replacement] of rules) {
    if (!word.endsWith(suffix)) continue;
    const rest = word.slice(0, -suffix.length);
    return hasOnePair.test(rest) ? rest + replacement : word;
  }
  return word;
}

const longSuffix =
  /(ement|ance|ence|able|ible|ment|ant|ent|ism|ate|iti|ous|ive|ize|al|er|ic|ou|(?<=[st])ion)$/;

function withoutLongSuffix(word: string): string {
  const found = longSuffix.exec(word);
  if (found === null) return word;
  const rest = word.slice(0, found.index);
  return hasTwoPairs.test(rest) ? rest : word;
}

function withoutLastE(word: string): string {
  const rest = word.slice(0, -1);
  const drops =
    word.endsWith('e') && (hasTwoPairs.test(rest) || (isOnePair.test(rest) && !isShort.test(rest)));
  const short = drops ? rest : word;
  return short.endsWith('ll') && hasTwoPairs.test(short) ? short.slice(0, -1) : short;
}
