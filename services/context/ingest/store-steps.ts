import { nodeId } from '../record/node-id.ts';
import type { Extraction, Part } from './extraction/extraction.ts';
import { isDocument } from './extraction/languages.ts';
import { factsOf } from './linking/facts.ts';
import type { PartRow, StoreStep } from './stored-rows.ts';

/** What the writer is told of a file that was read. */
export function stepsOf(
  repository: string,
  file: { readonly path: string; readonly source: string; readonly size: number },
  extraction: Extraction,
): StoreStep[] {
  const { path, source, size } = file;
  const { language, lines, text, parts } = extraction;
  const own = nodeId.file(repository, path);
  const ids = parts.map((part) => idOf(repository, path, part));
  const kind = isDocument(language) ? 'document' : 'file';
  return [
    { step: 'file', path, kind, properties: { language, lines, bytes: size }, text },
    {
      step: 'parts',
      path,
      parts: parts.map((part, at) => rowOf(part, ids[at]!, ids[part.parent] ?? own, language)),
    },
    { step: 'done', path, source, ...factsOf(extraction, own, ids), ids },
  ];
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
