import { isSelf } from '../extraction/identifiers.ts';
import { familyOf } from '../extraction/languages.ts';
import { simpleName } from '../extraction/text.ts';
import type { StoredSymbol } from '../ingest-queries.ts';
import { type NamesInUse, simpleMention } from './facts.ts';

interface NamedSymbol {
  readonly id: string;
  readonly path: string;
  readonly name: string;
  /** What it is a member of, by its simple name; empty for none. */
  readonly holder: string;
  readonly isMember: boolean;
}

/** Where names are used. */
interface Place {
  readonly path: string;
  readonly family: string;
  /** True if what a file defines can be seen there. */
  readonly near: (path: string) => boolean;
  /** Names there for what comes from the repository, and from elsewhere. */
  readonly inside: ReadonlySet<string>;
  readonly outside: ReadonlySet<string>;
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
      const symbol = { id, path, name, holder, isMember: simple !== name || sort === 'method' };
      const same = this.#byName.get(key);
      if (same === undefined) this.#byName.set(key, [symbol]);
      else same.push(symbol);
    }
  }

  /**
   * The symbols that the names stand for, as the site's page about the graph's model says.
   * @returns ids with how sure each is, 0 to 1
   */
  uses({ of, names }: NamesInUse, from: Place): Map<string, number> {
    const found = new Map<string, number>();
    for (const name of names) {
      const { symbols, sure } = this.#meant(name, from);
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

  #meant(used: string, from: Place): Meaning {
    const dot = used.lastIndexOf('.');
    const name = used.slice(dot + 1);
    const all = this.#byName.get(`${from.family} ${name}`) ?? [];
    if (all.length === 0) return nothing;
    return dot === -1 ? alone(all, name, from) : memberOf(used.slice(0, dot), all, name, from);
  }
}

/** A name that stands alone. */
function alone(all: readonly NamedSymbol[], name: string, from: Place): Meaning {
  const { path, family, near, outside } = from;
  const isStrict = namesImports.has(family);
  const own = all.filter((symbol) => symbol.path === path);
  if (own.length > 0) return freeFirst(own, isStrict ? unsure : 1);
  if (outside.has(name)) return nothing;
  const seen = all.filter((symbol) => near(symbol.path));
  if (seen.length > 0) return freeFirst(seen, isStrict ? unsure : 1);
  return isStrict || !isDistinctive(name) ? nothing : { symbols: all, sure: 1 };
}

/** A member, or what a module or a namespace holds. */
function memberOf(receiver: string, all: readonly NamedSymbol[], name: string, from: Place): Meaning {
  const { path, near, inside, outside, family } = from;
  if (outside.has(receiver)) return nothing;
  const own = all.filter((symbol) => symbol.path === path);
  const seen = all.filter((symbol) => near(symbol.path));
  if (isSelf(receiver)) {
    const members = own.filter(({ isMember }) => isMember);
    if (members.length > 0) return { symbols: members, sure: 1 };
  } else if (receiver !== '') {
    const isKnown = inside.has(receiver);
    const anywhere = isKnown || !namesImports.has(family) ? all : [];
    for (const symbols of [own, seen, anywhere]) {
      const held = symbols.filter((symbol) => symbol.holder === receiver);
      if (held.length > 0) return { symbols: held, sure: 1 };
    }
    const free = isKnown ? seen.filter(({ isMember }) => !isMember) : [];
    if (free.length > 0) return { symbols: free, sure: 1 };
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
