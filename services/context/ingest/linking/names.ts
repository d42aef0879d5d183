import { posix } from 'node:path';
import { isSelf } from '../extraction/identifiers.ts';
import { familyOf } from '../extraction/languages.ts';
import { simpleName } from '../extraction/text.ts';
import type { StoredSymbol } from '../ingest-queries.ts';
import { type NamesInUse, simpleMention, type UsedName, usedName } from './facts.ts';

interface NamedSymbol {
  readonly id: string;
  readonly path: string;
  readonly name: string;
  /** What it is a member of, by its simple name; empty for none. */
  readonly holder: string;
  readonly isMember: boolean;
  readonly kind: 'call' | 'macro' | 'type' | 'value';
}

/** Names where they are used; as `Resolved` of import-rules.ts. */
interface Place {
  readonly path: string;
  readonly family: string;
  /** Files and folders that the file imports. */
  readonly imported: ReadonlySet<string>;
  readonly inside: ReadonlyMap<string, ReadonlySet<string>>;
  readonly whole: ReadonlySet<string>;
  readonly outside: ReadonlySet<string>;
}

/** A use, and the types and modules around it, the innermost last. */
interface Use extends UsedName {
  readonly around: readonly string[];
}

/** What a use may mean, and how sure that is where it is the only meaning. */
interface Meaning {
  readonly symbols: readonly NamedSymbol[];
  readonly sure: number;
}

const codeFamilies = ['javascript', 'python', 'go', 'rust', 'java', 'cpp', 'csharp', 'ruby', 'php'];
/** Families in which a name that stands alone is no member, and comes from the file, its package or an import. */
const namesImports = new Set(['javascript', 'python', 'rust', 'php', 'go']);

/** Families in which what stands behind a receiver may be a function or a type of a module or namespace. */
const hasPaths = new Set(['rust', 'java', 'cpp', 'csharp', 'ruby', 'php']);
/** Families in which a method is never a value: its name without a call is that of a field or a variable. */
const callsMethods = new Set(['java', 'php']);
/** Families in which a name that stands alone may be a member of the type around it. */
const hasBareMembers = new Set(['java', 'cpp', 'csharp', 'ruby']);
/** Families in which a folder is one package. */
const sharesFolder = new Set(['go', 'java']);

/** Of a member of something whose type is not known, by its name alone. */
const unsure = 0.5;
const nothing: Meaning = { symbols: [], sure: 1 };

/** More of the same name say nothing about which one is meant. */
const maxMeanings = 3;
const maxPerPart = 25;

/** Symbols of a repository by name, to find which one a use means. */
export class Names {
  readonly #byName = new Map<string, NamedSymbol[]>();
  readonly #known = new Set<string>();

  /** Of the names that are not known yet. */
  unknown(names: readonly string[]): string[] {
    return names.filter((name) => !this.#known.has(name));
  }

  /** @param symbols all in the repository that have one of the names, in an order that stays */
  add(names: readonly string[], symbols: readonly StoredSymbol[]): void {
    for (const name of names) this.#known.add(name);
    for (const { id, path, title: name, sort, language } of symbols) {
      const simple = simpleName(name);
      const key = `${familyOf(language)} ${simple}`;
      const holder = simpleName(name.slice(0, -simple.length).replace(/[.:#]+$/, ''));
      const isMember = simple !== name || sort === 'method';
      const symbol = { id, path, name, holder, isMember, kind: kindOf(sort) };
      const same = this.#byName.get(key);
      if (same === undefined) this.#byName.set(key, [symbol]);
      else same.push(symbol);
    }
  }

  /**
   * The symbols that the names stand for, as the site's page about the graph's model says.
   * @returns ids with how sure each is, 0 to 1
   */
  uses({ of, names, around }: NamesInUse, from: Place): Map<string, number> {
    const found = new Map<string, number>();
    for (const name of names) {
      const { symbols, sure } = this.#meant({ ...usedName(name), around }, from);
      if (symbols.length > maxMeanings) continue;
      for (const { id } of symbols) {
        const weight = Math.round((100 * sure) / symbols.length) / 100;
        if (id !== of && weight > (found.get(id) ?? 0)) found.set(id, weight);
      }
    }
    const heaviest = [...found].sort(([, a], [, b]) => b - a).slice(0, maxPerPart);
    return new Map(heaviest);
  }

  /** By a name that somebody wrote in a text: qualified in any language's way, or simple; at most two have it. */
  mentioned(text: string): NamedSymbol[] {
    const parts = text.split(/::|[.#]|->/);
    const simple = simpleMention(text);
    if (simple === '') return [];
    if (parts.length === 1 && !isDistinctive(simple)) return [];
    const all = codeFamilies.flatMap((family) => this.#byName.get(`${family} ${simple}`) ?? []);
    const qualified = parts.join('.');
    const meant =
      parts.length === 1
        ? all
        : all.filter(({ name }) => `.${name.replaceAll('::', '.')}`.endsWith(`.${qualified}`));
    return meant.length <= 2 ? meant : [];
  }

  #meant(use: Use, from: Place): Meaning {
    const named = this.#byName.get(`${from.family} ${use.name}`) ?? [];
    const all = withoutConstructors(named.filter(({ kind }) => isOfForm(kind, use.form, from.family)));
    if (all.length === 0) return nothing;
    if (use.receiver === null) return alone(all, use, from);
    const [receiver] = use.receiver;
    const same = receiver === undefined ? [] : (this.#byName.get(`${from.family} ${receiver}`) ?? []);
    return memberOf(use.receiver, all, same, use, from);
  }
}

function kindOf(sort: string): NamedSymbol['kind'] {
  if (/^(function|method|constructor)$/.test(sort)) return 'call';
  if (sort === 'macro') return 'macro';
  return /^(constant|variable|static|property)$/.test(sort) ? 'value' : 'type';
}

/** Whether a name that is followed so can stand for this kind of symbol. */
function isOfForm(kind: NamedSymbol['kind'], form: string, family: string): boolean {
  if (family === 'rust') return kind === 'macro' ? form !== '()' : form !== '!';
  if (!callsMethods.has(family)) return true;
  return kind === 'call' ? form === '()' : kind !== 'value' || form === '';
}

/** A type and its constructors share a name, which means the type. */
function withoutConstructors(symbols: readonly NamedSymbol[]): readonly NamedSymbol[] {
  if (symbols.length < 2) return symbols;
  const types = symbols.filter(({ kind }) => kind === 'type');
  if (types.length === 0) return symbols;
  return symbols.filter(({ kind, holder, name }) => kind === 'type' || simpleName(name) !== holder);
}

function isIn(places: ReadonlySet<string>, path: string): boolean {
  return places.has(path) || places.has(posix.dirname(path));
}

function isBeside(from: Place, path: string): boolean {
  return sharesFolder.has(from.family) && posix.dirname(path) === posix.dirname(from.path);
}

/** A name that stands alone. */
function alone(all: readonly NamedSymbol[], { name, around }: Use, from: Place): Meaning {
  const { path, family, inside, outside, whole, imported } = from;
  const own = all.filter((symbol) => symbol.path === path);
  const held = heldAround(own, around, family);
  if (held.length > 0) return { symbols: held, sure: 1 };
  if (own.length > 0) return freeFirst(own, unsure);
  if (outside.has(name)) return nothing;
  const sources = inside.get(name);
  const taken = sources === undefined ? [] : all.filter((symbol) => isIn(sources, symbol.path));
  if (taken.length > 0) return freeFirst(taken, namesImports.has(family) ? unsure : 1);
  const beside = all.filter((symbol) => isBeside(from, symbol.path));
  if (beside.length > 0) return freeFirst(beside, unsure);
  if (family === 'go') return nothing;
  const open = family === 'javascript' ? [] : all.filter((symbol) => isIn(whole, symbol.path));
  if (open.length > 0) return freeFirst(open, unsure);
  const seen = all.filter((symbol) => isIn(imported, symbol.path));
  if (seen.length > 0) return { symbols: seen, sure: unsure };
  if (namesImports.has(family) || !isDistinctive(name)) return nothing;
  return family === 'java' ? { symbols: all, sure: unsure } : freeFirst(all, unsure);
}

/** Members of the innermost type or module around a use that has any, where the language lets their names stand alone. */
function heldAround(
  own: readonly NamedSymbol[],
  around: readonly string[],
  family: string,
): readonly NamedSymbol[] {
  const holders = family === 'rust' ? around.filter((one) => /^[a-z_]/.test(one)) : around;
  if (family !== 'rust' && !hasBareMembers.has(family)) return [];
  for (const holder of holders.toReversed()) {
    const held = own.filter((symbol) => symbol.holder === holder);
    if (held.length > 0) return held;
  }
  return [];
}

/** A member, or what a module or a namespace holds. @param same symbols that have the receiver's name */
function memberOf(
  receiver: readonly string[],
  all: readonly NamedSymbol[],
  same: readonly NamedSymbol[],
  { name, around }: Use,
  from: Place,
): Meaning {
  const { path, inside, outside, whole, imported, family } = from;
  const [root = '', last = root] = receiver;
  if (outside.has(root)) return nothing;
  const own = all.filter((symbol) => symbol.path === path);
  const taken = inside.get(root);
  const seen = all.filter(({ path }) => isIn(imported, path) || isBeside(from, path));
  const holder = isSelf(root) ? around.at(-1) : last;
  const isType = receiver.length < 2 || (family !== 'go' && /^\p{Lu}/u.test(last));
  const of = (symbols: readonly NamedSymbol[]) => symbols.filter((symbol) => symbol.holder === holder);
  if (root !== '' && isType) {
    const open = family === 'javascript' ? [] : all.filter((symbol) => isIn(whole, symbol.path));
    const beside = all.filter((symbol) => isBeside(from, symbol.path));
    const ofImport = taken === undefined ? [] : all.filter((symbol) => isIn(taken, symbol.path));
    const places = taken !== undefined ? [ofImport] : isSelf(root) ? [own, seen] : [own, beside, open];
    for (const symbols of places) if (of(symbols).length > 0) return { symbols: of(symbols), sure: 1 };
    const isOfType =
      taken !== undefined && same.some((symbol) => !symbol.isMember && isIn(taken, symbol.path));
    const free = isOfType || receiver.length > 1 ? [] : ofImport.filter(({ isMember }) => !isMember);
    if (free.length > 0) return { symbols: free, sure: 1 };
    const anywhere = namesImports.has(family) ? [] : of(all);
    if (anywhere.length > 0) return { symbols: anywhere, sure: family === 'java' ? unsure : 1 };
  }
  const mayBe = (symbols: readonly NamedSymbol[]) =>
    hasPaths.has(family) ? symbols : symbols.filter(({ isMember }) => isMember);
  for (const symbols of [mayBe(own), mayBe(seen)]) if (symbols.length > 0) return { symbols, sure: unsure };
  return { symbols: isDistinctive(name) ? mayBe(all) : [], sure: unsure };
}

/** What is no member, else the members. */
function freeFirst(symbols: readonly NamedSymbol[], sureOfMembers: number): Meaning {
  const free = symbols.filter(({ isMember }) => !isMember);
  return free.length > 0 ? { symbols: free, sure: 1 } : { symbols, sure: sureOfMembers };
}

/** True if a name is more than one word: `text` and `credential` are in every file, meaning something else. */
function isDistinctive(name: string): boolean {
  return /[a-z0-9][A-Z]|[A-Za-z]_[A-Za-z]|^[A-Z][a-z]+[A-Z]|^[A-Z]{4,}/.test(name);
}
