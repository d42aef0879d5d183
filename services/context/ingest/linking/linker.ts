import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { nodeId } from '../../record/node-id.ts';
import { familyOf, type LanguageName } from '../extraction/languages.ts';
import type { ChangedTogether } from '../repository/history.ts';
import type { Link, LinkedFile } from '../stored-rows.ts';
import type { NamesInUse, Uses } from './facts.ts';
import { resolveImports } from './import-rules.ts';
import type { Names } from './names.ts';
import { type Places, within } from './places.ts';

const maxImports = 200;
const maxMentions = 30;

/** What the files of a repository define together. */
export interface KnownNames {
  readonly places: Places;
  readonly names: Names;
}

/**
 * Makes the links of files from what all of them define. Those of a file follow from what it says, the symbols that have its names, the
 * places of all files and the history alone: whoever else uses the same changes nothing.
 */
export class Linker {
  readonly #repository: string;
  readonly #known: KnownNames;
  readonly #together: ReadonlyMap<string, readonly ChangedTogether[]>;

  constructor(repository: string, known: KnownNames, together: readonly ChangedTogether[]) {
    this.#repository = repository;
    this.#known = known;
    this.#together = Map.groupBy(together, ({ a }) => a);
  }

  linksOf(path: string, language: LanguageName, uses: Uses): LinkedFile {
    const { places, names } = this.#known;
    const file = nodeId.file(this.#repository, path);
    const { places: imported, ...imports } = resolveImports(places, path, language, uses.imports);
    const links: Link[] = [];
    for (const to of [...imported].slice(0, maxImports)) {
      links.push({ from: file, kind: 'imports', to: this.#idOf(to), weight: 1 });
    }
    const from = { path, family: familyOf(language), imported, ...imports };
    for (const part of uses.references) {
      for (const [to, weight] of names.uses(part, from)) {
        links.push({ from: part.of, kind: 'references', to, weight });
      }
    }
    for (const part of uses.mentions) links.push(...this.#mentions(path, part));
    const changed = (this.#together.get(path) ?? []).map(({ b, weight }): Link => {
      return { from: file, kind: 'changed_with', to: nodeId.file(this.#repository, b), weight };
    });
    return {
      path,
      digest: `${digestOf(links.map(lineOf))} ${this.historyOf(path)}`,
      links: [...links, ...changed],
    };
  }

  /** Says what the history gives a file, for the end of its digest. */
  historyOf(path: string): string {
    const together = this.#together.get(path);
    if (together === undefined) return '-';
    return digestOf(together.map(({ b, weight }) => `${b}\t${weight}`));
  }

  #mentions(path: string, { of, names }: Omit<NamesInUse, 'around'>): Link[] {
    const found = new Set(names.flatMap((name) => this.#mentioned(path, name)));
    found.delete(of);
    return [...found].slice(0, maxMentions).map((to) => ({ from: of, kind: 'mentions', to, weight: 1 }));
  }

  #mentioned(path: string, name: string): string[] {
    const beside = within(posix.dirname(path), name);
    const whole = within('', name.replace(/^\//, ''));
    for (const place of [beside, whole]) {
      if (place !== null && place !== path && this.#isPlace(place)) return [this.#idOf(place)];
    }
    if (name.includes('/') || /\.\w{1,5}$/.test(name)) {
      const ending = this.#known.places.endingWith(name.replace(/^(\.{0,2}\/)+/, ''));
      if (ending.length > 0) return ending.map((one) => this.#idOf(one));
    }
    return this.#known.names.mentioned(name).map(({ id }) => id);
  }

  #isPlace(path: string): boolean {
    return this.#known.places.files.has(path) || this.#known.places.folders.has(path);
  }

  #idOf(path: string): string {
    if (path === '.') return nodeId.repository(this.#repository);
    return this.#known.places.files.has(path)
      ? nodeId.file(this.#repository, path)
      : nodeId.directory(this.#repository, path);
  }
}

function lineOf({ from, kind, to, weight }: Link): string {
  return `${from}\t${kind}\t${to}\t${weight}`;
}

function digestOf(lines: readonly string[]): string {
  return createHash('sha256').update(lines.join('\n')).digest('base64url');
}
