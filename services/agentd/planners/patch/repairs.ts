import { bytesText } from './file-lines.ts';
import { plainReading, type Reading } from './place-hunks.ts';

/** What forges, mail programs and editors do to a patch, and how to read it in spite of that. */
export interface Repair extends Reading {
  /** For people, for example `HTML entities`. */
  readonly name: string;
}

export const repairs: readonly Repair[] = [
  textual('HTML entities', decodedEntities),
  textual('no-break spaces', (text) => text.replace(/[\u00a0\u2007\u202f]/g, ' ')),
  textual('invisible characters', (text) => text.replace(/[\u00ad\u200b-\u200d\u2060\ufeff]/g, '')),
  textual('typographic quotes', (text) =>
    text.replace(/[\u2018-\u201b]/g, "'").replace(/[\u201c-\u201f]/g, '"'),
  ),
  textual('Unicode form NFD instead of NFC', (text) => text.normalize('NFC')),
  textual('Unicode form NFC instead of NFD', (text) => text.normalize('NFD')),
  { ...plainReading, name: 'encoding: the file is not UTF-8', bytes: windows1252 },
  textual('tabs copied from a terminal', (text) =>
    text.replace(/^ {7}(?: {8})*/, (indent) => '\t'.repeat((indent.length + 1) / 8)),
  ),
  ...[8, 4, 2].flatMap((width) => [
    textual(`a tab written as ${width} spaces`, (text) =>
      text.replace(
        /^ +/,
        (indent) => '\t'.repeat(Math.floor(indent.length / width)) + ' '.repeat(indent.length % width),
      ),
    ),
    textual(`${width} spaces written as a tab`, (text) =>
      text.replace(/^\t+/, (indent) => ' '.repeat(indent.length * width)),
    ),
  ]),
  {
    ...plainReading,
    name: 'trailing white space',
    key: (line) => line.replace(/[ \t\r]+(?=\n?$)/, ''),
  },
  { ...plainReading, name: 'missing newline at the end of the file', isOpen: true },
];

/** True if the repair reads a line of the hunks in another way. */
export function concerns({ bytes, key, isOpen }: Repair, texts: readonly string[]): boolean {
  return isOpen || key !== plainReading.key || texts.some((text) => bytes(text) !== bytesText(text));
}

/** What makes a line of a patch differ from a line of the file, in words. @param found bytes without the line end */
export function differenceOf(expected: string, found: string): string {
  const name = repairs.find(({ bytes, key }) => key(bytes(expected)) === key(found))?.name;
  if (name !== undefined) return name;
  if (found === `\u00ef\u00bb\u00bf${bytesText(expected)}`) return 'a byte order mark in the file';
  const words = (text: string) => text.trim().replace(/\s+/g, ' ');
  return words(bytesText(expected)) === words(found) ? 'white space' : 'other content';
}

const htmlEntity = /&(lt|gt|amp|quot|apos|nbsp|#\d{1,6}|#x[\da-f]{1,6});/gi;

/** The first entity that an escaped text would have; null if the text has other marks of its own, so that it is not escaped. */
export function suspectEntity(texts: readonly string[]): string | null {
  if (texts.some((text) => /[<>]|&(?!(?:lt|gt|amp|quot|apos|nbsp|#\w{1,7});)/i.test(text))) return null;
  const found = texts.map((text) => /&(?:lt|gt|amp|quot|apos|#39|#x27|#34);/i.exec(text)?.[0]);
  return found.find((entity) => entity !== undefined) ?? null;
}

function textual(name: string, change: (text: string) => string): Repair {
  return { ...plainReading, name, bytes: (text) => bytesText(change(text)) };
}

const named: Readonly<Record<string, string>> = {
  lt: '<',
  gt: '>',
  amp: '&',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
};

function decodedEntities(text: string): string {
  return text.replace(htmlEntity, (entity, name: string) => {
    const known = named[name.toLowerCase()];
    if (known !== undefined) return known;
    const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : entity;
  });
}

const westernBytes = new Map(
  [...new TextDecoder('windows-1252').decode(Uint8Array.from({ length: 256 }, (_, byte) => byte))].map(
    (character, byte) => [character, String.fromCharCode(byte)],
  ),
);

/** As UTF-8 if a character does not exist there. */
function windows1252(text: string): string {
  const bytes = [...text].map((character) => westernBytes.get(character));
  return bytes.includes(undefined) ? bytesText(text) : bytes.join('');
}
