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
  /** By path. */
  readonly languages: ReadonlyMap<string, LanguageName>;
}

/** Makes the links of one file after another from what all of them define. */
export class Linker {
  readonly #repository: string;
  readonly #known: KnownNames;
  readonly #together: ReadonlyMap<string, readonly ChangedTogether[]>;

  constructor(repository: string, known: KnownNames, together: readonly ChangedTogether[]) {
    this.#repository = repository;
    this.#known = known;
    this.#together = Map.groupBy(together, ({ a }) => a);
  }

  linksOf(path: string, uses: Uses): LinkedFile {
    const { places, names, languages } = this.#known;
    const file = nodeId.file(this.#repository, path);
    const language = languages.get(path) ?? 'text';
    const imported = resolveImports(places, path, language, uses.imports);
    const links: Link[] = [];
    for (const to of [...imported].slice(0, maxImports)) {
      links.push({ from: file, kind: 'imports', to: this.#idOf(to), weight: 1 });
    }
    const from = { path, family: familyOf(language), imported: isNear(path, language, imported) };
    for (const part of uses.references) {
      for (const [to, weight] of names.uses(part, from)) {
        links.push({ from: part.of, kind: 'references', to, weight });
      }
    }
    for (const part of uses.mentions) links.push(...this.#mentions(path, part));
    for (const { b, weight } of this.#together.get(path) ?? []) {
      links.push({ from: file, kind: 'changed_with', to: nodeId.file(this.#repository, b), weight });
    }
    return { path, digest: digestOf(links), links };
  }

  #mentions(path: string, { of, names }: NamesInUse): Link[] {
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
    return this.#known.places.files.has(path)
      ? nodeId.file(this.#repository, path)
      : nodeId.directory(this.#repository, path);
  }
}

/** Files that a file sees: what it imports and, where a folder is one package, its neighbours. */
function isNear(
  path: string,
  language: LanguageName,
  imported: ReadonlySet<string>,
): (other: string) => boolean {
  const folder = posix.dirname(path);
  const sharesFolder = language === 'go' || language === 'java';
  return (other) => {
    const beside = posix.dirname(other);
    return imported.has(other) || imported.has(beside) || (sharesFolder && beside === folder);
  };
}

function digestOf(links: readonly Link[]): string {
  const text = links.map(({ from, kind, to, weight }) => `${from}\t${kind}\t${to}\t${weight}`).join('\n');
  return createHash('sha256').update(text).digest('base64url');
}
