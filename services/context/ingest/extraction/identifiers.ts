import type { NamesOfPart } from './extraction.ts';
import { type CodeLanguage, familyOf } from './languages.ts';
import { type LocalNames, noLocalNames } from './local-names.ts';

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
  hashed: '\\bb?r(#*)"[\\s\\S]*?"\\1',
  plain: '`[^`$]*`',
  triple: '"""[\\s\\S]*?"""|\'\'\'[\\s\\S]*?\'\'\'',
};
const comments = { slashes: '//.*', block: '/\\*[\\s\\S]*?\\*/', hash: '#.*' };
const number = '\\d[\\w.]*';
const name = '(?<name>[\\p{L}_$][\\p{L}\\p{N}_$]*)';

/** By family: what is skipped. Templates of JavaScript are code in part and stay. */
const skipped: Readonly<Record<string, readonly string[]>> = {
  javascript: [comments.block, comments.slashes, strings.double, strings.single, strings.plain],
  python: [strings.triple, comments.hash, strings.double, strings.single],
  go: [comments.block, comments.slashes, strings.double, strings.raw, strings.character],
  rust: [comments.block, comments.slashes, strings.hashed, strings.double, strings.character],
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

const selves = new Set(['self', 'Self', 'cls', 'this', '$this', 'static']);

/** Whether a receiver is the object or the type that the code is part of. */
export function isSelf(receiver: string): boolean {
  return selves.has(receiver);
}

/** Of a value or a type: what is between it and its member. */
const memberSign: Readonly<Record<string, RegExp>> = { php: /(?:->|::)$/ };
const anyMemberSign = /(?:(?<!\.)[?!&]?\.|->|::)$/;

/** Families in which `::` follows a type or a module, and any other sign a value. */
const hasPathSign = new Set(['rust', 'cpp', 'php']);
/** Families in which a member of a value that is not called is a field, which no definition stands for. */
const hasFieldsApart = new Set(['rust', 'php']);

const called: Readonly<Record<string, RegExp>> = {
  rust: /\s*(?:::\s*<[^;{}()]{0,200}>\s*)?\(/y,
  javascript: /\s*(?:\?\.)?(?:<[^;{}()]{0,200}>)?\s*[(`]/y,
  ruby: /[?!]?[ \t]*\(/y,
};
const anyCalled = /\s*(?:<[^;{}()]{0,200}>\s*)?\(/y;
const macroSign = /!\s*[([{]/y;

/** What the text says of a name by what follows it. */
function formAt(family: string, text: string, end: number): '' | '()' | '!' {
  if (family === 'rust' && matchesAt(macroSign, text, end)) return '!';
  return matchesAt(called[family] ?? anyCalled, text, end) ? '()' : '';
}

function matchesAt(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at;
  return pattern.test(text);
}

/** Names joined by signs of members, up to a place in the text. */
interface Chain {
  readonly end: number;
  /** The first name; empty where the chain begins with anything else, or a value's member is in it. */
  readonly root: string;
  readonly last: string;
  readonly isLong: boolean;
}

const noChain: Chain = { end: -1, root: '', last: '', isLong: false };

/**
 * The names that each part uses, without those in comments and strings and those that the part declares for itself, every name once.
 * What the file uses outside of its parts is given only where no part of it uses the same. `text.name` is a member of what is called
 * `text`, `text.part.name` of the last part of a chain that begins with it; `.name` a member of anything else, a call's result for
 * example; `name` stands alone. `name()` is called, `name!` is a macro's call.
 * @param stretches in the order of the text; a part within another follows it
 * @param imported names that the file has for what it imports
 */
export function referencesIn(
  language: CodeLanguage,
  text: string,
  stretches: readonly Stretch[],
  local: LocalNames = noLocalNames,
  imported: ReadonlySet<string> = new Set(),
): NamesOfPart[] {
  const uses: Use[] = [];
  const bound = new Map<number, Set<string>>();
  const open: Stretch[] = [];
  const family = familyOf(language);
  const sign = memberSign[family] ?? anyMemberSign;
  let next = 0;
  let skip = 0;
  let chain = noChain;
  for (const match of text.matchAll(tokens.get(family)!)) {
    const word = match.groups!.name;
    const end = match.index + match[0].length;
    const gap = text.slice(Math.max(chain.end, match.index - maxGap), match.index).trimEnd();
    const joint = sign.exec(gap)?.[0];
    const isAtOnce = joint !== undefined && gap.slice(0, -joint.length).trim() === '';
    const before = isAtOnce ? chain : noChain;
    const isOfModule = family === 'rust' && joint === '::' && before.root === 'self';
    const isMember = joint !== undefined && !isOfModule;
    const isOfValue = isMember && joint !== '::' && hasPathSign.has(family);
    chain =
      word === undefined ? { ...noChain, end } : { ...following(before, word, isMember, isOfValue), end };
    while (next < stretches.length && stretches[next]!.from <= match.index) open.push(stretches[next++]!);
    while (open.length > 0 && open.at(-1)!.to <= match.index) open.pop();
    while (skip < local.skipped.length && local.skipped[skip]!.to <= match.index) skip++;
    if ((local.skipped[skip]?.from ?? Infinity) <= match.index) continue;
    if (word === undefined || word.length < minLength || word.length > maxLength) continue;
    const { part = -1, name: own } = open.at(-1) ?? {};
    if (!isMember && local.bindings.has(match.index)) {
      const known = bound.get(part) ?? new Set();
      if (!isRequiredAt(text, end)) bound.set(part, known.add(word));
      continue;
    }
    if (commonWords.has(word) || own === word || (!isMember && local.keys.has(match.index))) continue;
    const form = family === 'java' && joint === '::' ? '()' : formAt(family, text, end);
    if (isOfValue && form === '' && hasFieldsApart.has(family)) continue;
    uses.push({ part, receiver: isMember ? receiverOf(before, isOfValue) : null, word, form });
  }
  return byPart(uses, (part, name) => {
    return bound.get(part)?.has(name) === true && (part >= 0 || !imported.has(name));
  });
}

interface Use {
  readonly part: number;
  /** null: the word stands alone. */
  readonly receiver: readonly string[] | null;
  readonly word: string;
  readonly form: '' | '()' | '!';
}

function following(before: Chain, word: string, isMember: boolean, isOfValue: boolean): Chain {
  if (!isMember) return { ...noChain, root: word, last: word };
  if (before.root === '' || isOfValue) return noChain;
  return { ...noChain, root: before.root, last: word, isLong: true };
}

function receiverOf({ root, last, isLong }: Chain, isOfValue: boolean): readonly string[] {
  if (root === '' || (isSelf(root) && isLong)) return [];
  if (isOfValue && !isSelf(root)) return [];
  return isLong ? [root, last] : [root];
}

/** `= require(…)`: the name is of what the module holds. */
function isRequiredAt(text: string, end: number): boolean {
  return /^[^;=()]{0,400}=\s*(?:await\s+import|require)\s*\(/.test(text.slice(end, end + 450));
}

function byPart(uses: readonly Use[], isLocal: (part: number, name: string) => boolean): NamesOfPart[] {
  const names = new Map<number, Set<string>>();
  const inParts = new Set<string>();
  for (const { part, word } of uses) if (part >= 0) inParts.add(word);
  for (const { part, receiver, word, form } of uses) {
    if (receiver === null && isLocal(part, word)) continue;
    if (part < 0 && inParts.has(word)) continue;
    const known = names.get(part) ?? new Set();
    names.set(part, known);
    const root = receiver?.[0];
    const of = root !== undefined && !isSelf(root) && isLocal(part, root) ? [] : receiver;
    if (known.size < maxPerPart) known.add(`${of === null ? '' : `${of.join('.')}.`}${word}${form}`);
  }
  return [...names].map(([part, known]) => ({ part, names: [...known] }));
}
