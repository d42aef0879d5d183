import type { NamesOfPart } from './extraction.ts';
import { type CodeLanguage, familyOf } from './languages.ts';

/** A stretch of the text that belongs to a part. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly part: number;
  /** Its own name is not a reference. */
  readonly name: string;
}

const minLength = 3;
const maxLength = 80;
const maxPerPart = 300;

const strings = {
  double: '"(?:[^"\\\\\\n]|\\\\.)*"',
  single: "'(?:[^'\\\\\\n]|\\\\.)*'",
  character: "'(?:[^'\\\\\\n]|\\\\.){1,8}'",
  raw: '`[^`]*`',
  plain: '`[^`$]*`',
  triple: '"""[\\s\\S]*?"""|\'\'\'[\\s\\S]*?\'\'\'',
};
const comments = { slashes: '//.*', block: '/\\*[\\s\\S]*?\\*/', hash: '#.*' };
const number = '\\d[\\w.]*';
const name = '([\\p{L}_$][\\p{L}\\p{N}_$]*)';

/** By family: what is skipped. Templates of JavaScript are code in part and stay. */
const skipped: Readonly<Record<string, readonly string[]>> = {
  javascript: [comments.block, comments.slashes, strings.double, strings.single, strings.plain],
  python: [strings.triple, comments.hash, strings.double, strings.single],
  go: [comments.block, comments.slashes, strings.double, strings.raw, strings.character],
  rust: [comments.block, comments.slashes, strings.double, strings.character],
  java: [comments.block, comments.slashes, strings.triple, strings.double, strings.character],
  cpp: [comments.block, comments.slashes, '#\\s*include.*', strings.double, strings.character],
  csharp: [comments.block, comments.slashes, strings.double, strings.character],
  ruby: [comments.hash, strings.double, strings.single],
  php: [comments.block, comments.slashes, '#(?!\\[).*', strings.double, strings.single],
};

const tokens = new Map(
  Object.entries(skipped).map(([family, patterns]) => [
    family,
    new RegExp(`${patterns.join('|')}|${number}|${name}`, 'gu'),
  ]),
);

const commonWords = new Set(
  `abstract and any array as assert async await auto base bool boolean break byte case catch chan char class const constexpr
  continue crate debugger def default defer del delete dict do double elif else elsif end ensure enum error except export exports extends
  extern false final finally float fn for foreach friend from func function get global goto if impl implements import in inline
  instanceof int int32 int64 interface internal is keyof lambda length let list long loop map match mod module move mut
  namespace new nil none None not null number object of operator or out override package pass private protected prototype
  public pub raise range readonly ref register require rescue return sealed self Self set short signed size_t sizeof static std str
  string String struct super switch template then this throw throws trait true True False try tuple type typedef typename typeof
  uint undef undefined union unless unsafe unsigned unknown until use using var virtual void volatile when where while with yield
  Array Object Promise Error Map Set Number Boolean console Math JSON process print len echo isset usize vec Vec Option Some Result
  unwrap clone push pop join split slice filter forEach toString append format`.split(/\s+/),
);

/**
 * The names that each part uses, without those in comments and strings, every name once. What the file uses outside of its
 * parts is given only where no part of it uses the same.
 * @param stretches in the order of the text; a part within another follows it
 */
export function referencesIn(
  language: CodeLanguage,
  text: string,
  stretches: readonly Stretch[],
): NamesOfPart[] {
  const names = new Map<number, Set<string>>();
  const open: Stretch[] = [];
  let next = 0;
  for (const match of text.matchAll(tokens.get(familyOf(language))!)) {
    const word = match[1];
    if (word === undefined || word.length < minLength || word.length > maxLength) continue;
    while (next < stretches.length && stretches[next]!.from <= match.index) open.push(stretches[next++]!);
    while (open.length > 0 && open.at(-1)!.to <= match.index) open.pop();
    if (commonWords.has(word)) continue;
    const part = open.at(-1)?.part ?? -1;
    if (open.at(-1)?.name === word) continue;
    const known = names.get(part) ?? new Set();
    names.set(part, known);
    if (known.size < maxPerPart) known.add(word);
  }
  const outside = names.get(-1);
  for (const [part, known] of names) {
    if (part !== -1) for (const word of known) outside?.delete(word);
  }
  return [...names]
    .filter(([, known]) => known.size > 0)
    .map(([part, known]) => ({ part, names: [...known] }));
}
