import type { RelationKind } from '#kit/contracts/context/vocabulary.ts';
import { nodeId } from '../record/node-id.ts';
import type { Extraction, Part } from './extraction/extraction.ts';
import { isDocument } from './extraction/languages.ts';
import { factsOf, type LinkFacts, namesIn, piecesIn, readUses } from './linking/facts.ts';
import type { SkippedByContent } from './repository/listing.ts';

/** A file with its parts, as it goes to the writer. */
export interface StoredFile {
  readonly path: string;
  /** Which content it is, and by which reader. */
  readonly source: string;
  readonly kind: 'file' | 'document';
  readonly properties: NodeProperties;
  readonly text: string;
  /** All that it has; what the record has beyond is closed. */
  readonly parts: readonly PartRow[];
  readonly facts: LinkFacts;
  /** Simple names that it uses or mentions, and pieces of paths. */
  readonly names: readonly string[];
}

/** A file of which only the reason is kept why it is left out. */
export interface SkippedFile extends Pick<StoredFile, 'path' | 'source'> {
  readonly skipped: SkippedByContent;
}

export type FileRows = StoredFile | SkippedFile;

type NodeProperties = Readonly<Record<string, string | number | boolean | null>>;

export interface PartRow {
  readonly id: string;
  readonly kind: 'symbol' | 'section' | 'service';
  readonly title: string;
  readonly start_line: number;
  readonly end_line: number;
  readonly properties: NodeProperties;
  readonly text: string;
  /** Id of the node that holds it. */
  readonly parent: string;
  readonly relation: Extract<RelationKind, 'contains' | 'defines'>;
}

/** Kinds of the edges that are made from several files' facts, and lead from a file or from a part of it. */
export const linkKinds = ['imports', 'references', 'mentions', 'changed_with'] as const;
export type LinkKind = (typeof linkKinds)[number];

/** An edge between nodes, by their ids. */
export interface Link {
  readonly from: string;
  readonly kind: LinkKind;
  readonly to: string;
  readonly weight: number;
}

export interface LinkedFile {
  readonly path: string;
  readonly digest: string;
  readonly links: readonly Link[];
}

/** How a file that was read is stored. */
export function storedFile(
  repository: string,
  { path, source, size }: { readonly path: string; readonly source: string; readonly size: number },
  extraction: Extraction,
): StoredFile {
  const { language, lines, text, parts } = extraction;
  const own = nodeId.file(repository, path);
  const ids = parts.map((part) => idOf(repository, path, part));
  const facts = factsOf(extraction, own, ids);
  const uses = readUses(facts.uses);
  return {
    ...{ path, source, text },
    kind: isDocument(language) ? 'document' : 'file',
    properties: { language, lines, bytes: size },
    parts: parts.map((part, at) => rowOf(part, ids[at]!, ids[part.parent] ?? own, language)),
    facts,
    names: namesIn(uses).concat(piecesIn(uses)),
  };
}

function idOf(repository: string, path: string, { node, name, nth }: Part): string {
  if (node === 'symbol') return nodeId.symbol(repository, path, name, nth);
  if (node === 'section') return nodeId.section(repository, path, name);
  return nodeId.service(`${repository}:${path}#${name}`);
}

function rowOf(part: Part, id: string, parent: string, language: string): PartRow {
  const { node, title, sort, start, end, body, signature } = part;
  return {
    id,
    kind: node,
    title,
    start_line: start,
    end_line: end,
    properties: node === 'symbol' ? { sort, language, signature } : { sort },
    text: body,
    parent,
    relation: node === 'section' ? 'contains' : 'defines',
  };
}
