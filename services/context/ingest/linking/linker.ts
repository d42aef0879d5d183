import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { nodeId } from '../../record/node-id.ts';
import { familyOf, type LanguageName } from '../extraction/languages.ts';
import type { ChangedTogether } from '../repository/history.ts';
import type { Link, LinkedFile } from '../stored-rows.ts';
import type { Uses } from './facts.ts';
import { resolveImports } from './import-resolver.ts';
import type { Names } from './names.ts';
import { type Places, within } from './places.ts';

const mostImports = 200;
const mostMentions = 30;

/** Makes the links of one file after another from what all of them define. */
export class Linker {
  readonly #repository: string;
  readonly #places: Places;
  readonly #names: Names;
  readonly #languages: ReadonlyMap<string, LanguageName>;
  readonly #together = new Map<string, ChangedTogether[]>();

  constructor(
    repository: string,
    known: {
      readonly places: Places;
      readonly names: Names;
      readonly languages: ReadonlyMap<string, LanguageName>;
    },
    together: readonly ChangedTogether[],
  ) {
    this.#repository = repository;
    this.#places = known.places;
    this.#names = known.names;
    this.#languages = known.languages;
    for (const pair of together) {
      const pairs = this.#together.get(pair.a);
      if (pairs === undefined) this.#together.set(pair.a, [pair]);
      else pairs.push(pair);
    }
  }

  linksOf(path: string, uses: Uses): LinkedFile {
    const file = nodeId.file(this.#repository, path);
    const language = this.#languages.get(path) ?? 'text';
    const imported = resolveImports(this.#places, path, language, uses.imports);
    const links: Link[] = [];
    for (const to of [...imported].slice(0, mostImports)) {
      links.push({ from: file, kind: 'imports', to: this.#idOf(to), weight: 1 });
    }
    const from = { path, family: familyOf(language), imported: isNear(path, language, imported) };
    for (const part of uses.references) {
      for (const [to, weight] of this.#names.uses(part, from)) {
        links.push({ from: part.of, kind: 'references', to, weight });
      }
    }
    for (const part of uses.mentions) links.push(...this.#mentions(path, part));
    for (const { b, weight } of this.#together.get(path) ?? []) {
      links.push({ from: file, kind: 'changed_with', to: nodeId.file(this.#repository, b), weight });
    }
    return { path, digest: digestOf(links), links };
  }

  #mentions(path: string, { of, names }: { readonly of: string; readonly names: readonly string[] }): Link[] {
    const found = new Set(names.flatMap((name) => this.#mentioned(path, name)));
    found.delete(of);
    return [...found].slice(0, mostMentions).map((to) => ({ from: of, kind: 'mentions', to, weight: 1 }));
  }

  #mentioned(path: string, name: string): string[] {
    const beside = within(posix.dirname(path), name);
    const whole = within('', name.replace(/^\//, ''));
    for (const place of [beside, whole]) {
      if (place !== null && place !== path && this.#isPlace(place)) return [this.#idOf(place)];
    }
    if (name.includes('/') || /\.\w{1,5}$/.test(name)) {
      const ending = this.#places.endingWith(name.replace(/^(\.{0,2}\/)+/, ''));
      if (ending.length > 0) return ending.map((one) => this.#idOf(one));
    }
    return this.#names.mentioned(name).map(({ id }) => id);
  }

  #isPlace(path: string): boolean {
    return this.#places.files.has(path) || this.#places.folders.has(path);
  }

  #idOf(path: string): string {
    return this.#places.files.has(path)
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
