import { InvalidInput } from '#kit/errors.ts';
import { type FoundSecret, markOf, maskSpans } from '#kit/redaction/find-secrets.ts';
import type { MaskTally } from '#kit/redaction/secret-finder.ts';
import {
  hitsIn,
  onlyPlace,
  plainTextOf,
  type ScratchCopy,
  type ScratchEdit,
  type SearchHit,
} from '../../planning/scratch-copy.ts';

type Replacement = Extract<ScratchEdit, { kind: 'replace' }>;

/** Files of which the search looks for lines; more would not fit into its answer. */
const maxSearched = 1_000;

/**
 * The scratch copy as a model sees it: secrets are masked in what it reads, searches and edits. An edit that keeps a mask keeps the
 * bytes behind it; one that would write a mask into a file is refused.
 */
export class MaskedScratch implements ScratchCopy {
  readonly #scratch: ScratchCopy;
  readonly #secrets: MaskTally;

  constructor(scratch: ScratchCopy, secrets: MaskTally) {
    this.#scratch = scratch;
    this.#secrets = secrets;
  }

  list(): Promise<string[]> {
    return this.#scratch.list();
  }

  async read(path: string): Promise<Uint8Array | null> {
    const content = await this.#scratch.read(path);
    const text = plainTextOf(content);
    return text === null ? content : Buffer.from(this.#secrets.mask(text, `file ${path}`));
  }

  /** Searches the masked text, so that no secret can be guessed letter by letter. */
  async search(text: string, options: { limit: number; path_prefix?: string }): Promise<SearchHit[]> {
    const found = await this.#scratch.search(text, { ...options, limit: maxSearched });
    const hits: SearchHit[] = [];
    for (const path of new Set(found.map(({ path }) => path))) {
      if (hits.length >= options.limit) break;
      const content = await this.read(path);
      if (content !== null) hits.push(...hitsIn(path, content, text, options.limit - hits.length));
    }
    return hits;
  }

  async edit(edit: ScratchEdit): Promise<void> {
    if (edit.kind === 'create') this.#refuseMarks(edit.content, '');
    if (edit.kind !== 'replace' || edit.old_text === '') return this.#scratch.edit(edit);
    const raw = plainTextOf(await this.#scratch.read(edit.path));
    const secrets = raw === null ? [] : this.#secrets.find(raw);
    if (raw === null || secrets.length === 0) {
      this.#refuseMarks(edit.new_text, edit.old_text);
      return this.#scratch.edit(edit);
    }
    return this.#scratch.edit({ ...edit, old_text: raw, new_text: this.#edited(raw, secrets, edit) });
  }

  diff(): ReturnType<ScratchCopy['diff']> {
    return this.#scratch.diff();
  }

  /** The whole text with the edit done in its masked form. */
  #edited(raw: string, secrets: readonly FoundSecret[], { path, old_text, new_text }: Replacement): string {
    const at = onlyPlace(path, maskSpans(raw, secrets), old_text);
    const start = rawOffset(raw, secrets, at);
    const end = rawOffset(raw, secrets, at + old_text.length);
    if (start === null || end === null) {
      throw new InvalidInput(
        'edit_cuts_mask',
        `old_text begins or ends within a mask in '${path}'; take the whole mask or none of it`,
      );
    }
    const inside = secrets.filter((secret) => secret.start >= start && secret.end <= end);
    return raw.slice(0, start) + this.#restored(raw, inside, old_text, new_text) + raw.slice(end);
  }

  /** `new_text` with the bytes that its masks stand for. */
  #restored(raw: string, inside: readonly FoundSecret[], oldText: string, newText: string): string {
    const valuesOf = Map.groupBy(inside, ({ kind }) => markOf(kind, ''));
    let restored = newText;
    for (const [mark, secrets] of valuesOf) {
      const kept = restored.split(mark).length - 1;
      if (kept === 0) continue;
      if (kept !== secrets.length || kept !== oldText.split(mark).length - 1) throw marksDiffer(mark);
      const values = secrets.map(({ start, end }) => raw.slice(start, end));
      // A mask of several lines ends with their line breaks, which the value has too.
      restored = restored
        .split(mark)
        .reduce((text, rest, index) => text + values[index - 1]! + afterMark(rest, values[index - 1]!));
    }
    this.#refuseMarks(withoutAll(newText, [...valuesOf.keys()]), withoutAll(oldText, [...valuesOf.keys()]));
    return restored;
  }

  /** @throws InvalidInput (`edit_holds_mask`) where masks that were shown would be written as text */
  #refuseMarks(newText: string, oldText: string): void {
    for (const { kind } of this.#secrets.found) {
      const mark = markOf(kind, '');
      if (newText.split(mark).length > oldText.split(mark).length) throw marksDiffer(mark);
    }
  }
}

function marksDiffer(mark: string): InvalidInput {
  return new InvalidInput(
    'edit_holds_mask',
    `${mark} stands for a secret that was masked and is no text to write; an edit keeps each mask in its place, or removes all of them`,
  );
}

/** Where a place of the masked text is in the text itself; null within a mask. */
function rawOffset(raw: string, secrets: readonly FoundSecret[], at: number): number | null {
  let shift = 0;
  for (const { kind, start, end } of secrets) {
    const mark = markOf(kind, raw.slice(start, end));
    const begin = start + shift;
    if (at <= begin) break;
    if (at < begin + mark.length) return null;
    shift += mark.length - (end - start);
  }
  return at - shift;
}

function afterMark(rest: string, value: string): string {
  const breaks = '\n'.repeat(value.split('\n').length - 1);
  return rest.startsWith(breaks) ? rest.slice(breaks.length) : rest;
}

function withoutAll(text: string, marks: readonly string[]): string {
  return marks.reduce((rest, mark) => rest.replaceAll(mark, ''), text);
}
