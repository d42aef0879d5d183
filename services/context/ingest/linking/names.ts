import { familyOf } from '../extraction/languages.ts';
import { simpleName } from '../extraction/text.ts';
import type { Definitions, NamesInUse } from './facts.ts';

interface NamedSymbol {
  readonly id: string;
  readonly path: string;
  readonly name: string;
  readonly isMember: boolean;
}

/** Where names are used. */
interface Place {
  readonly path: string;
  readonly family: string;
  /** True if what a file defines can be seen there. */
  readonly imported: (path: string) => boolean;
}

const codeFamilies = ['javascript', 'python', 'go', 'rust', 'java', 'cpp', 'csharp', 'ruby', 'php'];
/** Families whose files import by name what they use of each other; only members come without. */
const namesImports = new Set(['javascript', 'python', 'rust', 'php']);

/** More of the same name say nothing about which one is meant. */
const maxMeanings = 3;
/** A symbol that everybody uses connects everybody with everybody. */
const maxUsers = 200;
const maxPerPart = 25;

/** The symbols of a repository by name, to find which one a use means. */
export class Names {
  readonly #byName = new Map<string, NamedSymbol[]>();
  readonly #users = new Map<string, number>();

  add(path: string, { language, symbols }: Definitions): void {
    const family = familyOf(language);
    for (const { name, sort, id } of symbols) {
      const simple = simpleName(name);
      const isMember = simple !== name || sort === 'method';
      const key = `${family} ${simple}`;
      const same = this.#byName.get(key);
      const symbol = { id, path, name, isMember };
      if (same === undefined) this.#byName.set(key, [symbol]);
      else same.push(symbol);
    }
  }

  /**
   * The symbols that the names stand for: of the file itself, else of what it imports, else, for a distinctive name, of
   * anywhere if few have it.
   * @returns ids with how sure each is, 0 to 1
   */
  uses({ of, names }: NamesInUse, from: Place): Map<string, number> {
    const found = names.flatMap((name) => {
      const all = this.#byName.get(`${from.family} ${name}`) ?? [];
      const meant = this.#meant(all, name, from);
      return meant.length > maxMeanings ? [] : meant.map(({ id }) => ({ id, weight: 1 / meant.length }));
    });
    const kept = new Map<string, number>();
    for (const { id, weight } of found.sort((a, b) => b.weight - a.weight)) {
      if (kept.size >= maxPerPart) break;
      if (id === of || kept.has(id) || !this.#hasRoom(id)) continue;
      kept.set(id, Math.round(weight * 100) / 100);
    }
    return kept;
  }

  /** By a name that somebody wrote in a text: qualified in any language's way, or simple; at most two have it. */
  mentioned(text: string): NamedSymbol[] {
    const parts = text.split(/::|[.#]|->/);
    const simple = parts.at(-1)!;
    if (!/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(simple)) return [];
    if (parts.length === 1 && !isDistinctive(simple)) return [];
    const all = codeFamilies.flatMap((family) => this.#byName.get(`${family} ${simple}`) ?? []);
    const qualified = parts.join('.');
    const meant =
      parts.length === 1
        ? all
        : all.filter(({ name }) => `.${name.replaceAll('::', '.')}`.endsWith(`.${qualified}`));
    return meant.length <= 2 ? meant : [];
  }

  #meant(
    all: readonly NamedSymbol[],
    name: string,
    { path, family, imported }: Place,
  ): readonly NamedSymbol[] {
    const own = all.filter((symbol) => symbol.path === path);
    if (own.length > 0) return own;
    const near = all.filter((symbol) => imported(symbol.path));
    if (near.length > 0)
      return near.some(({ isMember }) => !isMember) ? near.filter(({ isMember }) => !isMember) : near;
    if (!isDistinctive(name)) return [];
    return all.length === 1 || !namesImports.has(family) ? all : all.filter(({ isMember }) => isMember);
  }

  #hasRoom(id: string): boolean {
    const users = (this.#users.get(id) ?? 0) + 1;
    this.#users.set(id, users);
    return users <= maxUsers;
  }
}

/** True if a name is more than one word: `text` and `credential` are in every file, meaning something else. */
function isDistinctive(name: string): boolean {
  return /[a-z0-9][A-Z]|[A-Za-z]_[A-Za-z]|^[A-Z][a-z]+[A-Z]|^[A-Z]{4,}/.test(name);
}
