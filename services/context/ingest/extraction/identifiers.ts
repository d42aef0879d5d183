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

/** Between a member and what has it, as people break lines. */
const maxGap = 100;
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

const selves = new Set(['self', 'Self', 'cls', 'this', '$this', 'static', 'super', 'parent']);

/** Whether a receiver is the object or the type that the code is part of. */
export function isSelf(receiver: string): boolean {
  return selves.has(receiver);
}

/** Of a value or a type: what is between it and its member. */
const memberSign: Readonly<Record<string, RegExp>> = { php: /(?:->|::)$/ };
const anyMemberSign = /(?:(?<!\.)[?!&]?\.|->|::)$/;

/**
 * The names that each part uses, without those in comments and strings, every name once. What the file uses outside of its
 * parts is given only where no part of it uses the same. `text.name` is a member of what is called `text`, in a chain of members
 * of what it begins with; `.name` a member of anything else, a call's result for example; `name` stands alone.
 * @param stretches in the order of the text; a part within another follows it
 */
export function referencesIn(
  language: CodeLanguage,
  text: string,
  stretches: readonly Stretch[],
): NamesOfPart[] {
  const names = new Map<number, Set<string>>();
  const open: Stretch[] = [];
  const family = familyOf(language);
  const sign = memberSign[family] ?? anyMemberSign;
  let next = 0;
  let before = { end: -1, root: '', isChain: false };
  for (const match of text.matchAll(tokens.get(family)!)) {
    const word = match[1];
    const gap = text.slice(Math.max(before.end, match.index - maxGap), match.index).trimEnd();
    const isMember = sign.test(gap);
    const isAtOnce = isMember && before.root !== '' && gap.replace(sign, '').trim() === '';
    const receiver = isAtOnce && !(before.isChain && isSelf(before.root)) ? before.root : '';
    const end = match.index + match[0].length;
    before = { end, root: word === undefined ? '' : isMember ? receiver : word, isChain: isMember };
    if (word === undefined || word.length < minLength || word.length > maxLength) continue;
    while (next < stretches.length && stretches[next]!.from <= match.index) open.push(stretches[next++]!);
    while (open.length > 0 && open.at(-1)!.to <= match.index) open.pop();
    if (commonWords.has(word)) continue;
    const part = open.at(-1)?.part ?? -1;
    if (open.at(-1)?.name === word) continue;
    const known = names.get(part) ?? new Set();
    names.set(part, known);
    if (known.size < maxPerPart) known.add(isMember ? `${receiver}.${word}` : word);
  }
  const outside = names.get(-1) ?? new Set();
  const simple = (name: string) => name.slice(name.lastIndexOf('.') + 1);
  const inParts = new Set([...names].flatMap(([part, known]) => (part === -1 ? [] : [...known].map(simple))));
  for (const name of outside) if (inParts.has(simple(name))) outside.delete(name);
  return [...names]
    .filter(([, known]) => known.size > 0)
    .map(([part, known]) => ({ part, names: [...known] }));
}
